"""What the agents on fixed features, LSTD-Q and KIV, share."""

from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import bellman, features, ridge, state_action, types
from dfiv_ope.agents import base


class Linear(base.Agent):
  """An agent whose values are linear in fixed features; `solve` is its own."""

  def __init__(
      self, name: str, config: base.Config, features_: state_action.Outer):
    """Initialises the agent with weights of zero."""
    super().__init__(name)
    self.config = config
    self._features = features_
    self._weights = tf.Variable(
        tf.zeros([features_.output_size, 1], tf.float64), trainable=False)

  def predict(self, decision: state_action.Decision) -> tf.Tensor:
    """Returns u'psi, [B, 1]."""
    return ridge.predict(self._features(decision), self._weights)


def make(
    problem: bellman.Problem,
    *,
    size: int,
    bandwidth_scale: float,
    seed: types.Seed,
) -> state_action.Outer:
  """Returns random Fourier features of the state for each action.

  Args:
    problem: says the scale of the observations.
    size: features of the state, even.
    bandwidth_scale: multiplies the median distance between observations.
    seed: seeds the frequencies.
  """
  bandwidth = np.full(
      problem.num_observations, problem.distance * bandwidth_scale)
  return state_action.Outer(
      features.FourierFeatures(bandwidth, size=size, seed=seed),
      state_size=size, num_actions=problem.num_actions)


def check(config: Any) -> None:
  """Raises a ValueError where a config of random features cannot be."""
  size = config.random_features
  if size < 2 or size % 2:
    raise ValueError(
        f'random_features must be even and at least 2, got {size}.')
  if not config.bandwidth_scale > 0:
    raise ValueError(
        f'bandwidth_scale must be positive, got {config.bandwidth_scale}.')


def half_sums(
    function: state_action.Outer, parts: base.Parts,
) -> tuple[ridge.Sums, ridge.Sums]:
  """Returns the sums of psi(s, a) and [psi - gamma d psi', r] in two halves.

  Args:
    function: psi.
    parts: gives the log.
  """

  @tf.function(reduce_retracing=True)
  def sums(rows: types.IVBatch) -> ridge.Sums:
    targets = tf.concat(
        [bellman.difference(function, rows.treatment),
         tf.cast(rows.outcome, tf.float64)], axis=1)
    return ridge.sums(function(rows.instrument), targets)

  return base.half_sums(sums, parts)
