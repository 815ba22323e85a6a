"""First-stage diagnostics of a fitted method: with which features, and of what.

found = model_diagnostics.first_stage(model, stage1, stage2, seed=0)
found.r2, found.held_out_index_f, found.singular_values
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features, ridge, two_stage
from dfiv_ope.iv.diagnostics import (
  messages,
  spectrum,
  strength,
  weak_instruments,
)

# Random features of instruments, and of treatments and covariates, where the
# method has none that can be used.
_INSTRUMENT_FEATURES, _FEATURES = 200, 50
# The spectrum needs no more rows and features: noise is below a hundredth.
_SPECTRUM_ROWS, _SPECTRUM_FEATURES = 20_000, 200
# More raw columns than these are slow, and no method but two-stage least
# squares itself uses them as they are.
_LINEAR_COLUMNS = 500
# Rows that tell the scale of a column, and the directions of many.
_BANDWIDTH_ROWS, _DIRECTION_ROWS = 500, 2000

# Features of f at rows, and those of their covariates alone.
_Structural = Callable[
  [types.IVBatch], tuple[types.FloatArray, list[types.FloatArray]]
]


def first_stage(
  model: Any, stage1: types.IVBatch, stage2: types.IVBatch, *, seed: int
) -> strength.FirstStage:
  """Returns the first-stage diagnostics of a fitted method.

  Args:
    model: of a module of `methods`. Its own features of the treatment are
      used where it has some, those of the instrument where they are fixed.
      Learned ones have seen the rows, so random features take their place;
      but these tell little of an instrument of many columns. There the learned
      ones are used, and only rows of stage 2 are held out.
    stage1: standardised rows; the covariates are the last columns of the
      instrument.
    stage2: other rows.
    seed: seeds random features and the shuffle.
  """
  phi, fixed = _instrument_features(model, stage1, seed)
  of_effect = stage1.treatment.shape[1] > strength.MOST_COLUMNS
  generator = np.random.default_rng((seed, 2))
  controls = None
  if stage1.covariate is not None:
    controls = _fourier(stage1.covariate, _FEATURES, (seed, 4))
  rows = [stage1, stage2]
  halves = [
    strength.prepare(
      half._replace(treatment=model.predict(half.treatment, half.covariate))
      if of_effect
      else half,
      phi,
      controls,
      generator=generator,
    )
    for half in rows
  ]
  found = strength.first_stage(*halves, swap=fixed)
  features_of = _structural_features(model, stage1, seed)
  batches, noise = _narrow(
    [
      _operands(half, each, features_of)
      for half, each in zip(halves, rows, strict=True)
    ],
    [_thin(half.noise) for half in halves if half.noise is not None],
    seed,
  )
  operator = spectrum.from_rows(*batches, noise=noise, swap=fixed).descending()
  linear = bool(getattr(model, 'linear', False))
  if linear or stage1.instrument.shape[1] <= _LINEAR_COLUMNS:
    found = _with_linear(found, halves, rows)
  return found._replace(
    of_effect=of_effect,
    linear=linear,
    singular_values=operator.values,
    alignment=operator.alignment,
    # Two-stage least squares inverts what it has, without a penalty: weak
    # instruments are all that can go wrong, and these have their own F.
    low_value=0.0
    if linear
    else messages.low_value(sum(len(half.outcome) for half in batches)),
    condition=_condition(halves[0].instrument[:_DIRECTION_ROWS]),
  )


def _with_linear(
  found: strength.FirstStage,
  halves: list[strength.Half],
  rows: list[types.IVBatch],
) -> strength.FirstStage:
  """Adds the textbook statistics of all rows, Z as it is."""
  treatment = np.concatenate([half.treatment for half in halves])
  instrument = np.concatenate([half.instrument for half in rows])
  controls = None
  if rows[0].covariate is not None:
    controls = np.concatenate([half.covariate for half in rows])
    instrument = instrument[:, : -controls.shape[1]]
  textbook = weak_instruments.measure(treatment, instrument, controls)
  return found._replace(
    linear_partial_r2=textbook.partial_r2,
    robust_f=textbook.robust_f,
    effective_f=textbook.effective_f,
    critical_values=textbook.critical_values,
  )


def _instrument_features(
  model: Any, rows: types.IVBatch, seed: int
) -> tuple[strength.FeatureMap, bool]:
  """Returns phi, and whether no rows have trained it."""
  fixed = getattr(model, 'instrument_features', None)
  if fixed is not None:
    return fixed, True
  many = rows.instrument.shape[1] > strength.MOST_COLUMNS
  if not many or not hasattr(model, 'features'):
    return _fourier(rows.instrument, _INSTRUMENT_FEATURES, (seed, 1)), True
  # Only phi is wanted, so one row of the others will do.
  one = types.IVBatch(*(None if each is None else each[:1] for each in rows))

  def learned(instrument: types.FloatArray) -> types.FloatArray:
    return model.features(
      one._replace(instrument=np.asarray(instrument, rows.instrument.dtype))
    ).instrument

  return learned, False


def _structural_features(
  model: Any, rows: types.IVBatch, seed: int
) -> _Structural:
  """Returns what gives features of f, and those of covariates alone.

  These are what the structural function is linear in, or random features of
  treatment and covariates where a method has none.
  """
  if not hasattr(model, 'features'):
    random = _fourier(_joined(rows), _FEATURES, (seed, 3))
    return lambda batch: (random(_joined(batch)), [])

  def own(
    batch: types.IVBatch,
  ) -> tuple[types.FloatArray, list[types.FloatArray]]:
    done = model.features(batch)
    columns = two_stage.design(done.treatment, done.covariate)
    if done.covariate is None:
      return columns[:, :-1], []
    # The last columns are those of the covariates alone.
    return columns[:, : -done.covariate.shape[1] - 1], [done.covariate]

  return own


def _operands(
  half: strength.Half, rows: types.IVBatch, features_of: _Structural
) -> types.IVBatch:
  """Returns some rows of a half for the spectrum."""
  treatment, covariates = features_of(
    types.IVBatch(*(None if each is None else _thin(each) for each in rows))
  )
  controls = None
  if half.controls is not None:
    controls = np.concatenate([_thin(half.controls), *covariates], axis=1)
  return types.IVBatch(
    treatment=np.asarray(treatment, np.float64),
    instrument=_thin(half.moved),
    outcome=np.asarray(_thin(rows.outcome), np.float64),
    covariate=controls,
  )


def _thin(rows: types.FloatArray) -> types.FloatArray:
  """Returns as many rows of a half as the spectrum needs."""
  return rows[:: -(-len(rows) // (_SPECTRUM_ROWS // 2))]


def _narrow(
  halves: list[types.IVBatch], noise: list[types.FloatArray], seed: int
) -> tuple[list[types.IVBatch], list[types.FloatArray]]:
  """Leaves the directions of most variance where there are many columns."""
  for name in ('treatment', 'instrument', 'covariate'):
    rows = getattr(halves[0], name)
    if rows is None or rows.shape[1] <= _SPECTRUM_FEATURES:
      continue
    rows = rows[:_DIRECTION_ROWS] - rows.mean(axis=0)
    start = np.random.default_rng((seed, 5)).standard_normal(
      (rows.shape[1], _SPECTRUM_FEATURES)
    )
    # One power iteration of a random start.
    directions = np.linalg.qr(rows.T @ (rows @ start))[0]
    halves = [
      half._replace(**{name: getattr(half, name) @ directions})
      for half in halves
    ]
    if name == 'instrument':
      noise = [each @ directions for each in noise]
  return halves, noise


def _condition(rows: types.FloatArray) -> float:
  rows = rows - rows.mean(axis=0)
  return spectrum.condition(ridge.sums(rows, rows[:, :1]).gram)


def _fourier(
  rows: types.FloatArray, size: int, seed: types.Seed
) -> features.FourierFeatures:
  """Returns random features of the scale of some rows."""
  rows = rows[:: -(-len(rows) // _BANDWIDTH_ROWS)]
  if rows.shape[1] > strength.MOST_COLUMNS:
    bandwidth = np.full(rows.shape[1], features.median_distance(rows))
  else:
    bandwidth = features.median_bandwidth(rows)
  return features.FourierFeatures(bandwidth, size=size, seed=seed)


def _joined(rows: types.IVBatch) -> types.FloatArray:
  """Returns treatment and covariates side by side."""
  return np.concatenate(
    [each for each in (rows.treatment, rows.covariate) if each is not None],
    axis=1,
  )
