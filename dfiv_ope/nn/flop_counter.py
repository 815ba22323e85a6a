"""The matrix products of a piece of TensorFlow code, and the same in numpy."""

import collections
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

# Not public, but the one place that sees all products; TensorFlow's own
# debugger stands on it.
from tensorflow.python.framework import op_callbacks


class Product(NamedTuple):
  """A matrix product: shapes as stored, and whether each is transposed."""

  dtype: str
  first: tuple[int, ...]
  second: tuple[int, ...]
  transpose_first: bool
  transpose_second: bool

  @property
  def flop(self) -> int:
    """Number of multiplications and additions."""
    flop = 2 * self.second[-2 if self.transpose_second else -1]
    for size in self.first:
      flop *= size
    return flop


def record(run: Callable[[], Any]) -> dict[Product, int]:
  """Returns the matrix products that a call makes, and how often.

  Those of gradients and Gram matrices are among them; solves of linear
  systems are not. Their number is what the call must do at least; the time of
  numpy is no bound, for TensorFlow's products can be faster than numpy's.
  """
  products: collections.Counter[Product] = collections.Counter()

  def look(
    op_type: str,
    inputs: tuple[tf.Tensor, ...],
    attributes: tuple[Any, ...],
    outputs: Any,
    *_: Any,
    **__: Any,
  ) -> None:
    del outputs
    if op_type in ('MatMul', 'BatchMatMulV2'):
      named = dict(zip(attributes[::2], attributes[1::2], strict=True))
      first, second = inputs
      products[
        Product(
          first.dtype.name,
          tuple(first.shape),
          tuple(second.shape),
          bool(named.get('transpose_a') or named.get('adj_x')),
          bool(named.get('transpose_b') or named.get('adj_y')),
        )
      ] += 1

  tf.config.run_functions_eagerly(True)
  op_callbacks.add_op_callback(look)
  try:
    run()
  finally:
    op_callbacks.remove_op_callback(look)
    tf.config.run_functions_eagerly(False)
  return dict(products)


def bare(products: Mapping[Product, int]) -> Callable[[int], None]:
  """Returns a function that makes the products in numpy, `count` times."""
  generator = np.random.default_rng(0)

  def operand(
    shape: tuple[int, ...], dtype: str, transpose: bool
  ) -> np.ndarray:
    array = generator.standard_normal(shape).astype(dtype)
    return np.swapaxes(array, -1, -2) if transpose else array

  operands = []
  for product, times in products.items():
    first = operand(product.first, product.dtype, product.transpose_first)
    second = operand(product.second, product.dtype, product.transpose_second)
    operands.append((first, second, np.matmul(first, second), times))

  def run(count: int) -> None:
    for _ in range(count):
      for first, second, result, times in operands:
        for _ in range(times):
          np.matmul(first, second, out=result)

  return run


def megaflop(products: Mapping[Product, int]) -> float:
  """Returns the operations of all products, in millions."""
  return sum(product.flop * times for product, times in products.items()) / 1e6
