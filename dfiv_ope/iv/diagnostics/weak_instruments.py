"""Textbook statistics of a linear first stage: robust F, effective F.

    found = weak_instruments.measure(treatment, instrument, controls)
    found.effective_f < found.critical_values[:, TAUS.index(0.1)]

Every row counts, nothing is held out, and instruments enter as they are. All
statistics are invariant to the units of the columns and to mixtures of the
instruments.

Small samples: variances have the factor n / (n - K - L), where K counts the
instruments and L the controls with the constant (HC1). So `robust_f` is
`f.stat / K` of linearmodels' first-stage diagnostics after
`fit(cov_type='robust', debiased=True)`; without `debiased` the factor is 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from dfiv_ope import types

# Shares tau of the worst-case bias that critical values are for.
TAUS = (0.05, 0.1, 0.2, 0.3)
# How often instruments that are weak in this sense pass for strong.
_LEVEL = 0.05
# What is left of a column by columns that decide it: rounding.
_ROUNDING = 1e-7

# Covariance of the coefficients of orthonormal instruments [n, K], [K, K],
# given the residuals of the regression on them, [n].
Covariance = Callable[[types.FloatArray, types.FloatArray], types.FloatArray]


class LinearFirstStage(NamedTuple):
  """How strong instruments are in a linear first stage.

  Entries are nan for a treatment that does not vary given the controls, and F
  statistics are 0 where there are no more rows than columns, or fewer
  instruments than treatments.

  Attributes:
    partial_r2: share of the treatment that instruments explain in these rows,
      controls removed from both, [D].
    robust_f: heteroskedasticity-robust F statistic of all instruments, [D].
    effective_f: Montiel Olea and Pflueger's effective F; of several
      treatments, that of each one conditional on the others (`measure`), [D].
    critical_values: what it must be above for a worst-case bias of less than
      each share of `TAUS`, at the 5 % level, [D, 4].
  """

  partial_r2: types.FloatArray
  robust_f: types.FloatArray
  effective_f: types.FloatArray
  critical_values: types.FloatArray


def measure(
  treatment: types.FloatArray,
  instrument: types.FloatArray,
  controls: types.FloatArray | None = None,
) -> LinearFirstStage:
  """Returns the statistics of a linear first stage.

  The effective F of one treatment is that of Montiel Olea and Pflueger (2013).
  Of several treatments, each one's own F is not enough, because the same
  instrument may move them all. So for the effective F the others are removed
  first, with their two-stage least squares coefficients, and what they use of
  the instruments too (Sanderson and Windmeijer, 2016): with equal noise it is
  their conditional F.

  Args:
    treatment: [n, D].
    instrument: [n, K].
    controls: covariates that are in both stages, [n, L - 1], or None; the
      constant is always among them.
  """
  treatment, instrument = (
    np.asarray(each, np.float64) for each in (treatment, instrument)
  )
  ones = np.ones([len(treatment), 1])
  given = _basis(
    ones
    if controls is None
    else np.concatenate([np.asarray(controls, np.float64), ones], axis=1)
  )
  left = _without(given, treatment)
  basis = _basis(
    _without(given, instrument), np.linalg.norm(instrument, axis=0)
  )
  freedom = len(treatment) - given.shape[1] - basis.shape[1]
  scale = np.linalg.norm(treatment - treatment.mean(axis=0), axis=0)
  varies = np.linalg.norm(left, axis=0) > _ROUNDING * scale

  def robust(
    residual: types.FloatArray, instruments: types.FloatArray
  ) -> types.FloatArray:
    score = instruments * residual[:, None]
    return score.T @ score * (len(residual) / freedom)

  columns = []
  for column in np.arange(left.shape[1]):
    if not varies[column]:
      columns.append((np.nan, np.nan, np.nan, np.full(len(TAUS), np.nan)))
      continue
    others = left[:, varies & (np.arange(left.shape[1]) != column)]
    found = of_treatment(
      left[:, column], others, basis, robust if freedom > 0 else None
    )
    columns.append(
      (found.partial_r2, found.f, found.effective_f, found.critical_values)
    )
  return LinearFirstStage(
    *(np.array(each) for each in zip(*columns, strict=True))
  )


class Strength(NamedTuple):
  """How strong instruments are for one of the treatments.

  Attributes:
    partial_r2: share of it that they explain.
    f: Wald statistic of all of them over their number.
    conditional_f: likewise, given the other treatments (Sanderson-Windmeijer).
    effective_f: Montiel Olea and Pflueger's, given the other treatments.
    critical_values: of that, one for each of `TAUS`.
  """

  partial_r2: float
  f: float
  conditional_f: float
  effective_f: float
  critical_values: types.FloatArray


def of_treatment(
  treatment: types.FloatArray,
  others: types.FloatArray,
  basis: types.FloatArray,
  covariance: Covariance | None,
) -> Strength:
  """Returns the strength of instruments for a treatment.

  Args:
    treatment: without the controls, [n].
    others: the other treatments, likewise, [n, D - 1].
    basis: orthonormal instruments without the controls, [n, K].
    covariance: of coefficients; None if too few rows are there to tell.
  """
  own = _regress(treatment, basis, covariance)
  conditional = own
  if others.shape[1]:
    conditional = _regress(*_conditional(treatment, others, basis), covariance)
  return Strength(
    float(
      np.sum(np.square(basis.T @ treatment)) / np.sum(np.square(treatment))
    ),
    own.robust_f,
    conditional.robust_f,
    conditional.effective_f,
    critical_values(conditional.covariance),
  )


def critical_values(
  covariance: types.FloatArray, taus: Sequence[float] = TAUS
) -> types.FloatArray:
  """Returns critical values of the effective F at the 5 % level, one a tau.

  This is the simplified procedure of Montiel Olea and Pflueger (2013) for
  two-stage least squares, which needs no outcome and is the more careful one:
  the effective F, a weighted sum of noncentral chi-squares of mean 1 + 1 / tau,
  is taken for one noncentral chi-square of the same first two moments
  (Patnaik), of K_eff degrees of freedom and noncentrality K_eff / tau.

  Args:
    covariance: W2, of the first-stage coefficients of orthonormal
      instruments, up to a factor, [K, K].
    taus: worst-case biases, as shares of that of an instrument of no use.

  Returns:
    [len(taus)]; infinite without any instrument.
  """
  if not len(covariance) or not np.trace(covariance) > 0.0:
    return np.full(len(taus), np.inf)
  trace, square = np.trace(covariance), np.sum(np.square(covariance))
  largest = np.linalg.eigvalsh(covariance)[-1]
  means = 1.0 / np.asarray(taus, np.float64)
  freedom = (
    np.square(trace)
    * (1.0 + 2.0 * means)
    / (square + 2.0 * means * trace * largest)
  )
  return special.chndtrix(1.0 - _LEVEL, freedom, freedom * means) / freedom


class _Regression(NamedTuple):
  """Statistics of a regression on orthonormal instruments."""

  robust_f: float
  effective_f: float
  covariance: types.FloatArray


def _regress(
  treatment: types.FloatArray,
  basis: types.FloatArray,
  covariance_of: Covariance | None,
) -> _Regression:
  """Returns the statistics of a treatment [n] on instruments [n, K]."""
  count = basis.shape[1]
  if not count or covariance_of is None:
    return _Regression(0.0, 0.0, np.eye(count))
  slopes = basis.T @ treatment
  covariance = covariance_of(treatment - basis @ slopes, basis)
  trace = float(np.trace(covariance))
  if trace <= np.square(_ROUNDING) * np.sum(np.square(slopes)):
    return _Regression(np.inf, np.inf, np.eye(count))  # An exact first stage.
  wald = slopes @ np.linalg.pinv(covariance, hermitian=True) @ slopes
  return _Regression(
    float(wald / count), float(np.sum(np.square(slopes)) / trace), covariance
  )


def _conditional(
  treatment: types.FloatArray, others: types.FloatArray, basis: types.FloatArray
) -> tuple[types.FloatArray, types.FloatArray]:
  """Removes other treatments [n, D - 1] from one, and from instruments.

  Returns:
    The two-stage least squares residual, [n], and instruments that are
    orthogonal to the first-stage fits of the others, [n, K - D + 1].
  """
  fits = basis.T @ others  # [K, D - 1]
  slopes = np.linalg.lstsq(fits, basis.T @ treatment, rcond=None)[0]
  rotation, _ = np.linalg.qr(fits, mode='complete')
  return treatment - others @ slopes, basis @ rotation[:, fits.shape[1] :]


def _basis(
  columns: types.FloatArray, scale: types.FloatArray | None = None
) -> types.FloatArray:
  """Returns orthonormal columns of the same span, without rounding.

  Args:
    columns: [n, K].
    scale: sizes that rounding of each column is judged by; their own if None.
  """
  if scale is None:
    scale = np.linalg.norm(columns, axis=0)
  kept = np.linalg.norm(columns, axis=0) > _ROUNDING * scale
  columns = columns[:, kept] / np.linalg.norm(columns[:, kept], axis=0)
  left, values, _ = np.linalg.svd(columns, full_matrices=False)
  return left[:, values > _ROUNDING * max(values, default=0.0)]


def _without(
  given: types.FloatArray, columns: types.FloatArray
) -> types.FloatArray:
  """Returns what orthonormal columns [n, L] leave of others [n, D]."""
  return columns - given @ (given.T @ columns)
