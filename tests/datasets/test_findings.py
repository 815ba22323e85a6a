"""Everything that is wrong with a log is named, each thing once."""

import numpy as np
import pytest

from dfiv_ope.datasets import columns, findings, logs

HEADER = (
  'episode,step,obs,action,reward,terminated,behaviour_probability,'
  'target_probability_0,target_probability_1'
)


def _found(tmp_path, *lines, **mapping):
  """Returns (first row, count, words) of all findings."""
  (tmp_path / 'log.csv').write_text('\n'.join([HEADER, *lines]))
  reader = logs.LogReader(tmp_path / 'log.csv', columns=columns.parse(mapping))
  found = []
  list(reader.blocks(report=found.append, progress=lambda _: None))
  return [
    (int(each.rows[0]), len(each.rows), each.words)
    for each in findings.joined(found)
  ]


@pytest.mark.parametrize(
  'line, words',
  [
    ('a,x,1,0,1,0,.5,.5,.5', "step is 'x', which is not a number"),
    ('a,1,x,0,1,0,.5,.5,.5', "obs is 'x', which is not a number"),
    ('a,1,1,0,x,0,.5,.5,.5', "reward is 'x', which is not a number"),
    ('a,1,1,0,1,x,.5,.5,.5', "terminated is 'x', but it should be true or"),
    ('a,1,1,0,1,0,x,.5,.5', "behaviour_probability is 'x', which is not"),
    ('a,1,1,0,1,0,.5,x,.5', "target_probability_0 is 'x', which is not"),
    ('a,1,1,.5,1,0,.5,.5,.5', 'action is .5, but actions must be whole'),
    ('a,1,1,0 \033,1,0,.5,.5,.5', r"the label '0 \x1b' has a control"),
  ],
)
def test_a_cell_that_cannot_be_read_is_one_finding(tmp_path, line, words):
  found = _found(
    tmp_path,
    'a,0,1,0,1,0,.5,.5,.5',
    line,
    'a,2,1,1,1,1,.5,.5,.5',
    'b,0,1,1,1,1,.5,.5,.5',
  )
  assert len(found) == 1, found
  assert found[0][:2] == (3, 1)
  assert found[0][2].startswith(words)


def test_dates_in_the_place_of_steps_get_an_offer(tmp_path):
  found = _found(
    tmp_path, 'a,2024-01-01,1,0,1,0,.5,.5,.5', 'a,2024-02-01,1,1,1,1,.5,.5,.5'
  )
  assert found == [
    (
      2,
      2,
      "step is '2024-01-01', which is not a number; steps are counted: leave "
      'step out where the rows of an episode stand in their order, or number '
      'them',
    )
  ]


def test_other_faults_of_the_same_row_are_found(tmp_path):
  found = _found(tmp_path, 'a,0,x,0,y,maybe,2,-1,x', 'a,0,1,1,1,1,.5,.5,.4')
  assert [words.split(',')[0] for *_, words in found] == [
    "obs is 'x'",
    "reward is 'y'",
    "terminated is 'maybe'",
    "target_probability_1 is 'x'",
    'behaviour_probability is not in (0',
    'a target probability is empty or not in [0',
    'the same step is there twice',
    'the target probabilities sum to 0.9',
  ]


def test_findings_of_several_chunks_are_joined():
  first, second = (
    findings.Finding('reward is not a number', rows - 2, rows, 'a', example)
    for rows, example in (
      (np.array([3, 4, 5]), "reward is 'x'"),
      (np.array([60_000, 60_001, 60_002]), "reward is 'y'"),
    )
  )
  other = findings.Finding('episode is empty', np.array([0]), np.array([2]))
  joined = findings.joined([first, other, second])
  assert [each.describe('log') for each in joined] == [
    'log, row 2: episode is empty.',
    "log, row 3 (episode a): reward is 'x'; so in 5 more rows (4, 5, 60000, "
    '60001, ...).',
  ]


def test_an_error_names_twenty_findings_and_counts_the_rest():
  found = [
    findings.Finding(
      f'column {each} is odd', np.array([each]), np.array([each + 2])
    )
    for each in range(23)
  ]
  error = findings.refusal(found, file='log', advice='Correct it.')
  assert str(error) == (
    'log is not sound: 23 things are wrong with it. The first: log, row 2: '
    'column 0 is odd. Correct it.'
  )
  assert len(error.__notes__) == 21
  assert error.__notes__[19:] == [
    'log, row 21: column 19 is odd.',
    '... and 3 more.',
  ]


def test_a_single_finding_is_the_whole_error():
  found = [findings.Finding('episode is empty', np.array([0]), np.array([2]))]
  error = findings.refusal(found, file='log', advice='Correct it.')
  assert str(error) == 'log, row 2: episode is empty. Correct it.'
  assert not hasattr(error, '__notes__')
