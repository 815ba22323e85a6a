"""`dfiv-ope evaluate` on a log and a policy of one's own."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from dfiv_ope import agents, results
from dfiv_ope.evaluation import inference
from dfiv_ope.launch import (
  answers,
  cells,
  choosing,
  intervals,
  questions,
)

_ROWS, _LENGTH = 3_000, 10
# Action 1 is rewarded in state 1, action 0 in state 0, and states are drawn
# anew at each step: right actions earn 1 a step.
_RIGHT = sum(0.9 ** step for step in range(_LENGTH))


@pytest.fixture(scope='module')
def log(command, tmp_path_factory):
  """A log of uniform actions, imported, with the right policy as columns."""
  folder = tmp_path_factory.mktemp('own')
  generator = np.random.default_rng(0)
  state, action = generator.integers(2, size=(2, _ROWS))
  step = np.arange(_ROWS) % _LENGTH
  pd.DataFrame({
      'episode': np.arange(_ROWS) // _LENGTH, 'step': step,
      'obs_state': state, 'obs_left': _LENGTH - step,
      'action': np.where(action, 'go', 'stay'),
      'reward': (state == action) + 0.5 * generator.standard_normal(_ROWS),
      'terminated': (step == _LENGTH - 1).astype(int),
      'target_probability_go': state.astype(float),
      'target_probability_stay': 1. - state,
  }).to_csv(folder / 'log.csv', index=False)
  (folder / 'own.py').write_text(
      'import numpy as np\n\n\ndef right(observations):\n'
      "  return np.where(observations[:, 0] > 0.5, 'go', 'stay')\n\n\n"
      'def broken(observations):\n  return observations\n')
  result = command('dataset', 'import', 'log.csv', '--discount', '0.9',
                   '--out', 'data', cwd=folder)
  assert result.returncode == 0, result.stderr
  return folder


@pytest.fixture(scope='module')
def evaluated(command, log):
  """The right policy, as a function and as columns, and uniform actions."""
  return {policy: command(
      'evaluate', 'data', '--policy', policy, '--method', 'lstd', '--seeds',
      '2', '--set', 'random_features=20', '--out', 'runs', cwd=log)
          for policy in ('own:right', 'columns', 'uniform')}


def test_the_value_of_a_known_policy_is_found_with_its_interval(
    evaluated, log):
  assert [each.returncode for each in evaluated.values()] == [0, 0, 0]
  rows = [row for row in results.read(log / 'runs') if row.method == 'lstd']
  assert len(rows) == 6
  found = {}
  for row in rows:
    found.setdefault(row.problem['policy'].split()[-1], []).append(row)
  for policy, value in (('own:right', _RIGHT), ('log', _RIGHT),
                        ('probability', _RIGHT / 2.)):
    for row in found[policy]:
      error = row.metrics['data_error']
      assert abs(row.metrics['estimate'] - value) < 4. * error
      # Noise of 0.5 over ten discounted steps and 300 episodes gives 0.062
      # if each step is averaged on its own, less if they are pooled.
      assert 0.02 < error < 0.15
      assert len(row.resamples) == 200
      # The features of the weights are those of the method.
      assert row.metrics['overlap_features'] == 20.
      assert row.metrics['columns'] == 42.
      assert row.metrics['heavy_share'] < inference.HEAVY
  # Half of the log tells of the right policy, all of it of uniform actions.
  assert (found['own:right'][0].metrics['data_error']
          > 1.2 * found['probability'][0].metrics['data_error'])


def test_the_same_policy_in_two_ways_has_the_same_value(evaluated, log):
  rows = [row for row in results.read(log / 'runs')
          if row.method == 'lstd' and row.seed == 0]
  function, columns = rows[0].metrics, rows[1].metrics
  assert function['estimate'] == pytest.approx(columns['estimate'], rel=1e-5)
  assert rows[0].problem['target'] != rows[1].problem['target']


def test_the_table_says_interval_and_overlap(evaluated):
  for result in evaluated.values():
    for words in ('low', 'high', 'lstd', '(log)', 'Overlap is'):
      assert words in result.stdout
    assert 'truth' not in result.stdout


def test_the_policy_is_compared_with_the_log_by_paired_draws(evaluated, log):
  rows = [row for row in results.read(log / 'runs')
          if row.problem['policy'].endswith('own:right')]
  naive = next(row for row in rows if row.method == 'log')
  runs = [row for row in rows if row.method == 'lstd']
  assert np.std(naive.resamples) == pytest.approx(
      naive.problem['log_standard_error'], rel=0.2)
  found = intervals.difference(runs, naive, level=0.95)
  assert 0. < found.low < found.estimate < found.high
  assert found.low < _RIGHT / 2. < found.high
  text = ' '.join(evaluated['own:right'].stdout.split())
  assert ('Paired difference to the behaviour policy by lstd: '
          f'{found.estimate:+.3g} (95 % confidence interval') in text
  assert 'The target policy does better than the behaviour policy.' in text


def test_rows_say_how_well_states_and_actions_tell_what_follows(
    evaluated, log):
  for row in results.read(log / 'runs'):
    if row.method != 'lstd':
      continue
    # The value falls with the steps that are left, which are observed.
    assert row.metrics['first_stage_r2'] > 0.9
    assert row.metrics['first_stage_f'] > 1e3
    assert 0.9 < row.metrics['first_stage_value_1'] <= 1.
    assert row.metrics['first_stage_rank'] > 1.
    assert row.metrics.get('first_stage_lost_share', 0.) < 0.3
  for result in evaluated.values():
    assert 'Weak first stage' not in result.stdout


def test_a_weak_first_stage_is_printed(evaluated, log, capsys):
  weak = {'first_stage_r2': 0.02, 'first_stage_f': 7.,
          'first_stage_lost_share': 0.62}
  rows = [
      dataclasses.replace(row, metrics={
          **row.metrics, **(weak if row.method == 'lstd' else {})})
      for row in results.read(log / 'runs')
      if row.problem['policy'].endswith('own:right')]
  answers.print_table(rows)
  text = ' '.join(capsys.readouterr().out.split())
  assert ('Weak first stage: of the discounted next value (s, a) predicts 2 % '
          'by lstd (F of the held-out index 7) on held-out rows') in text
  assert '62 % of what states and actions tell of the reward' in text


def test_the_same_command_runs_nothing_again(evaluated, command, log):
  row = results.read(log / 'runs')[1]
  again = command(*row.command.split()[1:], cwd=log)
  assert again.returncode == 0, again.stderr
  assert '1 of 1 runs have their rows' in again.stderr


@pytest.mark.parametrize('arguments, words', [
    ((), 'is an imported log without a target policy'),
    (('--policy', 'own:broken'), 'own:broken returned'),
    (('--policy', 'own:none'), 'own has no function none'),
    (('--policy', 'nowhere'), "no file or directory 'nowhere'"),
    (('--policy', 'uniform', '--target-epsilon', '0.1'), 'cannot go with'),
    (('--policy', 'uniform', '--interval', '1.5'), 'must lie in (0, 1)'),
])
def test_policies_that_are_none_are_refused(command, log, arguments, words):
  assert words in command.refuses(
      'evaluate', 'data', '--method', 'lstd', '--out', 'other', *arguments,
      cwd=log)


def test_check_compares_a_policy_with_the_log(command, log):
  result = command('dataset', 'check', 'data', '--policy', 'uniform', cwd=log)
  assert result.returncode == 0, result.stderr
  for words in ('is sound', 'effective sample size', 'Overlap is good',
                'random features per action, bandwidth 0.5'):
    assert words in result.stdout


@pytest.fixture(scope='module')
def half(command, log):
  """The same log, asked for its value at a discount of a half."""
  result = command('dataset', 'import', 'log.csv', '--discount', '0.5',
                   '--out', 'half', cwd=log)
  assert result.returncode == 0, result.stderr
  return log / 'half'


def test_two_discounts_share_a_directory_and_nothing_else(command, log, half):
  def ask(dataset):
    result = command(
        'evaluate', dataset, '--policy', 'columns', '--method', 'lstd',
        '--seeds', '1', '--set', 'random_features=20', '--out', 'shared',
        cwd=log)
    assert result.returncode == 0, result.stderr
    return result

  first, second, again = ask('data'), ask(half), ask('data')
  assert 'data, discount 0.9' in first.stdout
  assert 'half, discount 0.5' in second.stdout
  assert '1 of 1 runs have their rows' in again.stderr
  assert again.stdout == first.stdout
  rows = results.read(log / 'shared')
  assert rows[0].problem['digest'] == rows[2].problem['digest']
  assert len({row.key for row in rows}) == len(results.latest(rows)) == 4
  found = {row.problem['discount']: row.metrics for row in rows
           if row.method == 'lstd'}
  for discount in (0.9, 0.5):
    value = sum(discount ** step for step in range(_LENGTH))
    error = found[discount]['data_error']
    assert abs(found[discount]['estimate'] - value) < 4. * error


def _asked(path, out):
  return questions.Question(
      path, target_epsilon=0., out=out, policy='uniform')


def test_a_run_does_not_go_on_from_one_at_another_discount(
    log, half, tmp_path):
  cell = cells.Cell(
      method='fqe', preset='custom', seed=0, command='',
      config=agents.load('fqe').Config(updates=6, checks=3, batch_size=64))
  shared, alone = tmp_path / 'shared', tmp_path / 'alone'
  other = cells.compute(_asked(log / 'data', shared), cell, out=shared)
  question = _asked(half, shared)
  row = cells.compute(question, cell, out=shared)  # The other left checkpoints.
  expected = cells.compute(question, cell, out=alone)
  assert row.metrics == expected.metrics
  assert row.metrics['estimate'] != other.metrics['estimate']
  assert row.key != other.key
  assert len(list((shared / 'checkpoints').iterdir())) == 2


def test_a_choice_is_one_of_its_discount_and_of_its_judge(
    log, half, tmp_path, monkeypatch):
  wanted = [
      cells.Cell(method='lstd', preset='custom', seed=0, command='',
                 config=agents.load('lstd').Config(random_features=size))
      for size in (2, 20)]
  for path in (log / 'data', half):
    choosing.choose(_asked(path, tmp_path), wanted, out=tmp_path)
  assert len(results.read(tmp_path)) == 4
  monkeypatch.setattr(choosing, '_JUDGE_FEATURES', 20)
  choosing.choose(_asked(half, tmp_path), wanted, out=tmp_path)
  rows = results.read(tmp_path)
  assert len({row.key for row in rows}) == len(rows) == 6


def test_rows_of_an_older_version_are_not_gone_on_with(
    evaluated, command, log):
  (log / 'old').mkdir()
  line = dataclasses.asdict(results.read(log / 'runs')[0])
  del line['format'], line['inference']
  (log / 'old/rows.jsonl').write_text(json.dumps(line) + '\n')
  message = command.refuses(
      'evaluate', 'data', '--policy', 'uniform', '--method', 'lstd', '--out',
      'old', cwd=log)
  assert 'none of them is used again' in message
  assert 'give this command again' in message


def test_auto_takes_the_candidate_that_held_out_episodes_prefer(log, tmp_path):
  question = questions.Question(
      log / 'data', target_epsilon=0., out=tmp_path, policy='uniform')
  wanted = []
  for name, changes in (
      ('lstd', {'random_features': 20}),
      # Values that cannot depend on anything.
      ('kiv', {'random_features': 2, 'stage2_penalties': (1e3,)})):
    module = agents.load(name)
    wanted.append(cells.Cell(
        method=name, config=module.Config(**changes), preset='custom', seed=0,
        command=''))
  assert choosing.choose(question, wanted, out=tmp_path) == wanted[0]
  rows = {row.method: row.metrics for row in results.read(tmp_path)}
  assert rows['lstd']['chosen'] == 1. and rows['kiv']['chosen'] == 0.
  assert rows['lstd']['tournament'] < rows['kiv']['tournament']
  assert choosing.choose(question, wanted, out=tmp_path) == wanted[0]
  assert len(results.read(tmp_path)) == 2


def test_auto_chooses_between_configs_and_scores_hold_among_them(
    command, log):
  def choose(*methods):
    result = command(
        'evaluate', 'data', '--policy', 'uniform', '--method', 'auto',
        *(f'--method={each}' for each in methods), '--seeds', '1', '--out',
        'chosen', cwd=log)
    assert result.returncode == 0, result.stderr
    return ' '.join(result.stdout.split())

  good = 'lstd:random_features=20,penalty=1e-6'
  # Values that are next to nothing.
  poor = 'lstd:random_features=20,penalty=1e3'
  text = choose(good, poor)
  assert 'Selected LSTD-Q (penalty=1e-06): lowest held-out correlation' in text
  assert 'lstd custom 1' in text
  choose(good, 'lstd:random_features=2,penalty=1e-6')
  rows = [row for row in results.read(log / 'chosen')
          if row.problem['name'] == 'selection']
  chosen = [row.metrics['chosen'] for row in rows]
  assert len(rows) == 4
  assert chosen[:2] == [1., 0.]
  assert sum(chosen[2:]) == 1.
  # The same candidate among others is another row, so nothing was lost.
  assert len({row.key for row in rows}) == 4


def test_auto_needs_something_to_choose_from(command, log):
  assert 'Name at least two others beside it' in command.refuses(
      'evaluate', 'data', '--policy', 'uniform', '--method', 'auto',
      '--method', 'lstd', '--out', 'other', cwd=log)


def test_auto_needs_two_episodes(command, tmp_path):
  pd.DataFrame({
      'episode': 0, 'step': np.arange(40), 'obs_x': np.arange(40) % 3,
      'action': np.arange(40) % 2, 'reward': 1., 'terminated':
      np.arange(40) == 39}).to_csv(tmp_path / 'log.csv', index=False)
  imported = command('dataset', 'import', 'log.csv', '--discount', '0.9',
                     '--out', 'data', cwd=tmp_path)
  assert imported.returncode == 0, imported.stderr
  assert 'takes two episodes, one to fit and one to judge' in command.refuses(
      'evaluate', 'data', '--policy', 'uniform', '--method', 'auto',
      '--method', 'lstd', '--method', 'kiv', '--out', 'runs', cwd=tmp_path)
  # Nor does one episode have an interval.
  result = command(
      'evaluate', 'data', '--policy', 'uniform', '--method', 'lstd', '--seeds',
      '1', '--set', 'random_features=4', '--out', 'runs', cwd=tmp_path)
  assert result.returncode == 0, result.stderr
  assert 'No interval: 1 episode says too little' in result.stdout
  (line,) = [line.split() for line in result.stdout.splitlines()
             if line.split()[:1] == ['lstd']]
  assert len(line) == 5  # Method, config, seeds, estimate, CPU seconds.
  # What so many features need is said at once.
  assert '2 actions x 3,001 features = 6,002 columns' in (
      command.refuses(
          'evaluate', 'data', '--policy', 'uniform', '--method', 'lstd',
          '--set', 'random_features=3000', '--out', 'runs', cwd=tmp_path))


def test_a_candidate_that_diverges_is_not_chosen(log, tmp_path, capsys):
  question = questions.Question(
      log / 'data', target_epsilon=0., out=tmp_path, policy='uniform')
  fqe, lstd = agents.load('fqe'), agents.load('lstd')
  wanted = [
      cells.Cell(method='fqe', preset='custom', seed=0, command='',
                 config=fqe.Config(updates=4, checks=2, learning_rate=1e30)),
      cells.Cell(method='lstd', preset='custom', seed=0, command='',
                 config=lstd.Config(random_features=20))]
  assert choosing.choose(question, wanted, out=tmp_path) == wanted[1]
  text = ' '.join(capsys.readouterr().out.split())
  assert 'FQE diverged -' in text
  rows = results.read(tmp_path)
  assert [bool(row.failure) for row in rows] == [True, False]
  assert choosing.choose(question, wanted, out=tmp_path) == wanted[1]
  assert len(results.read(tmp_path)) == 2
  with pytest.raises(ValueError, match='Every candidate diverged'):
    choosing.choose(question, [wanted[0], dataclasses.replace(
        wanted[0], config=fqe.Config(
            updates=4, checks=2, learning_rate=1e29))], out=tmp_path)
