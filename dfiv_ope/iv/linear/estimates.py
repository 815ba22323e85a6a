"""What every linear estimator returns: coefficients and how they err."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv.linear import system


class Estimate(NamedTuple):
  """Coefficients of treatments, then of regressors.

  Attributes:
    coefficients: [P + K].
    loadings: returns loadings with which noise e makes the estimate err by
      loadings.T @ e, [n, P + K].
    inverse: covariance where the noise has equal variances 1, [P + K, P + K].
    kappa: of a k-class estimator; nan of others.
  """

  coefficients: types.FloatArray
  loadings: Callable[[], types.FloatArray]
  inverse: types.FloatArray
  kappa: float = float('nan')

  def residuals(self, rows: system.System) -> types.FloatArray:
    """Returns y - T b - X g, times the root weights, [n]."""
    treatments = rows.treatment.shape[1]
    return (
      rows.outcome
      - rows.treatment @ self.coefficients[:treatments]
      - rows.regressors @ self.coefficients[treatments:]
    )


def with_controls(
  rows: system.System,
  slopes: types.FloatArray,
  loadings: types.FloatArray,
  inverse: types.FloatArray,
  kappa: float = float('nan'),
) -> Estimate:
  """Returns the estimate of all coefficients from that of the treatments.

  Given the slopes of the treatments, the others are least squares of what
  they leave of the outcome.

  Args:
    rows: of the model.
    slopes: b, [P].
    loadings: of b, orthogonal to the controls, [n, P].
    inverse: covariance of b at unit variance, [P, P].
    kappa: of a k-class estimator.
  """

  def solve(right: types.FloatArray) -> types.FloatArray:
    """Returns coefficients of X from those of the orthonormal controls."""
    return linalg.solve_triangular(rows.factor, right)

  rest = solve(rows.controls.T @ (rows.outcome - rows.treatment @ slopes))
  drift = solve(rows.controls.T @ rows.treatment)  # [K, P]
  own = solve(np.eye(len(rest)))
  return Estimate(
    coefficients=np.concatenate([slopes, rest]),
    loadings=lambda: np.concatenate(
      [loadings, rows.controls @ own.T - loadings @ drift.T], axis=1
    ),
    inverse=np.block(
      [
        [inverse, -inverse @ drift.T],
        [-drift @ inverse, own @ own.T + drift @ inverse @ drift.T],
      ]
    ),
    kappa=kappa,
  )
