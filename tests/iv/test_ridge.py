"""Ridge regression against numpy, and its invariances."""

import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.iv import ridge

PENALTIES = st.floats(1e-4, 10.)
SEEDS = st.integers(0, 2 ** 16)
SETTINGS = hypothesis.settings(
    max_examples=25, deadline=None, derandomize=True)


def problem(seed, rows=30, columns=4, targets=2):
  generator = np.random.default_rng(seed)
  features = generator.normal(1., 2., (rows, columns))
  weights = generator.normal(size=(columns, targets))
  noise = generator.normal(size=(rows, targets))
  return features, features @ weights + 3. + noise


def numpy_ridge(features, targets, penalty, intercept=False):
  ridge_matrix = len(features) * penalty * np.eye(features.shape[1])
  if intercept:
    ridge_matrix[-1, -1] = 0.
  return np.linalg.solve(
      features.T @ features + ridge_matrix, features.T @ targets)


def with_ones(features):
  return np.concatenate([features, np.ones((len(features), 1))], axis=1)


@pytest.mark.parametrize('intercept', [False, True])
def test_solve_equals_the_normal_equations(intercept):
  features, targets = problem(0)
  features = with_ones(features)
  np.testing.assert_allclose(
      ridge.solve(features, targets, 0.3, intercept=intercept),
      numpy_ridge(features, targets, 0.3, intercept), rtol=1e-10)


def test_solve_of_one_feature_is_the_number_worked_out_by_hand():
  # (1 + 4 + 2 * 0.5)^-1 (1 * 2 + 2 * 5) = 12 / 6.
  weights = ridge.solve(np.array([[1.], [2.]]), np.array([[2.], [5.]]), 0.5)
  np.testing.assert_allclose(weights, [[2.]], rtol=1e-12)


def test_loss_is_the_number_worked_out_by_hand():
  features = np.array([[1., 1.], [2., 1.]])
  targets = np.array([[2.], [5.]])
  weights = np.array([[2.], [1.]])
  # Errors -1 and 0; weights 2 (penalised) and 1 (the intercept).
  assert float(ridge.loss(features, targets, weights, 0.1)) == pytest.approx(
      0.5 + 0.1 * 5.)
  assert float(ridge.loss(
      features, targets, weights, 0.1, intercept=True)) == pytest.approx(
          0.5 + 0.1 * 4.)


@pytest.mark.parametrize('intercept', [False, True])
def test_solve_is_the_minimum_of_loss(intercept):
  features, targets = problem(1)
  features = tf.constant(with_ones(features))
  weights = tf.Variable(
      ridge.solve(features, targets, 0.3, intercept=intercept))
  with tf.GradientTape() as tape:
    loss = ridge.loss(features, targets, weights, 0.3, intercept=intercept)
  np.testing.assert_allclose(tape.gradient(loss, weights), 0., atol=1e-12)


@pytest.mark.parametrize('intercept', [False, True])
def test_grid_equals_single_solves(intercept):
  features, targets = problem(2)
  total = ridge.sums(with_ones(features), targets)
  penalties = [1e-6, 1e-2, 1., 100.]
  grid = ridge.solve_grid(total, penalties, intercept=intercept)
  for penalty, weights in zip(penalties, grid, strict=True):
    np.testing.assert_allclose(
        weights, ridge.solve_sums(total, penalty, intercept=intercept),
        rtol=1e-9)


def test_mean_squared_error_from_sums_equals_the_residuals():
  features, targets = problem(3)
  weights = np.ones((4, 2))
  error = np.sum((targets - features @ weights) ** 2, axis=1).mean()
  assert float(ridge.mean_squared_error(
      ridge.sums(features, targets), weights)) == pytest.approx(error)


def test_gradient_through_solve_equals_finite_differences():
  features, targets = problem(4, rows=12, columns=3, targets=1)

  def loss(x):
    weights = ridge.solve(x, targets, 0.1, intercept=True)
    return ridge.loss(x, targets, weights, 0.1, intercept=True)

  point = tf.constant(with_ones(features))
  with tf.GradientTape() as tape:
    tape.watch(point)
    value = loss(point)
  gradient = tape.gradient(value, point).numpy()
  step = np.zeros(point.shape)
  step[5, 1] = 1e-6
  slope = (float(loss(point + step)) - float(loss(point - step))) / 2e-6
  assert gradient[5, 1] == pytest.approx(slope, rel=1e-5)


def test_float32_features_are_solved_in_float64():
  # Two almost equal columns: the Gram matrix is exactly singular in float32.
  generator = np.random.default_rng(0)
  column = generator.normal(size=(200, 1)).astype(np.float32)
  near = column + np.float32(1e-4) * generator.normal(
      size=(200, 1)).astype(np.float32)
  features = np.concatenate([column, near], axis=1)
  truth = np.array([[1.], [2.]], np.float32)
  targets = features.astype(np.float64) @ truth
  weights = ridge.solve(features, targets, 1e-13)
  assert weights.dtype == tf.float32
  np.testing.assert_allclose(weights, truth, rtol=1e-3)
  single = features.T @ features + np.float32(200 * 1e-13) * np.eye(
      2, dtype=np.float32)
  naive = np.linalg.solve(single, features.T @ targets.astype(np.float32))
  assert np.abs(naive - truth).max() > 0.05


def test_more_features_than_rows_interpolate_at_vanishing_penalty():
  features, targets = problem(5, rows=5, columns=20)
  weights = ridge.solve(features, targets, 1e-10)
  np.testing.assert_allclose(ridge.predict(features, weights), targets,
                             rtol=1e-5)


def test_works_inside_tf_function_with_unknown_rows():
  solve = tf.function(
      lambda x, y: ridge.solve(x, y, 0.3),
      input_signature=[tf.TensorSpec([None, 4], tf.float64),
                       tf.TensorSpec([None, 2], tf.float64)])
  features, targets = problem(6)
  np.testing.assert_allclose(
      solve(features, targets), numpy_ridge(features, targets, 0.3),
      rtol=1e-10)


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.integers(1, 29))
def test_merged_sums_equal_the_whole(seed, penalty, cut):
  features, targets = problem(seed)
  merged = ridge.merge(
      ridge.sums(features[:cut], targets[:cut]),
      ridge.sums(features[cut:], targets[cut:]))
  np.testing.assert_allclose(
      ridge.solve_sums(merged, penalty),
      ridge.solve(features, targets, penalty), rtol=1e-8, atol=1e-10)


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES)
def test_order_of_rows_does_not_matter(seed, penalty):
  features, targets = problem(seed)
  order = np.random.default_rng(seed).permutation(len(features))
  np.testing.assert_allclose(
      ridge.solve(features[order], targets[order], penalty),
      ridge.solve(features, targets, penalty), rtol=1e-8, atol=1e-10)


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.integers(2, 4))
def test_duplicated_rows_change_nothing(seed, penalty, times):
  features, targets = problem(seed)
  np.testing.assert_allclose(
      ridge.solve(np.tile(features, (times, 1)), np.tile(targets, (times, 1)),
                  penalty),
      ridge.solve(features, targets, penalty), rtol=1e-8, atol=1e-10)


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.floats(0.01, 100.))
def test_scaling_features_scales_penalty_and_weights(seed, penalty, scale):
  features, targets = problem(seed)
  np.testing.assert_allclose(
      ridge.solve(scale * features, targets, scale ** 2 * penalty) * scale,
      ridge.solve(features, targets, penalty), rtol=1e-7, atol=1e-9)


@SETTINGS
@hypothesis.given(SEEDS, PENALTIES, st.floats(-100., 100.))
def test_shifting_targets_shifts_only_the_intercept(seed, penalty, shift):
  features, targets = problem(seed)
  features = with_ones(features)
  before = ridge.solve(features, targets, penalty, intercept=True).numpy()
  after = ridge.solve(
      features, targets + shift, penalty, intercept=True).numpy()
  np.testing.assert_allclose(after[:-1], before[:-1], rtol=1e-6, atol=1e-8)
  np.testing.assert_allclose(after[-1], before[-1] + shift, atol=1e-6)


@pytest.mark.parametrize('penalty', [0., -1., float('nan')])
def test_penalty_that_is_not_positive_is_refused(penalty):
  features, targets = problem(0)
  with pytest.raises(ValueError, match='penalty must be positive'):
    ridge.solve(features, targets, penalty)


def test_rows_that_do_not_match_are_refused():
  with pytest.raises(ValueError, match='3 rows, targets 4'):
    ridge.sums(np.ones((3, 2)), np.ones((4, 1)))


def test_vectors_are_refused():
  with pytest.raises(ValueError, match=r'\[B, D\] and targets \[B, K\]'):
    ridge.sums(np.ones((3, 2)), np.ones(3))


def test_merge_of_nothing_is_refused():
  with pytest.raises(ValueError, match='at least one'):
    ridge.merge()


def test_the_gradient_of_a_solve_is_that_of_its_formula():
  generator = np.random.default_rng(0)
  design = tf.constant(generator.normal(size=(30, 4)))
  target = tf.constant(generator.normal(size=(30, 2)))
  upstream = generator.normal(size=(4, 2))

  def formula(design, target, penalty):
    gram = tf.matmul(design, design, transpose_a=True)
    gram += 30. * penalty * tf.eye(4, dtype=tf.float64)
    return tf.matmul(
        tf.linalg.inv(gram), tf.matmul(design, target, transpose_a=True))

  gradients = []
  for function in (ridge.solve, formula):
    penalty = tf.constant(0.1, tf.float64)
    with tf.GradientTape() as tape:
      tape.watch([design, target, penalty])
      value = tf.reduce_sum(function(design, target, penalty) * upstream)
    gradients.append(tape.gradient(value, [design, target, penalty]))
  for ours, expected in zip(*gradients, strict=True):
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize('intercept', [False, True])
def test_a_gram_matrix_that_rounding_made_indefinite_is_solved(intercept):
  rows, penalty = 1000., 1e-12
  gram = np.diag([1., -3e-12, 1.])
  moment = np.array([[2.], [1e-12], [4.]])
  total = ridge.Sums(
      gram=tf.constant(rows * gram), moment=tf.constant(rows * moment),
      square=tf.constant([rows], tf.float64),
      count=tf.constant(rows, tf.float64))
  assert np.isnan(np.asarray(tf.linalg.cholesky(
      total.gram + penalty * rows * np.eye(3)))).any()
  # The negative eigenvalue counts as zero.
  np.testing.assert_allclose(
      ridge.solve_sums(total, penalty, intercept=intercept)[:, 0],
      [2., 1., 4.], rtol=1e-9)


def test_data_that_are_not_finite_give_no_weights():
  total = ridge.sums(
      tf.constant([[1., np.nan], [0., 1.]], tf.float64),
      tf.constant([[1.], [2.]], tf.float64))
  assert np.isnan(ridge.solve_sums(total, 1e-3)).all()


def test_instruments_solve_for_as_many_regressors():
  generator = np.random.default_rng(0)
  instruments, regressors = generator.normal(size=(2, 50, 3))
  outcome = generator.normal(size=(50, 1))
  total = ridge.sums(
      tf.constant(instruments),
      tf.constant(np.concatenate([regressors, outcome], axis=1)))
  penalty = 0.2 * 50 * np.diag([1., 1., 0.])
  np.testing.assert_allclose(
      ridge.solve_cross(total, 0.2),
      np.linalg.solve(
          instruments.T @ regressors + penalty, instruments.T @ outcome),
      rtol=1e-8)


def test_projected_sums_are_the_sums_of_projected_rows():
  generator = np.random.default_rng(0)
  design, target = generator.normal(size=(20, 4)), generator.normal(
      size=(20, 3))
  weights = generator.normal(size=(4, 2))
  ours = ridge.project(
      ridge.sums(tf.constant(design), tf.constant(target)), weights)
  expected = ridge.sums(tf.constant(design @ weights), tf.constant(target))
  for left, right in zip(ours, expected, strict=True):
    np.testing.assert_allclose(left, right, rtol=1e-8)
  one = ridge.targets(ours, slice(1, 2))
  np.testing.assert_array_equal(one.moment, ours.moment[:, 1:2])
  np.testing.assert_array_equal(one.square, ours.square[1:2])
