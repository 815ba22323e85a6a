"""First-stage diagnostics: does the instrument move the treatment?"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import ridge, two_stage, types

# Staiger and Stock's rule of thumb.
WEAK_F = 10.

_PENALTIES = tuple(float(x) for x in 10. ** np.arange(-9., 1., 2.))
# Small enough for ordinary least squares on standardised columns.
_NO_PENALTY = 1e-12


class WeakInstrumentWarning(UserWarning):
  """The instrument hardly moves the treatment."""


class FirstStage(NamedTuple):
  """How well the instrument predicts each column of the treatment.

  Attributes:
    r2: share of the treatment's variance that instrument and covariates
      predict on held-out rows, [D].
    partial_r2: share of what the covariates leave that the instrument's part
      of the held-out prediction explains, [D].
    effective_f: robust F statistic of the instrument's part of the held-out
      prediction, covariates controlled for, [D].
  """
  r2: types.FloatArray
  partial_r2: types.FloatArray
  effective_f: types.FloatArray

  @property
  def weak(self) -> bool:
    """Whether an F statistic is below the rule of thumb of 10."""
    return bool(np.min(self.effective_f) < WEAK_F)


def first_stage(
    stage1: types.IVBatch,
    stage2: types.IVBatch,
    instrument_features: Callable[[tf.Tensor], tf.Tensor],
    *,
    seed: types.Seed,
) -> FirstStage:
  """Returns the first-stage diagnostics of instrument features.

  A ridge regression of the treatment on phi(z, o) in one half of the rows
  makes one generated instrument for the other half. Covariates are controlled
  for, and so is the same prediction at shuffled rows of z, which is what
  phi tells from the covariates alone. As the instrument is a single one and
  made out of sample, its heteroskedasticity-robust F is the effective F of
  Montiel Olea and Pflueger, without the bias of many instruments; the t
  statistics of both halves are added up.

  Args:
    stage1: standardised rows; the covariates are the last columns of the
      instrument.
    stage2: other rows.
    instrument_features: phi, [B, D] -> [B, d2].
    seed: seeds the shuffle.
  """
  halves = [_arrays(stage1), _arrays(stage2)]
  generator = np.random.default_rng(seed)
  batches = [
      half._replace(instrument=instrument_features(half.instrument))
      for half in halves]
  sums = [two_stage.stage1_sums(batch) for batch in batches]
  fits = []
  for held_out, fitted in ((0, 1), (1, 0)):
    grid, losses = two_stage.held_out_losses(
        sums[fitted], sums[held_out], _PENALTIES)
    weights = grid[int(np.argmin(losses))]
    shuffled = instrument_features(_shuffle(halves[held_out], generator))
    fits.append(_compare(
        halves[held_out],
        two_stage.predict_treatment(
            batches[held_out].instrument, weights).numpy(),
        two_stage.predict_treatment(shuffled, weights).numpy()))
  total = _Fit(*map(np.add, *fits))
  statistic = np.maximum(total.statistic, 0.) / np.sqrt(len(fits))
  return FirstStage(
      r2=1. - total.error / total.variation,
      partial_r2=1. - total.partial_error / total.partial_variation,
      effective_f=np.square(statistic))


class _Fit(NamedTuple):
  """Sums of squares and t statistics of a half, [D] each."""
  error: types.FloatArray
  variation: types.FloatArray
  partial_error: types.FloatArray
  partial_variation: types.FloatArray
  statistic: types.FloatArray


def _compare(
    half: types.IVBatch,
    predicted: types.FloatArray,
    control: types.FloatArray,
) -> _Fit:
  """Returns how well a prediction [B, D] explains the treatment of a half."""
  treatment = half.treatment
  covariate = [] if half.covariate is None else [half.covariate]
  columns = []
  for column in range(treatment.shape[1]):
    columns.append(_partial(
        treatment[:, [column]], predicted[:, [column]],
        np.concatenate([control[:, [column]], *covariate], axis=1)))
  partial_error, partial_variation, statistic = np.array(columns).T
  return _Fit(
      error=np.sum(np.square(treatment - predicted), axis=0),
      variation=np.sum(np.square(treatment - treatment.mean(axis=0)), axis=0),
      partial_error=partial_error,
      partial_variation=partial_variation,
      statistic=statistic)


def _partial(
    treatment: types.FloatArray,
    instrument: types.FloatArray,
    controls: types.FloatArray,
) -> tuple[float, float, float]:
  """Returns the squares left and given, and the robust t of an instrument."""
  controls = ridge.append_intercept(controls)
  both = np.concatenate([treatment, instrument], axis=1)
  both = both - ridge.predict(controls, ridge.solve(
      controls, both, _NO_PENALTY, intercept=True)).numpy()
  outcome, regressor = both[:, 0], both[:, 1]
  variation, size = np.sum(np.square(both), axis=0)
  if size == 0.:
    return variation, variation, 0.
  slope = np.sum(regressor * outcome) / size
  error = outcome - slope * regressor
  deviation = np.sqrt(np.sum(np.square(regressor * error))) / size
  return (
      np.sum(np.square(error)), variation,
      slope / deviation if deviation else np.inf)


def _shuffle(
    batch: types.IVBatch, generator: np.random.Generator,
) -> types.FloatArray:
  """Returns the instrument with the rows of z in another order than o's."""
  columns = 0 if batch.covariate is None else batch.covariate.shape[1]
  instrument = batch.instrument.copy()
  own = instrument.shape[1] - columns
  instrument[:, :own] = generator.permutation(instrument[:, :own])
  return instrument


def _arrays(batch: types.IVBatch) -> types.IVBatch:
  return types.IVBatch(*(
      None if each is None else np.asarray(each, np.float64)
      for each in batch))
