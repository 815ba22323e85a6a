"""The six methods as estimators on arrays, with scikit-learn's habits.

    from dfiv_ope import estimators

    model = estimators.DFIV(random_state=0).fit(Y, T, Z=Z, X=X)
    model.predict(T_new, X_new)       # the structural function
    model.ate(0., 1.)                 # the average effect of T from 0 to 1
    print(model.summary())

Hyper-parameters are those of the method's `Config`, keyword-only. Data may be
arrays, data frames or lists: Y [n], T, Z and X [n] or [n, columns]. Pipelines
and searches of scikit-learn take `regressors.IVRegressor`.

TwoSLS, SieveIV and KIV are solved with numpy. DeepIV, DeepGMM and DFIV load
TensorFlow when they are first named.
"""

from collections.abc import Iterator, Mapping
import pathlib
from typing import Any

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
    weights = self.model_.weights[:-1, 0]
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


_NAMES = {
    'two_sls': 'TwoSLS', 'sieve': 'SieveIV', 'kiv': 'KIV',
    'deepiv': 'DeepIV', 'deepgmm': 'DeepGMM', 'dfiv': 'DFIV'}


class _Estimators(Mapping[str, type[iv_estimator.IVEstimator]]):
  """Estimators by key; each is loaded when it is asked for."""

  def __init__(self, names: Mapping[str, str]):
    """Initialises them with the name of each class."""
    self._names = names

  def __getitem__(self, key: str) -> type[iv_estimator.IVEstimator]:
    name = self._names[key]
    return globals()[name] if name in globals() else __getattr__(name)

  def __iter__(self) -> Iterator[str]:
    return iter(self._names)

  def __len__(self) -> int:
    return len(self._names)


# By the name of the method (`methods.NAMES`).
ESTIMATORS = _Estimators(_NAMES)


def load(directory: str | pathlib.Path) -> iv_estimator.IVEstimator:
  """Returns the estimator that `save` wrote."""
  return storage.load(
      pathlib.Path(directory),
      _Estimators({name: name for name in _NAMES.values()}))


def __getattr__(name: str) -> Any:
  if name in _NAMES.values():
    from dfiv_ope.iv import trained_estimators
    return getattr(trained_estimators, name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
  return sorted({*globals(), *_NAMES.values()})
