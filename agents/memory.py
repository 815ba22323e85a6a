"""Rows of a log in memory: batches drawn from them, or all of them in parts.

What `base.Data` asks for; `datasets.sampling` does the same from a server.
"""

from collections.abc import Callable, Iterator, Sequence
import itertools
import operator
from typing import Any

import tensorflow as tf

from dfiv_ope import types

# Rows of a part; even parts make one half of the data, odd parts the other.
_PART_ROWS = 4096
# Bytes of a log whose parts are kept.
_KEPT = 64_000_000


class Parts:
  """All rows in order, in an even number of about equal parts.

  Those of a short log are cut once, however often they are asked for.
  """

  def __init__(self, rows: types.Nest):
    """Initialises them with a nest of tensors [N, ...]."""
    self._rows = rows
    self._kept: dict[int, types.Nest] = {}
    flat = [each for each in tf.nest.flatten(rows) if each is not None]
    self._marks = marks(int(flat[0].shape[0]))
    self._keep = sum(tf.size(x).numpy() * x.dtype.size for x in flat) <= _KEPT

  @property
  def sizes(self) -> list[int]:
    """Rows of each part."""
    return [end - start for start, end in itertools.pairwise(self._marks)]

  def __call__(self) -> Iterator[types.Nest]:
    """Yields the parts."""
    return map(self._part, range(len(self._marks) - 1))

  def only(self, chosen: Sequence[int]) -> Callable[[], Iterator[types.Nest]]:
    """Returns what yields some of the parts, by their numbers."""
    return lambda: map(self._part, chosen)

  def _part(self, place: int) -> types.Nest:
    if place in self._kept:
      return self._kept[place]
    part = _map(
      operator.itemgetter(slice(self._marks[place], self._marks[place + 1])),
      self._rows,
    )
    if self._keep:
      self._kept[place] = part
    return part


class InMemory(tf.Module):
  """Draws with replacement from tensors, seeded; its state can be saved."""

  def __init__(
    self,
    rows: types.Nest,
    *,
    batch_size: int,
    seed: int,
    parts: Parts | None = None,
  ):
    """Initialises the sampler.

    Args:
      rows: transitions, or what was made of them: a nest of tensors [N, ...].
      batch_size: rows of a batch.
      seed: same seed, same batches.
      parts: of the same rows, if they are there.
    """
    super().__init__('in_memory')
    if batch_size < 1:
      raise ValueError(f'batch_size must be at least 1, got {batch_size}.')
    self._rows = rows
    # Not a list that a module tracks.
    self.parts: Parts = parts or Parts(rows)
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
