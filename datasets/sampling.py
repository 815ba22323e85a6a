"""Batches of transitions, from memory or from a Reverb server.

Both samplers have one method, `sample`, that can be called inside a
`tf.function`; a learner does not know which one it has.
"""

from typing import Protocol

import reverb
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets import store


class Sampler(Protocol):
  """Draws batches of transitions."""

  def sample(self) -> types.Transition:
    """Returns transitions drawn uniformly, tensors [B, ...]."""


class InMemory(tf.Module):
  """Draws with replacement from tensors, seeded; its state can be saved."""

  def __init__(
      self, transitions: types.Transition, *, batch_size: int, seed: int):
    super().__init__('in_memory')
    if batch_size < 1:
      raise ValueError(f'batch_size must be at least 1, got {batch_size}.')
    self._transitions = transitions
    self._batch_size = batch_size
    self._size = int(transitions.action.shape[0])
    # Philox: the same numbers on every machine and in every tf.function.
    self._generator = tf.random.Generator.from_seed(seed, alg='philox')

  def sample(self) -> types.Transition:
    rows = self._generator.uniform(
        [self._batch_size], maxval=self._size, dtype=tf.int64)
    return types.Transition(*(tf.gather(x, rows) for x in self._transitions))


class Streaming:
  """Draws from a Reverb server, here or on another host.

  For logs larger than memory. Blocks arrive at random and their transitions
  are mixed in a shuffle buffer; Reverb takes no seed, so neither does this.
  """

  def __init__(
      self, address: str, *, batch_size: int, shuffle_buffer: int = 50_000,
      timeout_seconds: int = 30):
    """Connects to a server started by `dfiv-ope dataset serve`.

    Args:
      address: host:port.
      batch_size: transitions a batch.
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
        .prefetch(2))
    self._iterator = iter(batches)

  def sample(self) -> types.Transition:
    return next(self._iterator)
