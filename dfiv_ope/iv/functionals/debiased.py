"""Averages of a structural function, debiased by a Riesz representer.

A plug-in mean m'u of f = D'u inherits what penalties of both stages took from
u. The debiased one adds what the instruments still tell of the residual,

    theta = E[m]'u + E[a(Z) (Y - D'u)],   E[a(Z) D] = E[m],

so that errors of u and of a only matter multiplied by each other. Both are
fitted to other rows than those they are averaged over (cross-fitting), and
stage 1 to others again.
"""

from collections.abc import Callable, Sequence
import itertools
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge

# Candidates of all three penalties, on features of unit mean square.
PENALTIES = tuple(float(x) for x in 10. ** np.arange(-9., 0.5, 0.5))
FOLDS = 5

# Derivatives of one functional by u: [n, D] for each row, or [1, D] for all.
Moment = Callable[[], types.FloatArray]


class Rows(NamedTuple):
  """Features of rows; the last column of both is the constant.

  Attributes:
    design: D, what f is linear in, [n, D].
    instruments: phi(z, o), [n, K].
    outcome: y, [n].
  """
  design: types.FloatArray
  instruments: types.FloatArray
  outcome: types.FloatArray


class Functionals(NamedTuple):
  """Estimates of G functionals.

  Attributes:
    estimate: debiased, [G].
    influence: of each row, with the mean zero, [n, G].
    plug_in: mean of m'u, without the correction, [G].
  """
  estimate: types.FloatArray
  influence: types.FloatArray
  plug_in: types.FloatArray


class Stages:
  """Both stages of the rows, cross-fitted; functionals share them."""

  def __init__(self, rows: Rows, folds: types.FloatArray):
    """Initialises and solves the stages.

    Args:
      rows: of all folds.
      folds: codes 0, 1, ..., [n]; rows that depend on each other share one.
    """
    self._folds, self._count = folds, int(folds.max()) + 1
    self._parts = [Rows(*(each[folds == fold] for each in rows))
                   for fold in range(self._count)]
    sums = [ridge.sums(part.instruments, part.design)
            for part in self._parts]
    losses = np.zeros(len(PENALTIES))
    for fold, own in enumerate(sums):
      losses += [
          ridge.mean_squared_error(own, each) for each in ridge.solve_grid(
              _without(sums, fold), PENALTIES, intercept=True)]
    penalty = PENALTIES[int(np.argmin(losses))]
    self._stage1 = [
        ridge.solve_sums(_without(sums, fold), penalty, intercept=True)
        for fold in range(self._count)]
    # Predictions of a fold by rows outside of it and of one more.
    self._predicted = {}
    for one, other in itertools.combinations(range(self._count), 2):
      weights = ridge.solve_sums(
          _without(sums, one, other), penalty, intercept=True)
      for pair in ((one, other), (other, one)):
        self._predicted[pair] = self._parts[pair[0]].instruments @ weights
    self._stage2 = {
        pair: ridge.sums(fits, self._parts[pair[0]].outcome[:, None])
        for pair, fits in self._predicted.items()}
    losses = np.zeros(len(PENALTIES))
    for one, other in self._predicted:
      losses += [
          ridge.mean_squared_error(self._stage2[one, other], each)
          for each in ridge.solve_grid(
              self._others(other, one), PENALTIES, intercept=True)]
    self._penalty = PENALTIES[int(np.argmin(losses))]
    self._slopes = [
        ridge.solve_sums(
            self._others(fold), self._penalty, intercept=True)[:, 0]
        for fold in range(self._count)]

  def estimate(self, moments: Sequence[Moment]) -> Functionals:
    """Returns debiased functionals, one for each moment."""
    plug_in = np.zeros((len(self._folds), len(moments)))
    means = np.zeros(
        (self._count, len(self._slopes[0]), len(moments)))  # [folds, D, G]
    for place, moment in enumerate(moments):
      derivative = np.asarray(moment(), np.float64)
      for fold, slopes in enumerate(self._slopes):
        inside = self._folds == fold
        own = derivative if len(derivative) == 1 else derivative[inside]
        means[fold, :, place] = own.mean(axis=0)
        plug_in[inside, place] = own @ slopes
    penalties = self._dual_penalties(means)
    values, through = plug_in.copy(), np.zeros_like(plug_in)
    residuals = np.zeros((len(self._folds), 1))
    for fold, part in enumerate(self._parts):
      inside = self._folds == fold
      total = self._others(fold)
      target = np.delete(means, fold, axis=0).mean(axis=0)
      dual = np.stack([
          _dual(total, target[:, [place]], (penalty,))[0][:, 0]
          for place, penalty in enumerate(penalties)], axis=1)  # [D, G]
      weights = part.instruments @ (self._stage1[fold] @ dual)
      residuals[inside, 0] = part.outcome - part.design @ self._slopes[fold]
      values[inside] += weights * residuals[inside]
      # What is not balanced lets noise of the rows of u through.
      left = len(weights) * means[fold] - part.design.T @ weights
      passed = ridge.solve_sums(
          total._replace(moment=left), self._penalty, intercept=True)
      for other in range(self._count):
        if other != fold:
          through[self._folds == other] += (
              self._predicted[other, fold] @ passed)
    influence = values + through * residuals
    return Functionals(
        values.mean(axis=0), influence - influence.mean(axis=0),
        plug_in.mean(axis=0))

  def _others(self, fold: int, without: int = -1) -> ridge.Sums:
    """Returns stage-2 sums of the folds that a fold is judged by."""
    return ridge.merge(*(
        self._stage2[each, fold] for each in range(self._count)
        if each not in (fold, without)))

  def _dual_penalties(self, means: types.FloatArray) -> list[float]:
    """Returns the penalty of each representer a.

    It makes E[a^2] - 2 E[m]'c least on held-out folds, as the true a does.

    Args:
      means: of derivatives, [folds, D, G].
    """
    losses = np.zeros((len(PENALTIES), means.shape[2]))
    for one, other in self._predicted:
      own = self._stage2[one, other]
      gram = np.asarray(own.gram) / float(own.count)
      target = np.delete(means, (one, other), axis=0).mean(axis=0)
      duals = _dual(self._others(other, one), target, PENALTIES)
      for place, dual in enumerate(duals):
        losses[place] += np.sum(
            dual * (gram @ dual - 2. * means[one]), axis=0)
    return [PENALTIES[place] for place in np.argmin(losses, axis=0)]


def _without(sums: Sequence[ridge.Sums], *folds: int) -> ridge.Sums:
  """Returns the sums of all other folds."""
  return ridge.merge(*(
      each for place, each in enumerate(sums) if place not in folds))


def _dual(
    total: ridge.Sums, target: types.FloatArray, penalties: Sequence[float],
) -> list[types.FloatArray]:
  """Returns c of a(Z) = c'P with E[a(Z) P] = target, for each penalty.

  Args:
    total: sums of the predicted design P = E[D | Z].
    target: [D, G].
    penalties: candidates.
  """
  moment = float(total.count) * target
  return ridge.solve_grid(
      total._replace(moment=moment, square=np.zeros(moment.shape[1])),
      penalties, intercept=True)
