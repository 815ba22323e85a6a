"""The policy of a Q-network."""

from collections.abc import Callable

import tensorflow as tf


class Greedy(tf.Module):
  """Takes the action of the largest value; ties go to the first."""

  def __init__(
    self, q_network: Callable[[tf.Tensor], tf.Tensor], *, num_observations: int
  ):
    """Builds the policy.

    Args:
      q_network: maps float32 observations [B, D] to values [B, A]; a
        `tf.Module`.
      num_observations: D.
    """
    super().__init__('greedy')
    self.q_network = q_network

    @tf.function(
      input_signature=[tf.TensorSpec([None, num_observations], tf.float32)]
    )
    def probabilities(observation: tf.Tensor) -> tf.Tensor:
      values = q_network(observation)  # [B, A]
      return tf.one_hot(tf.argmax(values, axis=-1), tf.shape(values)[-1])

    self._probabilities = probabilities

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    return self._probabilities(tf.cast(observation, tf.float32))
