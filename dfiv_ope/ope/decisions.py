"""Functions of a state and an action, and their expectations over actions.

A `Decision` is a state with the actions that may be taken there: the logged
one alone, or those of a policy with their probabilities, all of them or draws.
A network of decisions returns the expectation over these actions:

    network = Joint((Dense(64),), spaces=problem.spaces, seed=0)
    network(decision)              # sum_a p(a) psi(s, a), [B, D]

There are three ways to let a network depend on the action:

- `Joint` has the action among its inputs, as the paper's networks do. Each
  action costs one more evaluation. Actions that are vectors have no other.
- `Outer` has features of the state for each action, psi(s, a) = g(s) (x) e_a,
  so that an expectation costs one evaluation for any number of actions.
- `Heads` has one output an action: the usual Q-network.
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import NamedTuple, Self

import numpy as np
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import encoding, networks, scaling
from dfiv_ope.nn import layers as layers_lib

# Entries of indicators of a row's actions that are made rather than summed.
_ONE_HOTS = 1_000


class Decision(NamedTuple):
  """States and what may be done there.

  Attributes:
    observation: s, encoded compactly, float32 [B, D].
    actions: int32 [B, K], or vectors, encoded compactly, float32 [B, K, E].
    probabilities: of these actions, float32 [B, K]; they sum to one.
  """

  observation: tf.Tensor
  actions: tf.Tensor
  probabilities: tf.Tensor


# A function of decisions, [B, D] or [B, 1].
Function = Callable[[Decision], tf.Tensor]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spaces:
  """What the states and actions of decisions are.

  Attributes:
    states: encodes states.
    num_actions: A; 0 for vectors.
    vectors: encodes actions that are vectors; None if they are not.
  """

  states: encoding.Encoding
  num_actions: int
  vectors: encoding.Encoding | None = None

  @classmethod
  def of_numbers(cls, num_observations: int, num_actions: int) -> Self:
    """Returns states of numbers that are used as they are, and A actions."""
    return cls(
      states=encoding.Encoding(
        numbers=tuple(range(num_observations)),
        standardiser=scaling.Standardiser(
          np.zeros(num_observations), np.ones(num_observations)
        ),
      ),
      num_actions=num_actions,
    )

  @property
  def action_size(self) -> int:
    """Entries of an action as an input: A, or those of a vector."""
    return self.num_actions if self.vectors is None else self.vectors.size

  def action_inputs(self, actions: tf.Tensor) -> tf.Tensor:
    """Returns actions as inputs of a network, float32 [B K, action_size]."""
    if self.vectors is None:
      return tf.one_hot(tf.reshape(actions, [-1]), self.num_actions)
    return self.vectors.expand(tf.reshape(actions, [-1, actions.shape[2]]))


def taken(observation: tf.Tensor, action: tf.Tensor) -> Decision:
  """Returns the decisions to take an action at `observation` [B, D].

  Args:
    observation: encoded compactly.
    action: [B], or vectors, encoded compactly, [B, E].
  """
  action = tf.convert_to_tensor(action)[:, None]
  if len(action.shape) == 2:
    action = tf.cast(action, tf.int32)
  return Decision(observation, action, tf.ones(tf.shape(action)[:2]))


def weights(decision: Decision, num_actions: int) -> tf.Tensor:
  """Returns the probability of every one of A actions, [B, A]."""
  rows = tf.shape(decision.actions)[0]
  if (decision.actions.shape[1] or num_actions) * num_actions > _ONE_HOTS:
    place = decision.actions + num_actions * tf.range(rows)[:, None]
    return tf.reshape(
      tf.math.unsorted_segment_sum(
        tf.reshape(decision.probabilities, [-1]),
        tf.reshape(place, [-1]),
        rows * num_actions,
      ),
      [rows, num_actions],
    )
  chosen = tf.one_hot(decision.actions, num_actions)  # [B, K, A]
  return tf.reduce_sum(chosen * decision.probabilities[..., None], axis=1)


class Joint(snt.Module):
  """A network of (s, a), averaged over the actions of a decision."""

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    spaces: Spaces,
    seed: types.Seed,
    constant: bool = False,
    name: str | None = None,
  ):
    """Initialises the network.

    Args:
      layers: its layers, first to last.
      spaces: what its states and actions are.
      seed: seeds the weights.
      constant: whether a column of ones is appended.
      name: name of the module.
    """
    super().__init__(name=name)
    self._network = networks.Network(
      layers, input_size=spaces.states.size + spaces.action_size, seed=seed
    )
    self._spaces = spaces
    self._constant = constant
    self.output_size = self._network.output_size + constant

  def __call__(
    self, decision: Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns sum_a p(a) psi(s, a), [B, output_size]."""
    rows, choices = tf.unstack(tf.shape(decision.probabilities))
    states = self._spaces.states.expand(decision.observation)
    inputs = tf.concat(
      [
        tf.repeat(states, choices, axis=0),
        self._spaces.action_inputs(decision.actions),
      ],
      axis=1,
    )
    outputs = self._network(inputs, is_training=is_training)  # [B K, D]
    outputs = tf.reshape(outputs, [rows, choices, outputs.shape[1]])
    mean = tf.reduce_sum(outputs * decision.probabilities[..., None], axis=1)
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
      state_features: g, a module that maps states, encoded compactly, to
        [B, state_size].
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
    self, decision: Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns [B, (state_size + 1) A]; the last column is ones."""
    state = self.state(decision.observation, is_training=is_training)
    weight = tf.cast(weights(decision, self.num_actions), state.dtype)
    product = tf.reshape(
      weight[:, :, None] * state[:, None, :],
      [-1, self.num_actions * self._state_size],
    )
    return _append_ones(tf.concat([product, weight[:, 1:]], axis=1))

  def dot(self, decision: Decision, coefficients: tf.Tensor) -> tf.Tensor:
    """Returns psi times coefficients [D, 1], [B, 1], without making psi."""
    state = self.state(decision.observation)
    coefficients = tf.cast(coefficients, state.dtype)[:, 0]
    size = self.num_actions * self._state_size
    by_action = tf.matmul(
      state,
      tf.reshape(coefficients[:size], [self.num_actions, -1]),
      transpose_b=True,
    )
    # The first action has no column of its own, the constant is shared.
    own = tf.concat([[0.0], coefficients[size:-1]], axis=0) + coefficients[-1]
    weight = tf.cast(weights(decision, self.num_actions), state.dtype)
    return tf.reduce_sum(weight * (by_action + own), axis=1, keepdims=True)

  def fill(self, observation: tf.Tensor, out: types.FloatArray) -> None:
    """Puts g(s) into an array, [B, state_size]; not in a graph."""
    array = getattr(self._state_features, 'array', None)
    if array is None:
      out[:] = self.state(observation).numpy()
    else:
      array(observation.numpy(), out)

  def state(
    self, observation: tf.Tensor, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns g(s), [B, state_size]."""
    if isinstance(self._state_features, StateNetwork):
      return self._state_features(observation, is_training=is_training)
    return self._state_features(observation)


class StateNetwork(snt.Module):
  """A network of the state alone."""

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    states: encoding.Encoding,
    seed: types.Seed,
  ):
    """Initialises the network."""
    super().__init__()
    self._states = states
    self._network = networks.Network(layers, input_size=states.size, seed=seed)
    self.output_size = self._network.output_size

  def __call__(
    self, observation: tf.Tensor, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns outputs of states, encoded compactly, [B, output_size]."""
    return self._network(
      self._states.expand(observation), is_training=is_training
    )


class Heads(snt.Module):
  """A network of the state with one output an action."""

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    spaces: Spaces,
    seed: types.Seed,
  ):
    """Initialises the network; the last of `layers` has A outputs."""
    super().__init__()
    self._network = StateNetwork(layers, states=spaces.states, seed=seed)
    self._num_actions = spaces.num_actions
    if self._network.output_size != spaces.num_actions:
      raise ValueError(
        f'Heads needs one output for each of {spaces.num_actions} actions, '
        f'but the last layer has {self._network.output_size}.'
      )

  def __call__(
    self, decision: Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns sum_a p(a) q(s, a), [B, 1]."""
    outputs = self._network(decision.observation, is_training=is_training)
    return tf.reduce_sum(
      outputs * weights(decision, self._num_actions), axis=1, keepdims=True
    )


def value_network(
  layers: Sequence[layers_lib.Layer],
  *,
  spaces: Spaces,
  per_action: bool,
  seed: types.Seed,
) -> Heads | Joint:
  """Returns a network of values, [B, 1]: `Heads` if it may and can be.

  Args:
    layers: all but the last, which is linear.
    spaces: what its states and actions are.
    per_action: whether one output an action is wanted; vectors have none.
    seed: seeds the weights.
  """
  if per_action and spaces.vectors is None:
    return Heads(
      (*layers, layers_lib.Dense(spaces.num_actions, None)),
      spaces=spaces,
      seed=seed,
    )
  return Joint((*layers, layers_lib.Dense(1, None)), spaces=spaces, seed=seed)


def _append_ones(columns: tf.Tensor) -> tf.Tensor:
  return tf.concat([columns, tf.ones_like(columns[:, :1])], axis=1)
