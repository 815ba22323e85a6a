"""How well a structural function explains outcomes through instruments."""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features, two_stage
from dfiv_ope.nn import scaling

# Random features of the instruments in a score, where rows allow them.
_FEATURES = 100
_PENALTIES = tuple(float(x) for x in 10.0 ** np.arange(-9.0, 1.0, 1.0))


def projected_r2(
  outcome: types.FloatArray,
  predicted: types.FloatArray,
  instruments: types.FloatArray,
  weights: types.FloatArray | None = None,
) -> float:
  """Returns R2 of the outcome by what instruments tell of the prediction.

  1 - E[(y - E[f | Z])^2] / var(y), the mean by ridge regression on random
  features of Z, each half of the rows by the other. It is largest for the
  structural function. The usual R2 is not: it is largest for ordinary
  regression, so a search by it would choose what follows the confounding.

  Args:
    outcome: y, [n].
    predicted: f at the rows, [n].
    instruments: Z, with the covariates, [n, D].
    weights: of each row in both means, [n]; all alike if None.
  """
  told = _given(predicted, instruments)
  error, variance = (
    np.average(np.square(outcome - each), weights=weights)
    for each in (told, np.average(outcome, weights=weights))
  )
  return float(1.0 - error / variance)


def _given(
  values: types.FloatArray, instruments: types.FloatArray
) -> types.FloatArray:
  """Returns the mean of values [n] given instruments [n, D], out of sample."""
  columns = scaling.fit_standardiser(instruments).apply(instruments)
  size = 2 * (min(_FEATURES, len(columns) // 4) // 2)
  if size:
    columns = np.concatenate(
      [
        columns,
        features.FourierFeatures(
          features.median_bandwidth(columns), size=size, seed=0
        )(columns),
      ],
      axis=1,
    )
  rows = np.arange(len(values))
  result = np.zeros(len(values))
  halves = [
    types.IVBatch(values[part][:, None], columns[part], None)
    for part in (rows % 2 == 0, rows % 2 == 1)
  ]
  for held_out, fitted in ((0, 1), (1, 0)):
    grid, losses = two_stage.held_out_losses(
      two_stage.stage1_sums(halves[fitted]),
      two_stage.stage1_sums(halves[held_out]),
      _PENALTIES,
    )
    result[rows % 2 == held_out] = two_stage.predict_treatment(
      halves[held_out].instrument, grid[int(np.argmin(losses))]
    )[:, 0]
  return result
