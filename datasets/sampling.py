"""Batches of transitions, from memory or from a Reverb server.

Both samplers have two methods: `sample` draws a batch and can be called inside
a `tf.function`; `parts` goes through the data once. A learner does not know
which one it has.
"""

from collections.abc import Callable, Iterator
import operator
from typing import Any

import reverb
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets import store

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
        [self._batch_size], maxval=self._size, dtype=tf.int64)
    return _map(lambda x: tf.gather(x, index), self._rows)

  def parts(self) -> Iterator[types.Nest]:
    """Yields all rows in order, in an even number of about equal parts."""
    count = 2 * -(-self._size // (2 * _PART_ROWS))
    marks = [self._size * mark // count for mark in range(count + 1)]
    for start, end in zip(marks[:-1], marks[1:], strict=True):
      yield _map(operator.itemgetter(slice(start, end)), self._rows)


def _map(function: Callable[[tf.Tensor], tf.Tensor], rows: types.Nest) -> Any:
  """Applies a function to every tensor of a nest; members may be missing."""
  return tf.nest.map_structure(
      lambda x: None if x is None else function(x), rows)


class Streaming:
  """Draws from a Reverb server, here or on another host.

  For logs larger than memory. Blocks arrive at random and their transitions
  are mixed in a shuffle buffer; Reverb takes no seed, so neither does this.
  """

  def __init__(
      self,
      address: str,
      *,
      batch_size: int,
      transform: Callable[[types.Transition], types.Nest] = lambda x: x,
      part_count: int = 16,
      shuffle_buffer: int = 50_000,
      timeout_seconds: int = 30,
  ):
    """Connects to a server started by `dfiv-ope dataset serve`.

    Args:
      address: host:port.
      batch_size: transitions a batch.
      transform: applied to every batch, in a graph.
      part_count: batches that stand for the whole data in `parts`.
      shuffle_buffer: transitions held in memory for mixing.
      timeout_seconds: give up when the server does not answer.

    Raises:
      TimeoutError: no server answered.
    """
    try:
      blocks = reverb.TrajectoryDataset.from_table_signature(
          address, store.TRANSITIONS, max_in_flight_samples_per_worker=4,
          get_signature_timeout_secs=timeout_seconds)
    except Exception as error:  # Reverb raises several types.
      raise TimeoutError(
          f'No Reverb server answered at {address} within {timeout_seconds} s. '
          'Start one with `dfiv-ope dataset serve DATASET`.') from error
    batches = (
        blocks
        .map(lambda block: steps_lib.transitions(
            steps_lib.Steps(*block.data)))
        .unbatch()
        .shuffle(shuffle_buffer)
        .batch(batch_size, drop_remainder=True)
        .map(transform)
        .prefetch(2))
    self._iterator = iter(batches)
    self._part_count = part_count

  def sample(self) -> types.Nest:
    """Returns the next batch, also inside a `tf.function`."""
    return next(self._iterator)

  def parts(self) -> Iterator[types.Nest]:
    """Yields `part_count` batches."""
    for _ in range(self._part_count):
      yield self.sample()
