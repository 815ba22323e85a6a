"""Transitions without episodes, from a file to a value."""

import json

import numpy as np
import pandas as pd


def test_transitions_are_imported_and_need_start_states(command, tmp_path):
  generator = np.random.default_rng(0)
  states = generator.uniform(-1.0, 3.0, 2_000)
  actions = generator.integers(2, size=2_000)
  pd.DataFrame(
    {
      'obs_x': states,
      'action': actions,
      'reward': states,
      'next_obs_x': 0.5 * states + actions + generator.normal(0.0, 0.1, 2_000),
      'terminated': 0,
    }
  ).to_csv(tmp_path / 'log.csv', index=False)
  (tmp_path / 'starts.csv').write_text('obs_x\n1\n')
  (tmp_path / 'own.py').write_text(
    'import numpy as np\n\n\ndef one(s):\n  return np.ones(len(s), int)\n'
  )
  done = command(
    'dataset',
    'import',
    'log.csv',
    '--transitions',
    '--out',
    'data',
    '--discount',
    '0.8',
    cwd=tmp_path,
  )
  assert done.returncode == 0, done.stderr
  assert 'intervals resample pieces' in done.stderr
  asked = (
    'evaluate',
    'data',
    '--policy',
    'own:one',
    '--method',
    'lstd',
    '--seeds',
    '1',
    '--set',
    'random_features=40',
    '--json',
  )
  assert 'Give start states: --initial FILE' in command.refuses(
    *asked, cwd=tmp_path
  )
  done = command(*asked, '--initial', 'starts.csv', cwd=tmp_path)
  assert done.returncode == 0, done.stderr
  (answer,) = json.loads(done.stdout)['answers']
  # s_t = 2 - 2^-t from 1, with action 1: 2 / 0.2 - 1 / (1 - 0.4).
  estimate = answer['estimates'][-1]['estimate']
  assert abs(estimate - (10.0 - 1.0 / 0.6)) < 0.1
