"""Rows of a log in memory: batches drawn from them, or all of them in parts.

What `base.Data` asks for; `datasets.sampling` does the same from a server.
"""

from collections.abc import Callable, Iterator
import itertools
import operator
from typing import Any

import tensorflow as tf

from dfiv_ope import types

# Rows of a part; even parts make one half of the data, odd parts the other.
_PART_ROWS = 4096


class InMemory(tf.Module):
  """Draws with replacement from tensors, seeded; its state can be saved."""

  def __init__(self, rows: types.Nest, *, batch_size: int, seed: int):
    """Initialises the sampler.

    Args:
      rows: transitions, or what was made of them: a nest of tensors [N, ...].
      batch_size: rows of a batch.
      seed: same seed, same batches.
    """
    super().__init__('in_memory')
    if batch_size < 1:
      raise ValueError(f'batch_size must be at least 1, got {batch_size}.')
    self._rows = rows
    self._batch_size = batch_size
    self._size = int(tf.nest.flatten(rows)[0].shape[0])
    # Philox: the same numbers on every machine and in every tf.function.
    self._generator = tf.random.Generator.from_seed(seed, alg='philox')

  def sample(self) -> types.Nest:
    """Returns rows drawn uniformly, also inside a `tf.function`."""
    index = self._generator.uniform(
      [self._batch_size], maxval=self._size, dtype=tf.int64
    )
    return _map(lambda x: tf.gather(x, index), self._rows)

  def parts(self) -> Iterator[types.Nest]:
    """Yields all rows in order, in an even number of about equal parts."""
    for start, end in itertools.pairwise(marks(self._size)):
      yield _map(operator.itemgetter(slice(start, end)), self._rows)


def marks(size: int) -> list[int]:
  """Returns where the parts of so many rows begin, and the end of the last."""
  count = 2 * -(-size // (2 * _PART_ROWS))
  return [size * mark // count for mark in range(count + 1)]


def take(rows: types.Nest, index: Any) -> Any:
  """Returns some of the rows, by their numbers."""
  return _map(lambda x: tf.gather(x, index), rows)


def _map(function: Callable[[tf.Tensor], tf.Tensor], rows: types.Nest) -> Any:
  """Applies a function to every tensor of a nest; members may be missing."""
  return tf.nest.map_structure(
    lambda x: None if x is None else function(x), rows
  )
