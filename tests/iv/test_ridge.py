"""Ridge regression against numpy, and its invariances."""

import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest

from dfiv_ope import testing
from dfiv_ope.iv import ridge, ridge_path

problem = testing.regression_rows
PENALTIES = st.floats(1e-4, 10.0)
SEEDS = st.integers(0, 2**16)
SETTINGS = hypothesis.settings(max_examples=25, deadline=None, derandomize=True)


def numpy_ridge(features, targets, penalty, intercept=False):
  ridge_matrix = len(features) * penalty * np.eye(features.shape[1])
  if intercept:
    ridge_matrix[-1, -1] = 0.0
  return np.linalg.solve(
    features.T @ features + ridge_matrix, features.T @ targets
  )


def solve(features, targets, penalty, *, intercept=False):
  return ridge.solve_sums(
    ridge.sums(features, targets), penalty, intercept=intercept
  )


def with_ones(features):
  return np.concatenate([features, np.ones((len(features), 1))], axis=1)


@pytest.mark.parametrize('intercept', [False, True])
def test_solve_equals_the_normal_equations(intercept):
  features, targets = problem(0)
  features = with_ones(features)
  np.testing.assert_allclose(
    solve(features, targets, 0.3, intercept=intercept),
    numpy_ridge(features, targets, 0.3, intercept),
    rtol=1e-10,
  )


def test_solve_of_one_feature_is_the_number_worked_out_by_hand():
  # (1 + 4 + 2 * 0.5)^-1 (1 * 2 + 2 * 5) = 12 / 6.
  weights = solve(np.array([[1.0], [2.0]]), np.array([[2.0], [5.0]]), 0.5)
  np.testing.assert_allclose(weights, [[2.0]], rtol=1e-12)


def test_a_path_has_the_weights_and_held_out_errors_of_each_penalty():
  features, targets = problem(2)
  rows, rest = (
    ridge.sums(with_ones(features[part]), targets[part])
    for part in (slice(0, None, 2), slice(1, None, 2))
  )
  penalties = [1e-6, 1e-2, 1.0, 100.0]
  path = ridge_path.Path(rows, penalties)
  errors = path.errors(rest)
  for place, penalty in enumerate(penalties):
    weights = ridge.solve_sums(rows, penalty, intercept=True)
    np.testing.assert_allclose(path.weights(place), weights, rtol=1e-8)
    assert errors[place] == pytest.approx(
      ridge.mean_squared_error(rest, weights), rel=1e-8
    )
    last = slice(-1, None)
    np.testing.assert_allclose(path.weights(place, last), weights[:, last])
    assert path.errors(rest, last)[place] == pytest.approx(
      ridge.mean_squared_error(ridge.targets(rest, last), weights[:, last]),
      rel=1e-8,
    )


@pytest.mark.parametrize('intercept', [False, True])
def test_grid_equals_single_solves(intercept):
  features, targets = problem(2)
  total = ridge.sums(with_ones(features), targets)
  penalties = [1e-6, 1e-2, 1.0, 100.0]
  grid = ridge.solve_grid(total, penalties, intercept=intercept)
  for penalty, weights in zip(penalties, grid, strict=True):
    np.testing.assert_allclose(
      weights, ridge.solve_sums(total, penalty, intercept=intercept), rtol=1e-9
    )


def test_mean_squared_error_from_sums_equals_the_residuals():
  features, targets = problem(3)
  weights = np.ones((4, 2))
  error = np.sum((targets - features @ weights) ** 2, axis=1).mean()
  assert float(
    ridge.mean_squared_error(ridge.sums(features, targets), weights)
  ) == pytest.approx(error)


def test_more_features_than_rows_interpolate_at_vanishing_penalty():
  features, targets = problem(5, rows=5, columns=20)
  weights = solve(features, targets, 1e-10)
  np.testing.assert_allclose(features @ weights, targets, rtol=1e-5)


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.integers(1, 29))
def test_merged_sums_equal_the_whole(seed, penalty, cut):
  features, targets = problem(seed)
  merged = ridge.merge(
    ridge.sums(features[:cut], targets[:cut]),
    ridge.sums(features[cut:], targets[cut:]),
  )
  np.testing.assert_allclose(
    ridge.solve_sums(merged, penalty),
    solve(features, targets, penalty),
    rtol=1e-8,
    atol=1e-10,
  )


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES)
def test_order_of_rows_does_not_matter(seed, penalty):
  features, targets = problem(seed)
  order = np.random.default_rng(seed).permutation(len(features))
  np.testing.assert_allclose(
    solve(features[order], targets[order], penalty),
    solve(features, targets, penalty),
    rtol=1e-8,
    atol=1e-10,
  )


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.integers(2, 4))
def test_duplicated_rows_change_nothing(seed, penalty, times):
  features, targets = problem(seed)
  np.testing.assert_allclose(
    solve(np.tile(features, (times, 1)), np.tile(targets, (times, 1)), penalty),
    solve(features, targets, penalty),
    rtol=1e-8,
    atol=1e-10,
  )


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.floats(0.01, 100.0))
def test_scaling_features_scales_penalty_and_weights(seed, penalty, scale):
  features, targets = problem(seed)
  np.testing.assert_allclose(
    solve(scale * features, targets, scale**2 * penalty) * scale,
    solve(features, targets, penalty),
    rtol=1e-7,
    atol=1e-9,
  )


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.floats(-100.0, 100.0))
def test_shifting_targets_shifts_only_the_intercept(seed, penalty, shift):
  features, targets = problem(seed)
  features = with_ones(features)
  before = solve(features, targets, penalty, intercept=True)
  after = solve(features, targets + shift, penalty, intercept=True)
  np.testing.assert_allclose(after[:-1], before[:-1], rtol=1e-6, atol=1e-8)
  np.testing.assert_allclose(after[-1], before[-1] + shift, atol=1e-6)


@pytest.mark.parametrize('penalty', [0.0, -1.0, float('nan')])
def test_penalty_that_is_not_positive_is_refused(penalty):
  features, targets = problem(0)
  with pytest.raises(ValueError, match='penalty must be positive'):
    solve(features, targets, penalty)


def test_rows_that_do_not_match_are_refused():
  with pytest.raises(ValueError, match='3 rows, targets 4'):
    ridge.sums(np.ones((3, 2)), np.ones((4, 1)))


def test_vectors_are_refused():
  with pytest.raises(ValueError, match=r'\[B, D\] and targets \[B, K\]'):
    ridge.sums(np.ones((3, 2)), np.ones(3))


def test_merge_of_nothing_is_refused():
  with pytest.raises(ValueError, match='at least one'):
    ridge.merge()


@pytest.mark.parametrize('intercept', [False, True])
def test_a_gram_matrix_that_rounding_made_indefinite_is_solved(intercept):
  rows, penalty = 1000.0, 1e-12
  gram = np.diag([1.0, -3e-12, 1.0])
  moment = np.array([[2.0], [1e-12], [4.0]])
  total = ridge.Sums(
    gram=rows * gram,
    moment=rows * moment,
    square=np.array([rows]),
    count=np.float64(rows),
  )
  with pytest.raises(np.linalg.LinAlgError, match='not positive definite'):
    np.linalg.cholesky(total.gram + penalty * rows * np.eye(3))
  # The negative eigenvalue counts as zero.
  np.testing.assert_allclose(
    ridge.solve_sums(total, penalty, intercept=intercept)[:, 0],
    [2.0, 1.0, 4.0],
    rtol=1e-9,
  )


def test_data_that_are_not_finite_give_no_weights():
  total = ridge.sums(
    np.array([[1.0, np.nan], [0.0, 1.0]]), np.array([[1.0], [2.0]])
  )
  assert np.isnan(ridge.solve_sums(total, 1e-3)).all()


def test_instruments_solve_for_as_many_regressors():
  generator = np.random.default_rng(0)
  instruments, regressors = generator.normal(size=(2, 50, 3))
  outcome = generator.normal(size=(50, 1))
  total = ridge.sums(instruments, np.concatenate([regressors, outcome], axis=1))
  penalty = 0.2 * 50 * np.diag([1.0, 1.0, 0.0])
  np.testing.assert_allclose(
    ridge.solve_cross(total, 0.2),
    np.linalg.solve(
      instruments.T @ regressors + penalty, instruments.T @ outcome
    ),
    rtol=1e-8,
  )


def test_projected_sums_are_the_sums_of_projected_rows():
  generator = np.random.default_rng(0)
  design, target = (
    generator.normal(size=(20, 4)),
    generator.normal(size=(20, 3)),
  )
  weights = generator.normal(size=(4, 2))
  ours = ridge.project(ridge.sums(design, target), weights)
  expected = ridge.sums(design @ weights, target)
  for left, right in zip(ours, expected, strict=True):
    np.testing.assert_allclose(left, right, rtol=1e-8)
  one = ridge.targets(ours, slice(1, 2))
  np.testing.assert_array_equal(one.moment, ours.moment[:, 1:2])
  np.testing.assert_array_equal(one.square, ours.square[1:2])


def test_the_dual_weighs_outcomes_as_the_answer_does():
  generator = np.random.default_rng(1)
  instruments, regressors = generator.normal(size=(2, 50, 3))
  outcome, value = (
    generator.normal(size=(50, 1)),
    np.array([[1.0], [2.0], [3.0]]),
  )
  total = ridge.sums(instruments, np.concatenate([regressors, outcome], axis=1))
  dual = ridge.solve_dual(total, value, 0.2)
  np.testing.assert_allclose(
    dual.T @ instruments.T @ outcome,
    value.T @ ridge.solve_cross(total, 0.2),
    rtol=1e-9,
  )
