"""Datasets of environments with vectors and with states that are names."""

import dm_env
from dm_env import specs
import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import spaces
from dfiv_ope.agents import dqn, td3, training
from dfiv_ope.agents.entries import trainers
from dfiv_ope.datasets import making, reading
from dfiv_ope.datasets import spec as spec_lib

_ROUNDS = {
  'hidden': (4,),
  'transitions': 100,
  'episodes_per_round': 4,
  'warmup_rounds': 1,
  'block': 8,
  'blocks_per_batch': 1,
  'uses': 1,
  'trial_episodes': 2,
}


class Rooms(dm_env.Environment):
  """Five steps through rooms 0, 1, 2; the action's first entry is paid."""

  def __init__(self, *, actions, terminates=True):
    self._actions = actions
    self._terminates = terminates
    self._step = 0

  def reset(self):
    self._step = 0
    return dm_env.restart(self._observation())

  def step(self, action):
    self._step += 1
    reward = float(np.ravel(action)[0])
    if self._step < 5:
      return dm_env.transition(reward, self._observation(), discount=1.0)
    if self._terminates:
      return dm_env.termination(reward, self._observation())
    return dm_env.truncation(reward, self._observation(), discount=1.0)

  def _observation(self):
    return np.array([self._step % 3, self._step], float)

  def observation_spec(self):
    return spaces.Observations(2, names=('room', 'clock'), categories={0: 3})

  def action_spec(self):
    return self._actions


def _vectors(seed, **kwargs):
  return Rooms(
    actions=specs.BoundedArray((2,), np.float64, -1.0, [3.0, 1.0]), **kwargs
  )


def _choices(seed):
  return Rooms(actions=specs.DiscreteArray(2))


def _made(tmp_path, make, config, **spec):
  training.write(
    tmp_path / 'policy',
    trainers.Training(task='rooms', seed=0, action_noise=0.0, config=config),
    make_environment=make,
  )
  making.make(
    tmp_path / 'data',
    make_environment=make,
    truth_episodes=200,
    policy_path=tmp_path / 'policy',
    spec=spec_lib.Spec(task='rooms', transitions=400, **spec),
  )
  return reading.open_dataset(tmp_path / 'data')


def test_a_dataset_of_vectors_holds_what_the_behaviour_did(tmp_path):
  dataset = _made(tmp_path, _vectors, td3.Config(**_ROUNDS), epsilon=0.3)
  metadata = dataset.metadata
  assert (metadata.num_actions, metadata.num_observations) == (0, 2)
  assert metadata.continuous == actions_lib.Continuous(
    low=(-1.0, -1.0), high=(3.0, 1.0)
  )
  assert metadata.observations == ('room', 'clock')
  assert metadata.categorical == {'room': (0, 1, 2)}
  action = dataset.steps.action
  assert action.dtype == np.float64 and action.shape[1] == 2
  metadata.continuous.refuse_others(action, whose='The log')
  assert not action[dataset.steps.is_last].any()
  starts = ~dataset.steps.is_last
  np.testing.assert_array_equal(action[starts, 0], dataset.steps.reward[starts])
  # Its second entry: a mean of the state with sqrt(.2^2 + .3^2) of noise.
  inner = np.abs(action[starts, 1]) < 1.0
  policy = dataset.policy
  mean, _ = policy.moments(tf.constant(dataset.steps.observation))
  noise = (action[:, 1] - mean.numpy()[:, 1])[starts][inner]
  assert 0.7 * np.hypot(0.2, 0.3) < noise.std() < 1.1 * np.hypot(0.2, 0.3)


def test_states_that_are_names_are_in_the_record(tmp_path):
  dataset = _made(tmp_path, _choices, dqn.Config(**_ROUNDS))
  assert dataset.metadata.continuous is None
  assert dataset.metadata.num_actions == 2
  assert dataset.metadata.categories == {0: (0, 1, 2)}
  assert dataset.steps.action.dtype == np.int32


def test_a_log_that_is_cut_early_is_not_made(tmp_path):
  def make(seed):
    return _vectors(seed, terminates=False)

  with pytest.raises(ValueError, match='truncates an episode after 5 steps'):
    _made(tmp_path, make, td3.Config(**_ROUNDS))
  assert not (tmp_path / 'data' / spec_lib.METADATA).exists()
