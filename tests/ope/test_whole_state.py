"""Is the observation the whole state?"""

import numpy as np

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
  return whole_state.remembered(
    place[:, None] if hidden else np.c_[place, wind],
    np.eye(2)[action],
    np.c_[change, reward],
    np.repeat(np.arange(episodes), length),
  )


def test_of_a_whole_state_the_step_before_says_nothing():
  found = _walk(hidden=False)
  assert np.all(found.share < 0.005)
  assert np.all(found.z < 3.0)


def test_a_hidden_wind_is_told_by_the_step_before():
  found = _walk(hidden=True)
  assert found.share[0] > 0.1
  assert found.z[0] > 6.0


def test_the_end_of_an_episode_is_not_before_the_next_one():
  # Residuals alternate within pairs; between episodes they are the same.
  episodes = np.repeat(np.arange(200), 2)
  sign = np.random.default_rng(0).choice([-1.0, 1.0], 200)
  outcome = np.stack([sign, np.roll(sign, -1)], axis=1).ravel()
  found = whole_state.remembered(
    np.random.default_rng(1).normal(size=(400, 1)),
    np.ones((400, 1)),
    outcome[:, None],
    episodes,
  )
  assert abs(found.z[0]) < 3.0
