"""What the agents on fixed features, LSTD-Q and KIV, share."""

from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope import (
  bellman,
  features,
  ridge,
  spectrum,
  state_action,
  types,
)
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
    return _sums(function, rows.instrument, targets)

  return base.half_sums(sums, parts)


def _sums(
    function: state_action.Outer,
    taken: state_action.Decision,
    targets: tf.Tensor,
) -> ridge.Sums:
  """Returns `ridge.sums(function(taken), targets)`, several times faster.

  Of psi(s, a) = [g(s) (x) e_a, e_a, 1] only the block of the action is not
  zero, so the rows of each action are multiplied on their own.

  Args:
    function: psi.
    taken: logged decisions, one action each.
    targets: [B, K], float64.
  """
  state = ridge.append_intercept(function.state(taken.observation))
  action = taken.actions[:, 0]
  blocks = []
  for each in range(function.num_actions):
    rows = tf.where(tf.equal(action, each))[:, 0]
    blocks.append(ridge.sums(
        tf.gather(state, rows), tf.gather(targets, rows)))
  zeros = [tf.zeros_like(block.gram) for block in blocks]
  gram = tf.concat([
      tf.concat([*zeros[:place], block.gram, *zeros[place + 1:]], axis=1)
      for place, block in enumerate(blocks)], axis=0)
  moment = tf.concat([block.moment for block in blocks], axis=0)
  total = ridge.merge(*blocks)
  # From [g, 1] (x) e_a to [g (x) e_a, e_a without the first, 1].
  ones = state.shape[1] * tf.range(1, function.num_actions + 1) - 1
  order = tf.concat([
      tf.reshape(tf.reshape(
          tf.range(tf.shape(gram)[0]), [function.num_actions, -1])[:, :-1],
          [-1]), ones[1:]], axis=0)

  def reorder(rows: tf.Tensor) -> tf.Tensor:
    constant = tf.reduce_sum(tf.gather(rows, ones), axis=0, keepdims=True)
    return tf.concat([tf.gather(rows, order), constant], axis=0)

  return ridge.Sums(
      gram=reorder(tf.transpose(reorder(gram))), moment=reorder(moment),
      square=total.square, count=total.count)


def stage1(
    first: ridge.Sums, second: ridge.Sums, penalty: float,
) -> dict[str, float]:
  """Returns how well states and actions predict the next features.

  The treatment is psi(s, a) less discounted next features; only the second
  part is uncertain, and its moments follow from those of the whole.

  Args:
    first: of `half_sums`.
    second: of `half_sums`.
    penalty: lambda1.
  """
  later = [_later(half) for half in (first, second)]
  error = sum(
      float(ridge.mean_squared_error(
          judge, ridge.solve_sums(fitted, penalty, intercept=True)))
      for judge, fitted in (later, later[::-1])) / 2.
  total = ridge.merge(*later)
  mean = total.moment[-1] / total.count
  variance = float(tf.reduce_sum(
      total.square / total.count - tf.square(mean)))
  # Next features vary about as much as present ones, whose sums are at hand.
  found = spectrum.analyse(
      total.gram, total.moment, total.gram,
      ridge.merge(first, second).moment[:, -1:])
  middle = len(found.values) // 2
  return {
      'stage1_held_out_r2': 1. - error / variance if variance else 1.,
      'stage1_singular_value_10': float(found.values[:10][-1]),
      'stage1_singular_value_middle': float(found.values[middle]),
      'stage1_rank': found.rank,
      'instrument_condition': found.condition}


def _later(total: ridge.Sums) -> ridge.Sums:
  """Returns the sums of psi(s, a) and -gamma d psi(s', .)."""
  whole = ridge.targets(total, slice(None, -1))
  return whole._replace(
      moment=whole.moment - total.gram,
      square=(whole.square - 2. * tf.linalg.diag_part(whole.moment)
              + tf.linalg.diag_part(total.gram)))
