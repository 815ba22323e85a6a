"""Dictionaries of basis functions for sieve regression.

A dictionary turns each column of its input into basis functions and joins the
columns by products, up to a given number of columns a product (an analysis of
variance expansion):

    dictionary = Dictionary(BSpline(8), columns=3, interaction=2)
    dictionary.adapt(x)                            # knots from the rows
    dictionary(x)                                  # [B, size]
"""

import dataclasses
import itertools
import math

import numpy as np
import tensorflow as tf

from dfiv_ope import types

_DEGREE = 3


@dataclasses.dataclass(frozen=True)
class Hermite:
  """Normalised Hermite polynomials of degree 1 to `degree`."""
  degree: int

  def __post_init__(self) -> None:
    if self.degree < 1:
      raise ValueError(
          f'Hermite.degree must be at least 1, got {self.degree}.')


@dataclasses.dataclass(frozen=True)
class BSpline:
  """`size` cubic B-splines with knots at quantiles, constant outside."""
  size: int

  def __post_init__(self) -> None:
    if self.size < _DEGREE + 1:
      raise ValueError(
          f'BSpline.size must be at least {_DEGREE + 1}, got {self.size}.')


Basis = Hermite | BSpline


class Dictionary(tf.Module):
  """Products of basis functions of the columns; no constant."""

  def __init__(
      self,
      basis: Basis,
      columns: int,
      *,
      interaction: int = 1,
      name: str | None = None,
  ):
    """Initialises the dictionary; `adapt` then sets the knots.

    Args:
      basis: the functions of each column.
      columns: number of columns of the input.
      interaction: the most columns that one product has.
      name: name of the module.
    """
    super().__init__(name=name)
    self.columns = columns
    self._basis = basis
    self._products = [
        subset for order in range(1, min(interaction, columns) + 1)
        for subset in itertools.combinations(range(columns), order)]
    self._knots = [
        tf.Variable(tf.zeros([0], tf.float64), shape=[None], trainable=False)
        for _ in range(columns)]

  def adapt(self, x: types.FloatArray) -> None:
    """Sets the knots from the rows of x [B, D].

    A column of two values needs no more than a straight line: it gets no
    knots and stays as it is.
    """
    for knots, column in zip(self._knots, np.asarray(x).T, strict=True):
      knots.assign(self._make_knots(np.asarray(column, np.float64)))

  def _make_knots(self, column: types.FloatArray) -> types.FloatArray:
    distinct = np.unique(column)
    if isinstance(self._basis, Hermite) or len(distinct) <= 2:
      return np.zeros([0])
    # More functions than distinct values cannot be told apart.
    size = max(_DEGREE + 1, min(self._basis.size, len(distinct)))
    shares = np.linspace(0., 1., size - _DEGREE + 1)[1:-1]
    inner = np.unique(np.quantile(column, shares))
    inner = inner[(inner > distinct[0]) & (inner < distinct[-1])]
    ends = np.repeat(distinct[[0, -1]], _DEGREE + 1)
    return np.sort(np.concatenate([inner, ends]))

  def __call__(self, x: tf.Tensor) -> tf.Tensor:
    """Returns features [B, size] of inputs [B, D], float64."""
    x = tf.cast(x, tf.float64)
    functions = [
        self._evaluate(x[:, index], knots)
        for index, knots in enumerate(self._knots)]
    blocks = []
    for subset in self._products:
      block = functions[subset[0]]
      for index in subset[1:]:
        product = block[:, :, None] * functions[index][:, None, :]
        block = tf.reshape(product, [tf.shape(x)[0], -1])
      blocks.append(block)
    return tf.concat(blocks, axis=1)

  def _evaluate(self, x: tf.Tensor, knots: tf.Variable) -> tf.Tensor:
    if isinstance(self._basis, Hermite):
      return hermite(x, self._basis.degree)
    if knots.shape.num_elements() == 0 or tf.size(knots) == 0:
      return x[:, None]
    return b_splines(x, tf.convert_to_tensor(knots))


def count(basis: Basis, columns: int, interaction: int) -> int:
  """Returns the most functions that such a dictionary can have."""
  each = basis.degree if isinstance(basis, Hermite) else basis.size
  return sum(
      math.comb(columns, order) * each ** order
      for order in range(1, interaction + 1))


def hermite(x: tf.Tensor, degree: int) -> tf.Tensor:
  """Returns He_k(x) / sqrt(k!) for k = 1 to degree at x [B]: [B, degree]."""
  values = [tf.ones_like(x), x]
  for k in range(1, degree):
    # The recursion of the normalised polynomials.
    values.append(
        (x * values[k] - np.sqrt(k) * values[k - 1]) / np.sqrt(k + 1.))
  return tf.stack(values[1:], axis=1)


def b_splines(x: tf.Tensor, knots: tf.Tensor) -> tf.Tensor:
  """Returns the cubic B-splines of sorted knots [K] at x [B]: [B, K - 4].

  Points outside the knots take the value at the nearest end.
  """
  x = tf.clip_by_value(x, knots[0], knots[-1])[:, None]
  # The last point belongs to the last interval that is not empty.
  inside = tf.where(x < knots[-1], x, tf.reduce_max(
      tf.where(knots < knots[-1], knots, knots[0])))
  values = tf.cast((knots[:-1] <= inside) & (inside < knots[1:]), x.dtype)
  for degree in range(1, _DEGREE + 1):
    left, right = knots[:-degree], knots[degree:]
    rising = tf.math.divide_no_nan(x - left, right - left)
    values = (rising[:, :-1] * values[:, :-1]
              + (1. - rising[:, 1:]) * values[:, 1:])
  return values
