"""Levels of rewards that last within episodes, and what they do to values."""

import numpy as np
import pytest

from dfiv_ope.ope import traits

_EPISODES, _LENGTH = 400, 10
_INDEX = np.repeat(np.arange(_EPISODES), _LENGTH)


def _log(*, pays, moves, seed=0):
  """Returns columns, actions, rewards and each row's trait."""
  generator = np.random.default_rng(seed)
  trait = generator.standard_normal(_EPISODES)[_INDEX]
  state = generator.standard_normal(len(_INDEX))
  chance = 1.0 / (1.0 + np.exp(-moves * trait))
  action = generator.random(len(_INDEX)) < chance
  reward = state + pays * trait + 0.1 * generator.standard_normal(len(_INDEX))
  return np.c_[state, np.ones(len(state))], action, reward, trait


def _missing(columns, action, reward):
  """Of the mean reward of rows with the action, taken for that of it."""
  found = traits.levels(columns[action], reward[action], _INDEX[action])
  values = np.zeros(len(action))
  values[action] = found.values
  return traits.missing(values, action / np.sum(action), _INDEX)


def test_later_rows_tell_the_level_of_an_episode():
  columns, _, reward, trait = _log(pays=2.0, moves=0.0)
  found = traits.levels(columns, reward, _INDEX)
  assert found.correlation == pytest.approx(0.99, abs=0.011)
  last = np.tile(np.arange(_LENGTH) == _LENGTH - 1, _EPISODES)
  np.testing.assert_array_equal(found.values[last], 0.0)
  wanted = 2.0 * (trait - np.mean(trait))
  assert np.std((found.values - wanted)[~last]) < 0.1


def test_a_trait_that_moves_actions_and_rewards_is_taken_off():
  columns, action, reward, trait = _log(pays=1.0, moves=1.5)
  bias = np.mean(trait[action]) - np.mean(trait)
  assert bias > 0.4
  found = _missing(columns, action, reward)
  assert found.value == pytest.approx(-bias, rel=0.25)
  assert -found.value > traits.CERTAIN * found.standard_error


@pytest.mark.parametrize('pays, moves', [(1.0, 0.0), (0.0, 1.5), (0.0, 0.0)])
def test_a_trait_that_moves_one_of_them_hides_nothing(pays, moves):
  for seed in range(5):
    columns, action, reward, _ = _log(pays=pays, moves=moves, seed=seed)
    found = _missing(columns, action, reward)
    assert abs(found.value) <= 3.0 * found.standard_error


def test_rewards_that_end_episodes_are_no_levels():
  generator = np.random.default_rng(1)
  hit = generator.random((_EPISODES, 30)) < 0.1
  # Rows up to the first hit.
  there = np.cumsum(np.cumsum(hit, axis=1), axis=1) <= 1
  episodes, rewards = np.nonzero(there)[0], hit[there] * 1.0
  ones = np.ones((len(rewards), 1))
  share = traits.reached(episodes, rewards > 0.0)
  assert share[0] == np.sum(there[0]) / 30
  assert abs(traits.levels(ones, rewards, episodes, share).correlation) < 0.05
  # Short episodes lie high where only rows that came to be are counted.
  assert traits.levels(ones, rewards, episodes).correlation > 0.3


def test_an_episode_that_was_cut_off_came_to_its_end():
  episodes = np.array([0, 0, 0, 0, 1, 1, 2])
  ended = np.array([0, 0, 0, 1, 0, 1, 0], bool)
  np.testing.assert_array_equal(
    traits.reached(episodes, ended), [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0]
  )
