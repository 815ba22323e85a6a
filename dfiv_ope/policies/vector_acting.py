"""What `acting` does with policies whose actions are vectors."""

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.policies import continuous, uniform_vectors

__all__ = ['Actor', 'continuous', 'explore', 'uniform_vectors']

# Normal quantiles are infinite at 0 and 1.
_EDGE = 1e-6


class Actor:
  """Draws vectors for `rollout.episodes`, a generator an episode."""

  def __init__(
    self,
    policy: types.ContinuousPolicy,
    *,
    copies: int,
    actions: actions_lib.Continuous,
  ):
    """Initialises the slots.

    Args:
      policy: the policy to draw from.
      copies: number of slots.
      actions: what an action is.
    """
    self._low, self._high = actions.bounds
    self._draw = tf.function(policy.draw)
    self._generators = [np.random.default_rng(0)] * copies

  def begin(self, slot: int, seed: int) -> None:
    self._generators[slot] = np.random.default_rng(seed)

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    size = len(self._low)
    uniforms = np.full((len(observations), 1, size), 0.5, np.float32)
    for slot in slots:
      uniforms[slot] = self._generators[slot].random(size)
    drawn = self._draw(
      tf.constant(observations), np.clip(uniforms, _EDGE, 1.0 - _EDGE)
    )
    # A bound in float32 is not itself in float64.
    values, low, high = (
      drawn.numpy()[:, 0],
      self._low.astype(np.float32),
      self._high.astype(np.float32),
    )
    return np.where(
      values <= low,
      self._low,
      np.where(values >= high, self._high, values.astype(np.float64)),
    )


def explore(
  policy: types.ContinuousPolicy, *, epsilon: float
) -> continuous.Clipped:
  """Returns a policy with more Gaussian noise, see `acting.explore`.

  Raises:
    ValueError: epsilon lies outside of [0, 1], or the noise of the policy is
      not Gaussian.
  """
  if not 0.0 <= epsilon <= 1.0:
    raise ValueError(f'epsilon must lie in [0, 1], got {epsilon}.')
  if not isinstance(policy, continuous.Clipped):
    raise ValueError(
      'Noise can only be added to a policy with a mean and Gaussian noise, '
      f'got {type(policy).__name__}.'
    )
  low, high = policy.actions.bounds
  extra = np.asarray(epsilon * (high - low) / 2.0, np.float32)  # [d]

  def moments(observation: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    mean, deviation = policy.moments(observation)
    return mean, tf.sqrt(tf.square(tf.cast(deviation, tf.float32)) + extra**2)

  wider = continuous.Clipped(
    moments,
    actions=policy.actions,
    name='explore',
    deterministic=policy.deterministic and not extra.any(),
  )
  wider.policy = policy  # keeps the variables alive and tracked
  return wider
