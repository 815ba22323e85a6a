"""What the parts of dfiv-ope hand to each other.

A regression method sees an `IVBatch` and nothing else. Off-policy evaluation
sees `Transition`s and a `Policy`; `bellman` turns the second into the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
  import tensorflow as tf

# A tensor or array, or a nest of them whose leading axis is the batch.
Nest = Any
# An array, or a tensor of TensorFlow: functions return what they are given.
Array = Any


class IVBatch(NamedTuple):
  """Rows of an instrumental-variable regression, Eq. (1).

  Attributes:
    treatment: the endogenous variable, [B, ...] or a nest.
    instrument: what moves the treatment but not the noise, [B, ...] or a nest.
    outcome: what is to be explained, [B, 1].
    covariate: observed confounders (Algorithm 2), [B, ...], or None.
  """

  treatment: Nest
  instrument: Nest
  outcome: tf.Tensor
  covariate: Nest | None = None


class Sizes(NamedTuple):
  """Numbers of columns of a regression's rows.

  Attributes:
    treatment: of the treatment.
    instrument: of the instrument, covariates among them.
    covariate: of the covariate; 0 for none.
  """

  treatment: int
  instrument: int
  covariate: int = 0


class Transition(NamedTuple):
  """One step of a decision process: (s, a, r, d, s').

  Attributes:
    observation: s on its raw scale, float64 [B, D].
    action: the intended action a: int32 [B], one of finitely many, or a vector
      (`actions.Continuous`), float64 [B, d].
    reward: r, float64 [B].
    discount: the environment's own discount, float32 [B]: 0 where the episode
      terminated, 1 elsewhere. The evaluation's discount is not in it.
    next_observation: s', float64 [B, D].
  """

  observation: tf.Tensor
  action: tf.Tensor
  reward: tf.Tensor
  discount: tf.Tensor
  next_observation: tf.Tensor


@runtime_checkable
class Policy(Protocol):
  """A stationary policy over a finite set of actions."""

  def action_probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns pi(.|s), float32 [B, A], for raw observations [B, D].

    They are float64; a policy that wants less casts them itself.
    """


@runtime_checkable
class ContinuousPolicy(Protocol):
  """A stationary policy whose actions are vectors (`actions.Continuous`)."""

  @property
  def deterministic(self) -> bool:
    """Whether a state has one action: then it has no density."""

  def draw(self, observation: tf.Tensor, uniforms: tf.Tensor) -> tf.Tensor:
    """Returns actions, float32 [B, K, d], for raw observations [B, D].

    The same numbers give the same actions.

    Args:
      observation: raw, float64 [B, D].
      uniforms: numbers in (0, 1), float32 [B, K, d], such as those of
        `quasi_random.uniforms`.
    """

  def log_prob(self, observation: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
    """Returns the log density of actions [B, d], [B].

    Where actions are clipped, it is the log of the mass at the bound.
    """


@runtime_checkable
class QFunction(Protocol):
  """The values of a policy."""

  def values(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns Q(s, .), [B, A], for observations [B, D]."""

  def expected(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns the mean of Q(s, .) over the policy's actions, [B]."""


# What a seed may be: SeedSequence takes either.
Seed = int | tuple[int, ...]
FloatArray = np.ndarray
# Called as progress(steps done, steps in all, losses).
Progress = Callable[[int, int, dict[str, Any]], None]
