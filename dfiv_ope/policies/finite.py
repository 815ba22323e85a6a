"""Policies over finitely many actions, with exact probabilities.

A policy is anything with `action_probabilities(observation)`; see
`types.Policy`. It is stored as a TensorFlow SavedModel, so that it can be
loaded without the code that made it.
"""

from collections.abc import Callable
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.policies import saved_models


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


class Loaded(tf.Module):
  """A SavedModel, asked in the precision that it declares."""

  def __init__(self, model: Any, dtype: tf.DType):
    super().__init__('loaded')
    self._model = model
    self._dtype = dtype

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    return self._model.action_probabilities(tf.cast(observation, self._dtype))


class Explore(tf.Module):
  """Follows a policy, but a uniform action with probability epsilon.

  With a greedy policy this is epsilon-greedy; with any target policy it is
  the behaviour policy that the paper collects its data with.
  """

  def __init__(self, policy: types.Policy, *, epsilon: float):
    if not 0.0 <= epsilon <= 1.0:
      raise ValueError(f'epsilon must lie in [0, 1], got {epsilon}.')
    super().__init__('explore')
    self._policy = policy
    self._epsilon = epsilon

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns (1 - epsilon) pi(.|s) + epsilon / A, [B, A]."""
    probabilities = self._policy.action_probabilities(observation)
    num_actions = tf.cast(tf.shape(probabilities)[-1], probabilities.dtype)
    return (1.0 - self._epsilon) * probabilities + self._epsilon / num_actions


class Uniform(tf.Module):
  """Takes every action with the same probability."""

  def __init__(self, *, num_actions: int):
    super().__init__('uniform')
    self._num_actions = num_actions

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    return tf.fill(
      [tf.shape(observation)[0], self._num_actions], 1.0 / self._num_actions
    )


class SamplingActor:
  """Draws from a policy for `rollout.episodes`, a generator an episode."""

  def __init__(self, policy: types.Policy, *, copies: int):
    self._probabilities = tf.function(policy.action_probabilities)
    self._generators = [np.random.default_rng(0)] * copies

  def begin(self, slot: int, seed: int) -> None:
    self._generators[slot] = np.random.default_rng(seed)

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    probabilities = self._probabilities(tf.constant(observations)).numpy()
    uniforms = np.zeros((len(observations), 1))
    for slot in slots:
      uniforms[slot] = self._generators[slot].random()
    return sample(probabilities, uniforms)


def sample(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
  """Turns uniform numbers into actions by the inverse of the distribution.

  Args:
    probabilities: [K, A]; rows sum to one up to rounding.
    uniforms: numbers in [0, 1), [K, 1].

  Returns:
    Actions, int32 [K]. An action of probability zero is never returned.
  """
  cumulative = np.cumsum(probabilities, axis=1, dtype=np.float64)
  below = cumulative <= uniforms * cumulative[:, -1:]
  return np.sum(below, axis=1).astype(np.int32)


def save(
  policy: types.Policy, path: pathlib.Path, *, num_observations: int
) -> None:
  """Writes a policy as a SavedModel into a new directory."""
  module = tf.Module()
  module.policy = policy  # keeps the variables alive and tracked
  module.action_probabilities = tf.function(
    policy.action_probabilities,
    input_signature=[tf.TensorSpec([None, num_observations], tf.float32)],
  )
  tf.saved_model.save(module, str(path))


def load(
  path: pathlib.Path,
  *,
  num_observations: int,
  num_actions: int,
  trusted: bool = False,
) -> types.Policy:
  """Loads a SavedModel and checks that it fits the task at hand.

  Args:
    path: the directory written by `save`.
    num_observations: D of the observations it will be asked about.
    num_actions: A of the environment.
    trusted: load it even if its operations may do more than compute.

  Raises:
    FileNotFoundError: there is no SavedModel at the path.
    ValueError: it is not a policy, one for other observations or actions, or
      one that may do more than compute.
  """
  model = saved_models.load(path, trusted=trusted)
  if not hasattr(model, 'action_probabilities'):
    raise ValueError(
      f'{path} is a SavedModel but has no function action_probabilities, '
      'so it is not a policy.'
    )
  answer, dtype = saved_models.ask_once(
    model.action_probabilities, path, num_observations=num_observations
  )
  shape = getattr(answer, 'shape', [])
  if len(shape) != 2:
    raise ValueError(
      f'The policy in {path} returned {type(answer).__name__} of shape '
      f'{list(shape)} for one observation, not [1, {num_actions}].'
    )
  if shape[-1] != num_actions:
    raise ValueError(
      f'The policy in {path} chooses between {shape[-1]} actions, but the '
      f'task has {num_actions}. Was it trained for another task?'
    )
  return Loaded(model, dtype)
