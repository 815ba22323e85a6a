"""Standardisation: what comes in, on a scale that networks like."""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types

# What changes by less than this part of its mean has changed by rounding.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


class Standardiser(NamedTuple):
  """An affine map to mean zero and standard deviation one.

  Attributes:
    mean: [D].
    scale: [D], positive.
    remainder: what rounding the mean to float64 left out, [D]. Far from zero
      it matters: at 1e12 numbers are 1e-4 apart, and so are means.
  """

  mean: types.FloatArray
  scale: types.FloatArray
  remainder: types.FloatArray = np.zeros(1)

  def apply(self, x: types.Nest) -> types.Nest:
    """Returns x [B, D], array or tensor, on the standardised scale."""
    return (x - self.mean - self.remainder) / self.scale

  def invert(self, x: types.Nest) -> types.Nest:
    """Returns standardised x [B, D] on the raw scale."""
    return x * self.scale + self.remainder + self.mean


def fit_standardiser(x: types.FloatArray) -> Standardiser:
  """Returns the standardiser of x [B, D]; constant columns are only centred.

  A column is constant if it changes by no more than rounding does.
  """
  x = np.asarray(x, np.float64)
  # Powers of two change no digit, and nothing overflows at 1e200.
  unit = np.ldexp(1.0, np.frexp(np.max(np.abs(x), axis=0))[1] - 1)
  x = x / unit
  mean = x.mean(axis=0)
  deviation = x - mean
  remainder = deviation.mean(axis=0)
  scale = np.sqrt(np.mean(np.square(deviation - remainder), axis=0))
  constant = np.ptp(x, axis=0) == 0.0
  flat = scale <= ROUNDING * np.abs(mean)
  return Standardiser(
    unit * np.where(constant, x[0], mean),
    np.where(constant, 1.0, unit * np.where(flat, np.abs(mean), scale)),
    unit * np.where(constant, 0.0, remainder),
  )
