"""Two-stage regression by K-fold cross-fitting, from sums of each fold alone.

The sums of a fold are those of instrument features [phi, 1] and targets
[psi, y] (`of_rows`), so rows are read once, in blocks, and never kept. Stage 1
of the other folds predicts the treatment features of a fold; penalties are
chosen by losses at rows that neither stage was fitted to.

    solution = fold_fits.two_stages(folds, stage1_penalties=..., ...)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge, ridge_path, two_stage

# Rows whose features are in memory at the same time.
_BLOCK = 4096

Features = Callable[[types.FloatArray], types.FloatArray]
# The last target is the outcome, those before are psi.
_PSI, _OUTCOME = slice(None, -1), slice(-1, None)


class Rows(NamedTuple):
  """Columns of both stages.

  Attributes:
    instrument: instruments and covariates, [n, D].
    treatment: treatments and covariates, [n, D].
    outcome: [n, 1].
  """

  instrument: types.FloatArray
  treatment: types.FloatArray
  outcome: types.FloatArray


def of_rows(rows: Rows, phi: Features, psi: Features) -> ridge.Sums:
  """Returns the sums of rows, whose features are made block by block."""
  parts = []
  for start in range(0, len(rows.outcome), _BLOCK):
    some = Rows(*(each[start : start + _BLOCK] for each in rows))
    parts.append(
      ridge.sums(
        ridge.append_intercept(phi(some.instrument)),
        np.concatenate([psi(some.treatment), some.outcome], axis=1),
      )
    )
    if len(parts) > 1:
      parts = [ridge.merge(*parts)]
  return parts[0]


def of_folds(
  rows: Rows, phi: Features, psi: Features, count: int
) -> list[ridge.Sums]:
  """Returns the sums of `count` folds of rows that are in random order."""
  return [
    of_rows(Rows(*(each[index] for each in rows)), phi, psi)
    for index in np.array_split(np.arange(len(rows.outcome)), count)
  ]


def two_stages(
  folds: Sequence[ridge.Sums],
  *,
  stage1_penalties: Sequence[float],
  stage2_penalties: Sequence[float],
  slack: float = 0.0,
  dip: float = 0.0,
  moment_penalty: float | None = None,
) -> two_stage.Solution:
  """Solves Eq. (7) and (9), each fold predicted by all others.

  Deviation: a penalised stage 1 shrinks the predicted features W, so that
  Eq. (9), y on W, makes the effect too large where it shrinks them much. With
  `moment_penalty` W is the instrument of the actual features: stage 2 is
  `projected_moments` with W in place of the instrument features, and what
  stage 1 shrinks costs precision only.

  Args:
    folds: sums of each, at least two.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    slack: lambda2 is the largest candidate whose loss is within so many
      standard errors of the least.
    dip: of `two_stage.largest_within`.
    moment_penalty: of the projection on W; None for Eq. (9).

  Returns:
    The solution; its stage-1 weights are those of all rows, its losses means
    over rows that were held out.
  """
  stage1 = _stage1(folds, stage1_penalties)
  parts = [
    _predicted(fold, weights)
    for fold, weights in zip(folds, stage1.weights, strict=True)
  ]
  held_out = [ridge.targets(part, _OUTCOME) for part in parts]

  return _solution(
    stage1,
    _stage2(parts, moment_penalty),
    held_out,
    [_stage2(others, moment_penalty) for others in _others(parts)],
    stage2_penalties,
    slack,
    dip,
  )


class Without(NamedTuple):
  """Fits to all rows but those of a fold, a column for each fold, K.

  Attributes:
    effect: f, weights of [psi, 1], [d1 + 1, K].
    expected: E[f(X) | z], weights of [phi, 1], [d2 + 1, K].
  """

  effect: types.FloatArray
  expected: types.FloatArray


def without_folds(
  folds: Sequence[ridge.Sums],
  solution: two_stage.Solution,
  *,
  moment_penalty: float | None = None,
) -> Without:
  """Solves both stages on all rows but those of each fold.

  Args:
    folds: as in `two_stages`.
    solution: of `two_stages`; its penalties are taken.
    moment_penalty: as in `two_stages`.
  """
  stage1 = [
    ridge.solve_sums(
      ridge.targets(ridge.merge(*others), _PSI),
      solution.stage1_penalty,
      intercept=True,
    )
    for others in _others(folds)
  ]
  parts = [
    _predicted(fold, weights)
    for fold, weights in zip(folds, stage1, strict=True)
  ]
  effect, expected = [], []
  for weights, others in zip(stage1, _others(parts), strict=True):
    stage2 = ridge.solve_sums(
      _stage2(others, moment_penalty), solution.stage2_penalty, intercept=True
    )
    effect.append(stage2)
    expected.append(weights @ stage2[:-1])
    expected[-1][-1] += stage2[-1]
  return Without(
    np.concatenate(effect, axis=1), np.concatenate(expected, axis=1)
  )


def projected_moments(
  folds: Sequence[ridge.Sums],
  *,
  stage1_penalties: Sequence[float],
  stage2_penalties: Sequence[float],
  slack: float = 0.0,
) -> two_stage.Solution:
  """Solves min_u of (y - psi u)' P (y - psi u) / n + lambda2 |u|^2.

  P is the ridge projection on [phi, 1] of all rows. With features of a kernel
  this is the adversarial estimator of Dikkala et al. (2020) in closed form: the
  part of the residual that a function of the instrument can find is least.
  lambda1 predicts psi best, lambda2 has the least stage-2 loss.

  Args:
    folds: as in `two_stages`; they choose the penalties.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    slack: as in `two_stages`.
  """
  stage1 = _stage1(folds, stage1_penalties)
  return _solution(
    stage1,
    two_stage.projected(ridge.merge(*folds), stage1.penalty),
    [
      ridge.targets(_predicted(fold, weights), _OUTCOME)
      for fold, weights in zip(folds, stage1.weights, strict=True)
    ],
    [
      two_stage.projected(ridge.merge(*others), stage1.penalty)
      for others in _others(folds)
    ],
    stage2_penalties,
    slack,
  )


def predicted_instruments(
  folds: Sequence[ridge.Sums],
  *,
  stage1_penalties: Sequence[float],
  stage2_penalty: float,
) -> two_stage.Solution:
  """Solves u = (W'X + n lambda2 I)^-1 W'y, where W is what stage 1 makes of X.

  W is predicted in the rows that stage 1 is fitted to, W = P X, so u minimises
  (y - X u)' P (y - X u) / n + lambda2 |u|^2 as in `projected_moments`. No loss
  chooses lambda2: of what instruments explain of y - X u, least is left where
  it is smallest.

  Args:
    folds: sums of F and [X, y]; X's constant, or what stands for it, is its
      last column, and that of F is a constant.
    stage1_penalties: candidates of lambda1, which predicts X best.
    stage2_penalty: lambda2.
  """
  stage1 = _stage1(folds, stage1_penalties)
  return two_stage.Solution(
    stage1_weights=stage1.whole,
    stage2_weights=two_stage.solve_projected(
      ridge.merge(*folds), stage1.penalty, stage2_penalty
    ),
    stage1_penalty=stage1.penalty,
    stage2_penalty=stage2_penalty,
    stage1_losses=stage1.losses,
    stage2_losses=(),
  )


def _stage2(
  parts: Sequence[ridge.Sums], moment_penalty: float | None
) -> ridge.Sums:
  """Returns what stage 2 solves, of sums of [V phi, 1] and [psi, y]."""
  total = ridge.merge(*parts)
  return (
    ridge.targets(total, _OUTCOME)
    if moment_penalty is None
    else two_stage.projected(total, moment_penalty)
  )


class _Stage1(NamedTuple):
  """Stage 1 with the chosen penalty: of the rows beside each fold, of all."""

  weights: list[types.FloatArray]
  whole: types.FloatArray
  penalty: float
  losses: tuple[float, ...]


def _stage1(folds: Sequence[ridge.Sums], penalties: Sequence[float]) -> _Stage1:
  treatments = [ridge.targets(fold, _PSI) for fold in folds]
  whole = ridge.merge(*treatments)
  # There are as many targets as features, so weights are made of one penalty.
  paths = [
    ridge_path.Path(ridge.merge(*others), penalties)
    for others in _others(treatments)
  ]
  losses = np.sum(
    [
      path.errors(fold) * (fold.count / whole.count)
      for path, fold in zip(paths, treatments, strict=True)
    ],
    axis=0,
  )
  chosen = int(np.argmin(losses))
  return _Stage1(
    weights=[path.weights(chosen) for path in paths],
    whole=ridge.solve_sums(whole, penalties[chosen], intercept=True),
    penalty=penalties[chosen],
    losses=tuple(losses.tolist()),
  )


def _solution(
  stage1: _Stage1,
  whole: ridge.Sums,
  held_out: Sequence[ridge.Sums],
  fitted: Sequence[ridge.Sums],
  penalties: Sequence[float],
  slack: float,
  dip: float = 0.0,
) -> two_stage.Solution:
  """Chooses lambda2 by losses of fits at the fold that each has not seen."""
  rows = float(whole.count)
  losses = np.sum(
    [
      np.multiply(
        two_stage.held_out_losses(sums, fold, penalties)[1], fold.count / rows
      )
      for sums, fold in zip(fitted, held_out, strict=True)
    ],
    axis=0,
  )
  penalty = two_stage.largest_within(
    penalties, losses, slack=slack, rows=rows, dip=dip
  )
  return two_stage.Solution(
    stage1_weights=stage1.whole,
    stage2_weights=ridge.solve_sums(whole, penalty, intercept=True),
    stage1_penalty=stage1.penalty,
    stage2_penalty=penalty,
    stage1_losses=stage1.losses,
    stage2_losses=tuple(losses.tolist()),
  )


def _predicted(fold: ridge.Sums, weights: types.FloatArray) -> ridge.Sums:
  """Returns the sums of [V phi, 1] and [psi, y]; V' is [d2 + 1, d1]."""
  constant = np.zeros((len(weights), 1))
  constant[-1] = 1.0
  return ridge.project(fold, np.concatenate([weights, constant], axis=1))


def _others(parts: Sequence[ridge.Sums]) -> list[list[ridge.Sums]]:
  """Returns, for each part, all others."""
  return [
    [each for at, each in enumerate(parts) if at != index]
    for index in range(len(parts))
  ]
