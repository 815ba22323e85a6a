"""Is the observation the whole state?"""

import numpy as np
import pytest

from dfiv_ope.ope import whole_state


def _walk(*, hidden, episodes=60, length=30, seed=0):
  """A place that drifts by a slow wind; rewards near zero are best."""
  generator = np.random.default_rng(seed)
  place, wind = generator.normal(size=(2, episodes))
  rows = []
  for _ in range(length):
    action = generator.integers(2, size=episodes)
    after = 0.8 * place + 0.4 * (action - 0.5) + 0.5 * wind
    after = after + 0.1 * generator.normal(size=episodes)
    rows.append((place, wind, action, after - place, -(after**2)))
    wind = 0.95 * wind + 0.1 * generator.normal(size=episodes)
    place = after
  place, wind, action, change, reward = (
    np.stack(each, axis=1).ravel() for each in zip(*rows, strict=True)
  )
  number = np.repeat(np.arange(episodes), length)
  left = whole_state.unexplained(
    place[:, None] if hidden else np.c_[place, wind],
    np.eye(2)[action],
    np.c_[change, reward],
    number,
  )
  return whole_state.remembered(left, number)


def test_of_a_whole_state_the_step_before_says_nothing():
  found = _walk(hidden=False)
  assert np.all(found.share < 0.005)
  assert np.all(found.z < 3.0)


def test_a_hidden_wind_is_told_by_the_step_before():
  found = _walk(hidden=True)
  assert found.share[0] > 0.1
  assert found.z[0] > 6.0


def test_weights_are_those_of_least_loss_on_the_rows_that_judge():
  generator = np.random.default_rng(0)
  phi, judging = generator.normal(size=(2, 30, 5))
  slopes = generator.normal(size=(5, 2)) * [1.0, 0.01]
  outcome, held_out = (
    each @ slopes + generator.normal(size=(30, 2)) for each in (phi, judging)
  )
  penalties = [0.1, 10.0, 1000.0]
  ridges = [
    np.linalg.solve(phi.T @ phi + penalty * np.eye(5), phi.T @ outcome)
    for penalty in penalties
  ]
  losses = [np.sum((held_out - judging @ each) ** 2, axis=0) for each in ridges]
  least = np.argmin(losses, axis=0)
  assert least[0] != least[1]
  np.testing.assert_allclose(
    whole_state.judged_weights(
      phi.T @ phi,
      phi.T @ outcome,
      judging.T @ judging,
      judging.T @ held_out,
      np.array(penalties),
    ),
    np.stack([ridges[least[0]][:, 0], ridges[least[1]][:, 1]], axis=1),
    rtol=1e-9,
  )


def test_the_end_of_an_episode_is_not_before_the_next_one():
  # Residuals alternate within pairs; between episodes they are the same.
  episodes = np.repeat(np.arange(200), 2)
  sign = np.random.default_rng(0).choice([-1.0, 1.0], 200)
  outcome = np.stack([sign, np.roll(sign, -1)], axis=1).ravel()
  left = whole_state.unexplained(
    np.random.default_rng(1).normal(size=(400, 1)),
    np.ones((400, 1)),
    outcome[:, None],
    episodes,
  )
  assert abs(whole_state.remembered(left, episodes).z[0]) < 3.0


def test_the_action_before_tells_what_no_residual_before_does():
  generator = np.random.default_rng(0)
  place, noise = generator.normal(size=(2, 1_200))
  action = generator.integers(2, size=1_200)
  episodes = np.repeat(np.arange(120), 10)
  before = np.where(np.arange(1_200) % 10 == 0, 0, np.roll(action, 1))
  actions, last = np.eye(2)[action], np.eye(2)[before]
  reward = place + 1.0 * (action != before) + noise
  left = whole_state.unexplained(
    place[:, None], actions, np.c_[reward, place + noise, last], episodes
  )
  found = whole_state.acted(left[:, :2], left[:, 2:], actions, episodes)
  # A change has the variance of a fair coin, .25, beside 1 of noise; as a share
  # of all of the reward's, 2.25, that is .11. Of the other there is nothing.
  assert found.share[0] == pytest.approx(0.11, abs=0.04)
  assert found.z[0] > 6.0
  assert found.share[1] < 0.005
  assert whole_state.remembered(left[:, :1], episodes).share[0] < 0.005


def _dosed(*, seen, matters=True, seed=0):
  """What a doctor saw moves the dose, and perhaps what comes of it."""
  generator = np.random.default_rng(seed)
  age, pain = generator.normal(size=(2, 1_500))
  high = 1.0 / (1.0 + np.exp(-0.5 * age - pain))
  dose = (generator.random(1_500) < high).astype(int)
  relief = age + dose + 0.5 * matters * pain * (2 * dose - 1)
  relief = relief + 0.5 * generator.normal(size=1_500)
  logs = np.log(np.where(dose == 1, high, 1.0 - high))
  patients = np.arange(1_500)
  actions = np.eye(2)[dose]
  left = whole_state.unexplained(
    np.c_[age, pain] if seen else age[:, None],
    actions,
    np.c_[relief, logs],
    patients,
  )
  return whole_state.foreseen(left[:, :1], left[:, 1], actions, patients)


def test_probabilities_by_what_is_observed_tell_nothing_more():
  found = _dosed(seen=True)
  assert abs(found.share[0]) < 0.005 and found.z[0] < 3.0


def test_probabilities_tell_what_the_behaviour_policy_saw_alone():
  found = _dosed(seen=False)
  assert found.share[0] > 0.05
  assert found.z[0] > 6.0


def test_what_moves_actions_alone_is_not_told():
  found = _dosed(seen=False, matters=False)
  assert abs(found.share[0]) < 0.005 and found.z[0] < 3.0
