"""Gymnasium's environments keep dm_env's contract; ends are told apart."""

import sys

from absl.testing import absltest
from dm_env import test_utils
import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import envs
from dfiv_ope.policies import rollout, simulation

gymnasium = pytest.importorskip('gymnasium')


class _Interface(test_utils.EnvironmentTestMixin):
  task = ''

  def make_object_under_test(self):
    return envs.make(self.task, action_noise=0.2, seed=1)


class PendulumTest(_Interface, absltest.TestCase):
  task = 'gym:Pendulum-v1'


class MountainCarContinuousTest(_Interface, absltest.TestCase):
  task = 'gym:MountainCarContinuous-v0'


class FrozenLakeTest(_Interface, absltest.TestCase):
  task = 'gym:FrozenLake-v1'


def _roll(environment, actions):
  steps = [environment.reset()]
  for action in actions:
    steps.append(environment.step(action))
  return steps


@pytest.mark.parametrize('task', ['gym:Pendulum-v1', 'gym:FrozenLake-v1'])
def test_same_seed_same_episode_and_another_seed_another(task):
  def rewards_and_states(seed):
    environment = envs.make(task, action_noise=0.5, seed=seed)
    spec, generator = environment.action_spec(), np.random.default_rng(0)
    actions = [
      generator.integers(4)
      if not spec.shape
      else generator.uniform(spec.minimum, spec.maximum)
      for _ in range(40)
    ]
    steps = _roll(environment, actions)
    return np.array(
      [np.append(step.observation, step.reward or 0.0) for step in steps]
    )

  np.testing.assert_array_equal(rewards_and_states(7), rewards_and_states(7))
  assert not np.array_equal(rewards_and_states(7), rewards_and_states(8))


def test_pendulum_has_vectors_within_bounds_and_is_truncated():
  environment = envs.make('gym:Pendulum-v1', seed=0)
  spec = environment.action_spec()
  assert (spec.shape, spec.dtype) == ((1,), np.float64)
  np.testing.assert_array_equal([spec.minimum, spec.maximum], [[-2.0], [2.0]])
  assert envs.is_continuous('gym:Pendulum-v1')
  steps = _roll(environment, [np.zeros(1)] * 200)
  assert [step.last() for step in steps] == [False] * 200 + [True]
  assert steps[-1].discount == 1.0


def test_without_its_limit_pendulum_goes_on():
  make = envs.maker('gym:Pendulum-v1', action_noise=0.0)
  steps = _roll(make.endless(0), [np.zeros(1)] * 300)
  assert not any(step.last() for step in steps)
  assert envs.maker('catch', action_noise=0.0).endless is None


def test_a_state_of_frozen_lake_is_one_name_and_holes_terminate():
  """Down, down, down from the corner of a lake without slips is a hole."""
  gymnasium.register(
    'DryLake-v0',
    gymnasium.spec('FrozenLake-v1').entry_point,
    kwargs={'is_slippery': False, 'map_name': '4x4'},
  )
  environment = envs.make('gym:DryLake-v0', seed=0)
  spec = environment.observation_spec()
  assert (spec.names, spec.categories) == (('state',), {0: 16})
  steps = _roll(environment, [1, 1, 1, 2, 1])
  states = [step.observation.tolist() for step in steps]
  assert states[:4] == [[0.0], [4.0], [8.0], [12.0]]
  assert steps[3].last() and steps[3].discount == 0.0
  assert not envs.is_continuous('gym:DryLake-v0')


class _Table(tf.Module):
  """Takes the action that a table has for a state."""

  def __init__(self, actions):
    super().__init__()
    self._actions = tf.constant(actions)

  def action_probabilities(self, observation):
    state = tf.cast(observation[:, 0], tf.int32)
    return tf.one_hot(tf.gather(self._actions, state), 4)


def test_the_simulated_value_of_a_lake_is_the_exact_one():
  """The best policy on slippery ice, which may go on for ever."""
  table = gymnasium.make('FrozenLake-v1').unwrapped.P
  moves, rewards = np.zeros((16, 4, 16)), np.zeros((16, 4))
  for state, actions in table.items():
    for action, outcomes in actions.items():
      for probability, following, reward, ended in outcomes:
        rewards[state, action] += probability * reward
        moves[state, action, following] += probability * (not ended)
  exact = np.zeros(16)
  for _ in range(3_000):
    values = rewards + 0.99 * moves @ exact  # [S, A]
    exact = values.max(axis=1)
  value = simulation.true_value(
    envs.maker('gym:FrozenLake-v1', action_noise=0.0),
    _Table(values.argmax(axis=1)),
    discount=0.99,
    seed=0,
    max_episodes=1_000,
  )
  assert abs(value.mean - exact[0]) < 4 * value.standard_error
  assert value.standard_error < 0.03 * exact[0]


@pytest.mark.parametrize(
  'task, words',
  [
    (
      'gym:Pendulums-v1',
      "no environment 'Pendulums-v1': did you mean gym:Pendulum",
    ),
    ('gym:Pendulum', 'has no version. Name it as gym:Pendulum-v1.'),
    ('gym:zzz', "no environment 'zzz'."),
    ('gym:no_such_package:Task-v0', 'cannot be made: ModuleNotFoundError'),
    ('gym:Blackjack-v1', 'observations of gym:Blackjack-v1 are Tuple, but'),
  ],
)
def test_what_gymnasium_has_not_or_cannot_be_used_is_refused(task, words):
  with pytest.raises(ValueError) as refused:
    envs.make(task, seed=0)
  assert words in str(refused.value)


@pytest.mark.parametrize(
  'space, words',
  [
    (gymnasium.spaces.MultiDiscrete([2, 2]), 'are MultiDiscrete, but only'),
    (gymnasium.spaces.Box(-np.inf, np.inf, (1,)), 'with finite bounds'),
  ],
)
def test_other_actions_are_refused(space, words):
  class Odd(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,))
    action_space = space

  gymnasium.register('Odd-v0', Odd)
  try:
    with pytest.raises(ValueError, match='gym:Odd-v0') as refused:
      envs.make('gym:Odd-v0', seed=0)
  finally:
    del gymnasium.registry['Odd-v0']
  assert words in str(refused.value)


def test_a_missing_package_is_named(monkeypatch):
  monkeypatch.setitem(sys.modules, 'gymnasium', None)
  with pytest.raises(ValueError, match=r"pip install 'dfiv-ope\[gym\]'"):
    envs.make('gym:Pendulum-v1', seed=0)


def test_sizes_tell_vectors_and_names():
  sizes = rollout.sizes(envs.maker('gym:Pendulum-v1', action_noise=0.0))
  assert (sizes.num_observations, sizes.num_actions) == (3, 0)
  assert (sizes.continuous.low, sizes.continuous.high) == ((-2.0,), (2.0,))
  sizes = rollout.sizes(envs.maker('gym:FrozenLake-v1', action_noise=0.0))
  assert (sizes.num_actions, sizes.continuous) == (4, None)
  assert (sizes.names, sizes.categories) == (('state',), {0: 16})
