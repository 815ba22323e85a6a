"""The standardiser of rows that come in blocks, as if all were in memory."""

from typing import Self

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import scaling


class Moments:
  """Mean, spread and tails of columns, and whether they change at all.

  Sums of powers are kept about the mean (Chan et al., 1983; Pebay, 2008), in
  extended precision, so that how the rows are cut into blocks changes no digit
  that matters.
  """

  def __init__(self) -> None:
    """Begins with no rows."""
    self.count = 0
    # Of differences to the first row: far from zero, means are rough.
    self._mean = self._squares = np.zeros(0, np.longdouble)
    self._cubes = self._fourths = np.zeros(0, np.longdouble)
    self._origin = self._low = self._high = np.zeros(0)

  def add(self, x: types.FloatArray) -> Self:
    """Takes in rows, [B, D]; returns itself."""
    if not len(x):
      return self
    if not self.count:
      self._origin = np.array(x[0], np.float64)
    long = np.asarray(x, np.longdouble) - self._origin
    mean = np.mean(long, axis=0)
    deviation = long - mean
    squares, cubes, fourths = (
      np.sum(deviation**power, axis=0) for power in (2, 3, 4)
    )
    low, high = np.min(x, axis=0), np.max(x, axis=0)
    if not self.count:
      self.count, self._mean, self._squares = len(x), mean, squares
      self._cubes, self._fourths = cubes, fourths
      self._low, self._high = low, high
      return self
    total = self.count + len(x)
    # Shares of the rows before and of these.
    old, new = (np.longdouble(each) / total for each in (self.count, len(x)))
    change = mean - self._mean
    self._fourths = (
      self._fourths
      + fourths
      + change**4 * (total * old * new * (old * old - old * new + new * new))
      + 6.0 * change**2 * (old**2 * squares + new**2 * self._squares)
      + 4.0 * change * (old * cubes - new * self._cubes)
    )
    self._cubes = (
      self._cubes
      + cubes
      + change**3 * (total * old * new * (old - new))
      + 3.0 * change * (old * squares - new * self._squares)
    )
    self._squares = self._squares + squares + change**2 * (total * old * new)
    self._mean = self._mean + change * new
    self._low = np.minimum(low, self._low)
    self._high = np.maximum(high, self._high)
    self.count = total
    return self

  def standardiser(self) -> scaling.Standardiser:
    """Returns what `scaling.fit_standardiser` does of all rows, with tails."""
    mean = (self._mean + self._origin).astype(np.float64)
    remainder = self._mean - (mean.astype(np.longdouble) - self._origin)
    scale = np.sqrt(self._squares / self.count).astype(np.float64)
    constant = self._low == self._high
    flat = scale <= scaling.ROUNDING * np.abs(mean)
    return scaling.Standardiser(
      np.where(constant, self._low, mean),
      np.where(constant, 1.0, np.where(flat, np.abs(mean), scale)),
      np.where(constant, 0.0, remainder.astype(np.float64)),
      scaling.long_tails(
        self._squares / self.count,
        self._fourths / self.count,
        below=self._mean + self._origin - self._low,
        above=self._high - self._origin - self._mean,
      )
      & ~flat,
    )
