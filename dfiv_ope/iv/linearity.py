"""Is there more to an effect than a line? A test by held-out curves.

If the effect is a line, nothing that is known of the instruments predicts the
residual of two-stage least squares. A test of all their functions at once has
little power; this one asks for the one function that a curved fit expects:
what it predicts, by rows of other folds, beyond a line in instruments and
covariates.

A test at a limit takes all of a curve or none. `weight` takes more of it the
surer it is.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge

_POWER = 3


def t_statistic(
  expected: types.FloatArray,
  instrument: types.FloatArray,
  residual: types.FloatArray,
  folds: types.FloatArray,
) -> float:
  """Returns how far residuals go with a curve, in standard errors.

  Args:
    expected: E[f(X) | z] of a curved fit without each fold, [n, K].
    instrument: instruments and covariates, [n, D].
    residual: of a line, [n, 1].
    folds: which fold each row is in, [n].

  Returns:
    About standard normal if the effect is a line (40 samples of 800 rows: mean
    0.3, standard deviation 0.9).
  """
  given = ridge.append_intercept(instrument)
  # The line of each column is taken from it at all rows: that of its own fold
  # alone would go with what the line of the other folds has left there.
  curved = expected - given @ np.linalg.lstsq(given, expected, rcond=None)[0]
  return standardised(own_fold(curved, folds) * residual)


def own_fold(
  columns: types.FloatArray, folds: types.FloatArray
) -> types.FloatArray:
  """Returns the column of each row's fold, [n, 1] of [n, K]."""
  return columns[np.arange(len(folds)), folds][:, None]


def standardised(products: types.FloatArray) -> float:
  """Returns the sum of products [n, 1] over its standard error."""
  error = float(np.sqrt(np.sum(np.square(products))))
  return float(np.sum(products)) / error if error > 0.0 else 0.0


def weight(t: float, least: float) -> float:
  """Returns how much of a richer fit is taken, in [0, 1).

  None up to `least`, then more, as in the estimator of James and Stein, whose
  power is 2: a larger one takes nearly all of what is clearly there.
  """
  return 1.0 - (least / t) ** _POWER if t > least else 0.0
