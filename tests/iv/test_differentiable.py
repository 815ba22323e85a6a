"""What networks are trained through: the numbers of numpy, and gradients."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing
from dfiv_ope.iv import differentiable, ridge, two_stage

problem = testing.regression_rows
batch = testing.two_stage_rows


def with_ones(features):
  return np.concatenate([features, np.ones((len(features), 1))], axis=1)


@pytest.mark.parametrize('intercept', [False, True])
@pytest.mark.parametrize('penalty', [1e-9, 1e-3, 10.0])
def test_solve_equals_that_of_numpy(penalty, intercept):
  features, targets = problem(0)
  features = with_ones(features)
  total = ridge.sums(features, targets)
  expected = ridge.solve_sums(total, penalty, intercept=intercept)
  inside = tf.function(differentiable.solve)
  for solve in (differentiable.solve, inside):
    np.testing.assert_allclose(
      solve(features, targets, penalty, intercept=intercept),
      expected,
      rtol=1e-10,
    )
  for ours, theirs in zip(
    differentiable.sums(features, targets), total, strict=True
  ):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_both_stages_equal_those_of_numpy():
  first, second = batch(0), batch(1)
  weights = ridge.solve_sums(two_stage.stage1_sums(first), 0.1, intercept=True)
  ours = differentiable.stage1(first.instrument, first.treatment, 0.1)
  np.testing.assert_allclose(ours, weights, rtol=1e-10)
  predicted = two_stage.predict_treatment(second.instrument, weights)
  np.testing.assert_allclose(
    differentiable.predict_treatment(second.instrument, ours),
    predicted,
    rtol=1e-10,
  )
  design = two_stage.design(predicted, second.covariate)
  np.testing.assert_allclose(
    differentiable.design(predicted, second.covariate), design, rtol=1e-12
  )
  np.testing.assert_array_equal(
    differentiable.design(predicted), two_stage.design(predicted)
  )
  np.testing.assert_allclose(
    differentiable.stage2(design, 0.2)(second.outcome),
    ridge.solve_sums(
      two_stage.stage2_sums(second, weights), 0.2, intercept=True
    ),
    rtol=1e-10,
  )


def test_what_cholesky_cannot_solve_is_solved_as_numpy_does():
  features = np.ones((30, 2))  # The constant twice.
  features[:, 0] *= 1.0 / 3.0
  targets = np.arange(30.0)[:, None]
  expected = ridge.solve_sums(
    ridge.sums(features, targets), 1e-25, intercept=True
  )
  found = differentiable.solve(features, targets, 1e-25, intercept=True)
  # Which of the two has the weight is a matter of rounding, the sum is not.
  for weights in (expected, found.numpy()):
    np.testing.assert_allclose(features @ weights, np.full((30, 1), 14.5))


@pytest.mark.parametrize('penalty', [0.0, -1.0, float('nan')])
def test_penalty_that_is_not_positive_is_refused(penalty):
  features, targets = problem(0)
  with pytest.raises(ValueError, match='penalty must be positive'):
    differentiable.solve(features, targets, penalty)


def test_rows_that_do_not_match_are_refused():
  with pytest.raises(ValueError, match='3 rows, targets 4'):
    differentiable.sums(np.ones((3, 2)), np.ones((4, 1)))


def test_loss_is_the_number_worked_out_by_hand():
  features = np.array([[1.0, 1.0], [2.0, 1.0]])
  targets = np.array([[2.0], [5.0]])
  weights = np.array([[2.0], [1.0]])
  # Errors -1 and 0; weights 2 (penalised) and 1 (the intercept).
  assert float(
    differentiable.loss(features, targets, weights, 0.1)
  ) == pytest.approx(0.5 + 0.1 * 5.0)
  assert float(
    differentiable.loss(features, targets, weights, 0.1, intercept=True)
  ) == pytest.approx(0.5 + 0.1 * 4.0)


@pytest.mark.parametrize('intercept', [False, True])
def test_solve_is_the_minimum_of_loss(intercept):
  features, targets = problem(1)
  features = tf.constant(with_ones(features))
  weights = tf.Variable(
    differentiable.solve(features, targets, 0.3, intercept=intercept)
  )
  with tf.GradientTape() as tape:
    loss = differentiable.loss(
      features, targets, weights, 0.3, intercept=intercept
    )
  np.testing.assert_allclose(tape.gradient(loss, weights), 0.0, atol=1e-12)


def test_gradient_through_solve_equals_finite_differences():
  features, targets = problem(4, rows=12, columns=3, targets=1)

  def loss(x):
    weights = differentiable.solve(x, targets, 0.1, intercept=True)
    return differentiable.loss(x, targets, weights, 0.1, intercept=True)

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
  near = column + np.float32(1e-4) * generator.normal(size=(200, 1)).astype(
    np.float32
  )
  features = np.concatenate([column, near], axis=1)
  truth = np.array([[1.0], [2.0]], np.float32)
  targets = features.astype(np.float64) @ truth
  weights = differentiable.solve(features, targets, 1e-13)
  assert weights.dtype == tf.float32
  np.testing.assert_allclose(weights, truth, rtol=1e-3)
  single = features.T @ features + np.float32(200 * 1e-13) * np.eye(
    2, dtype=np.float32
  )
  naive = np.linalg.solve(single, features.T @ targets.astype(np.float32))
  assert np.abs(naive - truth).max() > 0.05


def test_works_inside_tf_function_with_unknown_rows():
  solve = tf.function(
    lambda x, y: differentiable.solve(x, y, 0.3),
    input_signature=[
      tf.TensorSpec([None, 4], tf.float64),
      tf.TensorSpec([None, 2], tf.float64),
    ],
  )
  features, targets = problem(6)
  np.testing.assert_allclose(
    solve(features, targets),
    ridge.solve_sums(ridge.sums(features, targets), 0.3),
    rtol=1e-10,
  )


def test_the_gradient_of_a_solve_is_that_of_its_formula():
  generator = np.random.default_rng(0)
  design = tf.constant(generator.normal(size=(30, 4)))
  target = tf.constant(generator.normal(size=(30, 2)))
  upstream = generator.normal(size=(4, 2))

  def formula(design, target, penalty):
    gram = tf.matmul(design, design, transpose_a=True)
    gram += 30.0 * penalty * tf.eye(4, dtype=tf.float64)
    return tf.matmul(
      tf.linalg.inv(gram), tf.matmul(design, target, transpose_a=True)
    )

  gradients = []
  for function in (differentiable.solve, formula):
    penalty = tf.constant(0.1, tf.float64)
    with tf.GradientTape() as tape:
      tape.watch([design, target, penalty])
      value = tf.reduce_sum(function(design, target, penalty) * upstream)
    gradients.append(tape.gradient(value, [design, target, penalty]))
  for ours, expected in zip(*gradients, strict=True):
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


def test_losses_are_equations_6_and_8():
  data = batch(3)
  weights = differentiable.stage1(data.instrument, data.treatment, 0.1)
  predicted = differentiable.predict_treatment(data.instrument, weights)
  expected = np.sum((data.treatment - predicted) ** 2, 1).mean() + 0.1 * np.sum(
    weights.numpy()[:-1] ** 2
  )
  assert float(
    differentiable.stage1_loss(data.instrument, data.treatment, weights, 0.1)
  ) == pytest.approx(expected)
  design = differentiable.design(predicted)
  outcome_weights = differentiable.stage2(design, 0.2)(data.outcome)
  expected = np.mean(
    (data.outcome - design @ outcome_weights) ** 2
  ) + 0.2 * np.sum(outcome_weights.numpy()[:-1] ** 2)
  assert float(
    differentiable.stage2_loss(design, data.outcome, outcome_weights, 0.2)
  ) == pytest.approx(expected)


def test_gradient_of_stage_2_reaches_the_stage_1_treatment_features():
  first, second = batch(6), batch(7)
  psi = tf.Variable(first.treatment)

  def loss(treatment):
    weights = differentiable.stage1(first.instrument, treatment, 0.1)
    design = differentiable.design(
      differentiable.predict_treatment(second.instrument, weights)
    )
    outcome_weights = differentiable.stage2(design, 0.1)(second.outcome)
    return differentiable.stage2_loss(
      design, second.outcome, outcome_weights, 0.1
    )

  with tf.GradientTape() as tape:
    value = loss(psi)
  gradient = tape.gradient(value, psi).numpy()
  step = np.zeros(psi.shape)
  step[3, 1] = 1e-5
  slope = (float(loss(psi + step)) - float(loss(psi - step))) / 2e-5
  assert gradient[3, 1] == pytest.approx(slope, rel=1e-4)
  assert np.abs(gradient).max() > 0
