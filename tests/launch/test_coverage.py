"""`dfiv-ope benchmark coverage`: run end to end at tiny size."""

import json

import pytest

from dfiv_ope import testing
from dfiv_ope.launch.reporting import coverage
from dfiv_ope.results import files


@pytest.fixture(scope='module')
def counted(command, dataset, tmp_path_factory):
  """Two new logs like the dataset, two seeds on each."""
  out = tmp_path_factory.mktemp('coverage') / 'runs'
  arguments = (
    'benchmark',
    'coverage',
    dataset,
    '--method',
    'lstd',
    '--logs',
    '2',
    '--seeds',
    '2',
    '--set',
    'random_features=20',
    '--out',
    out,
  )
  return out, arguments, command(*arguments)


def test_every_log_has_an_interval_and_whether_it_holds(counted):
  out, _, result = counted
  assert result.returncode == 0, result.stderr
  rows = files.read(out)
  assert [row.problem.log for row in rows] == [0, 1]
  for row in rows:
    found, truth = row.metrics, row.problem.truth
    assert found['low'] < found['estimate'] < found['high']
    assert found['covered'] == float(found['low'] <= truth <= found['high'])
    assert found['data_error'] > 0.0
    # Of the target policy less the behaviour policy, by the same resamples.
    assert (
      found['paired_low'] < found['paired_estimate'] < (found['paired_high'])
    )
    assert found['paired_covered'] == float(
      found['paired_low'] <= found['paired_truth'] <= found['paired_high']
    )
  # The logs are drawn anew.
  assert rows[0].metrics['estimate'] != rows[1].metrics['estimate']
  share = 50.0 * sum(row.metrics['covered'] for row in rows)
  assert f'{share:.0f} %' in result.stdout


def test_the_same_command_runs_nothing_again(counted, command):
  out, arguments, first = counted
  before = (out / 'rows.jsonl').read_bytes()
  again = command(*arguments)
  assert again.stdout == first.stdout
  assert '2 of 2 runs have their rows' in again.stderr
  assert (out / 'rows.jsonl').read_bytes() == before


def test_json_is_all_that_is_printed_and_says_what_the_rows_do(
  counted, command
):
  out, arguments, _ = counted
  result = command(*arguments, '--json')
  assert result.returncode == 0, result.stderr
  (study,) = json.loads(result.stdout)
  rows = files.read(out)
  held = sum(row.metrics['covered'] for row in rows)
  assert (study['method'], study['logs'], study['seeds']) == ('lstd', 2, 2)
  assert study['held'] == held and study['share'] == held / 2.0
  assert study['config'] == rows[0].config
  assert study['truth'] == rows[0].problem.truth
  assert study['mean_error'] == pytest.approx(
    sum(abs(row.metrics['estimate'] - row.problem.truth) for row in rows) / 2.0
  )
  assert study['mean_half_width'] == pytest.approx(
    sum(row.metrics['high'] - row.metrics['low'] for row in rows) / 4.0
  )


def test_two_workers_give_the_rows_of_one(counted, command, tmp_path):
  out, arguments, first = counted
  result = command(*arguments[:-1], tmp_path, '--workers', '2')
  assert result.returncode == 0, result.stderr
  assert testing.comparable_rows(tmp_path) == testing.comparable_rows(out)
  assert result.stdout == first.stdout


def test_a_method_that_diverges_holds_nothing(dataset, command, tmp_path):
  result = command(
    'benchmark',
    'coverage',
    dataset,
    '--logs',
    '1',
    '--seeds',
    '2',
    '--method',
    'fqe:updates=4,checks=2,learning_rate=1e9',
    '--out',
    tmp_path,
  )
  assert result.returncode == 0, result.stderr
  (row,) = files.read(tmp_path)
  assert (row.outcome, row.reason) == ('diverged', 'all seeds')
  assert row.metrics == {'diverged': 2}
  assert ' 0 % ' in result.stdout


def test_intervals_of_two_policies_are_not_counted_together(
  ope_row, coverage_row, capsys
):
  made = [
    coverage_row(ope_row('lstd'), log, covered, problem={'target': target * 64})
    for log, target, covered in ((0, 'a', 1), (1, 'a', 1), (0, 'b', 0))
  ]
  coverage.show(made)
  lines = [
    line.split()
    for line in capsys.readouterr().out.splitlines()
    if 'lstd' in line
  ]
  # Of each: the log, the policy, the level, how many logs, how often it held.
  assert [line[1:7] for line in lines] == [
    ['catch', 'aaaaaaaa', '95', '%', '2', '100'],
    ['catch', 'bbbbbbbb', '95', '%', '1', '0'],
  ]
