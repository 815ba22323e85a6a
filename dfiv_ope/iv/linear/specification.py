"""Textbook tests of a linear IV model.

Over-identification: do the instruments, more than needed, agree? Endogeneity:
does IV differ from ordinary regression by more than chance?
"""

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from dfiv_ope import types
from dfiv_ope.iv.linear import estimates, gmm, k_class, system

# Covariance of loadings.T @ noise [D, D], given loadings [n, D], residuals [n]
# and how many coefficients the regression has beyond those of the model.
Covariance = Callable[
  [types.FloatArray, types.FloatArray, int], types.FloatArray
]

# Share of a treatment that instruments leave by rounding alone.
_DECIDED = 1e-7

OVER_IDENTIFICATION, ENDOGENEITY = 'over-identification', 'endogeneity'


class Test(NamedTuple):
  """A test of the model.

  Attributes:
    name: who it is named after.
    about: `OVER_IDENTIFICATION`, `ENDOGENEITY` or `reset.LINEARITY`.
    statistic: F, or chi-square where the denominator is infinite.
    freedom: degrees of freedom.
    denominator: of F.
    p_value: chance of a larger statistic under the null.
    robust: whether it holds where variances differ.
  """

  name: str
  about: str
  statistic: float
  freedom: int
  denominator: float
  p_value: float
  robust: bool


def f_tail(statistic: float, freedom: int, denominator: float) -> float:
  """Returns the chance of a larger F statistic; of chi-square / df if inf."""
  if math.isinf(denominator):
    return float(stats.chi2.sf(statistic * freedom, freedom))
  return float(stats.f.sf(statistic, freedom, denominator))


def over_identification(
  rows: system.System,
  estimate: estimates.Estimate,
  two_stage: estimates.Estimate,
  parts: k_class.Parts,
  covariance: Covariance | None,
) -> list[Test]:
  """Returns tests of whether instruments agree; none if just identified.

  Args:
    rows: of the model.
    estimate: whose residuals are tested: 2SLS, LIML or another k-class.
    two_stage: by two-stage least squares, for Hansen's J.
    parts: of the rows.
    covariance: of scores, for Hansen's J; None for equal variances.
  """
  freedom = rows.instruments.shape[1] - rows.treatment.shape[1]
  if freedom < 1:
    return []
  count = len(rows.outcome)
  residuals = estimate.residuals(rows)
  explained = np.sum(np.square(rows.basis.T @ residuals))
  sargan = float(count * explained / (residuals @ residuals))
  least = k_class.liml_kappa(parts)
  found = [
    _chi_square('Sargan', sargan, freedom),
    _chi_square(
      'Basmann', sargan * (rows.first_freedom / (count - sargan)), freedom
    ),
    _chi_square('Likelihood ratio', count * math.log(least), freedom),
  ]
  statistic = (least - 1.0) * rows.first_freedom / freedom
  found.append(
    Test(
      'Basmann F',
      OVER_IDENTIFICATION,
      statistic,
      freedom,
      rows.first_freedom,
      f_tail(statistic, freedom, rows.first_freedom),
      False,
    )
  )
  if covariance is not None:
    found.append(
      _chi_square(
        'Wooldridge score', _score_overid(rows, residuals), freedom, True
      )
    )
    robust = covariance
    try:
      j = gmm.solve(rows, two_stage, lambda left: robust(rows.basis, left, 0)).j
      found.append(_chi_square('Hansen J', j, freedom, True))
    except ValueError:  # Fewer clusters than moments tell no covariance.
      pass
  return found


def endogeneity(
  rows: system.System,
  two_stage: estimates.Estimate,
  plain: estimates.Estimate,
  covariance: Covariance | None,
) -> list[Test]:
  """Returns tests of whether treatments are exogenous.

  Args:
    rows: of the model.
    two_stage: by two-stage least squares.
    plain: by ordinary least squares.
    covariance: of scores, for Wooldridge's tests; None for equal variances.
  """
  count = len(rows.outcome)
  treatment = rows.left[:, 1:]
  # What the first stage leaves of the treatments; they may share all of it.
  left = treatment - rows.instruments @ (rows.instruments.T @ treatment)
  directions, sizes, _ = np.linalg.svd(
    left / _sizes(treatment), full_matrices=False
  )
  left = directions[:, sizes > _DECIDED]
  tested = left.shape[1]
  if not tested:
    return []  # A treatment that is its own instrument is exogenous.
  ordinary = plain.residuals(rows)
  gain = (
    np.sum(np.square(rows.instruments.T @ ordinary))
    + np.sum(np.square(left.T @ ordinary))
    - np.sum(np.square(rows.basis.T @ two_stage.residuals(rows)))
  )
  size = ordinary @ ordinary
  denominator = rows.freedom - tested
  found = [
    _chi_square(
      'Durbin', float(gain / (size / count)), tested, about=ENDOGENEITY
    )
  ]
  if denominator > 0 and size > gain:
    hausman = float(gain / tested / ((size - gain) / denominator))
    found.append(
      Test(
        'Wu-Hausman',
        ENDOGENEITY,
        hausman,
        tested,
        denominator,
        f_tail(hausman, tested, denominator),
        False,
      )
    )
  if covariance is None or denominator < 1:
    return found
  # Residuals of the first stage, given treatments and controls.
  treatment = np.linalg.qr(treatment)[0]
  free = left - treatment @ (treatment.T @ left)
  found.append(
    _chi_square(
      'Wooldridge score',
      _score(free * ordinary[:, None]),
      tested,
      True,
      ENDOGENEITY,
    )
  )
  loadings = free @ np.linalg.pinv(free.T @ free, hermitian=True)
  slopes = loadings.T @ rows.outcome
  found.append(
    _chi_square(
      'Wooldridge regression',
      wald(slopes, covariance(loadings, ordinary - free @ slopes, tested)),
      tested,
      True,
      ENDOGENEITY,
    )
  )
  return found


def _sizes(columns: types.FloatArray) -> types.FloatArray:
  """Returns the lengths of columns [n, D], [D]."""
  return np.sqrt(np.sum(np.square(columns), axis=0))


def _chi_square(
  name: str,
  statistic: float,
  freedom: int,
  robust: bool = False,
  about: str = OVER_IDENTIFICATION,
) -> Test:
  return Test(
    name,
    about,
    statistic,
    freedom,
    math.inf,
    float(stats.chi2.sf(statistic, freedom)),
    robust,
  )


def _score_overid(rows: system.System, residuals: types.FloatArray) -> float:
  """Returns Wooldridge's (1995) robust score of spare instruments."""
  fits = rows.instruments.T @ rows.left[:, 1:]
  rotation = np.linalg.qr(fits, mode='complete')[0][:, fits.shape[1] :]
  return _score(rows.instruments @ rotation * residuals[:, None])


def _score(scores: types.FloatArray) -> float:
  """Returns how far the sum of scores [n, D] is from zero, squared."""
  return wald(scores.sum(axis=0), scores.T @ scores)


def wald(values: types.FloatArray, covariance: types.FloatArray) -> float:
  """Returns the square of values [D] in units of their covariance."""
  return float(values @ np.linalg.pinv(covariance, hermitian=True) @ values)
