"""Gaussian processes: likelihood, a mean's closed form, lengths of columns."""

import numpy as np
import pytest
from scipy import optimize, stats

from dfiv_ope.iv import gaussian_process

_GROUPS = np.array([0, 1, 1])


@pytest.fixture(scope='module')
def rows():
  generator = np.random.default_rng(0)
  x = generator.normal(size=(400, 3))
  y = np.sin(2.0 * x[:, 0]) + 0.3 * generator.normal(size=len(x))
  return x, y - np.mean(y)


def test_the_loss_is_minus_the_log_likelihood_of_a_row(rows):
  x, y = (each[:30] for each in rows)
  kernel = gaussian_process.Kernel(np.array([0.7, 2.0, 2.0]), 0.8, 0.2)
  found, _ = gaussian_process.loss(np.log([0.7, 2.0, 0.8, 0.2]), x, y, _GROUPS)
  law = stats.multivariate_normal(cov=kernel(x, x) + 0.2 * np.eye(30))
  constant = 15.0 * np.log(2.0 * np.pi)
  assert found == pytest.approx(-(law.logpdf(y) + constant) / 30.0)


def test_the_gradient_is_that_of_the_loss(rows):
  x, y = (each[:30] for each in rows)
  place = np.log([0.7, 2.0, 0.8, 0.2])
  _, gradient = gaussian_process.loss(place, x, y, _GROUPS)
  assert gradient == pytest.approx(
    optimize.approx_fprime(
      place, lambda each: gaussian_process.loss(each, x, y, _GROUPS)[0]
    ),
    abs=1e-5,
  )


def test_a_mean_with_all_rows_is_the_closed_form(rows):
  x, y = (each[:200] for each in rows)
  points = np.random.default_rng(1).normal(size=(50, 3))
  kernel = gaussian_process.Kernel(np.array([0.7, 2.0, 2.0]), 0.8, 0.2)
  found = gaussian_process.mean(kernel, x, y, points)
  inverse = np.linalg.inv(kernel(x, x) + 0.2 * np.eye(len(x)))
  asked = np.mean(kernel(x, points), axis=1)
  assert found.value == pytest.approx(asked @ inverse @ y, rel=1e-3)
  assert found.standard_error**2 == pytest.approx(
    np.mean(kernel(points, points)) - asked @ inverse @ asked, rel=1e-3
  )


def test_fewer_landmarks_say_nearly_the_same(rows):
  x, y = rows
  points = np.random.default_rng(1).normal(size=(50, 3))
  kernel = gaussian_process.Kernel(np.array([0.7, 5.0, 5.0]), 0.8, 0.2)
  whole = gaussian_process.mean(kernel, x, y, points)
  part = gaussian_process.mean(kernel, x, y, points, landmarks=150)
  assert part.value == pytest.approx(
    whole.value, abs=0.2 * whole.standard_error
  )


def test_a_column_that_does_not_matter_gets_a_great_length(rows):
  kernel = gaussian_process.choose(*rows, np.arange(3))
  assert kernel.lengths[0] < 1.5
  assert min(kernel.lengths[1:]) > 5.0
  assert kernel.noise == pytest.approx(0.09, rel=0.2)
