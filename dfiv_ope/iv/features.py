"""Fixed features: random Fourier features and their bandwidths."""

from collections.abc import Mapping

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import waves

# Pairwise distances of more rows than this cost more than they tell.
_BANDWIDTH_ROWS = 2000
# Twice the smoothness 3/2.
_MATERN_DEGREES = 3


class FourierFeatures:
  """Random Fourier features of the Gaussian kernel (Rahimi and Recht, 2008).

  The inner product of two feature vectors approximates
  exp(-|(x - y) / bandwidth|^2 / 2).

  Attributes:
    frequencies: [D, size / 2].
  """

  def __init__(
    self, bandwidth: types.FloatArray, *, size: int, seed: types.Seed
  ):
    """Initialises the features.

    Args:
      bandwidth: of each input, [D], or of directions, [D, D] (`directions`).
      size: number of features; even, one sine and one cosine a frequency.
      seed: seeds the frequencies.
    """
    if size < 2 or size % 2:
      raise ValueError(f'size must be even and at least 2, got {size}.')
    generator = np.random.default_rng(seed)
    bandwidth = np.asarray(bandwidth)
    draws = generator.standard_normal((len(bandwidth), size // 2))
    self.frequencies = (
      draws / bandwidth[:, None]
      if bandwidth.ndim == 1
      else np.linalg.solve(bandwidth, draws)
    )

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, size] of inputs [B, D], float64, of unit norm."""
    angle = np.asarray(x, np.float64) @ self.frequencies
    return waves.cosines_and_sines(angle, 1.0 / np.sqrt(angle.shape[1]))

  def state(self) -> Mapping[str, types.FloatArray]:
    """Returns what `restore` needs."""
    return {'frequencies': self.frequencies}

  def restore(self, state: Mapping[str, types.FloatArray]) -> None:
    """Takes what `state` of other features returned."""
    self.frequencies = state['frequencies']


class MaternFeatures(FourierFeatures):
  """Random Fourier features of the Matern kernel of smoothness 3/2.

  Its functions are as rough as curves with kinks: their spectrum falls like
  that of |x|, and no function of the Gaussian kernel does that. Frequencies
  have Student's t distribution with 3 degrees of freedom.
  """

  def __init__(
    self, bandwidth: types.FloatArray, *, size: int, seed: types.Seed
  ):
    """Initialises the features; those of one input are evenly spread."""
    super().__init__(bandwidth, size=size, seed=seed)
    count = size // 2
    if len(self.frequencies) == 1:
      from scipy import stats  # Takes half a second.

      even = stats.t.ppf((np.arange(count) + 0.5) / count, _MATERN_DEGREES)
      self.frequencies = even[None] / np.asarray(bandwidth)[:, None]
    else:
      generator = np.random.default_rng((*np.atleast_1d(seed), 1))
      self.frequencies = self.frequencies / np.sqrt(
        generator.chisquare(_MATERN_DEGREES, count) / _MATERN_DEGREES
      )


def median_bandwidth(
  x: types.FloatArray, *, pixels: int = 0
) -> types.FloatArray:
  """Returns the median distance between rows of x [B, D] in each column, [D].

  Zero distances (a column of few values) are left out; a constant column has
  bandwidth 1.

  Args:
    x: rows.
    pixels: how many of the last columns make a picture; its distance is one,
      and so is its bandwidth.
  """
  x = np.asarray(x, np.float64)
  if pixels:
    columns = x.shape[1] - pixels
    return np.append(
      median_bandwidth(x[:, :columns]),
      np.full(pixels, median_distance(x[:, columns:])),
    )
  x = some_rows(x)
  result = np.ones(x.shape[1])
  for column, values in enumerate(np.sort(x, axis=0).T):
    # Slices are read several times faster than pairs of indices.
    distance = np.concatenate(
      [values[row + 1 :] - values[row] for row in range(len(values))]
    )
    distance = distance[distance > 0]
    if distance.size:
      result[column] = np.median(distance)
  return result


def median_distance(x: types.FloatArray) -> float:
  """Returns the median distance between rows of x [B, D], 1 if all are equal.

  One bandwidth for all columns. With many columns it is the better rule:
  rows that differ a little in each of them are not far apart.
  """
  x = np.asarray(some_rows(x), np.float64)
  norm = np.sum(np.square(x), axis=1)
  square = norm[:, None] + norm[None, :] - 2.0 * x @ x.T
  distance = np.sqrt(np.maximum(square[np.triu_indices(len(x), k=1)], 0.0))
  # Rounding makes the distance of equal rows small, not zero.
  distance = distance[distance > 1e-6]
  return float(np.median(distance)) if distance.size else 1.0


def typical_distance(x: types.FloatArray) -> float:
  """Returns the root mean square distance between rows of x [B, D].

  It is that of the median where rows are spread evenly, and larger where most
  of them lie close together and others far away.
  """
  return (
    float(np.sqrt(2.0 * np.sum(np.var(x, axis=0, dtype=np.float64)))) or 1.0
  )


def some_rows(x: types.Nest) -> types.Nest:
  """Returns rows of x [B, ...], evenly spread, to take distances of."""
  return x[:: stride(len(x))]


def stride(rows: int) -> int:
  """Returns of how many rows `some_rows` takes one."""
  return -(-rows // _BANDWIDTH_ROWS)
