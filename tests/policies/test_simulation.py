"""Simulated values against sums done by hand."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing
from dfiv_ope.policies import episode_returns, finite, simulation


class _Always(tf.Module):
  """Takes action 2 in every state."""

  def action_probabilities(self, observation):
    return tf.one_hot(tf.fill([tf.shape(observation)[0]], 2), 3)


def test_a_deterministic_walk_has_the_geometric_sum_as_value():
  value = simulation.monte_carlo(
    lambda seed: testing.Corridor(length=4),
    _Always(),
    discount=0.5,
    seed=0,
    min_episodes=10,
    max_episodes=10,
  )
  assert value.mean == 2.0 * (1.0 + 0.5 + 0.25 + 0.125)
  assert value.standard_error == 0.0
  assert (value.episodes, value.mean_length) == (10, 4.0)


def test_the_standard_error_is_that_of_the_mean():
  """Rewards 0, 1, 2 with equal chance: mean 1, variance 2/3."""
  value = simulation.monte_carlo(
    lambda seed: testing.Corridor(length=1),
    finite.Uniform(num_actions=3),
    discount=0.9,
    seed=0,
    min_episodes=4_000,
    max_episodes=4_000,
    relative_error=0.0,
  )
  np.testing.assert_allclose(
    value.standard_error, np.sqrt(2 / 3 / 4_000), rtol=0.05
  )
  assert abs(value.mean - 1.0) < 4 * value.standard_error


def test_simulation_stops_when_the_value_is_known_well_enough():
  value = simulation.monte_carlo(
    lambda seed: testing.Corridor(length=1),
    finite.Uniform(num_actions=3),
    discount=0.9,
    seed=0,
    min_episodes=500,
    max_episodes=100_000,
    relative_error=0.02,
  )
  # sqrt(2/3) / sqrt(n) <= 0.02 at n = 1667, looked at every 500.
  assert value.episodes in (1_500, 2_000)


def test_discount_1_is_for_episodes_that_terminate():
  value = simulation.monte_carlo(
    lambda seed: testing.Corridor(length=4),
    _Always(),
    discount=1.0,
    seed=0,
    min_episodes=2,
    max_episodes=2,
  )
  assert value.mean == 8.0
  with pytest.raises(ValueError, match='all terminate, but 1 episode was'):
    simulation.monte_carlo(
      lambda seed: testing.Corridor(length=4, terminates=False),
      _Always(),
      discount=1.0,
      seed=0,
      min_episodes=2,
      max_episodes=2,
    )


def test_rewards_are_multiplied_by_all_discounts_before_them():
  np.testing.assert_allclose(
    episode_returns.weights(0.5, np.array([0.8, 0.5, 0.0])), [1.0, 0.4, 0.1]
  )
  np.testing.assert_allclose(
    episode_returns.weights_of_all(
      0.5, np.array([0.8, 0.5, 0.0, 0.25, 1.0]), np.array([0, 3])
    ),
    [1.0, 0.4, 0.1, 1.0, 0.125],
  )
  np.testing.assert_array_equal(
    episode_returns.weights_of_all(
      0.5, np.array([1.0, 0.0, 1.0, 1.0, 1.0]), np.array([0, 2])
    ),
    [1.0, 0.5, 1.0, 0.5, 0.25],
  )


def test_no_episodes_have_no_mean():
  with pytest.raises(ValueError, match='At least one episode'):
    episode_returns.summarise([], [])
