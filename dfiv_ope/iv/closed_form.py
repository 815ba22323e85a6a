"""Two-stage regression on fixed features: solved once, no training.

A method of this kind chooses feature maps and hands them over:

    model = Model(config, treatment_map, instrument_map, covariate_map)
    model.adopt(cross_fit(
        model.features(stage1), model.features(stage2), ...))
    model.predict(treatment, covariate)
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge, two_stage

# Numbers of a fitted model by name, for a file.
State = Mapping[str, types.FloatArray]


class FeatureMap(Protocol):
  """Features of rows; what it learned from them can be saved."""

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, K] of x [B, D], float64."""

  def state(self) -> State:
    """Returns what `restore` needs."""

  def restore(self, state: State) -> None:
    """Takes what `state` of a fitted map returned."""


class Columns:
  """The raw columns as features."""

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns x."""
    return x

  def state(self) -> State:
    """Returns nothing: there is nothing to learn."""
    return {}

  def restore(self, state: State) -> None:
    """Takes nothing."""


class Model:
  """A structural function that is linear in fixed features.

  With a covariate map, f = u' (psi(x) (x) xi(o)) as in Algorithm 2. Without
  one, the covariate is part of the treatment, f = u' psi(x, o). The instrument
  of a batch has the covariates among its columns: phi(z, o).

  Attributes:
    config: the config, with the choices that the data made.
    history: held-out losses of the candidates.
    weights: stage-2 weights, [D, 1]; the last belongs to the constant.
  """

  def __init__(
    self,
    config: Any,
    treatment_map: FeatureMap,
    instrument_map: FeatureMap,
    covariate_map: FeatureMap | None = None,
  ):
    """Initialises the model without weights."""
    self.config = config
    self.history: dict[str, list[float]] = {}
    self._treatment_map = treatment_map
    self._instrument_map = instrument_map
    self._covariate_map = covariate_map
    self.weights = np.zeros([0, 1])

  @property
  def linear(self) -> bool:
    """Whether both stages are linear in the raw columns."""
    return isinstance(self._treatment_map, Columns) and isinstance(
      self._instrument_map, Columns
    )

  def features(self, batch: types.IVBatch) -> types.IVBatch:
    """Returns the batch with features in place of the raw columns."""
    treatment, covariate = self._structural(batch.treatment, batch.covariate)
    return types.IVBatch(
      treatment=treatment,
      instrument=self.instrument_features(batch.instrument),
      outcome=np.asarray(batch.outcome, np.float64),
      covariate=covariate,
    )

  def instrument_features(
    self, instrument: types.FloatArray
  ) -> types.FloatArray:
    """Returns phi(z, o), [B, d2], of instruments and covariates [B, D]."""
    return self._instrument_map(np.asarray(instrument, np.float64))

  def structural_columns(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns what f is linear in, without the constant, [B, D]."""
    return two_stage.design(*self._structural(treatment, covariate))[:, :-1]

  def instrument_columns(
    self, instrument: types.FloatArray
  ) -> types.FloatArray:
    """Returns what stage 1 is linear in, without the constant, [B, d2]."""
    return self.instrument_features(instrument)

  def predict(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns the structural function at the given points, [B, 1]."""
    return two_stage.predict(
      *self._structural(treatment, covariate), self.weights
    )

  def adopt(self, solution: two_stage.Solution) -> None:
    """Takes the weights and the losses of a solution."""
    self.weights = np.asarray(solution.stage2_weights)
    self.history = {
      'stage1_penalty': [solution.stage1_penalty],
      'stage2_penalty': [solution.stage2_penalty],
      'stage1_loss': list(solution.stage1_losses),
      'stage2_loss': list(solution.stage2_losses),
    }

  def state(self) -> State:
    """Returns the numbers of a fitted model by name, for a file."""
    return {
      'weights': self.weights,
      **{
        f'{name}/{key}': values
        for name, each in self._maps()
        for key, values in each.state().items()
      },
    }

  def restore(self, state: State) -> None:
    """Takes what `state` of a fitted model of the same config returned.

    Raises:
      KeyError: something is missing.
    """
    self.weights = state['weights']
    for name, each in self._maps():
      start = f'{name}/'
      each.restore(
        {
          key.removeprefix(start): values
          for key, values in state.items()
          if key.startswith(start)
        }
      )

  def _maps(self) -> list[tuple[str, FeatureMap]]:
    maps = (
      ('treatment_map', self._treatment_map),
      ('instrument_map', self._instrument_map),
      ('covariate_map', self._covariate_map),
    )
    return [(name, each) for name, each in maps if each is not None]

  def _structural(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None
  ) -> tuple[types.FloatArray, types.FloatArray | None]:
    if covariate is None or self._covariate_map is None:
      return self._treatment_map(join(treatment, covariate)), None
    return (
      self._treatment_map(np.asarray(treatment, np.float64)),
      self._covariate_map(np.asarray(covariate, np.float64)),
    )


def join(
  first: types.FloatArray, second: types.FloatArray | None = None
) -> types.FloatArray:
  """Returns the columns of both side by side, float64: [B, D1 + D2]."""
  parts = [first] if second is None else [first, second]
  return np.concatenate(
    [np.asarray(part, np.float64) for part in parts], axis=1
  )


def cross_fit(
  first: types.IVBatch,
  second: types.IVBatch,
  *,
  stage1_penalties: Sequence[float],
  stage2_penalties: Sequence[float],
  slack: float = 0.0,
  moment_penalty: float | None = None,
) -> two_stage.Solution:
  """Solves both stages on all rows, each half predicted by the other.

  Stage 1 is fitted on each half and predicts the treatment features of the
  other; stage 2 is fitted on all rows of these predictions. The penalties
  minimise the sum of the held-out losses of both directions.

  Deviation: Appendix A takes its stage-2 loss at the very rows stage 1 was
  fitted to, where the predicted treatment is too close to the observed one,
  and so prefers too small a lambda2. Here every prediction is out of sample,
  and no row is left out of stage 2.

  Args:
    first: features of one half of the rows.
    second: features of the other half.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    slack: lambda2 is the largest candidate whose loss is within so many
      standard errors of the least.
    moment_penalty: of the projection on the predicted design, which is then
      the instrument of the actual one (`fold_fits.two_stages`); None for Eq.
      (9).

  Returns:
    The solution; its stage-1 weights are those of all rows, its losses the
    means of both directions.
  """
  sums1, sums2 = two_stage.stage1_sums(first), two_stage.stage1_sums(second)
  stage1 = _stage1(sums1, sums2, stage1_penalties)
  outcomes = [
    two_stage.stage2_sums(first, stage1.second),
    two_stage.stage2_sums(second, stage1.first),
  ]
  fitted, whole = outcomes, ridge.merge(*outcomes)
  if moment_penalty is not None:
    parts = [
      two_stage.moment_sums(first, stage1.second),
      two_stage.moment_sums(second, stage1.first),
    ]
    fitted = [two_stage.projected(part, moment_penalty) for part in parts]
    whole = two_stage.projected(ridge.merge(*parts), moment_penalty)
  losses = [
    two_stage.held_out_losses(one, other, stage2_penalties)[1]
    for one, other in zip(fitted, outcomes[::-1], strict=True)
  ]
  return _solution(
    stage1, whole, stage2_penalties, np.mean(losses, axis=0), slack=slack
  )


def cross_fit_sums(
  first: ridge.Sums,
  second: ridge.Sums,
  *,
  stage1_penalties: Sequence[float],
  stage2_penalties: Sequence[float],
) -> two_stage.Solution:
  """Does what `cross_fit` does from sums alone, for logs of any length.

  Deviation: a candidate of lambda2 is judged by the part of its residual
  y - u'psi that the instruments explain, E[E[y - u'psi | z]^2], rather than by
  the stage-2 loss. The difference of both is noise that u changes too; where
  it is large next to the outcome's own, as in off-policy evaluation, the loss
  prefers a u of little noise, that is, one near zero.

  Args:
    first: sums of instrument features [B, d2] and targets [psi, y],
      [B, d1 + 1], over one half of the rows. The last columns of the
      instrument features and of psi stand for constants.
    second: the same of the other half.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.

  Returns:
    As `cross_fit`; the stage-2 losses are those parts.
  """
  treatment, outcome = slice(None, -1), slice(-1, None)
  stage1 = _stage1(
    ridge.targets(first, treatment),
    ridge.targets(second, treatment),
    stage1_penalties,
  )
  outcome1, outcome2 = (
    ridge.project(ridge.targets(total, outcome), weights)
    for total, weights in ((first, stage1.second), (second, stage1.first))
  )
  losses = [
    [
      explained_residual(other, total, weights, stage1.penalty)
      for weights in ridge.solve_grid(fitted, stage2_penalties, intercept=True)
    ]
    for fitted, total, other in (
      (outcome1, first, second),
      (outcome2, second, first),
    )
  ]
  # Its estimate may be negative; an answer is as bad as it is far from zero.
  return _solution(
    stage1,
    ridge.merge(outcome1, outcome2),
    stage2_penalties,
    np.abs(np.mean(losses, axis=0)),
  )


def explained_residual(
  first: ridge.Sums,
  second: ridge.Sums,
  stage2_weights: types.FloatArray,
  penalty: float,
) -> float:
  """Returns the mean of e(z) e, where e = y - u'psi and e(z) predicts it.

  The prediction is fitted on other rows, so noise in e adds nothing.

  Args:
    first: sums of instrument features and [psi, y] over rows of e.
    second: the same over the rows that e(z) is fitted to.
    stage2_weights: u, [d1, 1].
    penalty: of the prediction.
  """
  contrast = np.concatenate([-np.asarray(stage2_weights), [[1.0]]])
  moment1, moment2 = (total.moment @ contrast for total in (first, second))
  prediction = ridge.solve_sums(
    second._replace(moment=moment2), penalty, intercept=True
  )
  return float(np.sum(prediction * moment1) / first.count)


class _Stage1(NamedTuple):
  """Stage 1 of both halves with the chosen penalty."""

  first: types.FloatArray
  second: types.FloatArray
  whole: types.FloatArray
  penalty: float
  losses: tuple[float, ...]


def _stage1(
  sums1: ridge.Sums, sums2: ridge.Sums, penalties: Sequence[float]
) -> _Stage1:
  """Chooses lambda1 by how well each half predicts the other."""
  grid1, losses1 = two_stage.held_out_losses(sums1, sums2, penalties)
  grid2, losses2 = two_stage.held_out_losses(sums2, sums1, penalties)
  losses = np.add(losses1, losses2) / 2.0
  chosen = int(np.argmin(losses))
  return _Stage1(
    first=grid1[chosen],
    second=grid2[chosen],
    whole=ridge.solve_sums(
      ridge.merge(sums1, sums2), penalties[chosen], intercept=True
    ),
    penalty=penalties[chosen],
    losses=tuple(losses.tolist()),
  )


def _solution(
  stage1: _Stage1,
  outcome: ridge.Sums,
  penalties: Sequence[float],
  losses: types.FloatArray,
  *,
  slack: float = 0.0,
) -> two_stage.Solution:
  """Solves stage 2 with the candidate of the least loss, or a larger one."""
  penalty = two_stage.largest_within(
    penalties, losses, slack=slack, rows=float(outcome.count)
  )
  return two_stage.Solution(
    stage1_weights=stage1.whole,
    stage2_weights=ridge.solve_sums(outcome, penalty, intercept=True),
    stage1_penalty=stage1.penalty,
    stage2_penalty=penalty,
    stage1_losses=stage1.losses,
    stage2_losses=tuple(losses.tolist()),
  )
