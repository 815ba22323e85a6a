"""Networks of states and actions, averaged over the actions of a decision.

    network = Joint((Dense(64),), spaces=problem.spaces, seed=0)
    network(decision)              # sum_a p(a) psi(s, a), [B, D]

There are three ways to let a network depend on the action:

- `Joint` has the action among its inputs, as the paper's networks do. Each
  action costs one more evaluation. Actions that are vectors have no other.
- `OuterNetwork` has features of the state for each action, psi(s, a) =
  g(s) (x) e_a, so that an expectation costs one evaluation for any number of
  actions.
- `Heads` has one output an action: the usual Q-network.
"""

from collections.abc import Sequence

import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import encoding, networks, tensors
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.ope import decisions


class Joint(snt.Module):
  """A network of (s, a), averaged over the actions of a decision."""

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    spaces: decisions.Spaces,
    seed: types.Seed,
    constant: bool = False,
    unit: float = 1.0,
    name: str | None = None,
  ):
    """Initialises the network.

    Args:
      layers: its layers, first to last.
      spaces: what its states and actions are.
      seed: seeds the weights.
      constant: whether a column of ones is appended.
      unit: what encoded states are divided by.
      name: name of the module.
    """
    super().__init__(name=name)
    self._network = networks.Network(
      layers, input_size=spaces.states.size + spaces.action_size, seed=seed
    )
    self._spaces = spaces
    self._constant = constant
    self._unit = unit
    self.output_size = self._network.output_size + constant

  def __call__(
    self, decision: decisions.Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns sum_a p(a) psi(s, a), [B, output_size]."""
    rows, choices = tf.unstack(tf.shape(decision.probabilities))
    states = _in_units(
      self._spaces.states.expand(decision.observation), self._unit
    )
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
    return tensors.append_ones(mean) if self._constant else mean


class OuterNetwork(decisions.Outer, snt.Module):
  """Features [g(s) (x) p, p, 1] of a network g of the state."""

  def __init__(
    self,
    state_features: 'StateNetwork',
    *,
    state_size: int,
    num_actions: int,
    name: str | None = None,
  ):
    """Initialises the network, as `decisions.Outer`; name is the module's."""
    snt.Module.__init__(self, name=name)
    decisions.Outer.__init__(
      self, state_features, state_size=state_size, num_actions=num_actions
    )

  def state(
    self, observation: tf.Tensor, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns g(s), [B, state_size]."""
    return self._state_features(observation, is_training=is_training)


class StateNetwork(snt.Module):
  """A network of the state alone."""

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    states: encoding.Encoding,
    seed: types.Seed,
    unit: float = 1.0,
  ):
    """Initialises the network; `unit` is what states are divided by."""
    super().__init__()
    self._states = states
    self._unit = unit
    self._network = networks.Network(layers, input_size=states.size, seed=seed)
    self.output_size = self._network.output_size

  def __call__(
    self, observation: tf.Tensor, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns outputs of states, encoded compactly, [B, output_size]."""
    return self._network(
      _in_units(self._states.expand(observation), self._unit),
      is_training=is_training,
    )


class Heads(snt.Module):
  """A network of the state with one output an action."""

  def __init__(
    self,
    layers: Sequence[layers_lib.Layer],
    *,
    spaces: decisions.Spaces,
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
    self, decision: decisions.Decision, *, is_training: bool = False
  ) -> tf.Tensor:
    """Returns sum_a p(a) q(s, a), [B, 1]."""
    outputs = self._network(decision.observation, is_training=is_training)
    return tf.reduce_sum(
      outputs * decisions.weights(decision, self._num_actions),
      axis=1,
      keepdims=True,
    )


def value_network(
  layers: Sequence[layers_lib.Layer],
  *,
  spaces: decisions.Spaces,
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


def _in_units(states: tf.Tensor, unit: float) -> tf.Tensor:
  """Returns encoded states, [B, K], in multiples of a unit."""
  return states if unit == 1.0 else states / unit
