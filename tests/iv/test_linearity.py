"""A test of a line by what held-out curves expect."""

import numpy as np
import pytest

from dfiv_ope.iv import linearity


def test_the_statistic_is_a_sum_of_products_over_its_error():
  z = np.array([-1.0, 0.0, 1.0, -1.0, 0.0, 1.0])[:, None]
  # Beyond a line z^2 is 1/3, -2/3, 1/3; the second fold expects twice that.
  expected = np.concatenate([z**2, 5.0 + 3.0 * z + 2.0 * z**2], axis=1)
  residual = np.array([1.0, -1.0, 0.0, 2.0, 0.0, 1.0])[:, None]
  products = np.array([1.0, 2.0, 0.0, 4.0, 0.0, 2.0]) / 3.0
  found = linearity.t_statistic(
    expected, z, residual, np.array([0, 0, 0, 1, 1, 1])
  )
  assert found == pytest.approx(products.sum() / np.sqrt((products**2).sum()))


def test_more_of_a_curve_is_taken_the_surer_it_is():
  found = [linearity.weight(t, 1.5) for t in (-4.0, 1.5, 3.0, 15.0)]
  np.testing.assert_allclose(found, [0.0, 0.0, 0.875, 0.999])


def test_residuals_without_any_curve_say_nothing_against_a_line():
  z = np.linspace(-1.0, 1.0, 10)[:, None]
  found = linearity.t_statistic(z**2, z, 0.0 * z, np.zeros(10, int))
  assert found == 0.0
