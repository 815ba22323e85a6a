"""A penalty at a pole is raised, and no other."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.iv import poles, ridge


@pytest.mark.parametrize('eigenvalue, outcome, penalty', [
    (1., 1., 1e-8),  # No pole.
    (-1e-8 + 1e-12, 0., 1e-8),  # One that nothing excites.
    # Values of 1e4 at the pole and of 1.006, 1 with ten, a hundred times more.
    (-1e-8 + 1e-12, 1e-8, 1e-7),
    (-1e-8 - 1e-12, -1e-8, 1e-7),
    # Values of 1e6, 11, 1.4, 1.005, 1.
    (-1e-8 + 1e-12, 1e-6, 1e-5),
    # Not steady anywhere: it is raised four times.
    (-1e-8 + 1e-12, 1., 1e-4)])
def test_a_penalty_at_a_pole_is_raised_until_values_are_steady(
    eigenvalue, outcome, penalty):
  rows = 1000.
  total = ridge.Sums(
      gram=tf.constant(rows * np.eye(2)),
      moment=tf.constant(
          rows * np.array([[eigenvalue, 0., outcome], [0., 1., 1.]])),
      square=tf.constant(rows * np.ones(3)),
      count=tf.constant(rows, tf.float64))
  found = poles.steady_penalty(total, 1e-8)
  assert found == pytest.approx(penalty)
  np.testing.assert_allclose(
      ridge.solve_cross(total, found)[:, 0],
      [outcome / (eigenvalue + found), 1.], rtol=1e-6)
