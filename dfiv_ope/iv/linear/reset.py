"""Is the effect a line? The RESET test of a linear IV model.

Where the treatment acts along a curve, a line says what no change of it does,
with a small standard error. What instruments and controls predict of the
treatments, f, is exogenous, and so are its powers: if the model is right, none
of them goes with the residuals (Pesaran and Taylor, 1999; Ramsey, 1969, where
the treatments are their own instruments). The test is the score's, whose
variance is made of the residuals of the line: Wald's refuses too many lines
where noise grows with the instruments, 10 instead of 5 % of 2,000 rows.
"""

import math

import numpy as np
from scipy import linalg, stats

from dfiv_ope import types
from dfiv_ope.iv.linear import estimates, specification, system

LINEARITY = 'linearity'

_POWERS = (2, 3)
# Share of a column that the columns before it leave by rounding alone.
_SPANNED = 1e-6


def linearity(
  rows: system.System,
  two_stage: estimates.Estimate,
  covariance: specification.Covariance | None,
) -> list[specification.Test]:
  """Returns the test of whether powers of f go with the residuals, or none.

  There is none of treatments and predictions of two values, which any line
  goes through, nor beside absorbed effects, which the powers would need too.

  Args:
    rows: of the model.
    two_stage: by two-stage least squares.
    covariance: of scores; None for equal variances.
  """
  powers = _powers(rows)
  freedom = powers.shape[1]
  if not freedom:
    return []
  residuals = two_stage.residuals(rows)
  # P'e = (P - T^ (T'T^)^-1 T'P)'u: the slopes were estimated.
  treatment = rows.left[:, 1:]
  loadings = two_stage.loadings()[:, : treatment.shape[1]]
  scores = powers - loadings @ (treatment.T @ powers)
  spread = (
    scores.T @ scores * (residuals @ residuals) / len(residuals)
    if covariance is None
    else covariance(scores, residuals, 0)
  )
  statistic = specification.wald(powers.T @ residuals, spread)
  return [
    specification.Test(
      'RESET',
      LINEARITY,
      statistic,
      freedom,
      math.inf,
      float(stats.chi2.sf(statistic, freedom)),
      covariance is not None,
    )
  ]


def _powers(rows: system.System) -> types.FloatArray:
  """Returns powers of f that nothing else spans, given the controls, [n, q]."""
  values = rows.treatment / rows.root[:, None]
  curved = [
    place
    for place in range(values.shape[1])
    if not rows.absorbed and len(np.unique(values[:, place])) > 2
  ]
  fits = rows.basis @ (rows.basis.T @ rows.treatment[:, curved])
  fits /= rows.root[:, None]
  fits -= fits.mean(axis=0)
  fits /= np.maximum(fits.std(axis=0), np.finfo(float).tiny)
  powers = np.concatenate([fits**power for power in _POWERS], axis=1)
  added = rows.partial(powers * rows.root[:, None])
  sizes = np.sqrt(np.sum(np.square(added), axis=0))
  added = added[:, sizes > 0.0] / sizes[sizes > 0.0]
  left = added - rows.instruments @ (rows.instruments.T @ added)
  if not left.shape[1]:
    return left
  _, triangle, order = linalg.qr(left, mode='economic', pivoting=True)
  return added[:, order[np.abs(np.diag(triangle)) > _SPANNED]]
