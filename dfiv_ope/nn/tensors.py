"""The same operations on numpy arrays and on tensors of TensorFlow.

Closed forms and networks share what states, actions and policies are. Closed
forms hand arrays around and never import TensorFlow, networks ask for the same
inside of graphs. So these functions take either: arrays give arrays, and a
tensor among the arguments gives tensors.

    tensors.concat([states, tensors.one_hot(actions, 3)], axis=1)
"""

from collections.abc import Callable, Sequence
import sys
from typing import Any

import numpy as np

from dfiv_ope import types

Array = types.Array


def library(*values: Any) -> Any:
  """Returns TensorFlow if a value is one of its tensors or variables."""
  tf = sys.modules.get('tensorflow')
  # While it is being imported, nothing can be a tensor.
  is_tensor = getattr(tf, 'is_tensor', None)
  if is_tensor is None or not any(is_tensor(each) for each in values):
    return None
  return tf


def is_module(value: object) -> bool:
  """Returns whether an object is a module of TensorFlow."""
  tf = sys.modules.get('tensorflow')
  return tf is not None and isinstance(value, tf.Module)


def errors() -> tuple[type[Exception], ...]:
  """Returns what operations of TensorFlow raise; nothing if it is not there."""
  tf = sys.modules.get('tensorflow')
  return () if tf is None else (tf.errors.OpError,)


def array(value: Array) -> np.ndarray:
  """Returns what is not in a graph as an array."""
  return np.asarray(value)


def in_graph(value: Array) -> bool:
  """Returns whether a value is symbolic, so that it has no numbers yet."""
  tf = library(value)
  return tf is not None and not tf.executing_eagerly()


def cast(value: Array, dtype: Any) -> Array:
  """Returns a value of another type: that of numpy, or of a tensor."""
  tf = library(value)
  if tf is not None:
    return tf.cast(value, dtype)
  return np.asarray(value, getattr(dtype, 'as_numpy_dtype', dtype))


def concat(values: Sequence[Array], axis: int) -> Array:
  """Joins values along an axis."""
  tf = library(*values)
  return (np.concatenate if tf is None else tf.concat)(values, axis)


def stack(values: Sequence[Array], axis: int) -> Array:
  """Joins values along a new axis."""
  tf = library(*values)
  return (np.stack if tf is None else tf.stack)(values, axis)


def gather(value: Array, places: Any, axis: int = 0) -> Array:
  """Returns entries of an axis by their places."""
  tf = library(value, places)
  if tf is None:
    return np.take(value, places, axis=axis)
  return tf.gather(value, places, axis=axis)


def of_rows(value: Array, places: Array) -> Array:
  """Returns entries [B, K] of each row of [B, A] by their places [B, K]."""
  tf = library(value, places)
  if tf is None:
    return np.take_along_axis(value, places, axis=1)
  return tf.gather(value, places, batch_dims=1)


def one_hot(places: Array, size: int, dtype: Any = np.float32) -> Array:
  """Returns indicators of places, [..., size]; none of one outside of it."""
  tf = library(places)
  if tf is not None:
    return tf.one_hot(places, size, dtype=dtype)
  places = np.asarray(places)
  result = np.zeros((places.size, size), dtype)
  flat = places.reshape(-1)
  known = np.flatnonzero((flat >= 0) & (flat < size))
  result[known, flat[known]] = 1
  return result.reshape(*places.shape, size)


def search(known: np.ndarray, values: Array) -> Array:
  """Returns where values [B] lie among rising ones [M], int64 [B]."""
  tf = library(values)
  if tf is not None:
    return tf.searchsorted(tf.constant(known), values, out_type=tf.int64)
  return np.searchsorted(known, values)


def where(condition: Array, value: Array, other: Array) -> Array:
  """Returns a value where a condition holds, else the other."""
  tf = library(condition, value, other)
  return (np.where if tf is None else tf.where)(condition, value, other)


def minimum(value: Array, other: Array) -> Array:
  """Returns the smaller ones of two."""
  tf = library(value, other)
  return (np.minimum if tf is None else tf.minimum)(value, other)


def asinh(value: Array) -> Array:
  """Returns the inverse of `sinh`: a line near zero, a logarithm far off."""
  tf = library(value)
  return np.arcsinh(value) if tf is None else tf.asinh(value)


def sinh(value: Array) -> Array:
  """Returns the hyperbolic sine."""
  tf = library(value)
  return np.sinh(value) if tf is None else tf.sinh(value)


def total(value: Array, axis: int, keepdims: bool = False) -> Array:
  """Returns sums along an axis, of the type of what is summed."""
  tf = library(value)
  if tf is None:
    return np.sum(value, axis=axis, keepdims=keepdims)
  return tf.reduce_sum(value, axis=axis, keepdims=keepdims)


def matmul(value: Array, other: Array) -> Array:
  """Returns the product of two matrices."""
  tf = library(value, other)
  return value @ other if tf is None else tf.matmul(value, other)


def transpose(value: Array) -> Array:
  """Returns a matrix transposed."""
  tf = library(value)
  return value.T if tf is None else tf.transpose(value)


def reshape(value: Array, shape: Sequence[Any]) -> Array:
  """Returns a value in another shape."""
  tf = library(value)
  return np.reshape(value, shape) if tf is None else tf.reshape(value, shape)


def repeat(value: Array, count: Any) -> Array:
  """Returns every row as often as asked for."""
  tf = library(value, count)
  if tf is None:
    return np.repeat(value, count, axis=0)
  return tf.repeat(value, count, axis=0)


def rows(value: Array, axis: int = 0) -> Any:
  """Returns the length of an axis, which a graph may not know."""
  tf = library(value)
  return value.shape[axis] if tf is None else tf.shape(value)[axis]


def fill(like: Array, shape: Sequence[Any], number: float, dtype: Any) -> Array:
  """Returns a constant of a shape, a tensor if `like` is one."""
  tf = library(like)
  if tf is None:
    return np.full(shape, number, dtype)
  return tf.fill(shape, tf.cast(number, dtype))


def append_ones(columns: Array) -> Array:
  """Returns columns [B, D] with one of ones at the end, [B, D + 1]."""
  ones = fill(columns, [rows(columns), 1], 1.0, columns.dtype)
  return concat([columns, ones], axis=1)


def largest(value: Array, count: int) -> tuple[Array, Array]:
  """Returns the largest entries of rows and their places, falling, [B, k].

  Of equal ones the first comes first.
  """
  tf = library(value)
  if tf is not None:
    return tuple(tf.math.top_k(value, k=count))
  places = np.argsort(-value, axis=1, kind='stable')[:, :count]
  places = places.astype(np.int32)
  return np.take_along_axis(value, places, axis=1), places


def placed_sums(values: Array, places: Array, size: int) -> Array:
  """Returns sums of values [B, K] by their places in rows, [B, size]."""
  tf = library(values, places)
  assert tf is not None
  count = tf.shape(places)[0]
  flat = places + size * tf.range(count)[:, None]
  return tf.reshape(
    tf.math.unsorted_segment_sum(
      tf.reshape(values, [-1]), tf.reshape(flat, [-1]), count * size
    ),
    [count, size],
  )


def uniforms_in_graph(shape: Sequence[Any], *, seed: int, edge: float) -> Array:
  """Returns numbers in [edge, 1 - edge], float32, the same for one seed."""
  tf = sys.modules['tensorflow']
  return tf.random.stateless_uniform(
    shape, (seed, 0), minval=edge, maxval=1.0 - edge
  )


def ask(
  function: Callable[[np.ndarray], np.ndarray], value: Array, *, columns: int
) -> Array:
  """Asks a function of arrays [B, D], in a graph too.

  Args:
    function: returns float32 [B, columns].
    value: what it is asked about.
    columns: of its answer.
  """
  tf = library(value)
  if tf is None:
    return function(np.asarray(value))
  if tf.executing_eagerly():  # Errors stay what they are.
    return tf.constant(function(np.asarray(value)))
  found = tf.numpy_function(function, [value], tf.float32)
  return tf.ensure_shape(found, [None, columns])
