"""The structural functions of the dSprites design.

Both are functions of a picture's pixels alone, noisy or clean: one follows the
lit area, as the paper's does, the other the orientation.
"""

from collections.abc import Callable
import functools
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.benchmarks import sprites

# A structural function: images [m, 64, 64] -> [m] or [m, 1].
Structural = Callable[[np.ndarray], types.FloatArray]

_PROJECTIONS = 10
_PROJECTION_SEED = 20210503
# Gives the second outcome the variance of the paper's, 24.7, on the grid.
_ORIENTATION_FACTOR = 13.65
# Pictures at a time, so that wide copies stay small.
_BLOCK = 1024


@functools.cache
def projection() -> types.FloatArray:
  """Returns A, uniform in [0, 1) and the same in every draw: [10, 4096]."""
  matrix = np.random.default_rng(_PROJECTION_SEED).uniform(
    size=(_PROJECTIONS, sprites.WIDTH**2)
  )
  matrix.flags.writeable = False
  return matrix


def area(
  images: np.ndarray, matrix: types.FloatArray | None = None
) -> types.FloatArray:
  """Returns the paper's f(x) = (mean over k of (A_k x)^2 - 5000) / 1000.

  All entries of A have the same mean, so that this is nearly a quadratic in
  the number of lit pixels, which explains 0.9986 of its variance on the grid
  (0.9989 with the matrix of the released code).

  Args:
    images: [m, 64, 64].
    matrix: A, [10, 4096]; `projection()` if none is given.

  Returns:
    [m, 1].
  """
  matrix = projection() if matrix is None else matrix
  projected = np.concatenate(
    [
      block.reshape(len(block), -1).astype(np.float64) @ matrix.T
      for block in _blocks(images)
    ]
  )
  return (np.mean(projected**2, axis=1, keepdims=True) - 5000.0) / 1000.0


def orientation(images: np.ndarray) -> types.FloatArray:
  """Returns how much wider than high the lit pixels lie: c (w - h) / (w + h).

  w and h are the variances of the columns and of the rows of all pixels above
  one half, c is 13.65. For an ellipse at angle t that is about 7 cos 2t,
  whatever its position and size: a quadratic in the number of lit pixels
  explains less than 0.0001 of its variance on the grid. The threshold makes f
  a function of the noisy picture itself: the pixel noise, of standard
  deviation 0.1, leads across it in one picture of 900. Without it the noise
  of empty pixels far away would outweigh the ellipse.

  Args:
    images: [m, 64, 64].

  Returns:
    [m, 1]; 0 where fewer than two pixels are lit.
  """
  values = []
  for block in _blocks(images):
    lit = block > 0.5
    wide, high = (_variance(lit.sum(axis=axis)) for axis in (1, 2))
    total = wide + high
    values.append(
      np.divide(wide - high, total, out=np.zeros_like(total), where=total > 0.0)
    )
  return _ORIENTATION_FACTOR * np.concatenate(values)[:, None]


def lit_pixels(images: np.ndarray) -> types.FloatArray:
  """Returns the number of pixels above one half: [m]."""
  return np.count_nonzero(images > 0.5, axis=(1, 2)).astype(np.float64)


class Outcome(NamedTuple):
  """What a name of an outcome stands for.

  Attributes:
    structural: f.
    shape: the shape in the pictures.
    orientations: classes of the test grid.
  """

  structural: Structural
  shape: int
  orientations: tuple[int, ...]


# An ellipse is the same after half a turn, so that its four orientations are
# spread over half a turn.
OUTCOMES = {
  'area': Outcome(area, sprites.HEART, (0, 10, 20, 30)),
  'orientation': Outcome(orientation, sprites.ELLIPSE, (0, 5, 10, 15)),
}


def _variance(counts: np.ndarray) -> types.FloatArray:
  """Returns the variance of places 0, 1, ... with counts [m, places]: [m]."""
  place = np.arange(counts.shape[1], dtype=np.float64)
  total = np.maximum(counts.sum(axis=1), 1)
  return counts @ place**2 / total - (counts @ place / total) ** 2


def _blocks(images: np.ndarray) -> list[np.ndarray]:
  """Returns the images in parts."""
  return np.split(images, range(_BLOCK, len(images), _BLOCK))
