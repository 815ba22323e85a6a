"""Intervals of functionals from what rows add to them and a bound on bias.

A two-stage estimate that chance has moved towards plain regression has small
residuals, and so a small standard error: the two go together, and an interval
of the usual form is short just where it is wrong. Here the standard error is
that of each candidate value, as in the Anderson-Rubin set: a value d away from
the estimate is held if d^2 <= c^2 (variance(d) + bias^2). The variance goes
with the mean squared residual, which is quadratic in d, so the ends have a
closed form. They are infinite where the instruments tell too little.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from dfiv_ope import types
from dfiv_ope.iv import bands
from dfiv_ope.iv.functionals import stages

# Raised with every change of their numbers.
VERSION = 3
# The bound on bias, in the usual size of biases for curves as rough as the
# features (`stages`). Most curves are smoother. The least with which averages
# and bands held in 95 % of samples of development designs of five kinds, each
# with the same weight (docs/iv-inference.md).
_BIAS = 0.55


class FunctionalIntervals(NamedTuple):
  """Estimates with intervals, [G] each.

  Attributes:
    estimate: of each functional.
    std_error: of noise and bias together, at the estimate.
    low: lower ends; they need not be as far from the estimate as upper ones.
    high: upper ends.
    bias_bound: the part of `std_error` that is a bound on bias.
    level: of confidence.
    uniform: whether all intervals hold together.
  """

  estimate: types.FloatArray
  std_error: types.FloatArray
  low: types.FloatArray
  high: types.FloatArray
  bias_bound: types.FloatArray
  level: float = 0.95
  uniform: bool = False

  @property
  def bias_share(self) -> types.FloatArray:
    """Share of the variance that is a bound on bias, [G]."""
    return np.square(
      self.bias_bound / np.where(self.std_error > 0.0, self.std_error, 1.0)
    )

  def summary(self) -> str:
    """Returns a line for each functional: what, how sure, how much is bias."""
    kind = ' (all together)' if self.uniform else ''
    return '\n'.join(
      f'{estimate:.4g}  {100.0 * self.level:g} % interval [{low:.4g}, '
      f'{high:.4g}]{kind}; {100.0 * share:.0f} % of its variance is a bound '
      'on bias'
      for estimate, low, high, share in zip(
        self.estimate, self.low, self.high, self.bias_share, strict=True
      )
    )


def of(
  found: stages.Functionals,
  *,
  clusters: types.FloatArray | None,
  level: float,
  uniform: bool,
  seed: int,
) -> FunctionalIntervals:
  """Returns the intervals of functionals.

  Args:
    found: the functionals.
    clusters: codes of rows that depend on each other, [n]; None if all are
      independent.
    level: of confidence.
    uniform: whether intervals hold together rather than each.
    seed: of the draws that a uniform band is widened by.
  """
  influence = found.influence
  if clusters is not None:
    influence = np.stack(
      [np.bincount(clusters, weights=each) for each in influence.T], axis=1
    )
  count = len(influence)
  small = count / (count - 1.0)
  variance = small * np.sum(np.square(influence), axis=0)
  directions = _BIAS * found.bias
  bias = np.linalg.norm(directions, axis=0)
  error = np.sqrt(variance + np.square(bias))
  factor = np.array(
    [stats.t.ppf(0.5 + level / 2.0, df=_degrees(each)) for each in influence.T]
  )
  if uniform:
    factor = factor * max(
      1.0,
      bands.largest_t(
        small * influence.T @ influence + directions.T @ directions, level, seed
      )
      / float(stats.norm.ppf(0.5 + level / 2.0)),
    )
  low, high = _ends(
    variance + np.square(bias),
    variance * found.change[0],
    variance * found.change[1],
    factor,
  )
  return FunctionalIntervals(
    found.estimate,
    error,
    found.estimate + low,
    found.estimate + high,
    bias,
    level,
    uniform,
  )


def _ends(
  constant: types.FloatArray,
  linear: types.FloatArray,
  square: types.FloatArray,
  factor: types.FloatArray,
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns the ends of d^2 <= factor^2 (constant + linear d + square d^2).

  They are infinite where the set is no interval.
  """
  scaled = factor**2
  lead, middle = 1.0 - scaled * square, scaled * linear
  root = np.sqrt(np.maximum(middle**2 + 4.0 * lead * scaled * constant, 0.0))
  with np.errstate(divide='ignore', invalid='ignore'):
    return (
      np.where(lead > 0.0, (middle - root) / (2.0 * lead), -np.inf),
      np.where(lead > 0.0, (middle + root) / (2.0 * lead), np.inf),
    )


def _degrees(influence: types.FloatArray) -> float:
  """Returns the degrees of freedom that a variance is known with.

  One less than there are rows if what they add is normal, fewer where some add
  much more than others: the variance of a variance grows with the kurtosis.
  """
  count, squares = len(influence), np.square(influence)
  total = float(np.sum(squares))
  if not total:
    return count - 1.0
  kurtosis = count * float(np.sum(np.square(squares))) / total**2
  return max(1.0, (count - 1.0) * min(1.0, 2.0 / max(kurtosis - 1.0, 1e-9)))
