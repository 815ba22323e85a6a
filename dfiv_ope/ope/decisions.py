"""Functions of a state and an action, and their expectations over actions.

A `Decision` is a state with the actions that may be taken there: the logged
one alone, or all those of a policy with their probabilities. A network of
decisions returns the expectation over these actions, which is exact:

    network = Outer((Dense(64),), num_observations=6, num_actions=3, seed=0)
    network(decision)              # sum_a p(a) psi(s, a), [B, D]

There are three ways to let a network depend on the action:

- `Joint` has the action among its inputs, as the paper's networks do. Each
  action costs one more evaluation.
- `Outer` has features of the state for each action, psi(s, a) = g(s) (x) e_a,
  so that an expectation costs one evaluation for any number of actions.
- `Heads` has one output an action: the usual Q-network.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import networks


class Decision(NamedTuple):
  """States and what may be done there.

  Attributes:
    observation: standardised s, float32 [B, D].
    actions: int32 [B, K].
    probabilities: of these actions, float32 [B, K]; they sum to one.
  """
  observation: tf.Tensor
  actions: tf.Tensor
  probabilities: tf.Tensor


def taken(observation: tf.Tensor, action: tf.Tensor) -> Decision:
  """Returns the decisions to take `action` [B] at `observation` [B, D]."""
  action = tf.cast(action, tf.int32)[:, None]
  return Decision(observation, action, tf.ones_like(action, tf.float32))


def weights(decision: Decision, num_actions: int) -> tf.Tensor:
  """Returns the probability of every action, [B, A]."""
  chosen = tf.one_hot(decision.actions, num_actions)  # [B, K, A]
  return tf.reduce_sum(chosen * decision.probabilities[..., None], axis=1)


class Joint(snt.Module):
  """A network of (s, one-hot a), averaged over the actions of a decision."""

  def __init__(
      self,
      layers: Sequence[layers_lib.Layer],
      *,
      num_observations: int,
      num_actions: int,
      seed: types.Seed,
      constant: bool = False,
      name: str | None = None,
  ):
    """Initialises the network.

    Args:
      layers: its layers, first to last.
      num_observations: D.
      num_actions: A.
      seed: seeds the weights.
      constant: whether a column of ones is appended.
      name: name of the module.
    """
    super().__init__(name=name)
    self._network = networks.Network(
        layers, input_size=num_observations + num_actions, seed=seed)
    self._num_actions = num_actions
    self._constant = constant
    self.output_size = self._network.output_size + constant

  def __call__(
      self, decision: Decision, *, is_training: bool = False,
  ) -> tf.Tensor:
    """Returns sum_a p(a) psi(s, a), [B, output_size]."""
    rows, choices = tf.unstack(tf.shape(decision.actions))
    one_hot = tf.one_hot(
        tf.reshape(decision.actions, [-1]), self._num_actions)
    inputs = tf.concat(
        [tf.repeat(decision.observation, choices, axis=0), one_hot], axis=1)
    outputs = self._network(inputs, is_training=is_training)  # [B K, D]
    outputs = tf.reshape(outputs, [rows, choices, outputs.shape[1]])
    mean = tf.reduce_sum(
        outputs * decision.probabilities[..., None], axis=1)
    return _append_ones(mean) if self._constant else mean


class Outer(snt.Module):
  """Features [g(s) (x) p, p, 1] of a feature map g of the state.

  The first probability is left out: they sum to the constant.
  """

  def __init__(
      self,
      state_features: Callable[..., tf.Tensor],
      *,
      state_size: int,
      num_actions: int,
      name: str | None = None,
  ):
    """Initialises the network.

    Args:
      state_features: g, a module that maps [B, D] to [B, state_size].
      state_size: number of features of a state.
      num_actions: A.
      name: name of the module.
    """
    super().__init__(name=name)
    self._state_features = state_features
    self._state_size = state_size
    self.num_actions = num_actions
    self.output_size = (state_size + 1) * num_actions

  def __call__(
      self, decision: Decision, *, is_training: bool = False,
  ) -> tf.Tensor:
    """Returns [B, (state_size + 1) A]; the last column is ones."""
    state = self.state(decision.observation, is_training=is_training)
    weight = tf.cast(weights(decision, self.num_actions), state.dtype)
    product = tf.reshape(
        weight[:, :, None] * state[:, None, :],
        [-1, self.num_actions * self._state_size])
    return _append_ones(tf.concat([product, weight[:, 1:]], axis=1))

  def dot(self, decision: Decision, coefficients: tf.Tensor) -> tf.Tensor:
    """Returns psi times coefficients [D, 1], [B, 1], without making psi."""
    state = self.state(decision.observation)
    coefficients = tf.cast(coefficients, state.dtype)[:, 0]
    size = self.num_actions * self._state_size
    by_action = tf.matmul(state, tf.reshape(
        coefficients[:size], [self.num_actions, -1]), transpose_b=True)
    # The first action has no column of its own, the constant is shared.
    own = tf.concat([[0.], coefficients[size:-1]], axis=0) + coefficients[-1]
    weight = tf.cast(weights(decision, self.num_actions), state.dtype)
    return tf.reduce_sum(weight * (by_action + own), axis=1, keepdims=True)

  def state(
      self, observation: tf.Tensor, *, is_training: bool = False,
  ) -> tf.Tensor:
    """Returns g(s), [B, state_size]."""
    if isinstance(self._state_features, networks.Network):
      return self._state_features(observation, is_training=is_training)
    return self._state_features(observation)


class Heads(snt.Module):
  """A network of the state with one output an action."""

  def __init__(
      self, layers: Sequence[layers_lib.Layer], *, num_observations: int,
      num_actions: int, seed: types.Seed):
    """Initialises the network; the last of `layers` has A outputs."""
    super().__init__()
    self._network = networks.Network(
        layers, input_size=num_observations, seed=seed)
    self._num_actions = num_actions
    if self._network.output_size != num_actions:
      raise ValueError(
          f'Heads needs one output for each of {num_actions} actions, but the '
          f'last layer has {self._network.output_size}.')

  def __call__(
      self, decision: Decision, *, is_training: bool = False,
  ) -> tf.Tensor:
    """Returns sum_a p(a) q(s, a), [B, 1]."""
    outputs = self._network(decision.observation, is_training=is_training)
    return tf.reduce_sum(
        outputs * weights(decision, self._num_actions), axis=1, keepdims=True)


def _append_ones(columns: tf.Tensor) -> tf.Tensor:
  return tf.concat([columns, tf.ones_like(columns[:, :1])], axis=1)
