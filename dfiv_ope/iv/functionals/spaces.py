"""What f is linear in: features of a fitted method, and rough ones.

A method's own features say what it found; all functions of a smooth kernel, or
of a few learned features, would make intervals as sure as if nothing else were
possible. So features of an exponential kernel stand beside them, of half their
size: functions of it may have kinks. Those of treatment and covariates together
vary little once they are averaged over the covariates, so there are as many of
the treatment alone.
"""

from collections.abc import Callable

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features

# Rough features, and their size beside the method's own.
_ROUGH, _ROUGHNESS = 100, 0.5
# Most columns: one for so many rows.
ROWS_A_COLUMN, _MOST_COLUMNS = 10, 100
# Rows that tell the bandwidth of rough features.
_BANDWIDTH_ROWS = 1000
# Rows whose features are in memory at the same time.
_BLOCK = 4096

# Columns [B, D] of points that are standardised, or of several such arrays.
Columns = Callable[..., types.FloatArray]


class Space:
  """Features [own, rough] on their directions of most variation."""

  def __init__(
      self, own: Columns, points: tuple[types.FloatArray, ...], *, seed: int):
    """Initialises it with the rows of a fit.

    Args:
      own: features of a method, called with `points`.
      points: arrays of the rows, [n, ...] each, standardised: treatment or
        instrument, then the covariates if any.
      seed: of the rough features.
    """
    self._own = own
    columns = np.concatenate(points, axis=1)
    bandwidth = features.median_bandwidth(
        columns[::-(-len(columns) // _BANDWIDTH_ROWS)])
    self._rough = []
    for place in range(len(points)):
      width = sum(each.shape[1] for each in points[:place + 1])
      self._rough.append(features.ExponentialFeatures(
          bandwidth[:width] * np.sqrt(width), size=_ROUGH,
          seed=(seed, 9, place)))
    found = self._blocks(points, self._own_columns)
    # A method that found nothing has constant features.
    self._scale = float(np.sqrt(np.sum(np.var(found, axis=0)))) or 1.
    both = np.concatenate([
        found / self._scale, self._blocks(points, self._rough_columns)],
        axis=1)
    most = min(_MOST_COLUMNS, len(both) // ROWS_A_COLUMN)
    self._rotation = _leading(both - both.mean(axis=0), most)
    self.rows = _with_constant(both @ self._rotation)

  def __call__(self, *points: types.FloatArray) -> types.FloatArray:
    """Returns features at standardised points, the constant last, [B, D]."""
    return self._blocks(points, lambda *some: _with_constant(
        self._both(*some) @ self._rotation))

  def _own_columns(self, *points: types.FloatArray) -> types.FloatArray:
    return np.asarray(self._own(*points), np.float64)

  def _rough_columns(self, *points: types.FloatArray) -> types.FloatArray:
    return _ROUGHNESS * np.concatenate([
        rough(np.concatenate(points[:place + 1], axis=1))
        for place, rough in enumerate(self._rough)], axis=1)

  def _both(self, *points: types.FloatArray) -> types.FloatArray:
    return np.concatenate([
        self._own_columns(*points) / self._scale,
        self._rough_columns(*points)], axis=1)

  @staticmethod
  def _blocks(
      points: tuple[types.FloatArray, ...], make: Columns,
  ) -> types.FloatArray:
    return np.concatenate([
        make(*(each[start:start + _BLOCK] for each in points))
        for start in range(0, len(points[0]), _BLOCK)])


def _leading(columns: types.FloatArray, most: int) -> types.FloatArray:
  """Returns orthonormal directions of most variation, [D, K]."""
  values, vectors = np.linalg.eigh(columns.T @ columns / len(columns))
  return vectors[:, np.flatnonzero(values > 1e-10 * values[-1])[-most:]]


def _with_constant(columns: types.FloatArray) -> types.FloatArray:
  return np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
