"""Dictionaries of basis functions for sieve regression.

A dictionary turns each column of its input into basis functions and joins the
columns by products, up to a given number of columns a product (an analysis of
variance expansion):

    dictionary = Dictionary(
        [bases.BSpline(8), bases.Hermite(2)], interaction=2, most_functions=100)
    dictionary.adapt(x)                            # knots from the rows
    dictionary(x)                                  # [B, size]
"""

from collections.abc import Mapping, Sequence
import itertools
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import bases as bases_lib

# Standard deviation of the first functions of a spline, and points between its
# knots to measure it at.
_SCALE, _POINTS = 3.0, 200


class Dictionary:
  """Products of basis functions of the columns; no constant.

  Of B-splines it has `smooth_combinations`.
  """

  def __init__(
    self,
    bases: Sequence[bases_lib.Basis],
    *,
    interaction: int,
    most_functions: int,
  ):
    """Initialises the dictionary; `adapt` then sets the knots.

    Args:
      bases: the functions of each column.
      interaction: the most columns that one product has.
      most_functions: products of fewer columns are formed where there would
        be more functions than this.
    """
    self._bases = tuple(bases)
    self._interaction = interaction
    self._most_functions = most_functions
    self._order = 1
    self._knots = [np.zeros(0) for _ in self._bases]
    self._smooth = [np.zeros((0, 0)) for _ in self._bases]

  def adapt(self, x: types.FloatArray) -> None:
    """Sets knots and products from the rows of x [B, D].

    A column of two values needs no more than a straight line: it gets no
    knots and stays as it is.
    """
    columns = np.asarray(x, np.float64).T
    self._knots = [
      _make_knots(basis, column)
      for basis, column in zip(self._bases, columns, strict=True)
    ]
    self._smooth = [smooth_combinations(each) for each in self._knots]
    self._order = 1
    while (
      self._order < min(self._interaction, len(self._bases))
      and self._count(self._order + 1) <= self._most_functions
    ):
      self._order += 1

  @property
  def size(self) -> int:
    """Number of functions."""
    return self._count(self._order)

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, size] of inputs [B, D], float64."""
    x = np.asarray(x, np.float64)
    functions = [
      _evaluate(x[:, index], basis, knots, smooth)
      for index, (basis, knots, smooth) in enumerate(
        zip(self._bases, self._knots, self._smooth, strict=True)
      )
    ]
    blocks = []
    for subset in self._products(self._order):
      block = functions[subset[0]]
      for index in subset[1:]:
        product = block[:, :, None] * functions[index][:, None, :]
        block = product.reshape(-1, block.shape[1] * functions[index].shape[1])
      blocks.append(block)
    return np.concatenate(blocks, axis=1)

  def state(self) -> Mapping[str, types.FloatArray]:
    """Returns what `restore` needs."""
    return {
      'order': np.asarray(self._order),
      **{f'knots/{index}': each for index, each in enumerate(self._knots)},
    }

  def restore(self, state: Mapping[str, types.FloatArray]) -> None:
    """Takes what `state` of a dictionary of the same bases returned."""
    self._order = int(state['order'])
    self._knots = [state[f'knots/{index}'] for index in range(len(self._bases))]
    self._smooth = [smooth_combinations(each) for each in self._knots]

  def _count(self, order: int) -> int:
    sizes = [
      basis.degree
      if isinstance(basis, bases_lib.Hermite)
      else max(len(knots) - bases_lib.DEGREE - 2, 1)
      for basis, knots in zip(self._bases, self._knots, strict=True)
    ]
    return sum(
      math.prod(sizes[index] for index in subset)
      for subset in self._products(order)
    )

  def _products(self, order: int) -> list[tuple[int, ...]]:
    return [
      subset
      for count in range(1, order + 1)
      for subset in itertools.combinations(range(len(self._bases)), count)
    ]


def _make_knots(
  basis: bases_lib.Basis, column: types.FloatArray
) -> types.FloatArray:
  distinct = np.unique(column)
  if isinstance(basis, bases_lib.Hermite) or len(distinct) <= 2:
    return np.zeros([0])
  # More functions than distinct values cannot be told apart.
  size = max(bases_lib.DEGREE + 1, min(basis.size, len(distinct)))
  shares = np.linspace(0.0, 1.0, size - bases_lib.DEGREE + 1)[1:-1]
  inner = np.unique(np.quantile(column, shares))
  inner = inner[(inner > distinct[0]) & (inner < distinct[-1])]
  ends = np.repeat(distinct[[0, -1]], bases_lib.DEGREE + 1)
  return np.sort(np.concatenate([inner, ends]))


def _evaluate(
  x: types.FloatArray,
  basis: bases_lib.Basis,
  knots: types.FloatArray,
  smooth: types.FloatArray,
) -> types.FloatArray:
  if isinstance(basis, bases_lib.Hermite):
    return hermite(x, basis.degree)
  return b_splines(x, knots) @ smooth if len(knots) else x[:, None]


def smooth_combinations(knots: types.FloatArray) -> types.FloatArray:
  """Returns combinations of B-splines that a ridge penalty makes smooth.

  The first is a straight line. The others have no trend, and their sizes fall
  with their roughness, the integral of the squared second derivative: the sum
  of squares of their coefficients is that of a spline. Left out is the
  constant. So where rows tell little of a coefficient it is that of a smooth
  function, not zero.

  Args:
    knots: sorted, [K].

  Returns:
    [K - 4, K - 5]; empty where there are no knots.
  """
  if not len(knots):
    return np.zeros((0, 0))
  size = len(knots) - bases_lib.DEGREE - 1
  # The coefficients of a straight line are its values at these.
  centres = np.mean(
    [knots[start : start + size] for start in range(1, bases_lib.DEGREE + 1)],
    axis=0,
  )
  slopes = np.diff(np.eye(size), axis=0) / np.diff(centres)[:, None]
  gaps = np.diff((centres[:-1] + centres[1:]) / 2.0)[:, None]
  curvatures = np.diff(slopes, axis=0) / gaps
  values, vectors = np.linalg.eigh(curvatures.T @ (gaps * curvatures))
  # Two values are zero: those of the constant and of the line.
  curves = vectors[:, 2:] / np.sqrt(values[2:])
  points = np.quantile(np.unique(knots), np.linspace(0.0, 1.0, _POINTS))
  splines = b_splines(points, knots)
  lines = np.stack([np.ones(size), centres], axis=1)
  curves -= (
    lines @ np.linalg.lstsq(splines @ lines, splines @ curves, rcond=None)[0]
  )
  curves /= np.std(splines @ curves[:, 0])
  line = (centres - np.mean(points)) / np.std(points)
  return _SCALE * np.concatenate([line[:, None], curves], axis=1)


def hermite(x: types.FloatArray, degree: int) -> types.FloatArray:
  """Returns He_k(x) / sqrt(k!) for k = 1 to degree at x [B]: [B, degree]."""
  values = [np.ones_like(x), x]
  for k in range(1, degree):
    # The recursion of the normalised polynomials.
    values.append(
      (x * values[k] - np.sqrt(k) * values[k - 1]) / np.sqrt(k + 1.0)
    )
  return np.stack(values[1:], axis=1)


def b_splines(x: types.FloatArray, knots: types.FloatArray) -> types.FloatArray:
  """Returns the cubic B-splines of sorted knots [K] at x [B]: [B, K - 4].

  Points outside the knots take the value at the nearest end.
  """
  x = np.clip(x, knots[0], knots[-1])[:, None]
  # The last point belongs to the last interval that is not empty.
  inside = np.where(
    x < knots[-1], x, np.max(np.where(knots < knots[-1], knots, knots[0]))
  )
  values = ((knots[:-1] <= inside) & (inside < knots[1:])).astype(x.dtype)
  for degree in range(1, bases_lib.DEGREE + 1):
    left, right = knots[:-degree], knots[degree:]
    rising = np.divide(
      x - left,
      right - left,
      out=np.zeros((len(x), len(left))),
      where=right > left,
    )
    values = (
      rising[:, :-1] * values[:, :-1] + (1.0 - rising[:, 1:]) * values[:, 1:]
    )
  return values
