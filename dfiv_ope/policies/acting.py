"""What is done alike with policies over actions of either kind.

Policies over finitely many actions are in `finite`, those whose actions are
vectors in `continuous`.
"""

import pathlib
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.policies import continuous, finite, rollout, uniform_vectors

Policy: TypeAlias = types.Policy | types.ContinuousPolicy
# Normal quantiles are infinite at 0 and 1.
_EDGE = 1e-6


class VectorActor:
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


def actor(
  policy: Policy, *, copies: int, actions: actions_lib.Continuous | None
) -> rollout.Actor:
  """Returns what draws a policy's actions in a number of slots.

  Args:
    policy: the policy to draw from.
    copies: number of slots.
    actions: what an action is if it is a vector.
  """
  if actions is None:
    assert isinstance(policy, types.Policy)
    return finite.SamplingActor(policy, copies=copies)
  assert isinstance(policy, types.ContinuousPolicy)
  return VectorActor(policy, copies=copies, actions=actions)


def explore(policy: Policy, *, epsilon: float) -> Policy:
  """Returns a policy with more noise: the one that datasets are logged with.

  Args:
    policy: the target policy.
    epsilon: probability of a uniform action; of vectors, standard deviation of
      Gaussian noise that is added to the policy's own, as a part of half the
      range between the bounds. Variances add up, and the sum is clipped once.

  Raises:
    ValueError: epsilon lies outside of [0, 1], or the noise of the policy is
      not Gaussian.
  """
  if isinstance(policy, types.Policy):
    return finite.Explore(policy, epsilon=epsilon)
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


def uniform(sizes: rollout.Sizes) -> Policy:
  """Returns the policy that takes all actions of an environment alike."""
  if sizes.continuous is None:
    return finite.Uniform(num_actions=sizes.num_actions)
  return uniform_vectors.Uniform(sizes.continuous)


def save(
  policy: Policy,
  path: pathlib.Path,
  *,
  num_observations: int,
  actions: actions_lib.Continuous | None,
) -> None:
  """Writes a policy as a SavedModel into a new directory.

  Args:
    policy: the policy.
    path: the directory.
    num_observations: D.
    actions: what an action is if it is a vector.
  """
  if actions is None:
    assert isinstance(policy, types.Policy)
    finite.save(policy, path, num_observations=num_observations)
  else:
    assert isinstance(policy, types.ContinuousPolicy)
    continuous.save(
      policy, path, num_observations=num_observations, actions=actions
    )


def load(
  path: pathlib.Path,
  *,
  num_observations: int,
  num_actions: int,
  actions: actions_lib.Continuous | None = None,
  trusted: bool = False,
) -> Policy:
  """Loads a SavedModel and checks that it fits the task at hand.

  Args:
    path: the directory written by `save`.
    num_observations: D of the observations it will be asked about.
    num_actions: A of the environment; 0 if its actions are vectors.
    actions: what these are.
    trusted: load it even if its operations may do more than compute.

  Raises:
    FileNotFoundError: there is no SavedModel at the path.
    ValueError: it is not a policy, one for other observations or actions, or
      one that may do more than compute.
  """
  if actions is None:
    return finite.load(
      path,
      num_observations=num_observations,
      num_actions=num_actions,
      trusted=trusted,
    )
  return continuous.load(
    path, num_observations=num_observations, actions=actions, trusted=trusted
  )
