"""The policy that takes all actions within bounds alike."""

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib


class Uniform(tf.Module):
  """All actions within the bounds alike.

  Attributes:
    actions: what an action is.
  """

  def __init__(self, actions: actions_lib.Continuous):
    """Builds the policy.

    Raises:
      ValueError: an entry is unbounded.
    """
    super().__init__('uniform')
    actions.refuse_unbounded()
    self.actions = actions

  @property
  def deterministic(self) -> bool:
    return False

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    """Returns low + (high - low) * uniforms, or a label's place, [B, K, d]."""
    low, high = self.actions.bounds
    columns = []
    for place in range(self.actions.size):
      uniform = tf.cast(uniforms[..., place], tf.float32)
      labels = self.actions.categories.get(place)
      columns.append(
        low[place] + (high[place] - low[place]) * uniform
        if labels is None
        else tf.minimum(tf.floor(len(labels) * uniform), len(labels) - 1.0)
      )
    return tf.stack(columns, axis=-1)

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    """Returns minus the log of the volume, [B]; -inf outside the bounds."""
    low, high = self.actions.bounds
    action = tf.cast(action, tf.float64)
    inside = tf.reduce_all((action >= low) & (action <= high), axis=1)
    volume = sum(
      np.log(
        len(self.actions.categories[place])
        if place in self.actions.categories
        else high[place] - low[place]
      )
      for place in range(self.actions.size)
    )
    return tf.where(
      inside, tf.constant(-volume, tf.float64), tf.constant(-np.inf, tf.float64)
    )
