"""`dfiv-ope evaluate` with methods that weigh a log; `auto` over them."""

import json

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.results import files

_EPISODES, _LENGTH = 60, 3


@pytest.fixture(scope='module')
def log(command, tmp_path_factory):
  """A log of uniform actions with their probabilities; one pays one."""
  folder = tmp_path_factory.mktemp('weighing')
  generator = np.random.default_rng(0)
  rows = _EPISODES * _LENGTH
  state, action = generator.integers(2, size=(2, rows))
  step = np.arange(rows) % _LENGTH
  frame = pd.DataFrame(
    {
      'episode': np.arange(rows) // _LENGTH,
      'step': step,
      'obs_state': state,
      'action': action,
      'reward': action + 0.0,
      'behaviour_probability': np.full(rows, 0.5),
      'terminated': (step == _LENGTH - 1).astype(int),
      'truncated': np.zeros(rows, int),
    }
  )
  frame.to_csv(folder / 'log.csv', index=False)
  frame.assign(terminated=0, truncated=frame.terminated).to_csv(
    folder / 'cut.csv', index=False
  )
  (folder / 'own.py').write_text(
    'import numpy as np\n\n\ndef mostly(observations):\n'
    '  return np.tile([0.3, 0.7], (len(observations), 1))\n'
  )
  for name in ('log', 'cut'):
    result = command(
      'dataset',
      'import',
      f'{name}.csv',
      '--discount',
      '0.9',
      '--out',
      name,
      cwd=folder,
    )
    assert result.returncode == 0, result.stderr
  return folder


def test_rows_are_written_once_and_shown(command, log):
  words = (
    'evaluate',
    'log',
    '--policy',
    'own:mostly',
    '--method',
    'wpdis',
    '--method',
    'tis:cap=2',
    '--seeds',
    '1',
    '--out',
    'runs',
  )
  first = command(*words, '--json', cwd=log)
  assert first.returncode == 0, first.stderr
  assert '"wpdis"' in first.stdout and json.loads(first.stdout)
  rows = {row.method: row for row in files.read(log / 'runs')}
  assert set(rows) == {'log', 'tis', 'wpdis'}
  assert rows['wpdis'].metrics['estimate'] == pytest.approx(
    0.7 * (1.0 + 0.9 + 0.81), rel=0.15
  )
  assert rows['tis'].config['cap'] == 2.0 and rows['tis'].custom
  assert rows['tis'].metrics['estimated_propensities'] == 0.0
  assert '--method wpdis' in rows['wpdis'].command
  before = (log / 'runs/rows.jsonl').read_bytes()
  again = command(*words, cwd=log)
  assert '3 of 3 runs have their rows' in again.stderr
  assert 'wpdis' in again.stdout
  assert (log / 'runs/rows.jsonl').read_bytes() == before


def test_a_truncated_log_is_answered_with_a_sentence(command, log):
  result = command(
    'evaluate',
    'cut',
    '--policy',
    'own:mostly',
    '--method',
    'wis',
    '--method',
    'lstd:random_features=4',
    '--seeds',
    '1',
    '--out',
    'cut-runs',
    cwd=log,
  )
  text = ' '.join((result.stdout + result.stderr).split())
  assert result.returncode == 1  # A run has no result.
  assert 'which estimate what follows; excluded from averages.' in text
  assert 'wis seed 0: refused: 60 of 60 episodes are truncated' in text
  rows = {row.method: row for row in files.read(log / 'cut-runs')}
  assert rows['wis'].outcome == 'refused' and not rows['lstd'].failed


def test_auto_chooses_by_estimated_errors_where_some_weigh_the_log(
  command, log
):
  result = command(
    'evaluate',
    'log',
    '--policy',
    'own:mostly',
    '--method',
    'auto',
    '--method',
    'wis',
    '--method',
    'lstd:random_features=4',
    '--seeds',
    '2',
    '--json',
    '--out',
    'auto',
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  (scores,) = json.loads(result.stdout)['selections']
  errors = {each['method']: each['estimated_error'] for each in scores}
  assert set(errors) == {'wis', 'lstd'}
  (chosen,) = [each['method'] for each in scores if each['chosen']]
  assert chosen == min(errors, key=errors.get)
  # All candidates have a run, the chosen one all of its seeds.
  seeds = [row.seed for row in files.read(log / 'auto') if row.method == chosen]
  assert sorted(seeds) == [0, 1]
