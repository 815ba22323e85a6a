"""Weights by visits: duality with LSTD-Q, held-out balance, blends."""

import numpy as np
import pytest

from dfiv_ope.iv import just_identified, ridge
from dfiv_ope.ope import blending, marginal, tables

_STATES, _ACTIONS, _DISCOUNT = 4, 2, 0.9
_POLICY = np.array([0.3, 0.7])


def _rows(count=4_000, seed=0):
  generator = np.random.default_rng(seed)
  state, following = generator.integers(_STATES, size=(2, count))
  action = (generator.random(count) < 0.4).astype(int)
  reward = state * action + generator.normal(size=count)
  return tables.Rows(
    state,
    action,
    reward,
    _DISCOUNT * (generator.random(count) < 0.9),
    following,
  )


def _policy():
  return tables.TablePolicy(
    np.tile(np.arange(_ACTIONS), (_STATES, 1)),
    np.tile(_POLICY, (_STATES, 1)),
    _ACTIONS,
  )


def _features(rows):
  """Returns indicators of (s, a), less the last for a constant, and changes."""

  def of(state, chance):
    table = np.zeros((len(state), _STATES, _ACTIONS))
    table[np.arange(len(state)), state] = chance
    flat = table.reshape(len(state), -1)
    return np.concatenate([flat[:, :-1], np.ones((len(state), 1))], axis=1)

  now = of(rows.state, np.eye(_ACTIONS)[rows.action])
  later = of(rows.next_state, _POLICY)
  first = of(np.arange(_STATES), _POLICY).mean(axis=0)[:, None]
  return now, now - rows.continuation[:, None] * later, first


def _sums(rows, part=slice(None)):
  now, change, _ = _features(rows)
  return ridge.sums(
    now[part], np.concatenate([change, rows.outcome[:, None]], axis=1)[part]
  )


def test_weights_lstd_and_q_learning_are_one_estimator():
  rows = _rows()
  now, change, first = _features(rows)
  total = _sums(rows)
  penalty = 1e-14
  # Minimax weight learning: the sum of w r.
  weights = now @ marginal.dense_weights(total, first, penalty)
  mwl = float(weights[:, 0] @ rows.outcome)
  # LSTD-Q.
  lstd = float(np.sum(first * just_identified.solve(total, penalty).weights))
  # Minimax Q-learning: q with mean errors of zero in each state and action.
  mql = float(
    first[:, 0] @ np.linalg.solve(now.T @ change, now.T @ rows.outcome)
  )
  assert mwl == pytest.approx(mql, abs=1e-8)
  assert lstd == pytest.approx(mql, abs=1e-8)


def test_a_table_weighs_its_own_rows_as_its_dual_does():
  rows, starts = _rows(), np.append(np.full(_STATES, 1.0 / _STATES), 0.0)
  found = tables.solve(rows, _policy(), starts, prior_rows=2.0)
  own = marginal.table_weights(rows, rows, _policy(), starts, prior_rows=2.0)
  np.testing.assert_allclose(own, found.weigh(starts), atol=1e-12)
  # Without a prior it is the exact dual, and so the value of LSTD-Q.
  bare = marginal.table_weights(rows, rows, _policy(), starts, prior_rows=1e-9)
  now, change, first = _features(rows)
  value = first[:, 0] @ np.linalg.solve(now.T @ change, now.T @ rows.outcome)
  assert bare @ rows.outcome == pytest.approx(value, abs=1e-6)


def test_unseen_pairs_have_weights_and_unseen_states_none():
  rows = _rows(200)
  keep = (rows.state != 3) & ((rows.state != 2) | (rows.action == 0))
  fitted = tables.Rows(*(each[keep] for each in rows))
  starts = np.append(np.full(_STATES, 1.0 / _STATES), 0.0)
  found = marginal.table_weights(
    fitted, rows, _policy(), starts, prior_rows=1.0
  )
  assert np.all(np.isfinite(found))
  assert np.all(found[rows.state == 3] == 0.0)
  assert np.all(found[(rows.state == 2) & (rows.action == 1)] > 0.0)


def test_held_out_rows_tell_good_weights_from_bad_ones():
  rows, held = _rows(seed=0), _rows(seed=1)
  starts = np.append(np.full(_STATES, 1.0 / _STATES), 0.0)
  halves = np.arange(len(held.state)) % 2

  def table(prior):
    return marginal.table_imbalance(
      marginal.table_weights(rows, held, _policy(), starts, prior_rows=prior),
      held,
      halves,
      _policy(),
      starts,
      scale=1.0,
      all_pairs=held.state * _ACTIONS + held.action,
    )

  assert abs(table(1.0)) < 0.15 * table(1e5)
  _, _, first = _features(rows)
  total = _sums(rows)
  parts = tuple(_sums(held, halves == half) for half in (0, 1))

  def dense(penalty):
    return marginal.dense_imbalance(
      marginal.dense_weights(total, first, penalty),
      parts,
      first,
      scale=1.0,
      gram=np.asarray(total.gram) / len(rows.state),
    )

  assert abs(dense(1e-8)) < 0.1 * dense(1.0)


def test_biases_are_distances_from_the_interval():
  np.testing.assert_allclose(
    blending.biases(np.array([1.0, 2.0, 4.0]), 2.0, 1.0),
    [-1.0 + 0.67449, 0.0, 2.0 - 0.67449],
    atol=1e-5,
  )


def test_a_blend_has_the_least_mean_squared_error():
  # Two independent estimates with variances 1 and 4: shares 4/5 and 1/5.
  half = (
    np.sqrt(3.0)
    / 2.0
    * np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, -2.0, -2.0]])
  )
  half *= np.sqrt(1.0 / np.sum(np.square(half[0])) * 3.0 / 4.0)
  np.testing.assert_allclose(
    blending.weights(blending.covariance(half)), [0.8, 0.2], atol=1e-4
  )
  # A large bias has no share, and equal estimates share alike.
  np.testing.assert_allclose(
    blending.weights(blending.covariance(half) + np.diag([1e4, 0.0])),
    [0.0, 1.0],
    atol=1e-3,
  )
  np.testing.assert_allclose(
    blending.weights(np.zeros((3, 3))), [1.0 / 3.0] * 3
  )
  generator = np.random.default_rng(0)
  added, bias = generator.normal(size=(5, 50)), generator.normal(size=5)
  matrix = blending.covariance(added) + np.outer(bias, bias)
  found = blending.weights(matrix)
  assert found.min() >= 0.0 and found.sum() == pytest.approx(1.0)
  best = found @ matrix @ found
  for _ in range(200):
    other = generator.dirichlet(np.ones(5))
    assert other @ matrix @ other > best - 1e-3
