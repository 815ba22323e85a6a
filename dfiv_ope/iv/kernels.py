"""What kernel regressions with instruments share: rows and features."""

import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import (
  bandwidths,
  closed_form,
  directions,
  features,
  fold_fits,
  heavy_tails,
  landmarks,
  many_columns,
)
from dfiv_ope.iv.methods.entries import kernel_rules

# What a search of bandwidths looks at: rows, landmarks, rows that these are
# picked from, what they leave of the kernel, and folds. Of fewer rows than the
# fit has, its choice would stay as uncertain however many there are.
_SEARCH_ROWS, _SEARCH_LANDMARKS, _PICKED_ROWS = 20_000, 200, 2000
_SEARCH_TOLERANCE, _SEARCH_FOLDS = 1e-6, 2
# The limit of landmarks holds up to so many rows and then grows with their
# root, up to so many times: what fewer leave out is soon more than noise.
_FEW_ROWS, _MOST_GROWTH = 20_000, 2.0
# Folds and slack of the fit whose gradients tell directions, the ridge penalty
# of its projection, and rows that gradients are taken at.
_TURN_FOLDS, _TURN_SLACK, _MOMENT_PENALTY, _TURN_ROWS = 5, 0.05, 1e-6, 1000
# What the last searches found, by their rows and settings.
_REMEMBERED = 4
_FOUND: dict[int, bandwidths.Bandwidths] = {}


def rows_of(
  config: kernel_rules.Kernels, stage1: types.IVBatch, stage2: types.IVBatch
) -> types.IVBatch:
  """Returns the rows of both stages, heavy tails of outcomes clipped."""
  rows = types.IVBatch(
    *(
      None
      if first is None
      else np.concatenate([first, second]).astype(np.float64)
      for first, second in zip(stage1, stage2, strict=True)
    )
  )
  return rows._replace(
    outcome=heavy_tails.clip(
      rows.outcome,
      config.outcome_width,
      closed_form.join(rows.treatment, rows.covariate),
    )
  )


def columns(rows: types.IVBatch) -> fold_fits.Rows:
  """Returns what both kernels are of; the covariates are in each of them."""
  return fold_fits.Rows(
    instrument=rows.instrument,
    treatment=closed_form.join(rows.treatment, rows.covariate),
    outcome=rows.outcome,
  )


def chosen_bandwidths(
  config: kernel_rules.Kernels,
  rows: types.IVBatch,
  *,
  least: float = 0.0,
  treatment_pixels: int = 0,
  instrument_pixels: int = 0,
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns bandwidths of the treatment's and of the instrument's kernel.

  Those that are searched are matrices (`directions.turned`): kernels are wider
  where a fit with the bandwidths of each column hardly changes.

  Args:
    config: whether they are searched, with which landmarks and penalties.
    rows: of `rows_of`; some of the first are looked at.
    least: median distances that a treatment's bandwidth has at least.
    treatment_pixels: last columns of the first that are of a picture.
    instrument_pixels: last columns of the second that are of a picture.
  """
  if not config.search_bandwidths or treatment_pixels or instrument_pixels:
    both = columns(rows)
    return (
      features.median_bandwidth(both.treatment, pixels=treatment_pixels),
      features.median_bandwidth(both.instrument, pixels=instrument_pixels),
    )
  some = types.IVBatch(
    *(None if each is None else each[:_SEARCH_ROWS] for each in rows)
  )
  many_columns.warn_of_many(columns(some).treatment)
  # Methods that are tried on the same rows have the same bandwidths.
  key = hash(
    (
      config.most_landmarks,
      config.stage1_penalties,
      config.stage2_penalties,
      *(None if each is None else each.tobytes() for each in some),
    )
  )
  if key not in _FOUND:
    while len(_FOUND) >= _REMEMBERED:
      _FOUND.pop(next(iter(_FOUND)))
    _FOUND[key] = _searched(config, some)
  found = dict(_FOUND[key])
  found['treatment'] = np.maximum(
    found['treatment'], least * features.median_bandwidth(some.treatment)
  )
  return _turned(config, columns(some), _joined(found))


def _turned(
  config: kernel_rules.Kernels,
  rows: fold_fits.Rows,
  found: tuple[types.FloatArray, types.FloatArray],
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns matrices of bandwidths by the gradients of a fit with vectors."""
  inputs = rows.treatment, rows.instrument
  psi, phi = (
    _search_landmarks(config, x, bandwidth)
    for x, bandwidth in zip(inputs, found, strict=True)
  )
  solution = fold_fits.two_stages(
    fold_fits.of_folds(rows, phi, psi, _TURN_FOLDS),
    stage1_penalties=config.stage1_penalties,
    stage2_penalties=config.stage2_penalties,
    slack=_TURN_SLACK,
    moment_penalty=_MOMENT_PENALTY,
  )
  effect = solution.stage2_weights[:-1]
  expected = (solution.stage1_weights @ effect)[:-1]
  treatment, instrument = (
    directions.turned(
      bandwidth,
      features.median_bandwidth(x),
      kernel.gradients(x[:_TURN_ROWS], weights),
    )
    for bandwidth, x, kernel, weights in zip(
      found, inputs, (psi, phi), (effect, expected), strict=True
    )
  )
  return treatment, instrument


def _search_landmarks(
  config: kernel_rules.Kernels, x: types.FloatArray, bandwidth: types.FloatArray
) -> landmarks.Landmarks:
  made = landmarks.Landmarks(x.shape[1])
  made.adapt(
    x[:_PICKED_ROWS],
    bandwidth,
    _SEARCH_TOLERANCE,
    min(config.most_landmarks, _SEARCH_LANDMARKS),
  )
  return made


def _searched(
  config: kernel_rules.Kernels, rows: types.IVBatch
) -> bandwidths.Bandwidths:
  """Returns the bandwidths of the least stage-2 loss at held-out rows."""
  both = columns(rows)
  inputs = both.treatment, both.instrument
  made: dict[tuple[int, bytes], landmarks.Landmarks] = {}
  last: dict[tuple[int, bytes], types.FloatArray] = {}

  def features_of(index: int, bandwidth: types.FloatArray) -> types.FloatArray:
    # A move along one member leaves the features of the other.
    key, x = (index, bandwidth.tobytes()), inputs[index]
    if key not in made:
      made[key] = _search_landmarks(config, x, bandwidth)
    if key not in last:
      for other in [each for each in last if each[0] == index]:
        del last[other]
      last[key] = made[key](x)
    return last[key]

  def loss(found: bandwidths.Bandwidths) -> float:
    psi, phi = (features_of(*each) for each in enumerate(_joined(found)))
    same = closed_form.Columns()
    return min(
      fold_fits.two_stages(
        fold_fits.of_folds(
          fold_fits.Rows(phi, psi, both.outcome), same, same, _SEARCH_FOLDS
        ),
        stage1_penalties=config.stage1_penalties,
        stage2_penalties=config.stage2_penalties,
      ).stage2_losses
    )

  given = 0 if rows.covariate is None else rows.covariate.shape[1]
  excluded = rows.instrument[:, : rows.instrument.shape[1] - given]
  return bandwidths.choose(rows._replace(instrument=excluded), loss)


def fitted_landmarks(
  config: kernel_rules.Kernels, x: types.FloatArray, bandwidth: types.FloatArray
) -> landmarks.Landmarks:
  """Returns features of the Gaussian kernel on rows x [n, D]."""
  made = landmarks.Landmarks(x.shape[1])
  growth = math.sqrt(max(1.0, len(x) / _FEW_ROWS))
  made.adapt(
    x,
    bandwidth,
    config.tolerance,
    round(config.most_landmarks * min(growth, _MOST_GROWTH)),
  )
  return made


def _joined(
  found: bandwidths.Bandwidths,
) -> tuple[types.FloatArray, types.FloatArray]:
  covariate = found.get('covariate', np.zeros(0))
  return (
    np.append(found['treatment'], covariate),
    np.append(found['instrument'], covariate),
  )
