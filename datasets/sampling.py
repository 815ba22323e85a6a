"""Batches of transitions from a Reverb server.

As `agents.memory` it has two methods: `sample` draws a batch and can be called
inside a `tf.function`; `parts` goes through the data once. A learner does not
know which one it has.
"""

from collections.abc import Callable, Iterator

import reverb

from dfiv_ope import types
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets import store


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
        address,
        store.TRANSITIONS,
        max_in_flight_samples_per_worker=4,
        get_signature_timeout_secs=timeout_seconds,
      )
    except Exception as error:  # Reverb raises several types.
      raise TimeoutError(
        f'No Reverb server answered at {address} within {timeout_seconds} s. '
        'Start one with `dfiv-ope dataset serve DATASET`.'
      ) from error
    batches = (
      blocks.map(
        lambda block: steps_lib.transitions(steps_lib.Steps(*block.data))
      )
      .unbatch()
      .shuffle(shuffle_buffer)
      .batch(batch_size, drop_remainder=True)
      .map(transform)
      .prefetch(2)
    )
    self._iterator = iter(batches)
    self._part_count = part_count

  def sample(self) -> types.Nest:
    """Returns the next batch, also inside a `tf.function`."""
    return next(self._iterator)

  def parts(self) -> Iterator[types.Nest]:
    """Yields `part_count` batches."""
    for _ in range(self._part_count):
      yield self.sample()
