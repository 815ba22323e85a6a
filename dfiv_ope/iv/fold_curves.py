"""Fits of KIV to all rows, and without each fold of them.

What a fit expects of rows that it has not seen says whether it knows more than
a plainer one does (`linearity`).

    curve = fold_curves.fit(halves, psi, phi)
    t = fold_curves.t_statistic(curve.expected, halves, line)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import fold_fits, linearity, ridge, two_stage
from dfiv_ope.iv.methods.entries import kernel_rules

Features = Callable[[types.FloatArray], types.FloatArray]

# Candidates, slack and the projection's penalty are those of KIV's default. Of
# few folds, lambda2 depends on how they are cut. Of two minima of the losses
# the one of the larger penalty counts unless it is higher by `_DIP` errors.
_KIV = kernel_rules.Kernels()
_HALF_FOLDS, _MOMENT_PENALTY, _DIP = 5, 1e-6, 0.5
# Rows that bandwidths of psi and phi are searched with, and what may be left of
# their kernels.
SEARCH_ROWS, TOLERANCE = 5000, 1e-6
# Standard errors by which a kernel has to predict what a line leaves (3 of 40
# true lines did) for any part of it.
LEAST_CURVE = 1.5
# Of fewer rows in a half, or of more columns, nothing is fitted.
_LEAST_ROWS, _MOST_COLUMNS = 20, 50


class Curve(NamedTuple):
  """A fit of KIV.

  Attributes:
    weights: of features and a constant, by all rows, [D, 1].
    of_stage2: by rows of the second half, [D, 1].
    expected: E[f(X) | z] at all rows by all but a fold, [n, K].
    held_out: f at rows of the fold that it was not fitted to, [n, 1].
  """

  weights: types.FloatArray
  of_stage2: types.FloatArray
  expected: types.FloatArray
  held_out: types.FloatArray


def possible(halves: Sequence[fold_fits.Rows]) -> bool:
  """Returns whether there are rows enough, and not too many columns."""
  return min(len(half.outcome) for half in halves) >= _LEAST_ROWS and (
    max(halves[0].treatment.shape[1], halves[0].instrument.shape[1])
    <= _MOST_COLUMNS
  )


def fit(
  halves: Sequence[fold_fits.Rows], psi: Features, phi: Features
) -> Curve:
  """Returns KIV's fit to rows of both halves, and those without a fold."""
  sums = [fold_fits.of_folds(half, phi, psi, _HALF_FOLDS) for half in halves]
  every = [*sums[0], *sums[1]]
  solution = _solved(every)
  without = fold_fits.without_folds(
    every, solution, moment_penalty=_MOMENT_PENALTY
  )
  instrument, treatment = (
    ridge.append_intercept(
      np.concatenate([features(getattr(half, name)) for half in halves])
    )
    for features, name in ((phi, 'instrument'), (psi, 'treatment'))
  )
  return Curve(
    weights=solution.stage2_weights,
    of_stage2=_solved(sums[1]).stage2_weights,
    expected=instrument @ without.expected,
    held_out=linearity.own_fold(treatment @ without.effect, folds(halves)),
  )


def folds(halves: Sequence[fold_fits.Rows]) -> types.FloatArray:
  """Returns which fold each row of both halves is in, [n]."""
  return np.concatenate(
    [
      np.full(len(each), index)
      for index, each in enumerate(
        part
        for half in halves
        for part in np.array_split(half.outcome, _HALF_FOLDS)
      )
    ]
  )


def t_statistic(
  expected: types.FloatArray,
  halves: Sequence[fold_fits.Rows],
  line: types.FloatArray,
) -> float:
  """Returns `linearity.t_statistic` of a curve against a line.

  Args:
    expected: of `Curve`s, [n, K].
    halves: the rows.
    line: weights of treatments, covariates and a constant, [D, 1].
  """
  instrument, treatment, outcome = (
    np.concatenate([getattr(half, name) for half in halves])
    for name in ('instrument', 'treatment', 'outcome')
  )
  return linearity.t_statistic(
    expected,
    instrument,
    outcome - ridge.append_intercept(treatment) @ line,
    folds(halves),
  )


def _solved(sums: list[ridge.Sums]) -> two_stage.Solution:
  return fold_fits.two_stages(
    sums,
    stage1_penalties=_KIV.stage1_penalties,
    stage2_penalties=_KIV.stage2_penalties,
    slack=_KIV.slack,
    dip=_DIP,
    moment_penalty=_MOMENT_PENALTY,
  )
