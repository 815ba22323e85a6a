"""Is the effect one line? Score tests of a linear IV model.

Where the treatment acts along a curve, a line says what no change of it does,
with a small standard error. What instruments and controls predict of the
treatments, f, is exogenous, and so are its powers: if the model is right, none
of them goes with the residuals (Pesaran and Taylor, 1999; Ramsey, 1969, where
the treatments are their own instruments). The test is the score's, whose
variance is made of the residuals of the line: Wald's refuses too many lines
where noise grows with the instruments, 10 instead of 5 % of 2,000 rows. A slope
that differs with covariates is seen by products with these, in the same way.
"""

import math

import numpy as np
from scipy import linalg, stats

from dfiv_ope import types
from dfiv_ope.iv.linear import estimates, specification, system

LINEARITY = 'linearity'

_POWERS = (2, 3)
# Rows, or clusters, for each product; fewer tell little of a covariance.
_UNITS = 20
# Share of a column that the columns before it leave by rounding alone.
_SPANNED = 1e-6


def linearity(
  rows: system.System,
  two_stage: estimates.Estimate,
  covariance: specification.Covariance,
  *,
  robust: bool,
) -> list[specification.Test]:
  """Returns the test of whether powers of f go with the residuals, or none.

  There is none of treatments and predictions of two values, which any line
  goes through, nor beside absorbed effects, which the powers would need too.

  Args:
    rows: of the model.
    two_stage: by two-stage least squares.
    covariance: of scores.
    robust: whether that is one of unequal variances.
  """
  return _score(rows, two_stage, covariance, 'RESET', _powers(rows), robust)


def interactions(
  rows: system.System,
  two_stage: estimates.Estimate,
  covariance: specification.Covariance,
  *,
  units: int,
  robust: bool,
) -> list[specification.Test]:
  """Returns the test of whether the effect differs with covariates, or none.

  What instruments move of the treatments, times a covariate, is exogenous. It
  goes with the residuals where the slope depends on the covariate; powers of f
  do not see this if the instruments move as many rows up as down.

  There is none without covariates, beside absorbed effects, nor where fewer
  than `_UNITS` rows or clusters are there for each product.

  Args:
    rows: of the model.
    two_stage: by two-stage least squares.
    covariance: of scores.
    units: rows, or clusters, that do not depend on each other.
    robust: whether the covariance is one of unequal variances.
  """
  covariates = rows.regressors[:, 1:] / rows.root[:, None]
  count = covariates.shape[1] * rows.treatment.shape[1]
  if rows.absorbed or not count or units < _UNITS * count:
    return []
  moved = rows.instruments @ (rows.instruments.T @ rows.treatment)
  products = covariates[:, :, None] * moved[:, None, :]
  return _score(
    rows,
    two_stage,
    covariance,
    'Interactions',
    _added(rows, products.reshape(len(products), count)),
    robust,
  )


def _score(
  rows: system.System,
  two_stage: estimates.Estimate,
  covariance: specification.Covariance,
  name: str,
  added: types.FloatArray,
  robust: bool,
) -> list[specification.Test]:
  """Returns the score test of columns [n, q] beside the model."""
  freedom = added.shape[1]
  if not freedom:
    return []
  residuals = two_stage.residuals(rows)
  # A'e = (A - T^ (T'T^)^-1 T'A)'u: the slopes were estimated.
  treatment = rows.left[:, 1:]
  loadings = two_stage.loadings()[:, : treatment.shape[1]]
  scores = added - loadings @ (treatment.T @ added)
  statistic = specification.wald(
    added.T @ residuals, covariance(scores, residuals, 0)
  )
  return [
    specification.Test(
      name,
      LINEARITY,
      statistic,
      freedom,
      math.inf,
      float(stats.chi2.sf(statistic, freedom)),
      robust,
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
  return _added(rows, powers * rows.root[:, None])


def _added(rows: system.System, columns: types.FloatArray) -> types.FloatArray:
  """Returns what columns [n, D] have that nothing else spans, [n, q]."""
  added = rows.partial(columns)
  sizes = np.sqrt(np.sum(np.square(added), axis=0))
  added = added[:, sizes > 0.0] / sizes[sizes > 0.0]
  left = added - rows.instruments @ (rows.instruments.T @ added)
  if not left.shape[1]:
    return left
  _, triangle, order = linalg.qr(left, mode='economic', pivoting=True)
  return added[:, order[np.abs(np.diag(triangle)) > _SPANNED]]
