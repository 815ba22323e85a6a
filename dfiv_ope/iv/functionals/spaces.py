"""What f is linear in: features of a fitted method, and what they may miss.

A method's own features say what it found; with them alone intervals would be as
sure as if nothing else were possible. Beside them stand, of the same
variance,

- features of a Matern kernel, whose functions may have kinks. Those of
  treatment and covariates together vary little once they are averaged over the
  covariates, so there are as many of the treatment alone;
- trends: cubic in each treatment, quadratic in each covariate, and products.
  Kernels level off in the tails, where curves as a rule do not;
- lines, of a larger variance: a steep line does not say that a curve is bent.
"""

from collections.abc import Callable
import itertools

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features

# Features of the Matern kernel, of each set of inputs, and its bandwidth in
# typical distances.
_ROUGH, _BANDWIDTH = 100, 0.7
# Trends are of no more columns than this, which are clipped here; the size of
# lines.
_MOST_TRENDS, _REACH, _LINES = 30, 4.0, 5.0
# Most columns: one for so many rows.
ROWS_A_COLUMN, _MOST_COLUMNS = 10, 100
# Rows that tell the bandwidth of rough features.
_BANDWIDTH_ROWS = 500
# Rows whose features are in memory at the same time.
_BLOCK = 4096

# Columns [B, D] of points that are standardised, or of several such arrays.
Columns = Callable[..., types.FloatArray]


class Space:
  """Features of several kinds on their directions of most variation."""

  def __init__(
    self,
    own: Columns,
    points: tuple[types.FloatArray, ...],
    *,
    seed: int,
    trends: bool = False,
  ):
    """Initialises it with the rows of a fit.

    Args:
      own: features of a method, called with `points`.
      points: arrays of the rows, [n, ...] each, standardised: treatment or
        instrument, then the covariates if any.
      seed: of the rough features.
      trends: whether there are trends and lines too.
    """
    columns = np.concatenate(points, axis=1)
    bandwidth = features.median_bandwidth(
      columns[:: -(-len(columns) // _BANDWIDTH_ROWS)]
    )
    self._rough = []
    for place in range(len(points)):
      width = sum(each.shape[1] for each in points[: place + 1])
      self._rough.append(
        features.MaternFeatures(
          _BANDWIDTH * np.sqrt(width) * bandwidth[:width],
          size=_ROUGH,
          seed=(seed, 9, place),
        )
      )
    self._kinds: list[Columns] = [
      lambda *some: np.asarray(own(*some), np.float64),
      self._rough_columns,
    ]
    sizes = [1.0, 1.0]
    if trends and columns.shape[1] <= _MOST_TRENDS:
      self._kinds += [_trend_columns, _line_columns]
      sizes += [1.0, _LINES]
    kinds = [_blocks(points, each) for each in self._kinds]
    # A method that found nothing has constant features.
    self._scales = [
      (float(np.sqrt(np.sum(np.var(each, axis=0)))) or 1.0) / size
      for each, size in zip(kinds, sizes, strict=True)
    ]
    both = np.concatenate(
      [each / scale for each, scale in zip(kinds, self._scales, strict=True)],
      axis=1,
    )
    most = min(_MOST_COLUMNS, len(both) // ROWS_A_COLUMN)
    self._rotation = _leading(both - both.mean(axis=0), most)
    self.rows = _with_constant(both @ self._rotation)

  def __call__(self, *points: types.FloatArray) -> types.FloatArray:
    """Returns features at standardised points, the constant last, [B, D]."""
    return _blocks(
      points,
      lambda *some: _with_constant(
        np.concatenate(
          [
            each(*some) / scale
            for each, scale in zip(self._kinds, self._scales, strict=True)
          ],
          axis=1,
        )
        @ self._rotation
      ),
    )

  def _rough_columns(self, *points: types.FloatArray) -> types.FloatArray:
    return np.concatenate(
      [
        _once(rough, np.concatenate(points[: place + 1], axis=1))
        for place, rough in enumerate(self._rough)
      ],
      axis=1,
    )


def _once(make: Columns, points: types.FloatArray) -> types.FloatArray:
  """Returns features of points [B, D]; if all are the same, made once."""
  if np.any(points != points[0]):
    return make(points)
  some = make(points[:1])
  return np.broadcast_to(some, (len(points), some.shape[1]))


def _trend_columns(*points: types.FloatArray) -> types.FloatArray:
  """Returns polynomials of treatments and covariates, [B, D]."""
  clipped = [np.clip(each, -_REACH, _REACH) for each in points]
  treatment, inputs = clipped[0], np.concatenate(clipped, axis=1)
  products = [
    inputs[:, [one]] * inputs[:, [other]]
    for one, other in itertools.product(
      range(treatment.shape[1]), range(inputs.shape[1])
    )
    if one < other
  ]
  return np.concatenate(
    [inputs, inputs**2 - 1.0, treatment**3 - 3.0 * treatment, *products], axis=1
  )


def _line_columns(*points: types.FloatArray) -> types.FloatArray:
  return np.concatenate(points, axis=1)


def _blocks(
  points: tuple[types.FloatArray, ...], make: Columns
) -> types.FloatArray:
  return np.concatenate(
    [
      make(*(each[start : start + _BLOCK] for each in points))
      for start in range(0, len(points[0]), _BLOCK)
    ]
  )


def _leading(columns: types.FloatArray, most: int) -> types.FloatArray:
  """Returns orthonormal directions of most variation, [D, K]."""
  values, vectors = np.linalg.eigh(columns.T @ columns / len(columns))
  return vectors[:, np.flatnonzero(values > 1e-10 * values[-1])[-most:]]


def _with_constant(columns: types.FloatArray) -> types.FloatArray:
  return np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
