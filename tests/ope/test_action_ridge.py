"""Ridge regression by action: equal to one dense solve with all columns."""

import numpy as np
import pytest

from dfiv_ope.ope import action_ridge, action_scores

_ACTIONS, _OWN, _SHARED = 5, 3, 4
_PENALTIES = action_ridge.Penalties(
  np.array([0.5, 2.0, 1e-3, 1.0]), np.array([3.0, 0.7, 1.5])
)


def _rows(count=60, seed=0):
  """Rows of four of five actions; the last is never taken."""
  generator = np.random.default_rng(seed)
  return action_ridge.Rows(
    generator.normal(size=(count, _SHARED)),
    generator.normal(size=(count, _OWN)),
    np.sort(generator.integers(_ACTIONS - 1, size=count)),
    generator.normal(size=count),
  )


def _dense(rows):
  """All columns, and all penalties."""
  own = np.zeros([len(rows.action), _ACTIONS, _OWN])
  own[np.arange(len(own)), rows.action] = rows.own
  return (
    np.concatenate([rows.shared, own.reshape(len(own), -1)], axis=1),
    np.append(_PENALTIES.shared, np.tile(_PENALTIES.own, _ACTIONS)),
  )


def _flat(found):
  return np.append(found.shared, found.own.reshape(-1))


def test_elimination_by_action_is_the_dense_ridge_regression():
  rows = _rows()
  total = action_ridge.sums([rows], _ACTIONS)
  psi, penalty = _dense(rows)
  matrix = psi.T @ psi + np.diag(penalty)
  found = action_ridge.System(total, _PENALTIES).solve(total.moments)
  np.testing.assert_allclose(
    _flat(found), np.linalg.solve(matrix, psi.T @ rows.outcome), atol=1e-12
  )
  np.testing.assert_allclose(
    found.predict(rows), psi @ _flat(found), atol=1e-12
  )
  np.testing.assert_array_equal(found.own[-1], 0.0)


def test_sums_of_parts_are_those_of_the_whole():
  rows = _rows()
  whole = action_ridge.sums([rows], _ACTIONS)
  parts = action_ridge.sums(
    [
      action_ridge.Rows(*(each[place] for each in rows))
      for place in (slice(25), slice(25, None))
    ],
    _ACTIONS,
  )
  for name in ('shared', 'cross', 'own'):
    np.testing.assert_allclose(
      getattr(parts, name), getattr(whole, name), atol=1e-12
    )
  np.testing.assert_allclose(_flat(parts.moments), _flat(whole.moments))


def test_weights_of_rows_give_the_value():
  rows = _rows()
  generator = np.random.default_rng(1)
  asked = action_ridge.Coefficients(
    generator.normal(size=_SHARED), generator.normal(size=(_ACTIONS, _OWN))
  )
  total = action_ridge.sums([rows], _ACTIONS)
  system = action_ridge.System(total, _PENALTIES)
  weights = system.solve(asked).predict(rows)
  assert weights @ rows.outcome == pytest.approx(
    asked.dot(system.solve(total.moments)), rel=1e-10
  )


def test_held_out_error_is_that_of_fits_without_each_row(monkeypatch):
  monkeypatch.setattr(action_ridge, '_PART', 7)
  rows = _rows(count=30)
  psi, penalty = _dense(rows)
  errors = []
  for row in range(len(psi)):
    rest = np.delete(np.arange(len(psi)), row)
    fitted = np.linalg.solve(
      psi[rest].T @ psi[rest] + np.diag(penalty),
      psi[rest].T @ rows.outcome[rest],
    )
    errors.append(rows.outcome[row] - psi[row] @ fitted)
  total = action_ridge.sums([rows], _ACTIONS)
  assert action_ridge.held_out_error(rows, _PENALTIES, total) == pytest.approx(
    np.mean(np.square(errors)), rel=1e-9
  )


def test_numbered_actions_have_no_gaps():
  rows = _rows(3)._replace(action=np.array([2, 7, 7]))
  np.testing.assert_array_equal(action_ridge.numbered(rows).action, [0, 1, 1])


def test_penalties_are_near_the_ratio_of_the_variances():
  generator = np.random.default_rng(0)
  action = np.repeat(np.arange(100), 20)
  level, slope = generator.normal(size=100), 0.1 * generator.normal(size=100)
  number = generator.normal(size=2_000)
  rows = action_ridge.Rows(
    np.ones([2_000, 1]),
    np.stack([number, np.ones(2_000)], axis=1),
    action,
    level[action] + slope[action] * number + generator.normal(size=2_000),
  )
  groups = action_ridge.Groups(np.array([-1]), np.array([1, 0]))
  (at_level, at_slope), error = action_ridge.choose(rows, groups, [30.0, 1.0])
  assert 0.3 <= at_level <= 3.2  # 1 is the ratio.
  assert 31.0 <= at_slope <= 320.0  # 100 is.
  assert error == pytest.approx(1.05, abs=0.1)


def test_some_rows_keep_many_of_each_of_some_actions():
  action = np.sort(np.random.default_rng(0).integers(100, size=50_000))
  found = action_ridge.some_rows(action, 4_000)
  counts = np.bincount(action[found])
  assert set(counts) == {0, 200}
  assert len(found) == 19 * 200 and np.all(np.diff(found) > 0)
  np.testing.assert_array_equal(
    action_ridge.some_rows(action[:100], 4_000), np.arange(100)
  )


def test_an_action_that_is_never_taken_is_as_uncertain_as_its_prior():
  rows = _rows()
  asked = np.zeros([_ACTIONS, _OWN])
  asked[-1] = [2.0, 0.0, 1.0]
  system = action_ridge.System(action_ridge.sums([rows], _ACTIONS), _PENALTIES)
  assert action_ridge.shrinkage_error(
    system, _PENALTIES, asked, 0.25
  ) == pytest.approx(np.sqrt(0.25 * (4.0 / 3.0 + 1.0 / 1.5)))


def test_the_score_of_a_softmax_is_its_linear_score():
  generator = np.random.default_rng(0)
  own = np.append(generator.normal(size=(500, 2)), np.ones([500, 1]), axis=1)
  true = 0.5 * generator.normal(size=(4, 3))
  true -= true.mean(axis=0)
  odds = np.exp(own @ true.T)
  found = action_scores.of_target(odds / odds.sum(1, keepdims=True), own)
  np.testing.assert_allclose(
    found, true / np.std(own @ true.T), rtol=1e-3, atol=1e-3
  )
  assert not action_scores.of_target(np.full([500, 4], 0.25), own).any()


def test_the_score_of_the_behaviour_policy_has_its_frequencies():
  found = action_scores.of_behaviour(
    np.array([[4.0, 2.0], [0.0, 0.0]]), np.array([2, 0])
  )
  np.testing.assert_allclose(
    found, [[1.0, np.log(2.5 / 0.5) / 2.0], [0.0, -np.log(2.5 / 0.5) / 2.0]]
  )
