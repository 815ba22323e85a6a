"""Basis functions against scipy and numpy."""

import math

import numpy as np
import pytest
from scipy import interpolate

from dfiv_ope.iv import bases, dictionaries, ridge


def adapted(basis, x, interaction=1, most_functions=1000):
  dictionary = dictionaries.Dictionary(
    [basis] * x.shape[1], interaction=interaction, most_functions=most_functions
  )
  dictionary.adapt(x)
  return dictionary


def test_b_splines_equal_scipy():
  x = np.random.default_rng(0).uniform(-2.0, 3.0, (300, 1))
  shares = np.linspace(0.0, 1.0, 7)[1:-1]
  knots = np.concatenate([[x.min()] * 4, np.quantile(x, shares), [x.max()] * 4])
  expected = interpolate.BSpline.design_matrix(x[:, 0], knots, 3).toarray()
  np.testing.assert_allclose(
    dictionaries.b_splines(x[:, 0], knots), expected, atol=1e-12
  )
  np.testing.assert_allclose(np.sum(expected, axis=1), 1.0)
  np.testing.assert_allclose(
    adapted(bases.BSpline(9), x)(x),
    expected @ dictionaries.smooth_combinations(knots),
    atol=1e-10,
  )


def test_splines_are_a_line_and_curves_that_are_smaller_the_rougher_they_are():
  knots = np.array([0.0] * 4 + [0.2, 0.5, 0.6] + [1.0] * 4)
  x = np.linspace(0.0, 1.0, 2001)
  values = dictionaries.b_splines(x, knots) @ (
    dictionaries.smooth_combinations(knots)
  )
  assert values.shape[1] == 6
  np.testing.assert_allclose(np.diff(values[:, 0], 2), 0.0, atol=1e-9)
  sizes = np.std(values, axis=0)
  assert np.all(np.diff(sizes[1:]) < 0.0) and sizes[0] == pytest.approx(
    sizes[1], rel=0.1
  )
  # With the constant they are all splines of these knots.
  assert (
    np.linalg.matrix_rank(np.append(values, np.ones((len(x), 1)), axis=1)) == 7
  )


def test_a_spline_follows_its_neighbours_where_there_are_no_rows():
  x = np.concatenate([np.linspace(0.0, 0.5, 50), np.linspace(0.9, 1.0, 10)])
  knots = np.concatenate(
    [[0.0] * 4, np.linspace(0.0, 1.0, 12)[1:-1], [1.0] * 4]
  )
  gap = np.linspace(0.6, 0.8, 9)
  errors = {}
  for name, combine in (
    ('raw', np.eye(14)),
    ('smooth', dictionaries.smooth_combinations(knots)),
  ):
    rows, new = (
      dictionaries.b_splines(each, knots) @ combine for each in (x, gap)
    )
    weights = ridge.solve_sums(
      ridge.sums(ridge.append_intercept(rows), 2.0 * x[:, None]),
      1e-4,
      intercept=True,
    )
    fitted = ridge.append_intercept(new) @ weights
    errors[name] = np.max(np.abs(fitted[:, 0] - 2.0 * gap))
  assert errors['smooth'] < 0.01 < 0.1 < errors['raw']


def test_b_splines_are_constant_outside_the_rows():
  x = np.linspace(0.0, 1.0, 50)[:, None]
  dictionary = adapted(bases.BSpline(6), x)
  np.testing.assert_allclose(
    dictionary(np.array([[-5.0], [9.0]])), dictionary(x[[0, -1]])
  )


def test_hermite_polynomials_equal_numpy():
  x = np.linspace(-2.0, 2.0, 7)[:, None]
  values = adapted(bases.Hermite(4), x)(x)
  for degree in range(1, 5):
    coefficients = np.zeros(degree + 1)
    coefficients[degree] = 1.0 / math.sqrt(math.factorial(degree))
    np.testing.assert_allclose(
      values[:, degree - 1],
      np.polynomial.hermite_e.hermeval(x[:, 0], coefficients),
      rtol=1e-12,
    )


def test_interactions_are_products_of_columns():
  x = np.array([[2.0, 3.0, 5.0]])
  dictionary = adapted(bases.Hermite(1), x, interaction=2)
  np.testing.assert_allclose(dictionary(x), [[2.0, 3.0, 5.0, 6.0, 10.0, 15.0]])
  assert dictionary.size == 6


def test_interactions_stop_at_the_most_functions():
  x = np.array([[2.0, 3.0, 5.0]])
  dictionary = adapted(bases.Hermite(1), x, interaction=2, most_functions=5)
  np.testing.assert_allclose(dictionary(x), x)


def test_columns_may_have_different_bases():
  x = np.random.default_rng(0).normal(size=(50, 2))
  dictionary = dictionaries.Dictionary(
    [bases.Hermite(2), bases.BSpline(5)], interaction=2, most_functions=100
  )
  dictionary.adapt(x)
  assert dictionary(x).shape == (50, 2 + 4 + 8)
  assert dictionary.size == 14


def test_a_column_of_two_values_stays_a_line():
  x = np.array([[0.0], [1.0], [1.0], [0.0]])
  np.testing.assert_array_equal(adapted(bases.BSpline(8), x)(x), x)


def test_no_more_functions_than_distinct_values():
  x = np.tile(np.arange(7.0), 20)[:, None]
  assert adapted(bases.BSpline(24), x)(x).shape[1] <= 7


@pytest.mark.parametrize(
  'make, message',
  [
    (lambda: bases.Hermite(0), 'at least 1, got 0'),
    (lambda: bases.BSpline(3), 'at least 4, got 3'),
  ],
)
def test_bad_bases_are_refused(make, message):
  with pytest.raises(ValueError, match=message):
    make()
