"""Standardisation: what comes in, on a scale that networks like."""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import tensors

# What changes by less than this part of its mean has changed by rounding.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
# Tails are long above this kurtosis (a normal has 3, an exponential 9), if the
# variance is less than this share of what two values at the ends would have.
_KURTOSIS, _TWO_VALUES = 10.0, 0.9
# Standard deviations, as a share, where a line turns into a logarithm: most
# rows of a column with long tails are within one.
_TURN = 0.25


class Standardiser(NamedTuple):
  """A map to mean zero and standard deviation one.

  It is affine, but for columns with long tails. Amounts, times and counts have
  a few values far from all others, which decide the standard deviation and
  leave most rows in one place. These columns go on as asinh, which is a line
  where most rows are and a logarithm far from there.

  Attributes:
    mean: [D].
    scale: [D], positive.
    remainder: what rounding the mean to float64 left out, [D]. Far from zero
      it matters: at 1e12 numbers are 1e-4 apart, and so are means.
    long: which columns have long tails, [D].
  """

  mean: types.FloatArray
  scale: types.FloatArray
  remainder: types.FloatArray = np.zeros(1)
  long: np.ndarray = np.zeros(1, bool)

  def apply(self, x: types.Nest) -> types.Nest:
    """Returns x [B, D], array or tensor, on the standardised scale."""
    x = (x - self.mean - self.remainder) / self.scale
    if not np.any(self.long):
      return x
    return tensors.where(self.long, tensors.asinh(x / _TURN), x)

  def invert(self, x: types.Nest) -> types.Nest:
    """Returns standardised x [B, D] on the raw scale."""
    if np.any(self.long):
      inner = tensors.where(self.long, x, 0.0)  # Else it might overflow.
      x = tensors.where(self.long, _TURN * tensors.sinh(inner), x)
    return x * self.scale + self.remainder + self.mean


def fit_standardiser(
  x: types.FloatArray, *, tails: bool = False
) -> Standardiser:
  """Returns the standardiser of x [B, D]; constant columns are only centred.

  A column is constant if it changes by no more than rounding does.

  Args:
    x: the rows.
    tails: asks which columns have long tails.
  """
  x = np.asarray(x, np.float64)
  # Powers of two change no digit, and nothing overflows at 1e200.
  unit = np.ldexp(1.0, np.frexp(np.max(np.abs(x), axis=0))[1] - 1)
  x = x / unit
  mean = x.mean(axis=0)
  deviation = x - mean
  remainder = deviation.mean(axis=0)
  squares = np.square(deviation - remainder)
  scale = np.sqrt(np.mean(squares, axis=0))
  constant = np.ptp(x, axis=0) == 0.0
  flat = scale <= ROUNDING * np.abs(mean)
  return Standardiser(
    unit * np.where(constant, x[0], mean),
    np.where(constant, 1.0, unit * np.where(flat, np.abs(mean), scale)),
    unit * np.where(constant, 0.0, remainder),
    tails
    & ~flat
    & long_tails(
      np.square(scale),
      np.mean(np.square(squares), axis=0),
      below=-np.min(deviation, axis=0),
      above=np.max(deviation, axis=0),
    ),
  )


def long_tails(
  variance: types.FloatArray,
  fourth: types.FloatArray,
  *,
  below: types.FloatArray,
  above: types.FloatArray,
) -> np.ndarray:
  """Returns which columns have long tails, bool [D].

  Two values have none, however rare one of them is: their variance is the
  product of their distances to the mean, and that of all others less.

  Args:
    variance: of the columns, [D].
    fourth: means of the fourth powers of their deviations, [D].
    below: how far the least value is below the mean, [D].
    above: how far the greatest is above it, [D].
  """
  return (fourth > _KURTOSIS * np.square(variance)) & (
    variance < _TWO_VALUES * below * above
  )
