"""The six methods as estimators on arrays, with scikit-learn's habits.

    from dfiv_ope import estimators

    model = estimators.DFIV(random_state=0).fit(Y, T, Z=Z, X=X)
    model.predict(T_new, X_new)       # the structural function
    model.ate(0., 1.)                 # the average effect of T from 0 to 1
    print(model.summary())

Hyper-parameters are those of the method's `Config`, keyword-only. Data may be
arrays, data frames or lists: Y [n], T, Z and X [n] or [n, columns]. Pipelines
and searches of scikit-learn take `regressors.IVRegressor`.
"""

from collections.abc import Mapping
import pathlib

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import identification, iv_estimator, storage


class TwoSLS(iv_estimator.IVEstimator, method='two_sls', dtype=np.float64,
             most_splits=0):
  """Linear two-stage least squares."""

  _linear = True

  @property
  def coef_(self) -> types.FloatArray:
    """Coefficients of T and X on the raw scale, [columns of T, then of X]."""
    self._check_fitted()
    scales = [
        each.scale for each in (self.scales_.treatment, self.scales_.covariate)
        if each is not None]
    weights = self.model_.weights.numpy()[:-1, 0]
    return weights * self.scales_.outcome.scale / np.concatenate(scales)

  def _refuses(self, found: identification.Identification) -> bool:
    # A penalty that was asked for picks one of the answers.
    return self.stage2_penalty <= type(self)().stage2_penalty


class SieveIV(iv_estimator.IVEstimator, method='sieve', dtype=np.float64,
              most_splits=5):
  """Two-stage least squares on splines and polynomials, chosen held out."""

  def _refuses(self, found: identification.Identification) -> bool:
    # Functions of one instrument may identify several treatments; whether the
    # chosen ones can is checked in `methods.sieve`.
    return not found.instruments


class KIV(iv_estimator.IVEstimator, method='kiv', dtype=np.float64,
          most_splits=5):
  """Kernel instrumental variable regression."""


class DeepIV(iv_estimator.IVEstimator, method='deepiv'):
  """DeepIV: a mixture density of the treatment, then a response network."""


class DeepGMM(iv_estimator.IVEstimator, method='deepgmm'):
  """DeepGMM: a structural function against a critic."""


class DFIV(iv_estimator.IVEstimator, method='dfiv'):
  """Deep feature instrumental variable regression."""


ESTIMATORS: Mapping[str, type[iv_estimator.IVEstimator]] = {
    each._method: each
    for each in (TwoSLS, SieveIV, KIV, DeepIV, DeepGMM, DFIV)}


def load(directory: str | pathlib.Path) -> iv_estimator.IVEstimator:
  """Returns the estimator that `save` wrote."""
  return storage.load(pathlib.Path(directory), ESTIMATORS.values())
