"""The methods as estimators on arrays, with scikit-learn's habits.

    from dfiv_ope import estimators

    model = estimators.DFIV(random_state=0).fit(Y, T, Z=Z, X=X)
    model.predict(T_new, X_new)       # the structural function
    model.ate(0., 1.)                 # the average effect of T from 0 to 1
    print(model.summary())

Hyper-parameters are those of the method's `Config`, keyword-only. Data may be
arrays, data frames or lists: Y [n], T, Z and X [n] or [n, columns]. Pipelines
and searches of scikit-learn take `regressors.IVRegressor`.

TwoSLS, SieveIV, KIV and AGMM are solved with numpy, and AutoIV averages
them. DeepIV, DeepGMM and DFIV load TensorFlow when they are first named.
"""

from collections.abc import Iterator, Mapping, Sequence
import pathlib
from typing import Any

import numpy as np

from dfiv_ope.iv import (
  comparison,
  identification,
  iv_estimator,
  linear_estimator,
  storage,
  summary_lines,
)
from dfiv_ope.iv.linear import fitting
from dfiv_ope.iv.methods.entries import auto


class TwoSLS(
  linear_estimator.LinearEstimator,
  method='two_sls',
  dtype=np.float64,
  most_splits=0,
  parameters=linear_estimator.PARAMETERS,
):
  """Linear two-stage least squares."""

  @property
  def _penalised(self) -> bool:
    default = type(self)()
    return (
      self.stage1_penalty > default.stage1_penalty
      or self.stage2_penalty > default.stage2_penalty
    )

  def _refuses(self, found: identification.Identification) -> bool:
    # A penalty that was asked for picks one of the answers.
    return self.stage2_penalty <= type(self)().stage2_penalty


class LIML(
  linear_estimator.LinearEstimator,
  method='two_sls',
  dtype=np.float64,
  most_splits=0,
  configurable=False,
  parameters={**linear_estimator.PARAMETERS, 'fuller': 0.0},
):
  """Limited-information maximum likelihood, or Fuller's correction of it.

  Parameters:
    fuller: 0 for LIML; 1 makes it about unbiased.
  """

  _estimator = fitting.LIML

  def _own_settings(self) -> dict[str, Any]:
    return {'fuller': self.fuller}


class KClass(
  linear_estimator.LinearEstimator,
  method='two_sls',
  dtype=np.float64,
  most_splits=0,
  configurable=False,
  parameters={**linear_estimator.PARAMETERS, 'kappa': 1.0},
):
  """The k-class estimator of a given kappa.

  Parameters:
    kappa: 0 is ordinary least squares, 1 two-stage least squares.
  """

  _estimator = fitting.K_CLASS

  def _own_settings(self) -> dict[str, Any]:
    return {'kappa': self.kappa}


class GMM(
  linear_estimator.LinearEstimator,
  method='two_sls',
  dtype=np.float64,
  most_splits=0,
  configurable=False,
  parameters={**linear_estimator.PARAMETERS, 'steps': 2},
):
  """Efficient GMM; its weights are by the covariance of the fit.

  Parameters:
    steps: how often it is solved, the first time by two-stage least squares.
  """

  _estimator = fitting.GMM

  def _own_settings(self) -> dict[str, Any]:
    return {'steps': self.steps}


class CrossFitTwoSLS(
  linear_estimator.LinearEstimator,
  method='two_sls',
  dtype=np.float64,
  most_splits=0,
  configurable=False,
  parameters=linear_estimator.PARAMETERS,
):
  """Two-stage least squares for many instruments: a jackknife (UJIVE).

  The first-stage fit of each row, or of each cluster, is by the others.
  """

  _estimator = fitting.CROSS_FIT


class SieveIV(
  iv_estimator.IVEstimator, method='sieve', dtype=np.float64, most_splits=5
):
  """Two-stage least squares on splines and polynomials, chosen held out."""

  def _refuses(self, found: identification.Identification) -> bool:
    # Functions of one instrument may identify several treatments; whether the
    # chosen ones can is checked in `methods.sieve`.
    return not found.instruments


class KIV(
  iv_estimator.IVEstimator, method='kiv', dtype=np.float64, most_splits=5
):
  """Kernel instrumental variable regression."""


class AGMM(
  iv_estimator.IVEstimator, method='agmm', dtype=np.float64, most_splits=1
):
  """Adversarial GMM on kernels, in closed form."""


class AutoIV(
  iv_estimator.IVEstimator, method='auto', dtype=np.float64, most_splits=1
):
  """The average of the closed forms whose held-out losses are about least."""

  @property
  def chosen_(self) -> str:
    """The method with the largest share."""
    return next(iter(self.shares_))

  @property
  def shares_(self) -> dict[str, float]:
    """The share of each method in the average, the largest first."""
    self._check_fitted()
    found = {
      name: self.history_.get(f'{auto.SHARE}{name}', [1.0])[-1]
      for name in self.model_.config.candidates
    }
    return dict(sorted(found.items(), key=lambda each: -each[1]))

  def summary(self) -> str:
    """Returns the fit in words and numbers, and what was chosen."""
    head, *rest = super().summary().splitlines()
    return '\n'.join(
      [head, *summary_lines.choice(self.shares_, self.history_), *rest]
    )


_NAMES = {
  'two_sls': 'TwoSLS',
  'sieve': 'SieveIV',
  'kiv': 'KIV',
  'agmm': 'AGMM',
  'auto': 'AutoIV',
  'deepiv': 'DeepIV',
  'deepgmm': 'DeepGMM',
  'dfiv': 'DFIV',
}

# Linear estimators that are no methods of their own.
_LINEAR = ('LIML', 'KClass', 'GMM', 'CrossFitTwoSLS')


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


def compare(
  models: Mapping[str, iv_estimator.IVEstimator],
  *,
  keep: Sequence[str] | str | None = None,
  level: float = 0.95,
) -> comparison.Comparison:
  """Returns fitted models side by side: `print(compare({'OLS': m, ...}))`.

  Args:
    models: by what to call them; of curves the average derivatives are shown.
    keep: name or names of the coefficients to show; all if None.
    level: of confidence.
  """
  return comparison.of(models, keep=keep, level=level)


def load(directory: str | pathlib.Path) -> iv_estimator.IVEstimator:
  """Returns the estimator that `save` wrote."""
  return storage.load(
    pathlib.Path(directory),
    _Estimators({name: name for name in (*_NAMES.values(), *_LINEAR)}),
  )


def __getattr__(name: str) -> Any:
  if name in _NAMES.values():
    from dfiv_ope.iv import trained_estimators

    return getattr(trained_estimators, name)
  raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
  return sorted({*globals(), *_NAMES.values()})
