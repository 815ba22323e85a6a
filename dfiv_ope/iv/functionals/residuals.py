"""Do instruments still tell of what a curve leaves? They should not.

If the instruments are valid and f is the structural function, y - f(t, x) has
mean zero whatever z and x are. More instruments than f needs can refute that:
the over-identification test of linear models, with any functions of them.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.functionals import stages


class Explained(NamedTuple):
  """What instruments and covariates tell of residuals of other rows.

  Attributes:
    share: of their variance, predicted on held-out rows; negative if that is
      worse than their mean.
    t: of the mean product of residual and prediction, large if something is
      told. If nothing is, it is below zero as a rule, because the curve was
      fitted to the same rows, and hardly ever above 2.
  """

  share: float
  t: float


def explained(
  instruments: types.FloatArray,
  residuals: types.FloatArray,
  folds: types.FloatArray,
  clusters: types.FloatArray | None,
) -> Explained:
  """Returns what instruments tell of residuals.

  Args:
    instruments: their features, the constant last, [n, K].
    residuals: y - f(t, x), [n].
    folds: codes 0, 1, ..., [n].
    clusters: codes of rows that depend on each other, [n], or None.
  """
  fits = stages.cross_fit(instruments, residuals[:, None], folds)[:, 0]
  products = residuals * (fits - fits.mean())
  if clusters is not None:
    products = np.bincount(clusters, weights=products)
  size = float(np.sqrt(np.sum(np.square(products))))
  total = float(np.sum(np.square(residuals)))
  if not size or not total:
    return Explained(0.0, 0.0)
  return Explained(
    1.0 - float(np.sum(np.square(residuals - fits))) / total,
    float(np.sum(products)) / size,
  )
