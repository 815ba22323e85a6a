"""Regressions with one factor: the numbers and gradients of others."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.iv import differentiable, factored, ridge

PENALTY = 1e-2


def rows(count=60, seed=0):
  generator = np.random.default_rng(seed)
  features = np.c_[generator.normal(size=(count, 4)), np.ones(count)]
  targets = features @ generator.normal(size=(5, 3)) + 3.0
  return (
    tf.constant(features, tf.float32),
    tf.constant(targets + generator.normal(size=targets.shape), tf.float32),
  )


@pytest.mark.parametrize('intercept', [False, True])
def test_weights_and_error_are_those_of_a_ridge_regression(intercept):
  features, targets = rows()
  fit = factored.Regression(features, targets, PENALTY, intercept=intercept)
  total = ridge.sums(features, targets)
  expected = ridge.solve_sums(total, PENALTY, intercept=intercept)
  np.testing.assert_allclose(fit.weights, expected, rtol=1e-4, atol=1e-5)
  np.testing.assert_allclose(
    float(fit.error) / len(features),
    ridge.mean_squared_error(total, expected),
    rtol=1e-4,
  )


def test_blocks_of_one_regression_share_its_penalty():
  features, targets = rows()
  fit = factored.Regression(
    features, targets, PENALTY, intercept=False, count=tf.constant(120.0)
  )
  expected = ridge.solve_sums(ridge.sums(features, targets), 2.0 * PENALTY)
  np.testing.assert_allclose(fit.weights, expected, rtol=1e-4, atol=1e-5)


def test_one_target_has_the_gradients_of_the_whole_solve():
  features, targets = rows()
  direction = tf.constant([[1.0], [-2.0], [0.5]])
  factor = tf.constant(np.linspace(-1.0, 1.0, 5)[:, None], tf.float32)
  found = []
  for contracted in (True, False):
    with tf.GradientTape() as tape:
      tape.watch([features, targets])
      if contracted:
        fit = factored.Regression(features, targets, PENALTY)
        weights = fit.of(features, tf.matmul(targets, direction))
      else:
        weights = tf.matmul(
          differentiable.solve(features, targets, PENALTY, intercept=True),
          direction,
        )
      loss = tf.reduce_sum(tf.square(weights * factor))
    found.append((loss, *tape.gradient(loss, [features, targets])))
  assert np.abs(found[1][1]).max() > 1e-3
  for ours, theirs in zip(*found, strict=True):
    np.testing.assert_allclose(
      ours, theirs, rtol=1e-3, atol=1e-4 * np.abs(theirs).max()
    )


def test_a_penalty_must_be_positive():
  with pytest.raises(ValueError, match='must be positive, got 0'):
    factored.Regression(*rows(), 0.0)
