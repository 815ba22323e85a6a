"""Two-stage least squares on feature matrices, Eq. (3)-(9).

A batch of features is an `IVBatch` whose members are feature matrices:
treatment psi(x) [B, d1], instrument phi(z) or phi(z, o) [B, d2], outcome
[B, 1], covariate xi(o) [B, d3] or None. None of them holds a constant
column: both stages append theirs, and penalise neither (a deviation).

    solution = two_stage.choose(
        first, second, stage1_penalties=..., stage2_penalties=...)
    two_stage.predict(psi, xi, solution.stage2_weights)      # f at new points

All of it is numpy; `differentiable` has both stages for features in training.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv import ridge


class Solution(NamedTuple):
  """Both stages, solved with chosen penalties.

  Attributes:
    stage1_weights: transpose of V of Eq. (7), [d2 + 1, d1].
    stage2_weights: u of Eq. (9), [D, 1].
    stage1_penalty: the chosen lambda1.
    stage2_penalty: the chosen lambda2.
    stage1_losses: out-of-sample stage-1 loss of each candidate.
    stage2_losses: out-of-sample stage-2 loss of each candidate.
  """

  stage1_weights: types.FloatArray
  stage2_weights: types.FloatArray
  stage1_penalty: float
  stage2_penalty: float
  stage1_losses: tuple[float, ...]
  stage2_losses: tuple[float, ...]


def predict_treatment(
  instrument: types.FloatArray, stage1_weights: types.FloatArray
) -> types.FloatArray:
  """Returns V phi(z), the estimate of E[psi(X) | z], [B, d1]."""
  return ridge.append_intercept(instrument) @ stage1_weights


def design(
  treatment: types.FloatArray, covariate: types.FloatArray | None = None
) -> types.FloatArray:
  """Returns the features that are linear in stage 2.

  Without a covariate [psi, 1]; with one [psi, 1] (x) [xi, 1] (Algorithm 2).

  Deviation: Algorithm 2 has psi (x) xi. The constants on both factors let f
  have main effects; the last column is the product of both, the intercept.

  Args:
    treatment: psi(x), or its prediction V phi(z), [B, d1].
    covariate: xi(o), [B, d3], or None.

  Returns:
    [B, d1 + 1] or [B, (d1 + 1)(d3 + 1)]; the last column is ones.
  """
  treatment = ridge.append_intercept(treatment)
  if covariate is None:
    return treatment
  covariate = ridge.append_intercept(covariate)
  product = treatment[:, :, None] * covariate[:, None, :]
  width = treatment.shape[1] * covariate.shape[1]
  return product.reshape(-1, width)


def predict(
  treatment: types.FloatArray,
  covariate: types.FloatArray | None,
  stage2_weights: types.FloatArray,
) -> types.FloatArray:
  """Returns the structural function at features psi(x), xi(o): [B, 1]."""
  return design(treatment, covariate) @ stage2_weights


def choose(
  first: types.IVBatch,
  second: types.IVBatch,
  *,
  stage1_penalties: Sequence[float],
  stage2_penalties: Sequence[float],
  slack: float = 0.0,
) -> Solution:
  """Solves both stages with penalties chosen out of sample (Appendix A).

  lambda1 minimises the stage-1 error on the rows of stage 2, then lambda2
  the stage-2 error on the rows of stage 1. Neither needs the truth. The
  penalty itself is no part of these losses.

  Args:
    first: features of the stage-1 rows.
    second: features of the stage-2 rows; disjoint from `first`.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    slack: see `largest_within`.

  Returns:
    The solution with the chosen penalties.
  """
  sums1, sums2 = stage1_sums(first), stage1_sums(second)
  grid, stage1_losses = held_out_losses(sums1, sums2, stage1_penalties)
  chosen1 = int(np.argmin(stage1_losses))
  weights = grid[chosen1]
  grid, stage2_losses = held_out_losses(
    stage2_sums(second, weights), stage2_sums(first, weights), stage2_penalties
  )
  penalty = largest_within(
    stage2_penalties, stage2_losses, slack=slack, rows=float(sums1.count)
  )
  return Solution(
    stage1_weights=weights,
    stage2_weights=grid[stage2_penalties.index(penalty)],
    stage1_penalty=stage1_penalties[chosen1],
    stage2_penalty=penalty,
    stage1_losses=tuple(stage1_losses),
    stage2_losses=tuple(stage2_losses),
  )


def stage1_sums(batch: types.IVBatch) -> ridge.Sums:
  """Returns the sums of the stage-1 regression of a batch of features."""
  return ridge.sums(ridge.append_intercept(batch.instrument), batch.treatment)


def stage2_sums(
  batch: types.IVBatch, stage1_weights: types.FloatArray
) -> ridge.Sums:
  """Returns the sums of the stage-2 regression of a batch of features."""
  predicted = predict_treatment(batch.instrument, stage1_weights)
  return ridge.sums(design(predicted, batch.covariate), batch.outcome)


def moment_sums(
  batch: types.IVBatch, stage1_weights: types.FloatArray
) -> ridge.Sums:
  """Returns the sums of the predicted design and [the actual one, y].

  The actual design is without its constant, as `projected` takes it.
  """
  predicted = predict_treatment(batch.instrument, stage1_weights)
  actual = design(batch.treatment, batch.covariate)[:, :-1]
  return ridge.sums(
    design(predicted, batch.covariate),
    np.concatenate([actual, batch.outcome], axis=1),
  )


def projected(total: ridge.Sums, penalty: float) -> ridge.Sums:
  """Returns the sums of P X and P y, as a regression has them.

  P is the ridge projection on features F whose last column is the constant, and
  so is that of X: stage 2 of these sums minimises (y - X u)' P (y - X u), what
  the features can find of the residual.

  Args:
    total: sums of F [B, D] and the targets [X, y] without X's constant.
    penalty: of the projection.
  """
  psi, outcome = slice(None, -1), slice(-1, None)
  # P leaves the constant as it is, so that its products are plain sums.
  products = total.moment.T @ ridge.solve_sums(total, penalty, intercept=True)
  gram, moment = products[psi, psi], products[psi, outcome]
  row = total.moment[-1:]  # [1, d1 + 1]
  gram = np.block(
    [[gram, row[:, psi].T], [row[:, psi], np.full((1, 1), total.count)]]
  )
  return ridge.Sums(
    gram=(gram + gram.T) / 2.0,
    moment=np.concatenate([moment, row[:, outcome]]),
    square=products[outcome, -1],
    count=total.count,
  )


def solve_projected(
  total: ridge.Sums, projection_penalty: float, penalty: float
) -> types.FloatArray:
  """Returns argmin_u of (y - X u)' P (y - X u) / n + penalty |u|^2, [D, 1].

  P is that of `projected`. A root of it is taken, P = R'R, and R y regressed on
  R X: what rounding leaves in the sums is multiplied by the condition number of
  R X and not by its square, so that the order of rows does not matter.

  Args:
    total: sums of F [B, D] and the targets [X, y]; the last column of X stands
      for a constant, and its weight is not penalised.
    projection_penalty: of the projection, positive.
    penalty: positive.

  Returns:
    Weights; nan where the sums are not finite, or the last column is zero.
  """
  ridge.check_penalty(projection_penalty)
  ridge.check_penalty(penalty)
  total = ridge.arrays(total)
  gram, moment = ridge.without_intercept(total)
  if not (np.isfinite(gram).all() and np.isfinite(moment).all()):
    return np.full((moment.shape[1] - 1, 1), np.nan)
  values, vectors = np.linalg.eigh(gram)
  # Rounding makes the smallest eigenvalues of a Gram matrix negative.
  values = np.maximum(values, 0.0) + ridge.scaled_penalty(
    total, projection_penalty
  )
  root = np.concatenate(
    [
      vectors.T @ moment / np.sqrt(values)[:, None],
      # P leaves the constant as it is.
      total.moment[-1:] / np.sqrt(total.gram[-1, -1]),
    ]
  )  # [R X, R y]
  size = root.shape[1] - 1
  if not root[:, -2].any():
    return np.full((size, 1), np.nan)
  drawn = np.sqrt(ridge.scaled_penalty(total, penalty)) * np.eye(size)[:-1]
  basis, factor = np.linalg.qr(np.concatenate([root[:, :-1], drawn]))
  # There are no outcomes in the rows of the penalty.
  return linalg.solve_triangular(factor, basis[: len(root)].T @ root[:, -1:])


def held_out_losses(
  fitted: ridge.Sums, held_out: ridge.Sums, penalties: Sequence[float]
) -> tuple[list[types.FloatArray], list[float]]:
  """Returns the weights of each penalty and their errors on other rows."""
  if not penalties:
    raise ValueError(
      'Choosing a penalty needs at least one candidate, got none.'
    )
  grid = ridge.solve_grid(fitted, penalties, intercept=True)
  return grid, [ridge.mean_squared_error(held_out, each) for each in grid]


def largest_within(
  penalties: Sequence[float],
  losses: Sequence[float] | types.FloatArray,
  *,
  slack: float,
  rows: float,
  dip: float = 0.0,
) -> float:
  """Returns the largest penalty whose loss is close to the least.

  A loss is a mean of squares; if these are of normal errors, its standard
  error is the loss times sqrt(2 / rows).

  Args:
    penalties: candidates, rising.
    losses: their held-out losses, not negative.
    slack: standard errors that a loss may be above the least; with 0 the
      least one decides.
    rows: number of held-out rows.
    dip: standard errors that the loss of a larger penalty may be above the
      least and still be taken for it, if it is a minimum as well. Where
      instruments leave much open, losses may fall once more at penalties that
      leave the function to chance.
  """
  losses, error = np.asarray(losses), np.sqrt(2.0 / rows)
  around = np.concatenate([[np.inf], losses, [np.inf]])
  minima = (losses <= around[:-2]) & (losses <= around[2:])
  close = losses <= np.min(losses) * (1.0 + dip * error)
  bottom = int(np.flatnonzero(minima & close)[-1]) if dip else 0
  allowed = (losses[bottom] if dip else np.min(losses)) * (1.0 + slack * error)
  return max(
    penalty
    for penalty, loss in zip(penalties[bottom:], losses[bottom:], strict=True)
    if loss <= allowed
  )
