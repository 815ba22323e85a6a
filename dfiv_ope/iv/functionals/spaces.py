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
from typing import NamedTuple

import numpy as np
from scipy import linalg

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

# Columns [B, D] of points that are standardised, or of several such arrays;
# [1, D] where they are the same at all points.
Columns = Callable[..., types.FloatArray]


class Average(NamedTuple):
  """A functional of f = D'u that is an average over points.

  Attributes:
    mean: of its derivatives by u, [D].
    values: what it is at each point, [B]; their mean is the functional.
  """

  mean: types.FloatArray
  values: types.FloatArray

  def less(self, other: 'Average', step: float = 1.0) -> 'Average':
    """Returns the average of the difference, divided by a step."""
    return Average(
      (self.mean - other.mean) / step, (self.values - other.values) / step
    )


class Space:
  """Features of several kinds on their directions of most variation.

  Attributes:
    rows: features of the rows, the constant last, [n, D].
    lines: columns that f may be steep in, [n, L]; none without trends.
  """

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
    parts: list[tuple[Columns, ...]] = [
      (lambda *some: np.asarray(own(*some), np.float64),),
      tuple(self._rough_part(place) for place in range(len(points))),
    ]
    sizes = [1.0, 1.0]
    self.lines = columns[:, :0]
    if trends and columns.shape[1] <= _MOST_TRENDS:
      self.lines = columns
      parts += [(_trend_columns,), (_line_columns,)]
      sizes += [1.0, _LINES]
    kinds = [
      np.concatenate([_blocks(points, part) for part in each], axis=1)
      for each in parts
    ]
    # A method that found nothing has constant features.
    scales = np.concatenate(
      [
        np.full(
          each.shape[1],
          (float(np.sqrt(np.sum(np.var(each, axis=0)))) or 1.0) / size,
        )
        for each, size in zip(kinds, sizes, strict=True)
      ]
    )
    both = np.concatenate(kinds, axis=1)
    most = min(_MOST_COLUMNS, len(both) // ROWS_A_COLUMN)
    self._parts = [part for each in parts for part in each]
    self._rotation = _leading(both, scales, most) / scales[:, None]
    self.rows = _with_constant(both @ self._rotation)

  def average(
    self, coefficients: types.FloatArray, *points: types.FloatArray
  ) -> Average:
    """Returns f = D'u and the mean of D at standardised points.

    Rotated features of each point, which cost most, are never formed.

    Args:
      coefficients: u, [D]; the last belongs to the constant.
      *points: as those that the space was made with, [B, ...] each.
    """
    count = len(points[0])
    own = self._rotation @ coefficients[:-1]
    sums, values = np.zeros(len(own)), np.full(count, coefficients[-1])
    for start in range(0, count, _BLOCK):
      inside = slice(start, start + _BLOCK)
      some = tuple(each[inside] for each in points)
      first = 0
      for part in self._parts:
        columns = part(*some)  # [B, ...], or [1, ...] where all are the same.
        last = first + columns.shape[1]
        sums[first:last] += columns.sum(axis=0) * (len(some[0]) / len(columns))
        values[inside] += columns @ own[first:last]
        first = last
    return Average(np.append(sums / count @ self._rotation, 1.0), values)

  def _rough_part(self, place: int) -> Columns:
    """Returns rough features of the first arrays of points."""

    def part(*points: types.FloatArray) -> types.FloatArray:
      columns = np.concatenate(points[: place + 1], axis=1)
      same = len(columns) > 1 and not np.any(columns != columns[0])
      return self._rough[place](columns[:1] if same else columns)

    return part


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
  blocks = []
  for start in range(0, len(points[0]), _BLOCK):
    some = tuple(each[start : start + _BLOCK] for each in points)
    made = make(*some)
    blocks.append(np.broadcast_to(made, (len(some[0]), made.shape[1])))
  return np.concatenate(blocks)


def _leading(
  columns: types.FloatArray, scales: types.FloatArray, most: int
) -> types.FloatArray:
  """Returns orthonormal directions of most variation, [D, K].

  Args:
    columns: [n, D].
    scales: what each column is divided by, [D].
    most: largest K.
  """
  size = columns.shape[1]
  means = columns.mean(axis=0)
  gram = columns.T @ columns / len(columns) - np.outer(means, means)
  values, vectors = linalg.eigh(
    gram / np.outer(scales, scales),
    subset_by_index=(max(size - most, 0), size - 1),
    check_finite=False,
  )
  return vectors[:, values > 1e-10 * values[-1]]


def _with_constant(columns: types.FloatArray) -> types.FloatArray:
  return np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
