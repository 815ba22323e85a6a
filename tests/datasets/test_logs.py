"""A log becomes the episodes it says, and what is unknown is not made up."""

import gzip
import textwrap

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.datasets import columns, logs, steps
from dfiv_ope.datasets.formats import source


def read(path, **mapping):
  """Reads a whole log."""
  reader = logs.LogReader(path, columns=columns.parse(mapping))
  blocks = list(reader.blocks(progress=lambda share: None))
  rows = steps.concatenate(block.steps for block in blocks)
  return reader, rows, np.concatenate([each.annotations for each in blocks])


@pytest.fixture
def csv(tmp_path):
  def write(text, name='log.csv'):
    (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path / name

  return write


ENDS = """\
    episode,step,obs_0,action,reward,terminated,truncated
    a,0,0.5,1,2,0,0
    a,1,1.5,0,3,1,0
    b,0,2.5,0,4,0,0
    b,1,3.5,1,5,0,1
    b,2,4.5,,,,
    c,7,5.5,0,6,0,0
    c,8,6.5,1,7,0,0
    d,0,7.5,1,8,0,0
    e,0,8.5,1,9,1,0
    e,1,9.5,,,,
    """


def test_each_end_of_an_episode_has_its_meaning(csv):
  reader, rows, _ = read(csv(ENDS))
  # a repeats its last observation, b keeps its final one, c loses its last
  # step, d has nothing left, e keeps a final observation nobody needs.
  np.testing.assert_array_equal(
    rows.observation[:, 0], [0.5, 1.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 8.5, 9.5]
  )
  np.testing.assert_array_equal(rows.action, [1, 0, 0, 0, 1, 0, 0, 0, 1, 0])
  np.testing.assert_array_equal(rows.reward, [2, 3, 0, 4, 5, 0, 6, 0, 9, 0])
  np.testing.assert_array_equal(rows.discount, [1, 0, 0, 1, 1, 0, 1, 0, 0, 0])
  np.testing.assert_array_equal(rows.is_first, [1, 0, 0, 1, 0, 0, 1, 0, 1, 0])
  np.testing.assert_array_equal(rows.is_last, [0, 0, 1, 0, 0, 1, 0, 1, 0, 1])
  np.testing.assert_array_equal(
    rows.is_terminal, [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]
  )
  assert [each.dtype for each in rows] == [
    np.float64,
    np.int32,
    np.float64,
    np.float32,
    bool,
    bool,
    bool,
  ]
  assert reader.notes() == [
    '1 episode ended without a final observation: the last step was dropped.',
    '1 episode had no transition left: dropped.',
  ]


@pytest.mark.parametrize(
  'ends, discounts, kept',
  [
    ('terminated', [1, 0, 0], [0.5, 1.5, 1.5]),
    ('truncated', [1, 0], [0.5, 1.5]),
  ],
)
def test_the_user_says_how_episodes_end(csv, ends, discounts, kept):
  log = csv("""\
      episode,obs,action,reward
      1,0.5,1,2
      1,1.5,0,3
      """)
  _, rows, _ = read(log, ends=ends)
  np.testing.assert_array_equal(rows.discount, discounts)
  np.testing.assert_array_equal(rows.observation[:, 0], kept)


def test_what_is_not_truncated_ends_as_the_user_says(csv):
  log = csv("""\
      episode,obs,action,reward,truncated
      1,0.5,1,2,0
      1,1.5,0,3,1
      2,2.5,1,2,0
      """)
  _, rows, _ = read(log, ends='terminated')
  np.testing.assert_array_equal(rows.is_terminal, [0, 0, 0, 1])


@pytest.mark.parametrize(
  'cells, labels, indices',
  [
    (['1', '0', '2'], (), [1, 0, 2]),
    (['1.0', '0', '2.0'], (), [1, 0, 2]),
    (['up', 'down', 'up'], ('down', 'up'), [1, 0, 1]),
    (['10', '9', '-1'], ('-1', '9', '10'), [2, 1, 0]),
    (['True', 'False', 'True'], ('False', 'True'), [1, 0, 1]),
    (['None', 'null', 'None'], ('None', 'null'), [0, 1, 0]),
    (['007', '7', '007'], ('007', '7'), [0, 1, 0]),
  ],
)
def test_actions_are_numbers_or_sorted_labels(csv, cells, labels, indices):
  lines = [f'{i},0.5,{cell},1,1' for i, cell in enumerate(cells)]
  log = csv('\n'.join(['episode,obs,action,reward,terminated', *lines]))
  reader, rows, _ = read(log)
  assert reader.find_actions(None).recorded == labels
  np.testing.assert_array_equal(rows.action[~rows.is_last], indices)


def test_actions_that_were_never_taken_are_said(csv):
  log = csv('episode,obs,action,reward,terminated\n1,0.5,c,1,1\n')
  reader, rows, _ = read(log, actions='c,b,a')
  assert reader.find_actions(None).labels == ('c', 'b', 'a')
  assert rows.action[0] == 0
  log = csv('episode,obs,action,reward,terminated\n1,0.5,2,1,1\n')
  reader, rows, _ = read(log, actions=4)
  assert len(reader.find_actions(None).labels) == 4
  assert reader.find_actions(None).recorded == ()
  assert rows.action[0] == 2


def test_columns_have_the_names_that_the_mapping_says(csv):
  log = csv("""\
      patient,visit,age,bp_low,bp_high,dose,outcome,died,p,pi_no,pi_yes
      7,3,50,1,2,yes,0.5,0,0.25,0.1,0.9
      7,4,51,3,4,no,0.75,1,0.5,0.2,0.8
      """)
  reader, rows, annotations = read(
    log,
    episode='patient',
    step='visit',
    observations='age,bp_*',
    action='dose',
    reward='outcome',
    terminated='died',
    behaviour_probability='p',
    target_probabilities='pi_*',
  )
  np.testing.assert_array_equal(
    rows.observation, [[50, 1, 2], [51, 3, 4], [51, 3, 4]]
  )
  np.testing.assert_array_equal(rows.action, [1, 0, 0])
  assert reader.annotations == (
    'behaviour_probability',
    'target_probability_0',
    'target_probability_1',
  )
  np.testing.assert_array_equal(
    annotations, np.float32([[0.25, 0.1, 0.9], [0.5, 0.2, 0.8], [0, 0, 0]])
  )
  assert reader.mapping['observations'] == ['age', 'bp_low', 'bp_high']


def test_target_probabilities_follow_the_actions_not_the_columns(csv):
  log = csv("""\
      episode,obs,action,reward,terminated,target_probability_1,target_probability_0
      1,0.5,0,2,1,0.75,0.25
      """)
  reader, _, annotations = read(log)
  assert len(reader.find_actions(None).labels) == 2
  np.testing.assert_array_equal(annotations, [[0.25, 0.75], [0, 0]])


def test_a_truncated_end_keeps_its_target_probabilities(csv):
  log = csv("""\
      episode,obs,action,reward,terminated,target_probability_0,target_probability_1
      1,0.5,0,2,0,0.75,0.25
      1,1.5,,,,0.5,0.5
      """)
  np.testing.assert_array_equal(read(log)[2], [[0.75, 0.25], [0.5, 0.5]])


@pytest.mark.parametrize('rows_a_chunk', [1, 2, 3, 5, 7, 100])
def test_chunks_may_cut_episodes_anywhere(csv, monkeypatch, rows_a_chunk):
  log = csv(ENDS)
  _, expected, _ = read(log)
  monkeypatch.setattr(source, 'CHUNK_ROWS', rows_a_chunk)
  _, rows, _ = read(log)
  for one, other in zip(rows, expected, strict=True):
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
  'change',
  [
    lambda text: '\ufeff' + text,
    lambda text: text.replace('\n', '\r\n'),
    lambda text: text + '\n\n',
    lambda text: text.replace('a,1', '\na,1'),
    lambda text: text.rstrip('\n'),
    lambda text: text.replace(',,,,', ',NA,nan,,').replace('a,', '"a",'),
  ],
)
def test_marks_line_ends_blank_lines_and_quotes_do_not_matter(
  tmp_path, csv, change
):
  _, expected, _ = read(csv(ENDS))
  path = tmp_path / 'other.csv'
  path.write_bytes(change(textwrap.dedent(ENDS)).encode())
  for one, other in zip(read(path)[1], expected, strict=True):
    np.testing.assert_array_equal(one, other)


def _table(csv):
  return pd.read_csv(csv(ENDS))


def test_other_formats_give_the_same_rows(csv, tmp_path):
  _, expected, _ = read(csv(ENDS))
  table = _table(csv)
  with gzip.open(tmp_path / 'log.csv.gz', 'wt') as stream:
    stream.write(textwrap.dedent(ENDS))
  table.to_parquet(tmp_path / 'log.parquet')
  arrays = {name: table[name].to_numpy() for name in table}
  arrays['episode'] = arrays['episode'].astype(str)
  arrays['obs_0'] = arrays['obs_0'].reshape(-1, 1)
  np.savez(tmp_path / 'log.npz', **arrays)
  # By their content, without a name that tells.
  for name in ('log.csv.gz', 'log.parquet', 'log.npz'):
    (tmp_path / name.replace('.', '_')).write_bytes(
      (tmp_path / name).read_bytes()
    )
  for name in (
    'log.csv.gz',
    'log.parquet',
    'log.npz',
    'log_csv_gz',
    'log_parquet',
    'log_npz',
  ):
    for one, other in zip(read(tmp_path / name)[1], expected, strict=True):
      np.testing.assert_array_equal(one, other, name)


def test_parquet_lists_of_fixed_size_are_observations(tmp_path):
  import pyarrow as pa
  from pyarrow import parquet

  parquet.write_table(
    pa.table(
      {
        'episode': pa.array(['a', 'a']).dictionary_encode(),
        'observation': pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2)),
        'action': [1, 0],
        'reward': [0.5, 1.0],
        'terminated': [False, True],
      }
    ),
    tmp_path / 'log.parquet',
  )
  np.testing.assert_array_equal(
    read(tmp_path / 'log.parquet')[1].observation, [[1, 2], [3, 4], [3, 4]]
  )
