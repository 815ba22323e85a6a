"""A penalty is raised where the system is near-singular, and nowhere else."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.iv import just_identified, ridge

ROWS = 1000.0


def _sums(eigenvalue, outcome):
  """Returns sums with F'X = diag(eigenvalue, 1) and F'y = (outcome, 1)."""
  return ridge.Sums(
    gram=tf.constant(ROWS * np.eye(2)),
    moment=tf.constant(
      ROWS * np.array([[eigenvalue, 0.0, outcome], [0.0, 1.0, 1.0]])
    ),
    square=tf.constant(ROWS * np.ones(3)),
    count=tf.constant(ROWS, tf.float64),
  )


@pytest.mark.parametrize(
  'eigenvalue, outcome, penalty',
  [
    (1.0, 1.0, 1e-8),  # Far from singular.
    (-1e-8 + 1e-12, 0.0, 1e-8),  # Near-singular where nothing shows it.
    # Values of 1e4, then of 1.006, 1 with ten, a hundred times the penalty.
    (-1e-8 + 1e-12, 1e-8, 1e-7),
    (-1e-8 - 1e-12, -1e-8, 1e-7),
    # Values of 1e6, 11, 1.4, 1.005, 1.
    (-1e-8 + 1e-12, 1e-6, 1e-5),
    # Not steady anywhere: it is raised four times.
    (-1e-8 + 1e-12, 1.0, 1e-4),
  ],
)
def test_a_penalty_is_raised_until_values_are_steady(
  eigenvalue, outcome, penalty
):
  total = _sums(eigenvalue, outcome)
  found = just_identified.solve(total, 1e-8)
  assert found.penalty == pytest.approx(penalty)
  np.testing.assert_allclose(
    found.weights[:, 0],
    [outcome / (eigenvalue + found.penalty), 1.0],
    rtol=1e-6,
  )


def test_the_dual_weighs_outcomes_at_the_same_penalty():
  generator = np.random.default_rng(0)
  features, regressors, outcome = (
    generator.normal(size=(50, size)) for size in (3, 3, 1)
  )
  value = generator.normal(size=(3, 1))
  total = ridge.sums(features, np.concatenate([regressors, outcome], axis=1))
  found = just_identified.dual(total, value, 1e-3)
  primal = just_identified.solve(total, 1e-3)
  assert found.penalty == primal.penalty
  np.testing.assert_allclose(
    found.weights.T @ features.T @ outcome, value.T @ primal.weights
  )


def test_the_dual_keeps_off_near_singular_penalties():
  found = just_identified.dual(
    _sums(-1e-8 + 1e-12, 1e-8), np.ones([2, 1]), 1e-8
  )
  assert found.penalty == pytest.approx(1e-7)
  np.testing.assert_allclose(
    ROWS * found.weights[:, 0], [1.0 / (9e-8 + 1e-12), 1.0], rtol=1e-6
  )
