"""Policies whose actions are vectors: a mean, and maybe noise around it.

See `types.ContinuousPolicy`. They are stored as TensorFlow SavedModels with the
functions `mean` and `standard_deviation`.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from dfiv_ope import actions as actions_lib


class Gaussian(tf.Module):
  """A mean with independent Gaussian noise, clipped to the bounds.

  Attributes:
    actions: what an action is.
  """

  def __init__(
      self,
      mean: Callable[[tf.Tensor], tf.Tensor],
      *,
      standard_deviation: np.ndarray | float,
      actions: actions_lib.Continuous,
  ):
    """Builds the policy.

    Args:
      mean: maps raw observations [B, D] to means [B, d]; a `tf.Module`, if it
        has variables.
      standard_deviation: of each entry, [d], or of all; 0 for a deterministic
        policy.
      actions: what an action is; none of its entries is a name.

    Raises:
      ValueError: a standard deviation is negative, or an entry is a name.
    """
    super().__init__('gaussian')
    deviation = np.broadcast_to(
        np.asarray(standard_deviation, np.float32), [actions.size])
    if not (np.isfinite(deviation) & (deviation >= 0.)).all():
      raise ValueError(
          'standard_deviation must be finite and not negative, got '
          f'{deviation.tolist()}.')
    if actions.categories:
      raise ValueError(
          'Gaussian noise is for numbers, but an entry of the action is a '
          'name. Pass a policy with draw and log_prob.')
    self.actions = actions
    self.mean = mean
    self._deviation = deviation
    self._low, self._high = (
        np.asarray(bound, np.float32) for bound in actions.bounds)

  @property
  def deterministic(self) -> bool:
    return not self._deviation.any()

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    """Returns clipped mean + deviation * normal quantiles, [B, K, d]."""
    mean = tf.cast(self.mean(observation), tf.float32)[:, None, :]
    noise = tf.math.ndtri(tf.cast(uniforms, tf.float32))
    return tf.clip_by_value(
        mean + self._deviation * noise, self._low, self._high)

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    """Returns the log density, at a bound the log of the mass there, [B]."""
    mean = tf.cast(self.mean(observation), tf.float32)
    action = tf.cast(action, tf.float32)
    noise = tfp.distributions.Normal(mean, self._deviation)
    entries = tf.where(
        action <= self._low, noise.log_cdf(self._low),
        tf.where(action >= self._high,
                 noise.log_survival_function(self._high),
                 noise.log_prob(action)))
    return tf.reduce_sum(entries, axis=1)
