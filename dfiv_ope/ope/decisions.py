"""Functions of a state and an action, and their expectations over actions.

A `Decision` is a state with the actions that may be taken there: the logged
one alone, or those of a policy with their probabilities, all of them or draws.
A function of decisions returns the expectation over these actions:

    features = Outer(waves, state_size=300, num_actions=3)
    features(decision)             # sum_a p(a) psi(s, a), [B, D]

`decision_networks` has the ways in which a network may depend on the action.
"""

from collections.abc import Callable
import dataclasses
from typing import NamedTuple, Self

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import encoding, scaling, tensors

# Entries of indicators of a row's actions that are made rather than summed.
_ONE_HOTS = 1_000


class Decision(NamedTuple):
  """States and what may be done there.

  Attributes:
    observation: s, encoded compactly, float32 [B, D].
    actions: int32 [B, K], or vectors, encoded compactly, float32 [B, K, E].
    probabilities: of these actions, float32 [B, K]; they sum to one.
  """

  observation: types.Array
  actions: types.Array
  probabilities: types.Array


# A function of decisions, [B, D] or [B, 1].
Function = Callable[[Decision], types.Array]


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

  def action_inputs(self, actions: types.Array) -> types.Array:
    """Returns actions as inputs of a network, float32 [B K, action_size]."""
    if self.vectors is None:
      return tensors.one_hot(tensors.reshape(actions, [-1]), self.num_actions)
    return self.vectors.expand(tensors.reshape(actions, [-1, actions.shape[2]]))


def taken(observation: types.Array, action: types.Array) -> Decision:
  """Returns the decisions to take an action at `observation` [B, D].

  Args:
    observation: encoded compactly.
    action: [B], or vectors, encoded compactly, [B, E].
  """
  action = action[:, None]
  if len(action.shape) == 2:
    action = tensors.cast(action, np.int32)
  return Decision(
    observation,
    action,
    tensors.fill(action, [tensors.rows(action), 1], 1.0, np.float32),
  )


def weights(decision: Decision, num_actions: int) -> types.Array:
  """Returns the probability of every one of A actions, [B, A]."""
  if not tensors.library(decision.actions):
    return _array_weights(decision, num_actions)
  if (decision.actions.shape[1] or num_actions) * num_actions > _ONE_HOTS:
    return tensors.placed_sums(
      decision.probabilities, decision.actions, num_actions
    )
  chosen = tensors.one_hot(decision.actions, num_actions)  # [B, K, A]
  return tensors.total(chosen * decision.probabilities[..., None], axis=1)


def _array_weights(decision: Decision, num_actions: int) -> types.FloatArray:
  """Returns `weights` of arrays, in as many passes as rows have actions."""
  result = np.zeros((len(decision.actions), num_actions), np.float32)
  rows = np.arange(len(result))
  probabilities = np.asarray(decision.probabilities)
  for choice in range(decision.actions.shape[1]):
    result[rows, decision.actions[:, choice]] += probabilities[:, choice]
  return result


class Outer:
  """Features [g(s) (x) p, p, 1] of a feature map g of the state.

  The first probability is left out: they sum to the constant.
  """

  def __init__(
    self,
    state_features: Callable[..., types.Array],
    *,
    state_size: int,
    num_actions: int,
  ):
    """Initialises the features.

    Args:
      state_features: g, maps states, encoded compactly, to [B, state_size],
        in an array if it gets one.
      state_size: number of features of a state.
      num_actions: A.
    """
    self._state_features = state_features
    self._state_size = state_size
    self.num_actions = num_actions
    self.output_size = (state_size + 1) * num_actions

  def __call__(
    self, decision: Decision, *, is_training: bool = False
  ) -> types.Array:
    """Returns [B, (state_size + 1) A]; the last column is ones."""
    state = self.state(decision.observation, is_training=is_training)
    return self.of_state(state, decision)

  def of_state(self, state: types.Array, decision: Decision) -> types.Array:
    """Returns the features of decisions whose g(s) is known."""
    weight = tensors.cast(weights(decision, self.num_actions), state.dtype)
    product = tensors.reshape(
      weight[:, :, None] * state[:, None, :],
      [-1, self.num_actions * self._state_size],
    )
    return tensors.append_ones(tensors.concat([product, weight[:, 1:]], axis=1))

  def dot(self, decision: Decision, coefficients: types.Array) -> types.Array:
    """Returns psi times coefficients [D, 1], [B, 1], without making psi."""
    state = self.state(decision.observation)
    coefficients = tensors.cast(coefficients, state.dtype)[:, 0]
    size = self.num_actions * self._state_size
    by_action = tensors.matmul(
      state,
      tensors.transpose(
        tensors.reshape(coefficients[:size], [self.num_actions, -1])
      ),
    )
    # The first action has no column of its own, the constant is shared.
    last = coefficients[-1:]
    none = tensors.fill(last, [1], 0.0, last.dtype)
    own = tensors.concat([none, coefficients[size:-1]], axis=0) + last
    weight = tensors.cast(weights(decision, self.num_actions), state.dtype)
    return tensors.total(weight * (by_action + own), axis=1, keepdims=True)

  def fill(self, observation: types.Array, out: types.FloatArray) -> None:
    """Puts g(s) into an array, [B, state_size]; not in a graph."""
    self._state_features(observation, out)

  def state(
    self, observation: types.Array, *, is_training: bool = False
  ) -> types.Array:
    """Returns g(s), [B, state_size]."""
    del is_training  # These do not learn.
    return self._state_features(observation)
