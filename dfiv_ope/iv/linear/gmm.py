"""Two-step GMM: moments weighted by what their noise was in the step before."""

from collections.abc import Callable
import functools
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv.linear import estimates, system

# Covariance of the moments [L, L] given residuals [n].
MomentCovariance = Callable[[types.FloatArray], types.FloatArray]


class Fit(NamedTuple):
  """A GMM estimate.

  Attributes:
    estimate: its coefficients.
    j: Hansen's statistic of the moments at them.
  """

  estimate: estimates.Estimate
  j: float


def solve(
  rows: system.System,
  first: estimates.Estimate,
  covariance: MomentCovariance,
  *,
  steps: int = 2,
) -> Fit:
  """Returns the GMM estimate that is efficient where the covariance is right.

  Args:
    rows: of the model.
    first: the first step: two-stage least squares.
    covariance: of the basis of the rows times noise, from residuals [n].
    steps: how often weights and coefficients are solved for, with the first.

  Raises:
    ValueError: the covariance of the moments is singular.
  """
  slopes = rows.basis.T @ np.concatenate(
    [rows.treatment, rows.regressors], axis=1
  )  # [K + L, P + K]
  scale = np.linalg.norm(slopes, axis=0)
  slopes = slopes / scale
  target = rows.basis.T @ rows.outcome
  estimate, j = first, float('nan')
  for _ in range(steps - 1):
    matrix = covariance(estimate.residuals(rows))
    sizes = np.linalg.eigvalsh(matrix)
    # Of too few clusters rounding may leave it positive definite.
    if sizes[0] <= len(sizes) * np.finfo(float).eps * sizes[-1]:
      raise ValueError(
        'The covariance of the moments is singular, so GMM cannot weigh '
        f'them: there are {len(target)} moments. Use fewer '
        'instruments and covariates, or more clusters.'
      )
    factor = linalg.cholesky(matrix, lower=True)
    left, right = (
      linalg.solve_triangular(factor, each, lower=True)
      for each in (slopes, target)
    )
    basis, triangle = np.linalg.qr(left)
    weights = linalg.solve_triangular(triangle, basis.T) / scale[:, None]
    coefficients = weights @ right
    small = linalg.solve_triangular(
      factor, weights.T, lower=True, trans='T'
    )  # [K + L, P + K]
    estimate = estimates.Estimate(
      coefficients,
      functools.partial(np.matmul, rows.basis, small),
      small.T @ small,
    )
    j = float(np.sum(np.square(right - left @ (coefficients * scale))))
  return Fit(estimate, j)
