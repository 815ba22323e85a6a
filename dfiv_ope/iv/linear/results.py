"""What is known of a fitted linear model: numbers, intervals, sets."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from dfiv_ope import types
from dfiv_ope.iv.linear import first_stage, real_sets, specification, weak_sets

# Share of the variance of an outcome that rounding leaves.
_EXACT = 1e-14
ANDERSON_RUBIN, CLR = 'anderson-rubin', 'clr'


class Intervals(NamedTuple):
  """Estimates with their intervals, [D] each.

  Attributes:
    estimate: point estimates.
    std_error: standard errors.
    low: lower ends.
    high: upper ends.
  """

  estimate: types.FloatArray
  std_error: types.FloatArray
  low: types.FloatArray
  high: types.FloatArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearFit:
  """A linear model, estimated and tested.

  Attributes:
    estimator: its name.
    covariance_kind: of the coefficients.
    debiased: whether small samples are corrected for.
    bandwidth: of HAC, in rows; 0 of others.
    centred: coefficients of treatments, covariates and the constant where all
      columns are counted from the centre, [D]; 0 for a column that was left
      out.
    centred_covariance: of them, [D, D]; nan for such columns.
    centre: where [y, T, X] are counted from, [1 + treatments + covariates].
    treatments: how many of them are treatments.
    constant: whether the last one is the constant.
    rows: number of rows.
    freedom: rows less coefficients, absorbed effects counted.
    denominator: degrees of freedom of t; infinite for the normal.
    clusters: number of clusters, of two ways the smaller; 0 without.
    absorbed: number of absorbed effects.
    kappa: of a k-class estimator; nan of others.
    r2: share of the outcome that the fit explains; it may be negative.
    scale: standard deviation of the residuals.
    tests: of over-identification, endogeneity and linearity.
    first_stage: of each treatment.
    weak: what weak-instrument-robust sets are made of.
    effective_units: rows, or clusters, that the slope of each treatment rests
      on (`noise_models.Noise.effective_units`); empty if an older version
      saved the fit.
  """

  estimator: str
  covariance_kind: str
  debiased: bool
  bandwidth: float
  centred: types.FloatArray
  centred_covariance: types.FloatArray
  centre: types.FloatArray
  treatments: int
  constant: bool
  rows: int
  freedom: int
  denominator: float
  clusters: int
  absorbed: int
  kappa: float
  r2: float
  scale: float
  tests: tuple[specification.Test, ...]
  first_stage: tuple[first_stage.FirstStage, ...]
  weak: weak_sets.Statistics
  effective_units: tuple[float, ...] = ()

  @property
  def coefficients(self) -> types.FloatArray:
    """Coefficients of the raw treatments, covariates and constant, [D]."""
    if not self.constant:
      return self.centred
    return np.append(self.centred[:-1], self.centred[-1] + self.offset)

  @property
  def covariance(self) -> types.FloatArray:
    """Their covariance, [D, D]; nan for a column that was left out."""
    if not self.constant:
      return self.centred_covariance
    moved = self._moved(np.eye(len(self.centred)))
    found = moved @ np.nan_to_num(self.centred_covariance) @ moved.T
    return np.where(np.isnan(self.centred_covariance), np.nan, found)

  @property
  def offset(self) -> float:
    """What T b + X g leaves of y at the centre; mean of absorbed effects."""
    slopes = self.centred[: len(self.centre) - 1]
    return float(self.centre[0] - self.centre[1:] @ slopes)

  @property
  def std_errors(self) -> types.FloatArray:
    """Standard errors; nan for a column that was left out, [D]."""
    with np.errstate(invalid='ignore'):  # Two-way clusters may tell none.
      return np.sqrt(np.diag(self.covariance))

  @property
  def t_values(self) -> types.FloatArray:
    """Coefficients over their standard errors, [D]."""
    with np.errstate(divide='ignore', invalid='ignore'):  # An exact fit.
      return self.coefficients / self.std_errors

  @property
  def exact(self) -> bool:
    """Whether the fit leaves of the outcome what rounding does."""
    return 1.0 - self.r2 <= _EXACT

  @property
  def robust_sets(self) -> bool:
    """Whether Anderson-Rubin sets allow for what the covariance does."""
    return self.weak.robust and self.treatments == 1

  @property
  def p_values(self) -> types.FloatArray:
    """Two-sided p values of coefficients of zero, [D]."""
    return 2.0 * self._law.sf(np.abs(self.t_values))

  def intervals(self, level: float) -> Intervals:
    """Returns the intervals of all coefficients."""
    return self._intervals(self.coefficients, self.std_errors, level)

  def combine(self, contrasts: types.FloatArray, level: float) -> Intervals:
    """Returns the intervals of linear combinations [G, D] of coefficients."""
    moved = self._moved(contrasts)
    covariance = np.nan_to_num(self.centred_covariance)
    variance = np.einsum('gi,ij,gj->g', moved, covariance, moved)
    estimate = moved @ self.centred
    if self.constant:
      estimate = estimate + contrasts[:, -1] * self.centre[0]
    return self._intervals(estimate, np.sqrt(variance.clip(0.0)), level)

  def joint_covariance(self, contrasts: types.FloatArray) -> types.FloatArray:
    """Returns the covariance of combinations [G, D], [G, G]."""
    moved = self._moved(contrasts)
    return moved @ np.nan_to_num(self.centred_covariance) @ moved.T

  def wald(self) -> specification.Test:
    """Returns the test of all coefficients but the constant being zero."""
    known = np.isfinite(np.diag(self.covariance))
    if self.constant:
      known[-1] = False
    count = int(known.sum())
    slopes = self.coefficients[known]
    scale = self.std_errors[known]
    with np.errstate(invalid='ignore', divide='ignore'):
      matrix = self.covariance[np.ix_(known, known)] / np.outer(scale, scale)
    statistic = float('nan')
    if np.isfinite(matrix).all() and np.linalg.matrix_rank(matrix) == count:
      statistic = float(
        slopes / scale @ np.linalg.solve(matrix, slopes / scale)
      )
    if not math.isinf(self.denominator):
      statistic /= count
      tail = specification.f_tail(statistic, count, self.denominator)
    else:
      tail = specification.f_tail(statistic / count, count, math.inf)
    return specification.Test(
      'Wald',
      'all slopes are zero',
      statistic,
      count,
      self.denominator,
      tail,
      True,
    )

  def weak_set(self, kind: str, column: int, level: float) -> real_sets.RealSet:
    """Returns the weak-instrument-robust set of a treatment's slope.

    Args:
      kind: `ANDERSON_RUBIN` or `CLR`.
      column: of the treatment.
      level: of confidence.

    Raises:
      ValueError: there is no such set.
    """
    if kind not in (ANDERSON_RUBIN, CLR):
      raise ValueError(
        f'kind must be {ANDERSON_RUBIN!r} or {CLR!r}, got {kind!r}.'
      )
    if kind == CLR:
      return weak_sets.conditional_likelihood_ratio(self.weak, column, level)
    return weak_sets.anderson_rubin(self.weak, column, level)

  def _moved(self, contrasts: types.FloatArray) -> types.FloatArray:
    """Returns combinations [G, D] as those of the centred coefficients."""
    if not self.constant:
      return contrasts
    slopes, constant = contrasts[:, :-1], contrasts[:, -1:]
    return np.concatenate(
      [slopes - constant * self.centre[1:], constant], axis=1
    )

  @property
  def _law(self) -> stats.rv_continuous:
    if math.isinf(self.denominator):
      return stats.norm
    return stats.t(self.denominator)

  def _intervals(
    self, estimate: types.FloatArray, std_error: types.FloatArray, level: float
  ) -> Intervals:
    margin = self._law.ppf(0.5 + 0.5 * check_level(level)) * std_error
    return Intervals(estimate, std_error, estimate - margin, estimate + margin)


def check_level(level: float) -> float:
  """Returns a level of confidence.

  Raises:
    ValueError: it is none.
  """
  if not 0.0 < level < 1.0:
    raise ValueError(
      f'level must be between 0 and 1, such as 0.95, got {level!r}.'
    )
  return float(level)
