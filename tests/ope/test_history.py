"""Errors that depend on the past, by values worked out by hand."""

import numpy as np
import pytest

from dfiv_ope.ope import history

_EPISODES = np.repeat(np.arange(50), 4)


def test_steps_are_counted_within_episodes():
  assert history.steps(np.array([0, 0, 0, 1, 2, 2])).tolist() == [
    0,
    1,
    2,
    0,
    0,
    1,
  ]


def test_errors_that_rise_with_the_step_are_added_up_over_visits():
  errors = 0.5 - 0.25 * history.steps(_EPISODES)  # .5, .25, 0, -.25
  found = history.by_step(errors, _EPISODES, np.array([1.0, 0.5]))
  assert found.value == pytest.approx(0.5 + 0.5 * 0.25)
  assert found.standard_error == pytest.approx(0.0, abs=1e-9)


def test_beyond_the_longest_episode_the_last_error_stands():
  errors = history.steps(_EPISODES).astype(float)
  found = history.by_step(errors, _EPISODES, np.array([0.0] * 9 + [2.0]))
  assert found.value == pytest.approx(6.0)


def test_errors_of_a_horizon_are_those_of_its_step_alone():
  last = history.steps(_EPISODES) == 3
  errors = np.where(last, -3.0, 1.0)
  visits = np.array(
    [1.0, 1.0, 1.0, 0.5, 0.25]
  )  # The last is beyond the horizon.
  found = history.by_step(errors, _EPISODES, visits, last)
  assert found.value == pytest.approx(3.0 - 3.0 * 0.5)
  assert found.standard_error == pytest.approx(0.0, abs=1e-9)
  # Where an episode goes on, the last step is one like others.
  going_on = last & (_EPISODES > 0)
  assert history.by_step(errors, _EPISODES, visits, going_on) == (
    history.by_step(errors, _EPISODES, visits)
  )


def test_only_errors_of_actions_that_the_target_takes_count():
  first = np.arange(len(_EPISODES)) % 2 == 0  # Steps 0 and 2.
  errors = np.where(first, 2.0, -5.0)
  found = history.by_step(
    errors, _EPISODES, np.array([1.0, 0.5]), chosen=first.astype(float)
  )
  assert found.value == pytest.approx(3.0)


def test_noise_misses_nothing_beyond_its_standard_error():
  errors = np.random.default_rng(0).normal(size=len(_EPISODES))
  found = history.by_step(errors, _EPISODES, np.ones(4))
  assert 0.1 < found.standard_error < 1.0
  assert abs(found.value) < 3.0 * found.standard_error


def test_episodes_of_one_step_have_no_step_to_depend_on():
  assert history.by_step(np.ones(5), np.arange(5), np.ones(1)) == (0.0, 0.0)


def test_alternating_errors_go_with_the_one_before():
  errors = np.where(history.steps(_EPISODES) % 2 == 0, 1.0, -1.0)
  found = history.lagged(errors, _EPISODES)
  # Three products of -1 in each of 50 equal episodes: z = 150 / sqrt(50 x 9).
  assert found.correlation == pytest.approx(-1.0)
  assert found.z == pytest.approx(-150.0 / np.sqrt(450.0))


def test_the_end_of_an_episode_is_not_before_the_next_one():
  errors = np.array([0.0, 1.0, 1.0, 0.0])
  assert history.lagged(errors, np.array([0, 0, 1, 1])).correlation == 0.0


def test_what_helps_one_action_and_hurts_another_is_seen_by_action():
  generator = np.random.default_rng(4)
  episodes = np.repeat(np.arange(200), 6)
  action = generator.integers(2, size=len(episodes))
  noise = generator.standard_normal(len(episodes))
  errors = noise.copy()
  errors[1:] += 0.5 * noise[:-1] * np.where(action[1:] == 1, 1.0, -1.0)
  assert abs(history.lagged(errors, episodes).z) < 3.0
  chosen = np.where(action == 1, 0.9, 0.1)
  found = history.lagged(errors, episodes, action, chosen)
  assert abs(found.z) > 7.0
  assert abs(found.correlation) == pytest.approx(0.4, abs=0.1)
  # Both actions have it, in either direction.
  assert found.size == pytest.approx(0.4, abs=0.1)
  assert history.lagged(errors, episodes).size < 0.1
  # Without any, neither shows.
  assert abs(history.lagged(noise, episodes, action, chosen).z) < 3.5


def test_the_action_before_shows_where_errors_before_do_not():
  generator = np.random.default_rng(5)
  episodes = np.repeat(np.arange(200), 6)
  action = generator.integers(2, size=len(episodes))
  errors = np.where(action == np.roll(action, 1), -1.0, 1.0)
  assert abs(history.lagged(errors, episodes, action).z) < 5.0
  found = history.acted(errors, episodes, action)
  assert abs(found.correlation) == pytest.approx(1.0, abs=0.01)
  assert found.size == pytest.approx(1.0, abs=0.01)
  # About 500 pairs of each action, of which half have either before.
  assert abs(found.z) == pytest.approx(np.sqrt(500.0), rel=0.1)
  # A policy of one action has that action's share of it.
  half = history.acted(errors * (action == 1), episodes, action, action * 1.0)
  assert half.size == pytest.approx(1.0, abs=0.01)
  noise = generator.standard_normal(len(episodes))
  assert history.acted(noise, episodes, action).size == 0.0


def test_few_errors_without_a_rare_large_one_are_no_sign():
  episodes = np.repeat(np.arange(100), 5)
  action = np.zeros(500, int)
  # Of 400 pairs 40 have action 1 before them, and no large error is theirs.
  action[::50] = action[1::50] = action[2::50] = action[3::50] = 1
  errors = np.where(np.arange(500) % 25 == 24, 24.0, -1.0)
  found = history.acted(errors, episodes, action)
  assert found.size == 0.0
  assert abs(found.z) < 2.0


def test_one_action_has_no_other_before_it():
  found = history.acted(np.ones(4), np.zeros(4, int), np.zeros(4, int))
  assert found == (0.0, 0.0, 0.0)
