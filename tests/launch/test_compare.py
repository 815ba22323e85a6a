"""`dfiv-ope compare`: rows of `evaluate`, a ranking and a picture."""

import json

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.evaluation import trust
from dfiv_ope.results import files

_ROWS, _LENGTH = 1_500, 10
_SMALL = ('--set', 'random_features=10', '--seeds', '2')


@pytest.fixture(scope='module')
def log(command, tmp_path_factory):
  """Action 1 earns the state, action 0 nothing; actions are uniform."""
  folder = tmp_path_factory.mktemp('own')
  generator = np.random.default_rng(0)
  state = generator.uniform(-1.0, 1.0, _ROWS)
  action = generator.integers(2, size=_ROWS)
  step = np.arange(_ROWS) % _LENGTH
  pd.DataFrame(
    {
      'episode': np.arange(_ROWS) // _LENGTH,
      'obs_state': state,
      'action': action,
      'reward': action * state,
      'terminated': (step == _LENGTH - 1).astype(int),
    }
  ).to_csv(folder / 'log.csv', index=False)
  (folder / 'own.py').write_text(
    'def right(s):\n  return (s[:, 0] > 0.).astype(int)\n\n\n'
    'def wrong(s):\n  return (s[:, 0] < 0.).astype(int)\n'
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
def answer(command, log):
  result = command(
    'compare',
    'data',
    '--policy',
    'good=own:right',
    '--policy',
    'bad=own:wrong',
    '--policy',
    'uniform',
    '--truth',
    'good=1.6',
    '--truth',
    'bad=-1.6',
    '--out',
    'runs',
    *_SMALL,
    '--json',
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  return json.loads(result.stdout)


def test_policies_are_ranked_and_scored(answer):
  (found,) = answer['comparisons']
  assert [each['policy'] for each in found['policies']] == [
    'good',
    'uniform',
    'bad',
  ]
  assert found['policies'][0]['probability_of_best'] == 1.0
  assert [each['truth'] for each in found['policies']] == [1.6, None, -1.6]
  assert found['rank_correlation'] == pytest.approx(1.0)
  assert found['regret'] == {'1': 0.0}


def test_every_policy_has_a_verdict(answer):
  verdicts = {
    each['policy']: [line['trust'] for line in each['estimates']]
    for each in answer['answers']
  }
  assert len(verdicts) == 3
  assert all(grades[-1] in trust.GRADES for grades in verdicts.values()), (
    verdicts
  )


def test_the_picture_is_beside_the_rows(answer, log):
  assert answer['pictures'] == [
    'runs/policies-lstd.png',
    'runs/policies-lstd.svg',
  ]
  text = (log / 'runs' / 'policies-lstd.svg').read_text()
  assert 'good' in text and 'true value' in text


def test_rows_are_those_of_evaluate(answer, command, log):
  before = files.read(log / 'runs')
  result = command(
    'evaluate',
    'data',
    '--policy',
    'good=own:right',
    '--method',
    'lstd',
    '--out',
    'alone',
    *_SMALL,
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  shared = {row.key: row for row in before}
  alone = files.read(log / 'alone')
  assert len(alone) == 3 and {row.key for row in alone} <= shared.keys()
  for row in alone:
    assert shared[row.key].metrics['estimate'] == pytest.approx(
      row.metrics['estimate'], rel=1e-9
    )
    assert shared[row.key].command == row.command.replace('alone', 'runs')
  # They are not run again, and what is known of the truth is shown.
  result = command(
    'evaluate',
    'data',
    '--policy',
    'good=own:right',
    '--truth',
    '1.7',
    '--method',
    'lstd',
    '--out',
    'runs',
    *_SMALL,
    cwd=log,
  )
  assert '3 of 3 runs have their rows' in result.stderr
  assert 'The true value is 1.7' in result.stdout
  assert files.read(log / 'runs')[-1].metrics['error'] == pytest.approx(
    abs(1.7 - files.read(log / 'runs')[-1].metrics['estimate'])
  )


def test_people_read_a_table(answer, command, log):
  result = command(
    'compare',
    'data',
    '--policy',
    'good=own:right',
    '--policy',
    'bad=own:wrong',
    '--out',
    'runs',
    *_SMALL,
    cwd=log,
  )
  assert result.returncode == 0, result.stderr
  assert 'Regret@1 0.' in result.stdout and 'P(best)' in result.stdout
  assert 'runs/policies-lstd.png' in result.stdout
  for name in ('good', 'bad'):
    assert f'{name} by lstd: ' in result.stdout


def test_start_states_of_a_file_ask_another_question(answer, command, log):
  pd.DataFrame({'obs_state': [0.9, 0.8]}).to_csv(
    log / 'starts.csv', index=False
  )
  arguments = (
    'compare',
    'data',
    '--policy',
    'good=own:right',
    '--policy',
    'bad=own:wrong',
    '--initial',
    'starts.csv',
    '--out',
    'runs',
    *_SMALL,
    '--json',
  )
  result = command(*arguments, cwd=log)
  assert result.returncode == 0, result.stderr
  (found,) = json.loads(result.stdout)['comparisons']
  better = found['policies'][0]['estimate']
  (first,) = answer['comparisons']
  # The first step earns 0.85 instead of E max(s, 0) = 0.25.
  assert better - first['policies'][0]['estimate'] == pytest.approx(
    0.6, abs=0.15
  )
  assert '--initial starts.csv' in files.read(log / 'runs')[-1].command
  (log / 'wrong.csv').write_text('other\n1\n')
  assert "no column 'obs_state'" in command.refuses(
    *arguments[:7], 'wrong.csv', *arguments[8:], cwd=log
  )


@pytest.mark.parametrize(
  'arguments, words',
  [
    (['--policy', 'uniform'], 'at least two policies, got 1'),
    (
      ['--policy', 'a=uniform', '--policy', 'b=own:right', '--truth', 'c=1'],
      "is of the policy 'c', but the policies are a, b",
    ),
  ],
)
def test_what_cannot_be_compared_is_refused(command, log, arguments, words):
  assert words in command.refuses(
    'compare', 'data', *arguments, '--out', 'other', cwd=log
  )
