"""Policies over finitely many actions, with exact probabilities.

A policy is anything with `action_probabilities(observation)`; see
`types.Policy`. It is stored as a TensorFlow SavedModel, so that it can be
loaded without the code that made it. Arrays are answered by arrays, tensors by
tensors; TensorFlow is imported where a model is written, or run by it.
"""

import functools
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import tensors
from dfiv_ope.policies import saved_models, saved_networks


class Loaded:
  """A SavedModel: arrays are answered without TensorFlow if they can be.

  Tensors are answered by the model itself, in the precision that it declares.
  """

  def __init__(
    self,
    path: pathlib.Path,
    *,
    num_observations: int,
    trusted: bool,
    network: saved_networks.Network | None,
  ):
    """Remembers where the model is; see `load`."""
    self._path = path
    self._num_observations = num_observations
    self._trusted = trusted
    self._network = network
    self._answer: Any = None

  @functools.cached_property
  def model(self) -> tuple[Any, Any]:
    """The model, and the type of numbers that it takes; loaded once.

    Raises:
      ValueError: it is not a policy, or one that may do more than compute.
    """
    model = saved_models.load(self._path, trusted=self._trusted)
    if not hasattr(model, 'action_probabilities'):
      raise ValueError(
        f'{self._path} is a SavedModel but has no function '
        'action_probabilities, so it is not a policy.'
      )
    self._answer, dtype = saved_models.ask_once(
      model.action_probabilities,
      self._path,
      num_observations=self._num_observations,
    )
    return model, dtype

  def first_answer(self) -> Any:
    """Returns what the policy says of one observation of zeros."""
    if self._network is not None:
      return self._network(np.zeros((1, self._num_observations)))
    self.model  # noqa: B018 - it is asked when it is loaded
    return self._answer

  def action_probabilities(self, observation: types.Array) -> types.Array:
    if self._network is not None and not tensors.library(observation):
      return self._network(observation)
    model, dtype = self.model
    found = model.action_probabilities(_as_tensor(observation, dtype))
    return found if tensors.library(observation) else np.asarray(found)


class Explore:
  """Follows a policy, but a uniform action with probability epsilon.

  With a greedy policy this is epsilon-greedy; with any target policy it is
  the behaviour policy that the paper collects its data with.
  """

  def __init__(self, policy: types.Policy, *, epsilon: float):
    if not 0.0 <= epsilon <= 1.0:
      raise ValueError(f'epsilon must lie in [0, 1], got {epsilon}.')
    self.policy = policy
    self._epsilon = epsilon

  def action_probabilities(self, observation: types.Array) -> types.Array:
    """Returns (1 - epsilon) pi(.|s) + epsilon / A, [B, A]."""
    probabilities = self.policy.action_probabilities(observation)
    num_actions = tensors.cast(
      tensors.rows(probabilities, axis=1), probabilities.dtype
    )
    return (1.0 - self._epsilon) * probabilities + self._epsilon / num_actions


class Uniform:
  """Takes every action with the same probability."""

  def __init__(self, *, num_actions: int):
    self._num_actions = num_actions

  def action_probabilities(self, observation: types.Array) -> types.Array:
    return tensors.fill(
      observation,
      [tensors.rows(observation), self._num_actions],
      1.0 / self._num_actions,
      np.float32,
    )


class SamplingActor:
  """Draws from a policy for `rollout.episodes`, a generator an episode."""

  def __init__(self, policy: types.Policy, *, copies: int):
    import tensorflow as tf  # Small batches: a graph answers them sooner.

    self._probabilities = tf.function(policy.action_probabilities)
    self._as_tensor = tf.constant
    self._generators = [np.random.default_rng(0)] * copies

  def begin(self, slot: int, seed: int) -> None:
    self._generators[slot] = np.random.default_rng(seed)

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    probabilities = self._probabilities(self._as_tensor(observations)).numpy()
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
  import tensorflow as tf

  module = tf.Module()
  module.policy = _owner(policy)  # keeps the variables alive and tracked
  module.action_probabilities = tf.function(
    policy.action_probabilities,
    input_signature=[tf.TensorSpec([None, num_observations], tf.float32)],
  )
  tf.saved_model.save(module, str(path))


def _owner(policy: Any) -> Any:
  """Returns the module that has a policy's variables, if there is one."""
  if isinstance(policy, Explore):
    return _owner(policy.policy)
  return policy.model[0] if isinstance(policy, Loaded) else policy


def _as_tensor(observation: types.Array, dtype: Any) -> Any:
  import tensorflow as tf

  return tf.cast(observation, dtype)


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
  saved_models.require(path)
  policy = Loaded(
    path,
    num_observations=num_observations,
    trusted=trusted,
    network=saved_networks.read(path, num_observations=num_observations),
  )
  answer = policy.first_answer()
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
  return policy
