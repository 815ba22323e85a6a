"""Tables: sparse solves equal the closed form of indicators."""

import numpy as np
import pytest

from dfiv_ope.ope import tables

_DISCOUNT = 0.9


def _log(seed=0, rows=2_000, states=6, actions=4):
  """A log of random steps, in which some actions are never taken."""
  generator = np.random.default_rng(seed)
  state = generator.integers(states, size=rows)
  action = np.minimum(generator.integers(actions, size=rows), state)
  return tables.Rows(
    state=state,
    action=action,
    outcome=generator.normal(size=rows),
    continuation=_DISCOUNT * (generator.random(rows) > 0.1),
    next_state=generator.integers(states, size=rows),
  )


def _policy(states=6, actions=4):
  probabilities = np.random.default_rng(1).dirichlet(
    np.ones(actions), size=states
  )
  return tables.TablePolicy(
    np.tile(np.arange(actions), (states, 1)), probabilities, actions
  )


def _anywhere(states=6):
  """Episodes that start from any state as often."""
  return np.append(np.full(states, 1.0 / states), 0.0)


def _by_hand(rows, policy, prior_rows):
  """Q by iteration of the definition, [C, A]."""
  states, actions = policy.probabilities.shape
  q = np.zeros((states, actions))
  for _ in range(2_000):
    values = np.sum(policy.probabilities * q, axis=1)
    y = rows.outcome + rows.continuation * values[rows.next_state]
    before = q.copy()
    for state in range(states):
      here = rows.state == state
      for action in range(actions):
        both = here & (rows.action == action)
        q[state, action] = (np.sum(y[both]) + prior_rows * np.mean(y[here])) / (
          np.sum(both) + prior_rows
        )
    if np.abs(q - before).max() < 1e-13:
      break
  return q


@pytest.mark.parametrize('prior_rows', [1e-9, 1.0, 10.0])
def test_the_table_is_the_mean_of_its_rows_and_the_prior(prior_rows):
  rows, policy = _log(), _policy()
  q = _by_hand(rows, policy, prior_rows)
  found = tables.solve(rows, policy, _anywhere(), prior_rows=prior_rows)
  np.testing.assert_allclose(
    found.q, q.reshape(-1)[found.pairs], rtol=1e-9, atol=1e-9
  )
  np.testing.assert_allclose(
    found.values[:-1], np.sum(policy.probabilities * q, axis=1), rtol=1e-9
  )
  # An action that the log does not take has the mean of its state.
  assert q[0, 3] == pytest.approx(found.means[0])


def test_weights_of_rows_give_the_value():
  rows = _log()
  found = tables.solve(rows, _policy(), _anywhere(), prior_rows=1.0)
  starts = np.array([0.5, 0.0, 0.25, 0.25, 0.0, 0.0, 0.0])
  assert found.weigh(starts) @ rows.outcome == pytest.approx(
    starts @ found.values
  )


def test_a_state_that_is_never_left_has_the_mean_value():
  rows = _log()
  rows = rows._replace(
    next_state=np.where(rows.next_state == 5, 6, rows.next_state)
  )
  found = tables.solve(rows, _policy(states=7), _anywhere(7), prior_rows=1.0)
  visits = np.bincount(rows.state, minlength=7) / len(rows.state)
  assert found.values[6] == pytest.approx(visits @ found.values[:-1])
  assert found.values[7] == found.values[6]


def test_many_states_are_solved_by_iterations(monkeypatch):
  rows, policy = _log(states=60, rows=8_000), _policy(states=60)
  starts = np.full(61, 1.0 / 61)
  expected = tables.solve(rows, policy, starts, prior_rows=1.0)
  weights = expected.weigh(starts)
  monkeypatch.setattr(tables, '_DENSE_STATES', 10)
  found = tables.solve(rows, policy, starts, prior_rows=1.0)
  np.testing.assert_allclose(found.values, expected.values, rtol=1e-7)
  np.testing.assert_allclose(found.weigh(starts), weights, rtol=1e-6)


def test_actions_that_a_policy_names_twice_count_twice():
  rows, policy = _log(), _policy()
  twice = tables.TablePolicy(
    np.repeat(policy.actions, 2, axis=1),
    np.repeat(policy.probabilities / 2.0, 2, axis=1),
    4,
  )
  np.testing.assert_allclose(
    tables.solve(rows, twice, _anywhere(), prior_rows=1.0).values,
    tables.solve(rows, policy, _anywhere(), prior_rows=1.0).values,
  )


def test_extrapolation_is_the_spread_of_actions_where_the_log_has_none():
  # Two states that end at once; of state 1 the log has action 0 alone.
  rows = tables.Rows(
    state=np.array([0, 0, 0, 0, 1, 1]),
    action=np.array([0, 0, 1, 1, 0, 0]),
    outcome=np.array([1.0, 1.0, 3.0, 3.0, 5.0, 5.0]),
    continuation=np.zeros(6),
    next_state=np.zeros(6, int),
  )
  policy = tables.TablePolicy(
    np.tile([0, 1], (2, 1)), np.array([[0.5, 0.5], [0.25, 0.75]]), 2
  )
  starts = np.array([0.2, 0.8, 0.0])
  found = tables.solve(rows, policy, starts, prior_rows=1e-9)
  assert found.spread == pytest.approx(np.sqrt(4.0 / 6.0))
  np.testing.assert_allclose(found.left, [0.0, 0.75], atol=1e-8)
  assert found.extrapolation(starts) == pytest.approx(0.8 * 0.75 * found.spread)


def test_a_prior_must_be_positive():
  with pytest.raises(ValueError, match='prior_rows must be positive'):
    tables.solve(_log(), _policy(), _anywhere(), prior_rows=0.0)


def test_an_action_that_a_state_lacks_differs_as_it_does_elsewhere():
  # One step; action 1 earns ten less than action 0, and state 5 lacks it.
  states = np.repeat(np.arange(6), 2)[:-1]
  actions = np.tile([0, 1], 6)[:-1]
  rows = tables.Rows(
    states, actions, states - 10.0 * actions, np.zeros(11), states
  )
  found = tables.solve(
    rows,
    tables.TablePolicy(np.ones([6, 1], np.int64), np.ones([6, 1]), 2),
    _anywhere(),
    prior_rows=1.0,
  )
  assert found.offsets == pytest.approx([10.0, -10.0])
  assert found.values[5] == pytest.approx(5.0 - 10.0)
  # Five states agree, so only the spread of actions is left to be wrong.
  alone = np.eye(7)[5]
  assert found.extrapolation(alone) == pytest.approx(found.spread)


def _by_preference(noise=0.0):
  """One step; action 0, which the target prefers, earns eight more.

  Each state has two rows of action 0 and one of action 1.
  """
  states = np.repeat(np.arange(6), 3)
  actions = np.tile([0, 0, 1], 6)
  outcome = states + 8.0 * (actions == 0) + noise * np.sin(np.arange(18.0))
  rows = tables.Rows(states, actions, outcome, np.zeros(18), states)
  policy = tables.TablePolicy(
    np.tile([0, 1], (6, 1)), np.tile([0.75, 0.25], (6, 1)), 2
  )
  return rows, policy


def test_a_prior_knows_what_preferred_actions_differ_by():
  rows, policy = _by_preference()
  found = tables.solve(rows, policy, _anywhere(), prior_rows=1.0)
  # Eight between probabilities of 0.75 and 0.25.
  assert found.slope == pytest.approx(16.0)
  assert found.slope_error == pytest.approx(0.0, abs=1e-9)
  np.testing.assert_allclose(found.values[:-1], np.arange(6) + 6.0)
  np.testing.assert_allclose(found.q[:2], [8.0, 0.0], atol=1e-9)


def test_a_slope_is_drawn_to_zero_by_chance_and_widens_the_rest():
  rows, policy = _by_preference(noise=8.0)
  found = tables.solve(rows, policy, _anywhere(), prior_rows=1.0)
  y = rows.outcome - np.repeat(rows.outcome.reshape(6, 3).mean(axis=1), 3)
  away = np.tile([1.0, 1.0, -2.0], 6) / 6.0
  slope = away @ y / (away @ away)
  left = (away * (y - slope * away)).reshape(6, 3).sum(axis=1)
  error = np.linalg.norm(left) / (away @ away)
  assert found.slope_error == pytest.approx(error)
  assert found.slope == pytest.approx(slope * (1.0 - (error / slope) ** 2))
  k = found.prior_rows
  np.testing.assert_allclose(
    found.preferred, k * (0.75 / (2.0 + k) / 6.0 - 0.25 / (1.0 + k) / 3.0)
  )
  alone = np.eye(7)[0]
  assert found.extrapolation(alone) == pytest.approx(
    np.hypot(found.spread * found.left[0], found.preferred[0] * error)
  )
