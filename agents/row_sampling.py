"""Batches of rows in memory or on disk, drawn inside of graphs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import row_nests


class Sampler(tf.Module):
  """Draws with replacement, seeded; its state can be saved."""

  def __init__(self, rows: types.Nest, *, batch_size: int, seed: int):
    """Initialises the sampler, see `memory.InMemory`."""
    super().__init__('sampler')
    # It may be asked for in a graph, and outlives it.
    with tf.init_scope():
      self._take = _taking(rows)
      # Philox: the same numbers on every machine and in every tf.function.
      self._generator = tf.random.Generator.from_seed(seed, alg='philox')
    self._batch_size = batch_size
    self._size = len(next(row_nests.leaves(rows)))

  def sample(self) -> types.Nest:
    """Returns rows drawn uniformly, also inside a `tf.function`."""
    index = self._generator.uniform(
      [self._batch_size], maxval=self._size, dtype=tf.int64
    )
    return self._take(index)


def _taking(rows: types.Nest) -> Callable[[tf.Tensor], Any]:
  """Returns what takes rows by their numbers; mapped ones stay on disk."""
  arrays = {id(each): each for each in row_nests.leaves(rows)}
  if not all(isinstance(each, np.memmap) for each in arrays.values()):
    tensors = row_nests.map_rows(tf.convert_to_tensor, rows)
    return lambda index: row_nests.map_rows(
      lambda x: tf.gather(x, index), tensors
    )

  def take(index: tf.Tensor) -> Any:
    taken = tf.numpy_function(
      lambda places: [np.asarray(each[places]) for each in arrays.values()],
      [index],
      [tf.as_dtype(each.dtype) for each in arrays.values()],
    )
    found = {
      key: tf.ensure_shape(each, [*index.shape, *arrays[key].shape[1:]])
      for key, each in zip(arrays, taken, strict=True)
    }
    return row_nests.map_rows(lambda x: found[id(x)], rows)

  return take
