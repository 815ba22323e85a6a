"""The model of nearest neighbours: exact where the log has all there is."""

import numpy as np
import pytest
import tensorflow as tf

import dfiv_ope
from dfiv_ope import testing
from dfiv_ope.ope import local_changes, log_points, nearest_model


class Threshold:
  """Goes up below a height, else down."""

  def __init__(self, height):
    self._height = height

  def action_probabilities(self, observation):
    return tf.one_hot(
      tf.cast(tf.cast(observation[:, 0], tf.float32) < self._height, tf.int32),
      2,
    )


def _line(episodes=60, length=12, seed=0, noise=0.0):
  """Steps of -1 or 1 on a line, from anywhere; a step up earns 1."""
  generator = np.random.default_rng(seed)
  place = generator.uniform(-3.0, 3.0, episodes)
  rows = []
  for step in range(length):
    action = generator.integers(0, 2, episodes)
    after = place + 2.0 * action - 1.0 + noise * generator.normal(size=episodes)
    rows.append(
      np.stack(
        [
          np.arange(episodes),
          place,
          action,
          action,
          after,
          np.full(episodes, step == length - 1),
        ],
        axis=1,
      )
    )
    place = after
  rows = np.stack(rows, axis=1).reshape(-1, 6)
  return dfiv_ope.Log.from_arrays(
    rows[:, 1:2],
    rows[:, 2].astype(int),
    rows[:, 3],
    np.zeros(len(rows), bool),
    rows[:, 5].astype(bool),
    discount=0.9,
    next_observations=rows[:, 4:5],
    episode_ids=rows[:, 0].astype(int),
  )


def _on_the_line(start, height, steps):
  """Returns the exact discounted number of steps up."""
  total, place = 0.0, np.array(start, float)
  for step in range(steps):
    total = total + 0.9**step * (place < height)
    place = place + np.where(place < height, 1.0, -1.0)
  return total


def test_what_a_step_changes_is_exact_where_it_is_the_same_everywhere():
  log = _line()
  start = np.array([[0.123], [-2.71], [1.9]])
  found = nearest_model.Model(log).roll(Threshold(0.5), start, steps=30)
  np.testing.assert_allclose(
    found.returns, _on_the_line(start[:, 0], 0.5, 30), atol=1e-5
  )


def test_weights_times_rewards_are_the_value_and_count_the_time():
  log = _line(noise=0.1)
  found = nearest_model.Model(log).roll(
    Threshold(0.0), log.initial_observations, steps=20
  )
  np.testing.assert_allclose(
    found.weights @ log.transitions.reward, np.mean(found.returns), rtol=1e-9
  )
  np.testing.assert_allclose(
    np.sum(found.weights), (1.0 - 0.9**20) / 0.1, rtol=1e-9
  )
  assert found.left == pytest.approx(0.9**20)


def test_visits_that_leave_the_log_are_counted_by_the_time_they_take():
  log = _line()
  near = nearest_model.Model(log).roll(
    Threshold(0.0), np.array([[0.2]]), steps=40
  )
  np.testing.assert_array_equal(near.beyond, np.zeros(10))
  # Always up: after some 20 steps, 88 % of what counts, nobody was there.
  away = nearest_model.Model(log).roll(
    Threshold(np.inf), np.array([[0.2]]), steps=100
  )
  np.testing.assert_array_equal(away.beyond[[0, 3, 9]], [0.0, 0.0, 1.0])
  np.testing.assert_allclose(
    np.sum(away.far),
    np.sum(away.visits) - np.sum(away.visits[: np.argmax(away.far > 0.0)]),
  )


def test_slopes_find_changes_between_the_steps_of_a_log():
  """A spring without noise: changes are linear in place and speed."""
  generator = np.random.default_rng(0)
  state, rows = generator.normal(size=(40, 2)), []
  turn = np.array([[0.95, 0.3], [-0.3, 0.95]])
  for step in range(10):
    after = state @ turn
    rows.append((np.arange(40), state, after, np.full(40, step == 9)))
    state = after
  episode, before, after, cut = (
    np.stack(each, axis=1).reshape(400, -1) for each in zip(*rows, strict=True)
  )
  log = dfiv_ope.Log.from_arrays(
    before,
    np.zeros(400, int),
    before[:, 0],
    np.zeros(400, bool),
    cut[:, 0],
    discount=0.9,
    next_observations=after,
    num_actions=2,
    episode_ids=episode[:, 0],
  )
  seen = []

  class Recording:
    def action_probabilities(self, observation):
      seen.append(np.asarray(observation))
      return tf.one_hot(tf.zeros(len(observation), tf.int32), 2)

  state = np.array([[0.3, -0.4], [1.0, 0.5]])
  nearest_model.Model(log).roll(Recording(), state, steps=8)
  for each in seen:
    np.testing.assert_allclose(each, state, atol=0.02)
    state = state @ turn


def test_slopes_are_kept_to_where_held_out_steps_gain_by_them():
  points = np.linspace(0.0, 1.0, 50)[:, None]
  line, noise = 3.0 * points, np.random.default_rng(1).normal(size=(50, 1))
  plain = np.roll(line, 1)
  assert local_changes.worth(line[1:], plain[1:], line[1:])
  assert not local_changes.worth(noise, np.roll(noise, 1), np.roll(noise, 2))
  assert not local_changes.worth(0.001 * np.ones((50, 1)), plain, line)


def test_a_slope_times_the_offset_is_added_and_not_beyond_its_reach():
  points = np.linspace(-1.0, 1.0, 21)[None, :, None]
  ones = np.ones((1, 21))
  found = local_changes.added(np.array([[0.5]]), points, 2.0 * points, ones)
  np.testing.assert_allclose(found, [[1.0]], rtol=2e-3)
  # Steps are spread by 0.61 around their mean, of which five times is 3.03.
  far = local_changes.added(np.array([[10.0]]), points, 2.0 * points, ones)
  np.testing.assert_allclose(far, [[6.06]], rtol=5e-3)
  # At one place nothing is known of a slope.
  same = local_changes.added(
    np.array([[0.5]]), 0.0 * points, 2.0 * points, ones
  )
  np.testing.assert_allclose(same, [[0.0]], atol=1e-12)


def test_an_action_that_the_log_never_took_is_beyond_it():
  log = _line()
  up = np.asarray(log.transitions.action) == 1
  one_way = dfiv_ope.Log.from_arrays(
    log.transitions.observation[up],
    np.zeros(up.sum(), int),
    log.transitions.reward[up],
    np.zeros(up.sum(), bool),
    np.ones(up.sum(), bool),
    discount=0.9,
    num_actions=2,
    next_observations=log.transitions.next_observation[up],
    episode_ids=np.arange(up.sum()),
  )
  found = nearest_model.Model(one_way).roll(
    Threshold(np.inf), np.array([[0.2]]), steps=5
  )
  assert np.nanmin(found.beyond) == 1.0
  assert np.all(np.isfinite(found.returns))


def test_of_equal_states_every_step_is_as_likely():
  """A table: the value is that of the transitions that the log shows."""
  process = testing.TabularMDP(seed=3)
  rows = process.transitions(3_000)
  names = np.argmax(rows.observation, axis=1).astype(float)[:, None]
  later = np.argmax(rows.next_observation, axis=1).astype(float)[:, None]
  log = dfiv_ope.Log.from_arrays(
    names,
    np.asarray(rows.action),
    np.asarray(rows.reward, float),
    np.asarray(rows.discount) == 0.0,
    np.ones(3_000, bool),
    discount=0.8,
    next_observations=later,
    episode_ids=np.arange(3_000),
    categorical=[0],
  )
  policy = np.array([0.3, 0.7])
  counts = np.zeros((5, 2, 5))
  state, action = names[:, 0].astype(int), np.asarray(rows.action)
  going_on = np.asarray(rows.discount, float)
  np.add.at(counts, (state, action, later[:, 0].astype(int)), going_on)
  seen = np.zeros((5, 2))
  np.add.at(seen, (state, action), 1.0)
  gains = np.zeros((5, 2))
  np.add.at(gains, (state, action), np.asarray(rows.reward, float))
  values = np.linalg.solve(
    np.eye(5) - 0.8 * np.einsum('a,sat->st', policy, counts / seen[:, :, None]),
    (gains / seen) @ policy,
  )
  found = nearest_model.Model(log).roll(
    testing.Mixed(policy), np.zeros((6_000, 1)), steps=60
  )
  error = np.std(found.returns) / np.sqrt(6_000)
  assert abs(np.mean(found.returns) - values[0]) < 4.0 * error
  np.testing.assert_array_equal(found.beyond[:1], [0.0])


def test_many_columns_are_looked_up_without_a_tree():
  log = _line()
  generator = np.random.default_rng(1)

  def widen(observation):
    return np.concatenate(
      [observation, np.zeros((len(observation), 30))], axis=1
    )

  rows = log.transitions
  wide = dfiv_ope.Log.from_arrays(
    widen(rows.observation),
    np.asarray(rows.action),
    np.asarray(rows.reward),
    np.zeros(len(log), bool),
    np.diff(log.episodes, append=-1) != 0,
    discount=0.9,
    next_observations=widen(rows.next_observation),
    episode_ids=log.episodes,
  )
  start = generator.uniform(-2.0, 2.0, (3, 1))
  found = nearest_model.Model(wide).roll(Threshold(0.5), widen(start), steps=25)
  np.testing.assert_allclose(
    found.returns, _on_the_line(start[:, 0], 0.5, 25), atol=1e-4
  )


def test_of_many_names_no_step_is_left_out():
  """Beyond 20,000 rows other states are looked up among a part of them."""
  common, rare = np.arange(21_000) % 50, np.arange(50, 100)
  names = 1_000.0 + np.concatenate([common, rare])
  rewards = np.where(names >= 1_050.0, names, 0.0)
  log = dfiv_ope.Log.from_arrays(
    names[:, None],
    np.zeros(len(names), int),
    rewards,
    np.ones(len(names), bool),
    discount=0.9,
    num_actions=2,
    categorical=[0],
  )
  model = nearest_model.Model(log)
  found = model.roll(
    testing.Mixed([1.0, 0.0]), 1_000.0 + rare[:, None], steps=3
  )
  assert model.near == 0.0
  np.testing.assert_array_equal(found.returns, 1_000.0 + rare)
  assert found.beyond[0] == 0.0
  other = model.roll(
    testing.Mixed([0.0, 1.0]), 1_000.0 + rare[:, None], steps=3
  )
  # The other action of the same state stands in, and is not the same.
  np.testing.assert_array_equal(other.returns, 1_000.0 + rare)
  assert other.beyond[0] == 1.0


def test_names_are_as_far_as_their_indicators():
  points = log_points.Named(
    np.array([[3.0, 1.0], [3.0, 2.0], [3.0, 1.0], [5.0, 1.0]]), np.arange(4)
  )
  distance, place = points.query(
    np.array([[3.0, 1.0], [5.0, 1.0], [5.0, 9.0], [8.0, 9.0]]), 1
  )
  np.testing.assert_allclose(distance, np.sqrt([[0.0], [0.0], [2.0], [4.0]]))
  np.testing.assert_array_equal(
    points.points[place[:3, 0]], [[3.0, 1.0], [5.0, 1.0], [5.0, 1.0]]
  )
  np.testing.assert_array_equal(
    points.draw(np.array([0, 0]), np.array([0.2, 0.7])), [0, 2]
  )
