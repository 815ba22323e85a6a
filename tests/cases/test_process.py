"""Logs are whole episodes of the behaviour policy, the same for a seed."""

import numpy as np
import pytest

from dfiv_ope.cases import gridworld, marketing, navigation, process, regulator

_TABLE = np.tile([0.1, 0.4, 0.4, 0.1], (64, 1))


def _grid_log(seed=0, **options):
  complete = options.pop('complete', True)
  problem = gridworld.gridworld(stochastic=True, complete=complete)
  return process.draw(
    problem, problem.policy(_TABLE), episodes=50, seed=seed, **options
  )


@pytest.mark.parametrize('complete', [True, False])
def test_logs_are_whole_episodes(complete):
  log = _grid_log(complete=complete)
  rows = log.transitions
  inner = np.flatnonzero(log.episodes[1:] == log.episodes[:-1])
  np.testing.assert_array_equal(
    rows.next_observation[inner], rows.observation[inner + 1]
  )
  np.testing.assert_array_equal(rows.discount[inner], 1.0)
  last = np.append(np.flatnonzero(np.diff(log.episodes)), len(log) - 1)
  lengths = np.bincount(log.episodes)
  at_goal = rows.next_observation[last, 0] == 63.0
  assert at_goal.any() and not at_goal.all()
  np.testing.assert_array_equal(lengths[~at_goal], 25)
  np.testing.assert_array_equal(
    rows.discount[last], np.where(at_goal | complete, 0.0, 1.0)
  )
  assert log.truncated == (0 if complete else np.sum(~at_goal))
  np.testing.assert_array_equal(np.unique(log.episodes), np.arange(50))
  np.testing.assert_array_equal(
    log.initial_observations, rows.observation[np.append(0, last[:-1] + 1)]
  )


def test_dropout_cuts_episodes_off_at_any_step():
  setting = marketing.setting(
    (1.0, 1.0), (1.0, 1.0), tail=0.5, horizon=10, dropout=0.2
  )
  log = process.draw(setting.problem, setting.behaviour, episodes=2_000, seed=0)
  last = np.append(np.flatnonzero(np.diff(log.episodes)), len(log) - 1)
  cut = log.transitions.discount[last] == 1.0
  assert log.truncated == np.sum(cut)
  lengths = np.bincount(log.episodes)[cut]
  # Of those that are cut before the end, a fifth of who is left each time.
  assert set(lengths) == set(range(1, 11))
  first = np.sum(lengths == 1) / 2_000
  ended = np.sum(np.bincount(log.episodes)[~cut] == 1) / 2_000
  assert first == pytest.approx(0.2 * (1.0 - ended), abs=0.03)


def test_the_same_seed_gives_the_same_log():
  log, again, other = (_grid_log(seed) for seed in ((1, 2), (1, 2), (1, 3)))
  assert log.digest == again.digest != other.digest
  np.testing.assert_array_equal(
    log.transitions.observation, again.transitions.observation
  )


def test_recorded_probabilities_are_those_of_the_behaviour_policy():
  log = _grid_log()
  np.testing.assert_array_equal(
    log.behaviour_probabilities, _TABLE[0][log.transitions.action]
  )
  shares = np.bincount(log.transitions.action) / len(log)
  np.testing.assert_allclose(shares, _TABLE[0], atol=0.05)
  assert _grid_log(recorded=False).behaviour_probabilities is None


def test_a_time_feature_is_the_number_of_the_step():
  log = _grid_log(time_feature=True)
  assert log.time_feature and log.num_observations == 2
  starts = np.flatnonzero(np.diff(log.episodes, prepend=-1))
  np.testing.assert_array_equal(
    log.transitions.observation[:, 1],
    np.arange(len(log)) - starts[log.episodes],
  )
  np.testing.assert_array_equal(
    log.transitions.next_observation[:, 1],
    log.transitions.observation[:, 1] + 1.0,
  )


def test_densities_of_clipped_vectors_have_mass_at_bounds():
  problem = navigation.setting(
    1.0, 1.0, noise=0.0, horizon=5, vectors=True
  ).problem
  answer = np.array([[0.5, 0.0]]), np.array([[0.5, 1.0]])
  normal = np.exp(-0.5) / np.sqrt(2.0 * np.pi)
  found = process.likelihood(problem, answer, np.array([[1.0, -1.0]]))
  # Both entries are one deviation from a bound: mass .158655 at each.
  np.testing.assert_allclose(found, 0.15865525**2, rtol=1e-6)
  found = process.likelihood(problem, answer, np.array([[0.0, 0.0]]))
  np.testing.assert_allclose(
    found, normal / 0.5 / np.sqrt(2.0 * np.pi), rtol=1e-12
  )


@pytest.mark.parametrize(
  'gain, deviation, noise', [(0.6, 0.8, 0.1), (1.0, 0.0, 0.0)]
)
def test_the_regulator_has_a_closed_form(gain, deviation, noise):
  setting = regulator.vectors(
    (0.4, 1.0), (gain, deviation), noise=noise, horizon=50
  )
  value, error = setting.target.found
  found = process.simulate(
    setting.problem, setting.target.policy, episodes=20_000, seed=0
  )
  assert error == 0.0
  assert abs(found.mean - value) < 4.0 * found.standard_error
  assert found.standard_error < 0.02 * abs(value)


def test_a_regulator_without_noise_is_a_sum_of_squares():
  problem = regulator.vectors(
    (1.0, 1.0), (1.0, 1.0), noise=0.0, horizon=5
  ).problem
  # Without force: E s_t' Q s_t, summed, for s_0 of deviations 1 and .5.
  step, cost = np.array([[1.0, 0.2], [0.0, 0.95]]), np.diag([1.0, 0.1])
  power, value = np.eye(2), 0.0
  for time in range(2_000):
    value -= 0.95**time * np.trace(
      power.T @ cost @ power @ np.diag([1.0, 0.25])
    )
    power = step @ power
  assert regulator.closed_form(problem, np.zeros(2), 0.0) == pytest.approx(
    value, rel=1e-10
  )
