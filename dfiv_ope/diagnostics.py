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
    partial_r2: share of what the covariates leave that the instrument
      predicts on held-out rows, [D].
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

  Each half of the rows is predicted by a ridge regression on the other, once
  from phi(z, o) and once from phi with the rows of z shuffled, which leaves it
  the covariates only. The difference of both is one generated instrument; as
  it is a single one and made out of sample, its heteroskedasticity-robust F
  is the effective F of Montiel Olea and Pflueger, without the bias of many
  instruments.

  Args:
    stage1: standardised rows; the covariates are the last columns of the
      instrument.
    stage2: other rows.
    instrument_features: phi, [B, D] -> [B, d2].
    seed: seeds the shuffle.
  """
  generator = np.random.default_rng(seed)
  halves = [_arrays(stage1), _arrays(stage2)]
  shuffled = [_shuffle(half, generator) for half in halves]
  treatment = np.concatenate([half.treatment for half in halves])
  full = _cross_predict(halves, instrument_features)
  control = _cross_predict(shuffled, instrument_features)
  centred = treatment - treatment.mean(axis=0)
  error = np.sum(np.square(treatment - full), axis=0)
  control_error = np.sum(np.square(treatment - control), axis=0)
  covariate = [] if stage1.covariate is None else [
      np.concatenate([half.covariate for half in halves])]
  effective = [
      _robust_f(
          treatment[:, [column]], (full - control)[:, [column]],
          np.concatenate([control[:, [column]], *covariate], axis=1))
      for column in range(treatment.shape[1])]
  return FirstStage(
      r2=1. - error / np.sum(np.square(centred), axis=0),
      partial_r2=1. - error / control_error,
      effective_f=np.array(effective))


def _cross_predict(
    halves: list[types.IVBatch],
    instrument_features: Callable[[tf.Tensor], tf.Tensor],
) -> types.FloatArray:
  """Returns the treatment of each half as predicted from the other, [B, D]."""
  batches = [
      half._replace(instrument=instrument_features(half.instrument))
      for half in halves]
  sums = [two_stage.stage1_sums(batch) for batch in batches]
  predictions = []
  for held_out, fitted in ((0, 1), (1, 0)):
    grid, losses = two_stage.held_out_losses(
        sums[fitted], sums[held_out], _PENALTIES)
    predictions.append(two_stage.predict_treatment(
        batches[held_out].instrument, grid[int(np.argmin(losses))]).numpy())
  return np.concatenate(predictions).astype(np.float64)


def _robust_f(
    treatment: types.FloatArray,
    instrument: types.FloatArray,
    controls: types.FloatArray,
) -> float:
  """Returns the robust F of one instrument [B, 1] on a treatment [B, 1]."""
  controls = ridge.append_intercept(controls)
  both = np.concatenate([treatment, instrument], axis=1)
  both = both - ridge.predict(controls, ridge.solve(
      controls, both, _NO_PENALTY, intercept=True)).numpy()
  outcome, regressor = both[:, 0], both[:, 1]
  size = np.sum(np.square(regressor))
  if size == 0.:
    return 0.
  slope = np.sum(regressor * outcome) / size
  variance = np.sum(
      np.square(regressor * (outcome - slope * regressor))) / size ** 2
  return float(slope ** 2 / variance) if variance else float('inf')


def _shuffle(
    batch: types.IVBatch, generator: np.random.Generator,
) -> types.IVBatch:
  """Returns the batch with the rows of z in another order than those of o."""
  columns = 0 if batch.covariate is None else batch.covariate.shape[1]
  instrument = batch.instrument.copy()
  own = instrument.shape[1] - columns
  instrument[:, :own] = generator.permutation(instrument[:, :own])
  return batch._replace(instrument=instrument)


def _arrays(batch: types.IVBatch) -> types.IVBatch:
  return types.IVBatch(*(
      None if each is None else np.asarray(each, np.float64)
      for each in batch))
