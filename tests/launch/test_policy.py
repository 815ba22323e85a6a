"""`dfiv-ope policy train`: its record, its repetition, its refusals."""

import json
import signal
import time

import numpy as np
import pytest

from dfiv_ope.policies import finite


def _table(path):
  """Action probabilities of a saved policy at some boards."""
  saved = finite.load(path / 'saved_model', num_observations=50, num_actions=3)
  boards = np.random.default_rng(0).random((200, 50)).astype(np.float32)
  return np.asarray(saved.action_probabilities(boards))


def test_the_record_says_how_and_how_well(policy):
  record = json.loads((policy / 'policy.json').read_text())
  assert record['task'] == 'catch'
  assert record['dqn']['transitions'] == 3000
  assert 1000 <= record['value']['episodes'] <= 10_000
  assert record['versions']['tensorflow'] == '2.15.1'
  assert sorted(p.name for p in policy.iterdir()) == [
    'policy.json',
    'saved_model',
  ]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_policy(
  command, policy, quick, tmp_path
):
  out = tmp_path / 'killed'
  process = command.popen('policy', 'train', 'catch', '--out', out, *quick)
  while not list(out.glob('training/checkpoint-??????????')):
    assert process.poll() is None, process.stderr.read()
    time.sleep(0.05)
  process.send_signal(signal.SIGKILL)
  process.communicate()
  assert not (out / 'policy.json').exists()
  again = command('policy', 'train', 'catch', '--out', out, *quick)
  assert again.returncode == 0, again.stderr
  np.testing.assert_array_equal(_table(out), _table(policy))
  assert sorted(p.name for p in out.iterdir()) == ['policy.json', 'saved_model']


def test_a_left_over_of_other_settings_is_not_taken_up(command, tmp_path):
  out = tmp_path / 'other'
  out.mkdir()
  (out / 'unfinished.json').write_text('{"task": "pong"}')
  message = command.refuses('policy', 'train', 'catch', '--out', out)
  assert 'unfinished job with other settings' in message
  assert [p.name for p in out.iterdir()] == ['unfinished.json']


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('ctach',), "no task 'ctach': did you mean catch? Choose from"),
    (('catch', '--action-noise', '1.5'), 'action_noise must lie in [0, 1]'),
    (
      ('catch', '--set', 'colour=red'),
      "no setting 'colour'. Choose from block",
    ),
    (('catch', '--set', 'transitions=many'), 'transitions is of type int'),
    (('catch', '--set', 'transitions'), 'form name=value'),
    (('catch', '--set', 'n_step=0'), 'n_step must be at least 1'),
  ],
)
def test_wrong_arguments_are_refused_and_leave_nothing(
  command, tmp_path, arguments, words
):
  out = tmp_path / 'out'
  message = command.refuses('policy', 'train', *arguments, '--out', out)
  assert words in message
  assert not out.exists()


_BALANCE = """
import dm_env
from dm_env import specs
import numpy as np


class Balance(dm_env.Environment):

  def __init__(self, seed):
    self.place, self.steps = np.random.default_rng(seed).normal(), 0

  def reset(self):
    self.steps = 0
    return dm_env.restart(np.array([self.place]))

  def step(self, action):
    self.place += action[0]
    self.steps += 1
    end = dm_env.termination if self.steps == 5 else dm_env.transition
    return end(-self.place ** 2, np.array([self.place]))

  def observation_spec(self):
    return specs.Array((1,), np.float64)

  def action_spec(self):
    return specs.BoundedArray((1,), np.float64, -1., 1.)
"""


def test_a_policy_and_a_dataset_of_an_environment_of_the_user(
  command, tmp_path
):
  (tmp_path / 'balancing.py').write_text(_BALANCE)
  result = command(
    'dataset',
    'make',
    'balancing:Balance',
    '--out',
    'data',
    '--transitions',
    300,
    '--truth-episodes',
    100,
    '--set',
    'transitions=300',
    '--set',
    'uses=8',
    '--set',
    'hidden=(8,)',
    '--set',
    'trial_episodes=4',
    '--set',
    'window=3',
    cwd=tmp_path,
  )
  assert result.returncode == 0, result.stderr
  record = json.loads((tmp_path / 'data' / 'metadata.json').read_text())
  assert record['spec']['task'] == 'balancing:Balance'
  assert record['continuous']['low'] == [-1.0] and record['num_actions'] == 0
  assert record['policy']['td3']['transitions'] == 300
  assert record['truth']['episodes'] == 100


@pytest.mark.parametrize(
  'task, words',
  [
    ('nowhere:Balance', 'nowhere cannot be imported: ModuleNotFoundError'),
    ('gym:Pendulums', "Gymnasium has no environment 'Pendulums'"),
    ('control:cheetah', 'did you mean control:cheetah-run?'),
  ],
)
def test_a_task_that_is_nowhere_is_refused_in_a_sentence(
  command, tmp_path, task, words
):
  message = command.refuses('policy', 'train', task, '--out', tmp_path / 'out')
  assert words in message
  assert not (tmp_path / 'out').exists()
