"""Dictionaries of basis functions for sieve regression.

A dictionary turns each column of its input into basis functions and joins the
columns by products, up to a given number of columns a product (an analysis of
variance expansion):

    dictionary = Dictionary(
        [BSpline(8), Hermite(2)], interaction=2, most_functions=100)
    dictionary.adapt(x)                            # knots from the rows
    dictionary(x)                                  # [B, size]
"""

from collections.abc import Sequence
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
  """Products of basis functions of the columns; no constant.

  It is evaluated outside graphs only: how many functions there are is known
  when the rows, or a checkpoint, have set the knots.
  """

  def __init__(
      self,
      bases: Sequence[Basis],
      *,
      interaction: int,
      most_functions: int,
      name: str | None = None,
  ):
    """Initialises the dictionary; `adapt` then sets the knots.

    Args:
      bases: the functions of each column.
      interaction: the most columns that one product has.
      most_functions: products of fewer columns are formed where there would
        be more functions than this.
      name: name of the module.
    """
    super().__init__(name=name)
    self._bases = tuple(bases)
    self._interaction = interaction
    self._most_functions = most_functions
    self._order = tf.Variable(1, trainable=False)
    self._knots = [
        tf.Variable(tf.zeros([0], tf.float64), shape=[None], trainable=False)
        for _ in self._bases]

  def adapt(self, x: types.FloatArray) -> None:
    """Sets knots and products from the rows of x [B, D].

    A column of two values needs no more than a straight line: it gets no
    knots and stays as it is.
    """
    columns = np.asarray(x, np.float64).T
    for basis, knots, column in zip(
        self._bases, self._knots, columns, strict=True):
      knots.assign(_make_knots(basis, column))
    self._order.assign(1)
    while (int(self._order) < min(self._interaction, len(self._bases))
           and self._count(int(self._order) + 1) <= self._most_functions):
      self._order.assign_add(1)

  @property
  def size(self) -> int:
    """Number of functions."""
    return self._count(int(self._order))

  def __call__(self, x: tf.Tensor) -> tf.Tensor:
    """Returns features [B, size] of inputs [B, D], float64."""
    x = tf.cast(x, tf.float64)
    functions = [
        _evaluate(x[:, index], basis, knots)
        for index, (basis, knots) in enumerate(
            zip(self._bases, self._knots, strict=True))]
    blocks = []
    for subset in self._products(int(self._order)):
      block = functions[subset[0]]
      for index in subset[1:]:
        product = block[:, :, None] * functions[index][:, None, :]
        block = tf.reshape(
            product, [-1, block.shape[1] * functions[index].shape[1]])
      blocks.append(block)
    return tf.concat(blocks, axis=1)

  def _count(self, order: int) -> int:
    sizes = [
        basis.degree if isinstance(basis, Hermite)
        else max(int(tf.size(knots)) - _DEGREE - 1, 1)
        for basis, knots in zip(self._bases, self._knots, strict=True)]
    return sum(
        math.prod(sizes[index] for index in subset)
        for subset in self._products(order))

  def _products(self, order: int) -> list[tuple[int, ...]]:
    return [
        subset for count in range(1, order + 1)
        for subset in itertools.combinations(range(len(self._bases)), count)]


def _make_knots(basis: Basis, column: types.FloatArray) -> types.FloatArray:
  distinct = np.unique(column)
  if isinstance(basis, Hermite) or len(distinct) <= 2:
    return np.zeros([0])
  # More functions than distinct values cannot be told apart.
  size = max(_DEGREE + 1, min(basis.size, len(distinct)))
  shares = np.linspace(0., 1., size - _DEGREE + 1)[1:-1]
  inner = np.unique(np.quantile(column, shares))
  inner = inner[(inner > distinct[0]) & (inner < distinct[-1])]
  ends = np.repeat(distinct[[0, -1]], _DEGREE + 1)
  return np.sort(np.concatenate([inner, ends]))


def _evaluate(x: tf.Tensor, basis: Basis, knots: tf.Variable) -> tf.Tensor:
  if isinstance(basis, Hermite):
    return hermite(x, basis.degree)
  if not int(tf.size(knots)):
    return x[:, None]
  return b_splines(x, tf.convert_to_tensor(knots))


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
