"""The standardiser of rows that come in blocks, as if all were in memory."""

from typing import Self

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import scaling


class Moments:
  """Mean and spread of columns, and whether they change at all.

  Sums are kept about the mean (Chan et al., 1983), in extended precision, so
  that how the rows are cut into blocks changes no digit that matters.
  """

  def __init__(self) -> None:
    """Begins with no rows."""
    self.count = 0
    # Of differences to the first row: far from zero, means are rough.
    self._mean = self._squares = np.zeros(0, np.longdouble)
    self._origin = self._low = self._high = np.zeros(0)

  def add(self, x: types.FloatArray) -> Self:
    """Takes in rows, [B, D]; returns itself."""
    if not len(x):
      return self
    if not self.count:
      self._origin = np.array(x[0], np.float64)
    long = np.asarray(x, np.longdouble) - self._origin
    mean = np.mean(long, axis=0)
    squares = np.sum(np.square(long - mean), axis=0)
    low, high = np.min(x, axis=0), np.max(x, axis=0)
    if not self.count:
      self.count, self._mean, self._squares = len(x), mean, squares
      self._low, self._high = low, high
      return self
    total = self.count + len(x)
    change = mean - self._mean
    self._squares = (
      self._squares
      + squares
      + np.square(change) * (np.longdouble(self.count) * len(x) / total)
    )
    self._mean = self._mean + change * (np.longdouble(len(x)) / total)
    self._low = np.minimum(low, self._low)
    self._high = np.maximum(high, self._high)
    self.count = total
    return self

  def standardiser(self) -> scaling.Standardiser:
    """Returns what `scaling.fit_standardiser` does of all rows."""
    mean = (self._mean + self._origin).astype(np.float64)
    remainder = self._mean - (mean.astype(np.longdouble) - self._origin)
    scale = np.sqrt(self._squares / self.count).astype(np.float64)
    constant = self._low == self._high
    flat = scale <= scaling.ROUNDING * np.abs(mean)
    return scaling.Standardiser(
      np.where(constant, self._low, mean),
      np.where(constant, 1.0, np.where(flat, np.abs(mean), scale)),
      np.where(constant, 0.0, remainder.astype(np.float64)),
    )
