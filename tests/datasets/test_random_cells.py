"""Cells of any content are read or refused in a sentence."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import numpy as np

from dfiv_ope.datasets import columns, logs

HEADER = 'episode,step,obs_0,obs_1,action,reward,terminated,truncated'


def _import(path):
  reader = logs.LogReader(path, columns=columns.Columns())
  return list(reader.blocks(progress=lambda share: None))


_CELLS = st.one_of(
  st.sampled_from(
    [
      '',
      '0',
      '1',
      '-1',
      '2.5',
      'nan',
      'inf',
      '1e400',
      'x',
      '"',
      '\n',
      ',',
      'True',
      '\u00e9',
    ]
  ),
  st.text(max_size=3),
)
# The same examples every time: what CI finds, everybody finds.
_HYPOTHESIS = settings(
  max_examples=150,
  deadline=None,
  derandomize=True,
  suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@_HYPOTHESIS
@given(table=st.lists(st.lists(_CELLS, min_size=6, max_size=9), max_size=6))
def test_any_cells_are_read_or_refused_with_a_sentence(tmp_path, table):
  path = tmp_path / 'log.csv'
  lines = [','.join(line) for line in table]
  path.write_text('\n'.join([HEADER, *lines]), encoding='utf-8', newline='')
  try:
    blocks = _import(path)
  except ValueError as error:
    assert 'log.csv' in str(error)
  else:
    for block in blocks:
      assert np.isfinite(block.steps.observation).all()
      assert np.isfinite(block.steps.reward).all()
