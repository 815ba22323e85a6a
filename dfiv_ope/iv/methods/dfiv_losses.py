"""Both stages of DFIV on given features: the final solve and held-out losses.

`dfiv_algorithm` trains features by the same equations inside graphs. Here they
are numpy, from sums of rows: no gradient is needed, and many penalties are
tried. Features of rows are an `IVBatch`: psi, phi, outcome and xi or None.
"""

from collections.abc import Sequence
import dataclasses
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import heavy_tails, ridge, two_stage
from dfiv_ope.iv.methods.entries import dfiv as entry
from dfiv_ope.iv.methods.entries import update_rules


class HeldOut(NamedTuple):
  """Out-of-sample losses of Appendix A.

  Attributes:
    stage1: L_1-oos as a share of the variance of psi, 1 - R^2. Deviation: the
      scale of psi changes in training, which the loss itself would show.
    stage2: L_2-oos.
  """

  stage1: float
  stage2: float


def solve(
  rule: update_rules.DFIV,
  first: types.IVBatch,
  second: types.IVBatch,
  *,
  swap: bool,
) -> types.FloatArray:
  """Returns u of Eq. (9), refined (`dfiv_algorithm.stage2`): [D, 1].

  Args:
    rule: penalties and refinements.
    first: features of the stage-1 rows.
    second: features of the stage-2 rows.
    swap: whether both halves serve in both stages.
  """
  parts = [_designs(rule, first, second)]
  if swap:
    parts.append(_designs(rule, second, first))
  return _stage2(rule, ridge.merge(*parts))


def held_out_losses(
  rule: update_rules.DFIV, first: types.IVBatch, second: types.IVBatch
) -> HeldOut:
  """Solves each stage on its rows; the other rows judge it (Appendix A).

  Args:
    rule: penalties and refinements.
    first: features of the stage-1 rows, which judge stage 2.
    second: features of the stage-2 rows, which judge stage 1.
  """
  weights = _stage1(rule, first)
  treatment = np.asarray(second.treatment, np.float64)
  error = treatment - two_stage.predict_treatment(second.instrument, weights)
  spread = np.sum(np.square(treatment - treatment.mean(axis=0)))
  return HeldOut(
    stage1=float(np.sum(np.square(error)) / spread) if spread else 0.0,
    stage2=stage2_losses(rule, first, second, (rule.stage2_penalty,))[0],
  )


def stage2_losses(
  rule: update_rules.DFIV,
  first: types.IVBatch,
  second: types.IVBatch,
  candidates: Sequence[float],
) -> list[float]:
  """Returns L_2-oos of each candidate of lambda2; arguments as above."""
  judged = _designs(rule, first, first)
  solved = _designs(rule, first, second)
  return [_error(judged, _stage2(rule, solved, each)) for each in candidates]


def choose_penalties(
  config: entry.Config, first: types.IVBatch, second: types.IVBatch
) -> entry.Config:
  """Returns the config with lambda1, then lambda2, of least held-out loss."""
  candidates = config.candidate_penalties
  config = min(
    (dataclasses.replace(config, stage1_penalty=each) for each in candidates),
    key=lambda each: held_out_losses(each.rule, first, second).stage1,
  )
  return dataclasses.replace(
    config,
    stage2_penalty=two_stage.largest_within(
      candidates,
      stage2_losses(config.rule, first, second, candidates),
      slack=config.slack,
      rows=len(first.outcome),
    ),
  )


def cross_fitted_loss(
  rule: update_rules.DFIV, first: types.IVBatch, second: types.IVBatch
) -> float:
  """Returns the stage-2 loss with everything fitted on other rows.

  Each half's treatment is predicted by the other's stage 1, and each half's
  stage 2 is judged by the other. `held_out_losses` predicts the judging rows
  from themselves.
  """
  halves = _designs(rule, first, second), _designs(rule, second, first)
  return (
    _error(halves[0], _stage2(rule, halves[1]))
    + _error(halves[1], _stage2(rule, halves[0]))
  ) / 2.0


def clipped(
  width: float, stage1: types.IVBatch, stage2: types.IVBatch
) -> tuple[types.IVBatch, types.IVBatch]:
  """Returns the rows with heavy tails of the outcome clipped."""
  outcome = heavy_tails.clip(
    np.concatenate([stage1.outcome, stage2.outcome]), width
  )
  first, second = np.split(outcome, [len(stage1.outcome)])
  return stage1._replace(outcome=first), stage2._replace(outcome=second)


def arrays(rows: types.IVBatch) -> types.IVBatch:
  """Returns rows, or their features, as numpy has them, float64."""
  return types.IVBatch(
    *(None if each is None else np.asarray(each, np.float64) for each in rows)
  )


def _stage1(rule: update_rules.DFIV, rows: types.IVBatch) -> types.FloatArray:
  """Returns V-hat, Eq. (7), transposed."""
  return ridge.solve_sums(
    two_stage.stage1_sums(rows), rule.stage1_penalty, intercept=True
  )


def _designs(
  rule: update_rules.DFIV, fitted: types.IVBatch, rows: types.IVBatch
) -> ridge.Sums:
  """Returns the sums of predicted W and [X, y], actual and outcome, of rows.

  Args:
    rule: has lambda1.
    fitted: rows of stage 1.
    rows: whose treatment features are predicted.
  """
  predicted = two_stage.predict_treatment(
    rows.instrument, _stage1(rule, fitted)
  )
  return ridge.sums(
    two_stage.design(predicted, rows.covariate),
    np.concatenate(
      [two_stage.design(rows.treatment, rows.covariate), rows.outcome], axis=1
    ),
  )


def _stage2(
  rule: update_rules.DFIV, total: ridge.Sums, penalty: float | None = None
) -> types.FloatArray:
  """Returns u of the sums of W and [X, y]; lambda2 of the rule by default."""
  penalty = rule.stage2_penalty if penalty is None else penalty
  outcome = ridge.targets(total, slice(-1, None))
  weights = ridge.solve_sums(outcome, penalty, intercept=True)
  for _ in range(rule.refinements):
    unexplained = (total.moment[:, :-1] - total.gram) @ weights
    weights = ridge.solve_sums(
      outcome._replace(moment=outcome.moment - unexplained),
      penalty,
      intercept=True,
    )
  return weights


def _error(total: ridge.Sums, weights: types.FloatArray) -> float:
  """Returns the mean squared error of y by predicted features."""
  return ridge.mean_squared_error(
    ridge.targets(total, slice(-1, None)), weights
  )
