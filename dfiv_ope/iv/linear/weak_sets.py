"""Confidence sets that hold however weak the instruments are.

    statistics = weak_sets.Statistics(...)
    weak_sets.anderson_rubin(statistics, column=0, level=0.95)

A set holds the values that a test does not refuse. Where the instruments say
little it is unbounded, or the whole line; where they contradict each other the
Anderson-Rubin set may be empty: no value fits.

With equal variances both tests depend on a value b through one ratio alone:
what the instruments explain of y - T b over what they leave, least over the
slopes of the other treatments. So a set is where a quadratic is not positive,
and no search is needed (Mikusheva, 2010, for the conditional likelihood ratio).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import integrate, linalg, optimize, special, stats

from dfiv_ope import types
from dfiv_ope.iv.linear import k_class, real_sets, specification

# Largest error of a conditional probability.
_TOLERANCE = 1e-12


class Statistics(NamedTuple):
  """What the sets need to know of the rows.

  Attributes:
    parts: products of [y, T] without the controls.
    instruments: number of independent instruments, L.
    freedom: rows less instruments and controls.
    denominator: of the F distribution; infinite for the chi-square.
    moments: of orthonormal instruments and [y, T], [L, 1 + P].
    covariance: of their coefficients in regressions of y and T on them,
      [(1 + P) L, (1 + P) L]; that of y stands first. Empty for equal
      variances.
  """

  parts: k_class.Parts
  instruments: int
  freedom: int
  denominator: float
  moments: types.FloatArray
  covariance: types.FloatArray

  @property
  def treatments(self) -> int:
    """Number of treatments."""
    return len(self.parts.left) - 1

  @property
  def robust(self) -> bool:
    """Whether variances may differ, or rows depend."""
    return bool(len(self.covariance))


def test(found: Statistics, slopes: types.FloatArray) -> tuple[float, float]:
  """Returns the Anderson-Rubin F statistic of slopes [P] and its p value."""
  contrast = np.append(1.0, -np.asarray(slopes, np.float64))
  count = found.instruments
  if found.robust:
    matrix = _at(found, contrast)
    moment = found.moments @ contrast
    statistic = float(moment @ np.linalg.solve(matrix, moment)) / count
  else:
    explained, left = (contrast @ each @ contrast for each in found.parts)
    statistic = float(explained / left) * found.freedom / count
  return statistic, specification.f_tail(statistic, count, found.denominator)


def anderson_rubin(
  found: Statistics, column: int, level: float
) -> real_sets.RealSet:
  """Returns the Anderson-Rubin set of the slope of a treatment.

  With one treatment it is as robust as the covariance of the fit. With several
  it is that of equal variances, the other slopes concentrated out, so that the
  degrees of freedom are L - P + 1 (Guggenberger and others, 2012).

  Args:
    found: of the rows.
    column: of the treatment.
    level: of confidence, such as 0.95.
  """
  count = found.instruments - found.treatments + 1
  bound = (
    stats.chi2.ppf(level, count)
    if math.isinf(found.denominator)
    else count * stats.f.ppf(level, count, found.denominator)
  )
  if found.robust and found.treatments == 1:
    return _robust(found, float(bound))
  return _below(found.parts, column, float(bound) / found.freedom)


def conditional_likelihood_ratio(
  found: Statistics, column: int, level: float
) -> real_sets.RealSet:
  """Returns Moreira's (2003) set of the slope of a treatment.

  It supposes equal variances. With several treatments the others are
  concentrated out, given the second least root (Kleibergen, 2021).

  Args:
    found: of the rows.
    column: of the treatment.
    level: of confidence, such as 0.95.
  """
  count = found.instruments - found.treatments + 1
  low, high = (found.freedom * k_class.roots(found.parts))[:2]

  def excess(ratio: float) -> float:
    """Returns how much more likely than 1 - level a ratio as large is."""
    return clr_p_value(ratio - low, low + high - ratio, count) - (1.0 - level)

  if count == 1 or math.isinf(high):
    bound = low + float(stats.chi2.ppf(level, 1))
  elif excess(high) >= 0.0:
    return real_sets.WHOLE
  else:
    bound = optimize.brentq(excess, low, high, xtol=1e-12 * high, rtol=1e-14)
  return _below(found.parts, column, bound / found.freedom)


def clr_p_value(statistic: float, given: float, count: int) -> float:
  """Returns the chance of a larger likelihood ratio, given its conditioner.

  Args:
    statistic: likelihood ratio, at least 0.
    given: what it is conditioned on: the strength of identification, at
      least 0.
    count: instruments less other treatments.
  """
  if statistic <= 0.0:
    return 1.0
  if count == 1 or given <= 0.0 or math.isinf(given):
    return float(stats.chi2.sf(statistic, 1 if given > 0.0 else count))
  share = given / (statistic + given)
  power = count - 2

  def density(angle: float) -> float:
    sine = math.sin(angle)
    return sine**power * special.gammainc(
      count / 2.0, statistic / 2.0 / (1.0 - share * sine * sine)
    )

  total = integrate.quad(
    density, 0.0, math.pi / 2.0, epsabs=_TOLERANCE, epsrel=_TOLERANCE, limit=200
  )[0]
  # The law of the angle has this integral of the sine's power.
  return max(0.0, 1.0 - total * 2.0 / special.beta((count - 1) / 2.0, 0.5))


def _below(
  parts: k_class.Parts, column: int, ratio: float
) -> real_sets.RealSet:
  """Returns slopes at which the least ratio is no larger than one."""
  matrix = parts.explained - ratio * parts.left
  scale = np.sqrt(np.diag(parts.explained + parts.left))
  matrix = matrix / np.outer(scale, scale)
  own = [0, 1 + column]
  rest = [place for place in range(len(matrix)) if place not in own]
  inner = matrix[np.ix_(own, own)]
  if rest:
    try:
      factor = linalg.cho_factor(matrix[np.ix_(rest, rest)])
    except linalg.LinAlgError:
      return real_sets.WHOLE  # Some slopes of the others fit any value.
    cross = matrix[np.ix_(rest, own)]
    inner = inner - cross.T @ linalg.cho_solve(factor, cross)
  return real_sets.quadratic(
    inner[1, 1], -2.0 * inner[0, 1], inner[0, 0]
  ).scaled(scale[0] / scale[1 + column])


def _at(found: Statistics, contrast: types.FloatArray) -> types.FloatArray:
  """Returns the covariance of coefficients of y - T b, [L, L]."""
  count = found.instruments
  blocks = found.covariance.reshape(len(contrast), count, len(contrast), count)
  return np.einsum('i,iajb,j->ab', contrast, blocks, contrast)


def _robust(found: Statistics, bound: float) -> real_sets.RealSet:
  """Returns where the robust statistic of one slope is no larger than a bound.

  The bound is reached where the determinant of [[S(b), g(b)], [g(b)', bound]]
  vanishes, whose entries are quadratic in b: an eigenvalue problem.
  """
  count = found.instruments
  size = count + 1
  explained = found.parts.explained
  # Values are counted from the centre in units that are of their size.
  centre = explained[0, 1] / explained[1, 1]
  unit = math.sqrt(found.parts.left[0, 0] / explained[1, 1])
  start = np.array([1.0, -centre])
  step = np.array([0.0, -unit])
  blocks = found.covariance.reshape(2, count, 2, count)
  powers = [np.zeros([size, size]) for _ in range(3)]
  for power, pairs in enumerate(
    ([(start, start)], [(start, step), (step, start)], [(step, step)])
  ):
    for one, other in pairs:
      powers[power][:count, :count] += np.einsum(
        'i,iajb,j->ab', one, blocks, other
      )
  for power, contrast in enumerate((start, step)):
    moment = found.moments @ contrast
    powers[power][:count, -1] = powers[power][-1, :count] = moment
  powers[0][-1, -1] = bound
  scale = np.sqrt(np.abs(np.diag(powers[0])).clip(1e-300))
  powers = [each / np.outer(scale, scale) for each in powers]
  zero, one = np.zeros([size, size]), np.eye(size)
  values = linalg.eig(
    np.block([[zero, one], [-powers[0], -powers[1]]]),
    np.block([[one, zero], [zero, powers[2]]]),
    right=False,
  )
  values = values[np.isfinite(values)]
  near = np.abs(values.imag) <= 1e-6 * (1.0 + np.abs(values))

  def excess(value: float) -> float:
    contrast = start + value * step
    moment = found.moments @ contrast
    matrix = _at(found, contrast)
    try:
      return float(moment @ np.linalg.solve(matrix, moment)) - bound
    except np.linalg.LinAlgError:  # An exact fit has no noise at its slope.
      return float(moment @ np.linalg.pinv(matrix) @ moment) - bound

  return (
    real_sets.not_positive(excess, np.sort(values[near].real).tolist())
    .scaled(unit)
    .shifted(centre)
  )
