"""`dfiv-ope evaluate` on a log and a policy of one's own."""

import collections
import dataclasses
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dfiv_ope import agents, testing
from dfiv_ope.agents import configured
from dfiv_ope.evaluation import inference, row_intervals, selection_fits
from dfiv_ope.launch import runner, runtime
from dfiv_ope.launch.experiments import inputs, jobs, ope_run, plan, store
from dfiv_ope.launch.reporting import selection_table, summary_table
from dfiv_ope.policies import identity
from dfiv_ope.results import files, problems
from dfiv_ope.results import rows as rows_lib

_ROWS, _LENGTH = 3_000, 10
# Action 1 is rewarded in state 1, action 0 in state 0, and states are drawn
# anew at each step: right actions earn 1 a step.
_RIGHT = sum(0.9**step for step in range(_LENGTH))


@pytest.fixture(scope='module')
def log(command, tmp_path_factory):
  """A log of uniform actions, imported, with the right policy as columns."""
  folder = tmp_path_factory.mktemp('own')
  generator = np.random.default_rng(0)
  state, action = generator.integers(2, size=(2, _ROWS))
  step = np.arange(_ROWS) % _LENGTH
  pd.DataFrame(
    {
      'episode': np.arange(_ROWS) // _LENGTH,
      'step': step,
      'obs_state': state,
      'obs_left': _LENGTH - step,
      'action': np.where(action, 'go', 'stay'),
      'reward': (state == action) + 0.5 * generator.standard_normal(_ROWS),
      'terminated': (step == _LENGTH - 1).astype(int),
      'target_probability_go': state.astype(float),
      'target_probability_stay': 1.0 - state,
    }
  ).to_csv(folder / 'log.csv', index=False)
  (folder / 'own.py').write_text(
    'import numpy as np\n\n\ndef right(observations):\n'
    "  return np.where(observations[:, 0] > 0.5, 'go', 'stay')\n\n\n"
    'def broken(observations):\n  return observations\n'
  )
  result = command(
    'dataset',
    'import',
    'log.csv',
    '--discount',
    '0.9',
    '--out',
    'data',
    cwd=folder,
  )
  assert result.returncode == 0, result.stderr
  return folder


@pytest.fixture(scope='module')
def evaluated(command, log):
  """The right policy, as a function and as columns, and uniform actions."""
  return {
    policy: command(
      'evaluate',
      'data',
      '--policy',
      policy,
      '--method',
      'lstd',
      '--seeds',
      '2',
      '--set',
      'random_features=20',
      '--out',
      'runs',
      cwd=log,
    )
    for policy in ('own:right', 'columns', 'uniform')
  }


def test_the_value_of_a_known_policy_is_found_with_its_interval(evaluated, log):
  assert [each.returncode for each in evaluated.values()] == [0, 0, 0]
  rows = [row for row in files.read(log / 'runs') if row.method == 'lstd']
  assert len(rows) == 6
  found = {}
  for row in rows:
    found.setdefault(row.problem.policy.split()[-1], []).append(row)
  for policy, value in (
    ('own:right', _RIGHT),
    ('log', _RIGHT),
    ('probability', _RIGHT / 2.0),
  ):
    for row in found[policy]:
      error = row.metrics['data_error']
      assert abs(row.metrics['estimate'] - value) < 4.0 * error
      # Noise of 0.5 over ten discounted steps and 300 episodes gives 0.062
      # if each step is averaged on its own, less if they are pooled.
      assert 0.02 < error < 0.15
      assert len(row.resamples) == 200
      # The features of the weights are those of the method.
      assert row.metrics['overlap_features'] == 20.0
      assert row.metrics['columns'] == 42.0
      assert row.metrics['heavy_share'] < inference.HEAVY
  # Half of the log tells of the right policy, all of it of uniform actions.
  assert (
    found['own:right'][0].metrics['data_error']
    > 1.2 * found['probability'][0].metrics['data_error']
  )


def test_the_same_policy_in_two_ways_has_the_same_value(evaluated, log):
  rows = [
    row
    for row in files.read(log / 'runs')
    if row.method == 'lstd' and row.seed == 0
  ]
  function, columns = rows[0].metrics, rows[1].metrics
  assert function['estimate'] == pytest.approx(columns['estimate'], rel=1e-5)
  assert rows[0].problem.target != rows[1].problem.target


def test_the_table_says_interval_and_overlap(evaluated):
  for result in evaluated.values():
    for words in ('low', 'high', 'lstd', '(log)', 'Overlap is'):
      assert words in result.stdout
    assert 'truth' not in result.stdout


def test_the_policy_is_compared_with_the_log_by_paired_draws(evaluated, log):
  rows = [
    row
    for row in files.read(log / 'runs')
    if row.problem.policy.endswith('own:right')
  ]
  naive = next(row for row in rows if row.method == 'log')
  runs = [row for row in rows if row.method == 'lstd']
  assert np.std(naive.resamples) == pytest.approx(
    naive.problem.log_standard_error, rel=0.2
  )
  found = row_intervals.difference(runs, naive, level=0.95)
  assert 0.0 < found.low < found.estimate < found.high
  assert found.low < _RIGHT / 2.0 < found.high
  text = ' '.join(evaluated['own:right'].stdout.split())
  assert (
    'Paired difference to the behaviour policy by lstd: '
    f'{found.estimate:+.3g} (95 % confidence interval'
  ) in text
  assert 'The target policy does better than the behaviour policy.' in text


def test_rows_say_how_well_states_and_actions_tell_what_follows(evaluated, log):
  for row in files.read(log / 'runs'):
    if row.method != 'lstd':
      continue
    # The value falls with the steps that are left, which are observed.
    assert row.metrics['first_stage_r2'] > 0.9
    assert row.metrics['first_stage_f'] > 1e3
    assert 0.9 < row.metrics['first_stage_value_1'] <= 1.0
    assert row.metrics['first_stage_rank'] > 1.0
    assert row.metrics.get('first_stage_lost_share', 0.0) < 0.3
  for result in evaluated.values():
    assert 'Weak first stage' not in result.stdout


def test_a_weak_first_stage_is_printed(evaluated, log, capsys):
  weak = {
    'first_stage_r2': 0.02,
    'first_stage_f': 7.0,
    'first_stage_lost_share': 0.62,
  }
  rows = [
    dataclasses.replace(
      row, metrics={**row.metrics, **(weak if row.method == 'lstd' else {})}
    )
    for row in files.read(log / 'runs')
    if row.problem.policy.endswith('own:right')
  ]
  summary_table.print_table(rows)
  text = ' '.join(capsys.readouterr().out.split())
  assert (
    'Weak first stage: of the discounted next value (s, a) predicts 2 % '
    'by lstd (F of the held-out index 7) on held-out rows'
  ) in text
  assert '62 % of what states and actions tell of the reward' in text


def test_the_same_command_runs_nothing_again(evaluated, command, log):
  before = (log / 'runs/rows.jsonl').read_bytes()
  for row in files.read(log / 'runs')[1:3]:
    again = command(*row.command.split()[1:], cwd=log)
    assert again.returncode == 0, again.stderr
    # The seeds up to its own, and the log's average.
    count = row.seed + 2
    assert f'{count} of {count} runs have their rows' in again.stderr
  assert (log / 'runs/rows.jsonl').read_bytes() == before


# The real command with default configs whose runs are over at once.
_TINY = """
import dataclasses
from dfiv_ope import agents
for entry in agents.ENTRIES.values():
  entry.configs['default'] = dataclasses.replace(
      entry.configs['default'], **entry.tiny)
from dfiv_ope.launch import main
main.main()
"""


def test_without_options_three_methods_run_into_the_current_directory(
  log, tmp_path
):
  shutil.copy(log / 'own.py', tmp_path)
  result = subprocess.run(
    [
      sys.executable,
      '-c',
      _TINY,
      'evaluate',
      str(log / 'data'),
      '--policy',
      'own:right',
    ],
    cwd=tmp_path,
    capture_output=True,
    text=True,
  )
  assert result.returncode == 0, result.stderr
  assert (
    'No --method: running lstd, kiv, fqe into runs. Others: dfiv, '
    f'{", ".join(agents.NAMES[4:])}, all, or auto to select one.'
  ) in result.stderr
  rows = files.read(tmp_path / 'runs')
  assert collections.Counter(row.method for row in rows) == {
    'log': 1,
    'lstd': 3,
    'kiv': 3,
    'fqe': 3,
  }
  for method in ('lstd', 'kiv', 'fqe'):
    mean = np.mean(
      [row.metrics['estimate'] for row in rows if row.method == method]
    )
    (line,) = (
      line.split()
      for line in result.stdout.splitlines()
      if line.split()[:1] == [method]
    )
    assert line[2:4] == ['3', f'{mean:#.5g}']


_BOTH = (
  '--method',
  'lstd:random_features=20',
  '--method',
  'fqe:updates=4,checks=2,batch_size=32',
  '--seeds',
  '1',
)
_POLICIES = ('right=own:right', 'even=uniform')


@pytest.fixture(scope='module')
def compared(command, log):
  """Two policies in one call."""
  result = command(
    'evaluate',
    'data',
    *(f'--policy={each}' for each in _POLICIES),
    *_BOTH,
    '--out',
    'together',
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  return result


def test_two_policies_in_one_call_have_the_rows_of_two_calls(
  compared, command, log
):
  for policy in _POLICIES:
    result = command(
      'evaluate', 'data', '--policy', policy, *_BOTH, '--out', 'apart', cwd=log
    )
    assert result.returncode == 0, result.stderr
    assert 'Policies on' not in result.stdout
  together = testing.comparable_rows(log / 'together')
  assert len(together) == 6
  assert together == testing.comparable_rows(log / 'apart')


def _paired(log, method):
  """Rows of both policies, and the interval of uniform less right actions."""
  rows = {
    row.problem.policy: row
    for row in files.read(log / 'together')
    if row.method == method
  }
  right, even = (
    row_intervals.draws([rows[name]]) for name in ('right', 'even')
  )
  return rows, even.less(right).interval(0.95)


def test_policies_are_compared_by_the_same_resamples(compared, log):
  text = ' '.join(compared.stdout.split())
  assert 'Policies on data by fqe' in text
  table = text.split('Policies on data by lstd')[1].split('Policies on')[0]
  rows, paired = _paired(log, 'lstd')
  assert paired.estimate == pytest.approx(
    rows['even'].metrics['estimate'] - rows['right'].metrics['estimate']
  )
  assert paired.high < 0.0
  assert f'right {rows["right"].metrics["estimate"]:.5g} 1.00' in table
  assert (
    f'even {rows["even"].metrics["estimate"]:.5g} {paired.estimate:+.4g} '
    f'{paired.low:+.4g} {paired.high:+.4g} 0.00'
  ) in table


def test_json_of_two_policies_says_what_their_rows_do(compared, command, log):
  result = command(
    'evaluate',
    'data',
    *(f'--policy={each}' for each in _POLICIES),
    *_BOTH,
    '--out',
    'together',
    '--json',
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  found = json.loads(result.stdout)
  assert [each['policy'] for each in found['answers']] == ['right', 'even']
  for answer in found['answers']:
    for line in answer['estimates']:
      (row,) = (
        row
        for row in files.read(log / 'together')
        if (row.method, row.problem.policy)
        == (line['method'], answer['policy'])
      )
      assert line['estimate'] == row.metrics['estimate']
      assert answer['target'] == row.problem.target
      assert line['error'] is answer['truth'] is None
  assert {each['method'] for each in found['comparisons']} == {'lstd', 'fqe'}
  (lstd,) = (
    each['policies']
    for each in found['comparisons']
    if each['method'] == 'lstd'
  )
  rows, paired = _paired(log, 'lstd')
  assert [(line['policy'], line['estimate']) for line in lstd] == [
    (name, rows[name].metrics['estimate']) for name in ('right', 'even')
  ]
  assert [lstd[0][name] for name in ('difference', 'low', 'high')] == [None] * 3
  assert [lstd[1][name] for name in ('difference', 'low', 'high')] == [
    paired.estimate,
    paired.low,
    paired.high,
  ]
  assert [line['probability_of_best'] for line in lstd] == [1.0, 0.0]


@pytest.mark.parametrize(
  'arguments, words',
  [
    ((), 'is an imported log without a target policy'),
    (('--policy', 'own:broken'), 'own:broken returned'),
    (('--policy', 'own:none'), 'own has no function none'),
    (('--policy', 'nowhere'), "no file or directory 'nowhere'"),
    (('--policy', 'uniform', '--target-epsilon', '0.1'), 'cannot go with'),
    (('--policy', 'uniform', '--interval', '1.5'), 'must lie in (0, 1)'),
  ],
)
def test_policies_that_are_none_are_refused(command, log, arguments, words):
  assert words in command.refuses(
    'evaluate',
    'data',
    '--method',
    'lstd',
    '--out',
    'other',
    *arguments,
    cwd=log,
  )


def test_check_compares_a_policy_with_the_log(command, log):
  result = command('dataset', 'check', 'data', '--policy', 'uniform', cwd=log)
  assert result.returncode == 0, result.stderr
  for words in (
    'is sound',
    'effective sample size',
    'Overlap is good',
    '186 random features per action, as many as rows allow, bandwidth 0.5',
  ):
    assert words in result.stdout


@pytest.fixture(scope='module')
def half(command, log):
  """The same log, asked for its value at a discount of a half."""
  result = command(
    'dataset',
    'import',
    'log.csv',
    '--discount',
    '0.5',
    '--out',
    'half',
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  return log / 'half'


def test_two_discounts_share_a_directory_and_nothing_else(command, log, half):
  def ask(dataset):
    result = command(
      'evaluate',
      dataset,
      '--policy',
      'columns',
      '--method',
      'lstd',
      '--seeds',
      '1',
      '--set',
      'random_features=20',
      '--out',
      'shared',
      cwd=log,
    )
    assert result.returncode == 0, result.stderr
    return result

  first, second, again = ask('data'), ask(half), ask('data')
  assert 'data, discount 0.9' in first.stdout
  assert 'half, discount 0.5' in second.stdout
  assert '2 of 2 runs have their rows' in again.stderr
  assert again.stdout == first.stdout
  rows = files.read(log / 'shared')
  assert rows[0].problem.digest == rows[2].problem.digest
  assert len({row.key for row in rows}) == len(rows_lib.latest(rows)) == 4
  found = {
    row.problem.discount: row.metrics for row in rows if row.method == 'lstd'
  }
  for discount in (0.9, 0.5):
    value = sum(discount**step for step in range(_LENGTH))
    error = found[discount]['data_error']
    assert abs(found[discount]['estimate'] - value) < 4.0 * error


def _asked(path):
  """Uniform actions on a dataset."""
  return inputs.OnLog(
    dataset=path,
    policy='uniform',
    directory=path.parent,
    target=identity.identify(
      'uniform', **inputs.open_log(path).for_policies()
    ).digest,
  )


def test_a_run_does_not_go_on_from_one_at_another_discount(log, half, tmp_path):
  wanted = configured.configure(
    'fqe', settings=['updates=6', 'checks=3', 'batch_size=64']
  )
  shared, alone = (
    store.Places(tmp_path / name) for name in ('shared', 'alone')
  )

  def run(path, places):
    return ope_run.run(
      jobs.Experiment(problem=_asked(path), seed=0, **wanted._asdict()),
      places,
      lambda share, note: None,
    )

  other = run(log / 'data', shared)
  row = run(half, shared)  # The other left checkpoints.
  expected = run(half, alone)
  assert row.metrics == expected.metrics
  assert row.metrics['estimate'] != other.metrics['estimate']
  assert row.key != other.key
  assert len(list((shared.out / 'checkpoints').iterdir())) == 2


@pytest.fixture
def choose(tmp_path, monkeypatch):
  """Chooses between configs in this process; returns what came of it."""
  monkeypatch.setattr(runtime, 'start', lambda **_: None)

  def run(path, wanted):
    have = store.Store(store.Places(tmp_path))
    return runner.run(
      [plan.choice(_asked(path), wanted)],
      have,
      runner.executor(1, None),
      title='Choosing',
    )

  return run


def _chosen(finished):
  """The method and config that was chosen, of those that were not."""
  assert not finished.summary.failed
  (best,) = (row for row in finished.rows if row.metrics.get('chosen'))
  return best.method, best.config


def test_a_choice_is_one_of_its_discount_and_of_its_judge(
  log, half, tmp_path, choose, monkeypatch
):
  wanted = [
    configured.configure('lstd', settings=[f'random_features={size}'])
    for size in (2, 20)
  ]
  for path in (log / 'data', half):
    choose(path, wanted)
  assert len(files.read(tmp_path)) == 4
  monkeypatch.setattr(
    plan, '_JUDGE', dataclasses.replace(plan._JUDGE, features=20)
  )
  choose(half, wanted)
  rows = files.read(tmp_path)
  assert len({row.key for row in rows}) == len(rows) == 6
  assert [row.problem.judge.features for row in rows] == [100] * 4 + [20] * 2


# What stands in a run directory, and what is said of it.
_FOREIGN = {
  'an older format': (
    lambda line: json.dumps({**json.loads(line), 'format': 2}),
    'was written by another version of dfiv-ope (an older one: format 2',
  ),
  'the first format': (
    lambda line: json.dumps(
      {
        name: value
        for name, value in json.loads(line).items()
        if name not in ('format', 'inference')
      }
    ),
    'was written by another version of dfiv-ope (an older one: format 1',
  ),
  'a newer format': (
    lambda line: json.dumps({**json.loads(line), 'format': 99}),
    'was written by another version of dfiv-ope (a newer one: format 99',
  ),
  'no row': (lambda line: '{"half": ', 'Line 1 of'),
}


@pytest.mark.parametrize('kind', _FOREIGN)
def test_rows_that_cannot_be_read_are_not_gone_on_with(
  evaluated, command, log, tmp_path, kind
):
  change, words = _FOREIGN[kind]
  file = tmp_path / 'runs/rows.jsonl'
  file.parent.mkdir()
  line = (log / 'runs/rows.jsonl').read_text().splitlines()[0]
  file.write_text(change(line) + '\n')
  before = file.read_bytes()
  message = command.refuses(
    'evaluate',
    'data',
    '--policy',
    'uniform',
    '--method',
    'lstd',
    '--out',
    file.parent,
    cwd=log,
  )
  assert words in message and str(file) in message
  assert file.read_bytes() == before
  assert [each.name for each in file.parent.iterdir()] == ['rows.jsonl']


# Values that cannot depend on anything.
_POOR = configured.configure(
  'kiv', settings=['random_features=2', 'stage2_penalties=(1e3,)']
)
_GOOD = configured.configure('lstd', settings=['random_features=20'])


def test_auto_takes_the_candidate_that_held_out_episodes_prefer(
  log, tmp_path, choose
):
  best = (_GOOD.method, _GOOD.encoded)
  assert _chosen(choose(log / 'data', [_GOOD, _POOR])) == best
  rows = {row.method: row.metrics for row in files.read(tmp_path)}
  assert rows['lstd']['chosen'] == 1.0 and rows['kiv']['chosen'] == 0.0
  assert rows['lstd']['tournament'] < rows['kiv']['tournament']
  assert not list((tmp_path / 'selection').iterdir())
  again = choose(log / 'data', [_GOOD, _POOR])
  assert not again.summary.wall and _chosen(again) == best
  assert len(files.read(tmp_path)) == 2


def test_auto_chooses_between_configs_and_scores_hold_among_them(command, log):
  def choose(*methods):
    result = command(
      'evaluate',
      'data',
      '--policy',
      'uniform',
      '--method',
      'auto',
      *(f'--method={each}' for each in methods),
      '--seeds',
      '1',
      '--out',
      'chosen',
      cwd=log,
    )
    assert result.returncode == 0, result.stderr
    return ' '.join(result.stdout.split())

  good = 'lstd:random_features=20,penalty=1e-6'
  # Values that are next to nothing.
  poor = 'lstd:random_features=20,penalty=1e3'
  text = choose(good, poor)
  assert 'Selected LSTD-Q (penalty=1e-06): lowest held-out correlation' in text
  assert 'lstd custom 1' in text
  choose(good, 'lstd:random_features=2,penalty=1e-6')
  rows = [
    row
    for row in files.read(log / 'chosen')
    if isinstance(row.problem, problems.Selection)
  ]
  chosen = [row.metrics['chosen'] for row in rows]
  assert len(rows) == 4
  assert chosen[:2] == [1.0, 0.0]
  assert sum(chosen[2:]) == 1.0
  # The same candidate among others is another row, so nothing was lost.
  assert len({row.key for row in rows}) == 4


def test_auto_with_two_workers_gives_the_rows_of_one(command, log):
  for workers in (1, 2):
    result = command(
      'evaluate',
      'data',
      '--policy',
      'uniform',
      '--method',
      'auto',
      *_BOTH,
      '--workers',
      workers,
      '--out',
      f'auto-{workers}',
      cwd=log,
    )
    assert result.returncode == 0, result.stderr
    out = log / f'auto-{workers}'
    assert not [*out.glob('selection/*'), *out.glob('checkpoints/*')]
  rows = testing.comparable_rows(log / 'auto-1')
  assert rows == testing.comparable_rows(log / 'auto-2')
  # Two candidates, the log's average and the one that was chosen.
  assert sorted(row['problem']['kind'] for row in rows) == [
    'selection',
    'selection',
    'user_log',
    'user_log',
  ]


def test_auto_needs_something_to_choose_from(command, log):
  assert 'Name at least two others beside it' in command.refuses(
    'evaluate',
    'data',
    '--policy',
    'uniform',
    '--method',
    'auto',
    '--method',
    'lstd',
    '--out',
    'other',
    cwd=log,
  )


def test_auto_needs_two_episodes(command, tmp_path):
  pd.DataFrame(
    {
      'episode': 0,
      'step': np.arange(40),
      'obs_x': np.arange(40) % 3,
      'action': np.arange(40) % 2,
      'reward': 1.0,
      'terminated': np.arange(40) == 39,
    }
  ).to_csv(tmp_path / 'log.csv', index=False)
  imported = command(
    'dataset',
    'import',
    'log.csv',
    '--discount',
    '0.9',
    '--out',
    'data',
    cwd=tmp_path,
  )
  assert imported.returncode == 0, imported.stderr
  assert 'takes two episodes, one to fit and one to judge' in command.refuses(
    'evaluate',
    'data',
    '--policy',
    'uniform',
    '--method',
    'auto',
    '--method',
    'lstd',
    '--method',
    'kiv',
    '--out',
    'runs',
    cwd=tmp_path,
  )
  # Nor does one episode have an interval.
  result = command(
    'evaluate',
    'data',
    '--policy',
    'uniform',
    '--method',
    'lstd',
    '--seeds',
    '1',
    '--set',
    'random_features=4',
    '--out',
    'runs',
    cwd=tmp_path,
  )
  assert result.returncode == 0, result.stderr
  assert 'No interval: 1 episode says too little' in result.stdout
  (line,) = [
    line.split()
    for line in result.stdout.splitlines()
    if line.split()[:1] == ['lstd']
  ]
  # Method, config, seeds, estimate, verdict and CPU seconds: no ends.
  assert line[4:6] == ['do', 'not']
  assert len(line) == 7
  # What so many features need is said at once.
  assert '2 actions x 3,001 features = 6,002 columns' in (
    command.refuses(
      'evaluate',
      'data',
      '--policy',
      'uniform',
      '--method',
      'lstd',
      '--set',
      'random_features=3000',
      '--out',
      'runs',
      cwd=tmp_path,
    )
  )


def _diverging(rate):
  return configured.configure(
    'fqe',
    settings=[
      'updates=4',
      'checks=2',
      'batch_size=32',
      f'learning_rate={rate}',
    ],
  )


def test_a_candidate_that_diverges_is_not_chosen(log, tmp_path, choose, capsys):
  finished = choose(log / 'data', [_diverging(1e9), _GOOD])
  assert _chosen(finished) == (_GOOD.method, _GOOD.encoded)
  selection_table.show(finished.rows)
  text = ' '.join(capsys.readouterr().out.split())
  assert 'FQE diverged -' in text
  rows = files.read(tmp_path)
  assert [row.outcome for row in rows] == ['diverged', 'finished']
  again = choose(log / 'data', [_diverging(1e9), _GOOD])
  assert not again.summary.wall and len(files.read(tmp_path)) == 2


@pytest.mark.parametrize(
  'broken',
  [
    {(0, 'lstd'), (0, 'kiv'), (1, 'lstd'), (1, 'kiv')},
    # One on each half: none has been judged on all episodes.
    {(0, 'lstd'), (1, 'kiv')},
  ],
)
def test_candidates_that_all_diverged_are_not_chosen(
  log, tmp_path, choose, monkeypatch, broken
):
  save = selection_fits.Fit.save

  def diverge(fit, path):
    half = int(path.stem[-1])
    method = 'kiv' if len(written) % 2 else 'lstd'
    written.append(path)
    save(
      fit._replace(divergence='too large') if (half, method) in broken else fit,
      path,
    )

  written = []
  monkeypatch.setattr(selection_fits.Fit, 'save', diverge)
  finished = choose(log / 'data', [_GOOD, _POOR])
  (said,) = finished.summary.failed.values()
  assert 'Every candidate diverged on half of the episodes' in said
  assert finished.rows == [] and len(written) == 4
  assert not (tmp_path / 'rows.jsonl').exists()


def test_auto_says_in_a_sentence_that_all_candidates_diverge(command, log):
  message = command.refuses(
    'evaluate',
    'data',
    '--policy',
    'uniform',
    '--method',
    'auto',
    *(
      f'--method=fqe:updates=4,checks=2,batch_size=32,learning_rate={rate}'
      for rate in ('1e9', '1e8')
    ),
    '--out',
    'diverging',
    cwd=log,
  )
  assert 'Every candidate diverged on half of the episodes' in message
  assert not (log / 'diverging/rows.jsonl').exists()
