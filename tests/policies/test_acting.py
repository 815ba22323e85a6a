"""Policies over vectors act, explore, are simulated, saved and loaded."""

import dm_env
from dm_env import specs
import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import testing
from dfiv_ope.policies import (
  acting,
  continuous,
  finite,
  rollout,
  simulation,
  uniform_vectors,
)

_ACTIONS = actions_lib.Continuous(low=(-1.0, 0.0), high=(1.0, 10.0))


class _Payer(dm_env.Environment):
  """Three steps that pay the first entry of the action less the second."""

  def __init__(self, *, terminates=True):
    self._left, self._terminates = 0, terminates

  def reset(self):
    self._left = 3
    return dm_env.restart(np.array([self._left], float))

  def step(self, action):
    self._left -= 1
    reward, observation = action[0] - action[1], np.array([self._left], float)
    if self._left:
      return dm_env.transition(reward, observation, discount=1.0)
    if self._terminates:
      return dm_env.termination(reward, observation)
    return dm_env.truncation(reward, observation, discount=1.0)

  def observation_spec(self):
    return specs.Array((1,), np.float64)

  def action_spec(self):
    return specs.BoundedArray((2,), np.float64, *_ACTIONS.bounds)


class _Mean(tf.Module):
  """The mean (0.5, 2), whatever the state."""

  def __call__(self, observation):
    return tf.tile([[0.5, 2.0]], [tf.shape(observation)[0], 1])


def _policy(deviation):
  return continuous.Gaussian(
    _Mean(), standard_deviation=deviation, actions=_ACTIONS
  )


def _episodes(policy, *, copies=4, episodes=200):
  return list(
    rollout.episodes(
      lambda seed: _Payer(),
      acting.actor(policy, copies=copies, actions=_ACTIONS),
      seed=1,
      num_episodes=episodes,
      copies=copies,
    )
  )


def test_episodes_of_vectors_do_not_depend_on_how_many_run_side_by_side():
  policy = _policy([0.1, 1.0])
  for one, other in zip(
    _episodes(policy, copies=1), _episodes(policy, copies=7), strict=True
  ):
    assert one.actions.dtype == np.float64 and one.actions.shape == (3, 2)
    for x, y in zip(one, other, strict=True):
      # Normal quantiles of other batches are rounded otherwise, in float32.
      np.testing.assert_allclose(x, y, atol=1e-6)


def test_vectors_have_the_mean_and_deviation_of_the_policy():
  actions = np.concatenate(
    [each.actions for each in _episodes(_policy([0.1, 0.5]))]
  )
  np.testing.assert_allclose(
    actions.mean(axis=0), [0.5, 2.0], atol=4 * 0.5 / np.sqrt(600)
  )
  np.testing.assert_allclose(
    actions.std(axis=0), [0.1, 0.5], rtol=4 / np.sqrt(1200)
  )


def test_vectors_never_leave_their_bounds():
  low, high = 0.1, 0.3  # In float32 these are other numbers.
  actions = actions_lib.Continuous(low=(low,), high=(high,))
  actor = acting.actor(
    continuous.Gaussian(
      lambda s: tf.ones([tf.shape(s)[0], 1]),
      standard_deviation=5.0,
      actions=actions,
    ),
    copies=1,
    actions=actions,
  )
  actor.begin(0, 0)
  drawn = np.array([actor.act(np.zeros((1, 1)), [0])[0] for _ in range(200)])
  assert drawn.min() == low and drawn.max() == high


def test_a_deterministic_policy_has_the_geometric_sum_as_value():
  value = simulation.monte_carlo(
    lambda seed: _Payer(),
    _policy(0.0),
    discount=0.5,
    seed=0,
    min_episodes=5,
    max_episodes=5,
  )
  assert value.mean == pytest.approx(-1.5 * 1.75)
  assert (value.standard_error, value.mean_length) == (0.0, 3.0)


def test_exploring_adds_variances_in_half_ranges():
  wider = acting.explore(_policy([0.3, 2.0]), epsilon=0.4)
  mean, deviation = wider.moments(tf.zeros([3, 1]))
  np.testing.assert_allclose(mean, [[0.5, 2.0]] * 3)
  np.testing.assert_allclose(
    tf.broadcast_to(deviation, [3, 2])[0],
    np.hypot([0.3, 2.0], [0.4, 2.0]),
    rtol=1e-6,
  )
  assert not wider.deterministic
  assert acting.explore(_policy(0.0), epsilon=0.0).deterministic


def test_exploring_finitely_many_actions_is_as_before():
  wider = acting.explore(finite.Uniform(num_actions=2), epsilon=0.5)
  assert isinstance(wider, finite.Explore)


@pytest.mark.parametrize(
  'policy, epsilon, words',
  [
    (_policy(0.1), 1.5, r'epsilon must lie in \[0, 1\], got 1.5'),
    (uniform_vectors.Uniform(_ACTIONS), 0.1, 'Gaussian noise, got Uniform'),
  ],
)
def test_what_cannot_be_added_is_refused(policy, epsilon, words):
  with pytest.raises(ValueError, match=words):
    acting.explore(policy, epsilon=epsilon)


def test_a_saved_policy_is_loaded_with_its_noise(tmp_path):
  acting.save(
    _policy([0.1, 0.5]), tmp_path / 'it', num_observations=1, actions=_ACTIONS
  )
  loaded = acting.load(
    tmp_path / 'it', num_observations=1, num_actions=0, actions=_ACTIONS
  )
  mean, deviation = loaded.moments(tf.zeros([2, 1], tf.float64))
  np.testing.assert_allclose(mean, [[0.5, 2.0]] * 2)
  np.testing.assert_allclose(
    tf.broadcast_to(deviation, [2, 2])[0], [0.1, 0.5], rtol=1e-6
  )


class _Maker:
  """Makes a corridor that is cut after nine steps, or goes on for ever."""

  def __init__(self, length):
    self._length = length

  def __call__(self, seed):
    return testing.Corridor(length=self._length, terminates=False)

  @property
  def endless(self):
    return _Maker(10**9)


class _Always(tf.Module):
  """Takes action 2 in every state."""

  def action_probabilities(self, observation):
    return tf.one_hot(tf.fill([tf.shape(observation)[0]], 2), 3)


def test_the_true_value_goes_on_where_the_log_is_cut():
  """Two for ever is 2 / (1 - discount), to a thousandth."""
  value = simulation.true_value(
    _Maker(9), _Always(), discount=0.5, seed=0, max_episodes=2
  )
  assert value.mean == pytest.approx(4.0, rel=1e-3) and value.mean < 4.0
  assert value.mean_length == simulation.horizon(0.5) == 10


@pytest.mark.parametrize(
  'discount, steps', [(0.99, 688), (0.9, 66), (0.001, 1), (0.0, 1)]
)
def test_the_horizon_leaves_a_thousandth(discount, steps):
  assert simulation.horizon(discount) == steps


def test_an_environment_that_is_cut_early_has_no_true_value():
  with pytest.raises(ValueError) as refused:
    simulation.true_value(
      lambda seed: _Payer(terminates=False),
      _policy(0.1),
      discount=0.9,
      seed=0,
      max_episodes=2,
    )
  assert str(refused.value).startswith(
    'The environment truncates an episode after 3 steps, when 73 % of its '
    'discounted future is still to come'
  )
  assert 'go on for 44 steps' in str(refused.value)
