"""`dfiv-ope benchmark coverage`: run end to end at tiny size."""

import pytest

from dfiv_ope import results
from dfiv_ope.launch import coverage


@pytest.fixture(scope='module')
def counted(command, dataset, tmp_path_factory):
  """Two new logs like the dataset, two seeds on each."""
  out = tmp_path_factory.mktemp('coverage') / 'runs'
  arguments = ('benchmark', 'coverage', dataset, '--method', 'lstd', '--logs',
               '2', '--seeds', '2', '--set', 'random_features=20', '--out', out)
  return out, arguments, command(*arguments)


def test_every_log_has_an_interval_and_whether_it_holds(counted):
  out, _, result = counted
  assert result.returncode == 0, result.stderr
  rows = results.read(out)
  assert [row.problem['log'] for row in rows] == [0, 1]
  for row in rows:
    found, truth = row.metrics, row.problem['truth']
    assert found['low'] < found['estimate'] < found['high']
    assert found['covered'] == float(found['low'] <= truth <= found['high'])
    assert found['data_error'] > 0.
    # Of the target policy less the behaviour policy, by the same resamples.
    assert found['paired_low'] < found['paired_estimate'] < (
        found['paired_high'])
    assert found['paired_covered'] == float(
        found['paired_low'] <= found['paired_truth'] <= found['paired_high'])
  # The logs are drawn anew.
  assert rows[0].metrics['estimate'] != rows[1].metrics['estimate']
  share = 50. * sum(row.metrics['covered'] for row in rows)
  assert f'{share:.0f} %' in result.stdout


def test_the_same_command_runs_nothing_again(counted, command):
  out, arguments, first = counted
  before = (out / 'rows.jsonl').read_bytes()
  assert command(*arguments).stdout == first.stdout
  assert (out / 'rows.jsonl').read_bytes() == before


def test_a_method_that_diverges_holds_nothing(dataset, command, tmp_path):
  result = command(
      'benchmark', 'coverage', dataset, '--logs', '1', '--seeds', '2',
      '--method', 'fqe:updates=4,checks=2,learning_rate=1e9', '--out',
      tmp_path)
  assert result.returncode == 0, result.stderr
  (row,) = results.read(tmp_path)
  assert row.failure == 'diverged: all seeds'
  assert row.metrics == {'diverged': 2}
  assert ' 0 % ' in result.stdout


def test_intervals_of_two_policies_are_not_counted_together(capsys):
  def row(log, target, covered):
    return results.ResultRow(
        problem={
            'name': 'coverage', 'dataset': 'catch', 'log': log, 'level': 0.95,
            'truth': 1., 'target': target, 'seeds': 1},
        method='lstd', config={'a': 1}, seed=0, metrics={
            'estimate': 1., 'low': 0., 'high': 2., 'data_error': 0.5,
            'covered': covered, 'diverged': 0}, curves={}, cpu_seconds=1.,
        versions={'python': '3'})

  coverage._print([row(0, 'a' * 64, 1.), row(1, 'a' * 64, 1.),
                   row(0, 'b' * 64, 0.)])
  lines = [line for line in capsys.readouterr().out.splitlines()
           if 'lstd' in line]
  assert len(lines) == 2
  # Of each: the policy, the level, how many logs, how often it held in %.
  assert [[cell.split()[:1] for cell in line.strip('│ ').split('│')][2:6]
          for line in lines] == [
              [['aaaaaaaa'], ['95'], ['2'], ['100']],
              [['bbbbbbbb'], ['95'], ['1'], ['0']]]
