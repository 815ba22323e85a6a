"""Both losses of a step on phi and one on psi at once, as OPE descends them.

They and their gradients are those of `dfiv_algorithm.step_at_once`, with less
work:

- Given u-hat, stage 2 asks of stage 1 only for the prediction of T u, where T
  is what it predicts. So psi learns through one column (`factored`).
- Regressors for each action, [phi(s), psi(s), 1] (x) e_a, share no column
  between actions: with rows in the order of actions, stage 1 is one regression
  for each.
- The residuals of stage 1 are not made: phi learns by their products with V.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import memory
from dfiv_ope.iv import differentiable, factored
from dfiv_ope.iv.methods.entries import update_rules
from dfiv_ope.ope import bellman


class Features(NamedTuple):
  """What the regressions of a batch are made of.

  Attributes:
    phi: regressors of stage 1 that learn by its loss, [B, d2].
    included: further ones, made of psi, [B, D]; None if there are none.
    sizes: rows of each block, [A]; None if there is one block.
    known: what stage 2 adds to what stage 1 predicts, [B, d1], or None.
    target: T, what stage 1 predicts, [B, d1].
    outcome: r, [B, 1].
  """

  phi: tf.Tensor
  included: tf.Tensor | None
  sizes: tf.Tensor | None
  known: tf.Tensor | None
  target: tf.Tensor
  outcome: tf.Tensor


class Block(NamedTuple):
  """Rows of stage 1 that share no regressor with others.

  Attributes:
    phi: as of `Features`, [b, d2].
    regressors: F = [phi, psi, 1], through which psi alone learns, [b, D].
    target: T, [b, d1].
  """

  phi: tf.Tensor
  regressors: tf.Tensor
  target: tf.Tensor


def by_action(
  rows: types.IVBatch, num_actions: int
) -> tuple[types.IVBatch, tf.Tensor]:
  """Returns rows in the order of their actions, and how many each has, [A]."""
  step: bellman.Step = rows.treatment
  action = step.now.actions[:, 0]
  return (
    memory.take(rows, tf.argsort(action, stable=True)),
    tf.math.bincount(action, minlength=num_actions, maxlength=num_actions),
  )


def evaluated(
  network: Callable[[tf.Tensor], tf.Tensor], inputs: Sequence[tf.Tensor]
) -> list[tf.Tensor]:
  """Returns a network of several inputs, evaluated once."""
  sizes = [tf.shape(each)[0] for each in inputs]
  return tf.split(network(tf.concat(inputs, axis=0)), sizes, num=len(inputs))


def losses(
  rule: update_rules.DFIV, first: Features, second: Features, *, blocks: int
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns Eq. (6) for phi to descend and Eq. (8) for psi to descend: [], [].

  Args:
    rule: penalties and refinements.
    first: rows of stage 1.
    second: rows of stage 2.
    blocks: number of blocks of regressors.
  """
  count = tf.cast(tf.shape(first.outcome)[0], tf.float32)
  parts1, parts2 = _blocks(first, blocks), _blocks(second, blocks)
  fits = [
    factored.Regression(
      part.regressors,
      part.target,
      rule.stage1_penalty,
      # A block may have no rows, which could not tell its constant.
      intercept=blocks == 1,
      count=count,
    )
    for part in parts1
  ]
  loss1 = (
    tf.add_n([_stage1_error(*each) for each in zip(parts1, fits, strict=True)])
    / count
  )
  weights, outcome = _stage2(rule, second, parts2, fits)
  fitted = tf.concat(
    [
      tf.matmul(
        part2.regressors,
        fit.of(part1.regressors, tf.matmul(part1.target, weights)),
      )
      for part1, part2, fit in zip(parts1, parts2, fits, strict=True)
    ],
    axis=0,
  )
  if second.known is not None:
    fitted += tf.matmul(second.known, weights)
  # Penalties move no network.
  return (
    loss1
    + rule.stage1_penalty * tf.add_n([_square(each.weights) for each in fits]),
    tf.reduce_mean(tf.square(outcome - fitted))
    + rule.stage2_penalty * _square(weights[:-1]),
  )


def _blocks(batch: Features, count: int) -> list[Block]:
  """Returns the rows of a batch in their blocks."""
  regressors = tf.stop_gradient(batch.phi)
  if batch.included is not None:
    regressors = tf.concat([regressors, batch.included], axis=1)
  members = (
    batch.phi,
    differentiable.append_intercept(regressors),
    batch.target,
  )
  if batch.sizes is None:
    return [Block(*members)]
  return [
    Block(*each)
    for each in zip(
      *(tf.split(member, batch.sizes, num=count) for member in members),
      strict=True,
    )
  ]


def _stage1_error(part: Block, fit: factored.Regression) -> tf.Tensor:
  """Returns |T - F V|^2 of a block, of which phi alone learns: []."""
  features, target = map(tf.stop_gradient, (part.regressors, part.target))
  of_phi = fit.weights[: part.phi.shape[1]]  # [d2, d1]
  # (T - F V) V_phi', [b, d2]
  residual = tf.matmul(target, of_phi, transpose_b=True) - tf.matmul(
    features, tf.matmul(fit.weights, of_phi, transpose_b=True)
  )
  # The value is that of the loss, the gradient that of the second term.
  descent = -2.0 * tf.reduce_sum(residual * part.phi)
  return fit.error + descent - tf.stop_gradient(descent)


def _stage2(
  rule: update_rules.DFIV,
  second: Features,
  parts: list[Block],
  fits: list[factored.Regression],
) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns u-hat and the outcome that it was solved for, no gradients."""
  predicted = tf.concat(
    [
      tf.matmul(tf.stop_gradient(part.regressors), fit.weights)
      for part, fit in zip(parts, fits, strict=True)
    ],
    axis=0,
  )
  design, target = predicted, tf.stop_gradient(second.target)
  if second.known is not None:
    design += tf.stop_gradient(second.known)
  fit = factored.Regression(design, second.outcome, rule.stage2_penalty)
  weights, outcome = fit.weights, second.outcome
  for _ in range(rule.refinements):
    # As `dfiv_algorithm.stage2` does.
    noise = tf.matmul(target, weights) - tf.matmul(predicted, weights)
    outcome = second.outcome - noise
    weights = fit.solve(design, outcome)
  return weights, outcome


def _square(weights: tf.Tensor) -> tf.Tensor:
  return tf.reduce_sum(tf.square(weights))
