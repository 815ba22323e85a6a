"""Batches of rows that lie in memory, drawn inside of graphs."""

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
      self._rows = row_nests.map_rows(tf.convert_to_tensor, rows)
      # Philox: the same numbers on every machine and in every tf.function.
      self._generator = tf.random.Generator.from_seed(seed, alg='philox')
    self._batch_size = batch_size
    self._size = len(next(row_nests.leaves(rows)))

  def sample(self) -> types.Nest:
    """Returns rows drawn uniformly, also inside a `tf.function`."""
    index = self._generator.uniform(
      [self._batch_size], maxval=self._size, dtype=tf.int64
    )
    return row_nests.map_rows(lambda x: tf.gather(x, index), self._rows)
