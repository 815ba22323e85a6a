"""Is there more to an effect than a line? A test by held-out curves.

If the effect is a line, nothing that is known of the instruments predicts the
residual of two-stage least squares. A test of all their functions at once has
little power; this one asks for the one function that a curved fit expects:
what it predicts, by rows of other folds, beyond a line in instruments and
covariates.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge


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
  own = curved[np.arange(len(folds)), folds]
  products = own * residual[:, 0]
  error = float(np.sqrt(np.sum(np.square(products))))
  return float(np.sum(products)) / error if error > 0.0 else 0.0
