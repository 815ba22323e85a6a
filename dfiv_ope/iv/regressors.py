"""The estimators in scikit-learn's form: fit(X, y, Z=Z), predict(X).

import sklearn
from sklearn import model_selection
from dfiv_ope import estimators, regressors

sklearn.set_config(enable_metadata_routing=True)
regressor = regressors.IVRegressor(estimators.KIV(), treatment=['price'])
regressor.set_fit_request(Z=True).set_score_request(Z=True)
model_selection.cross_val_score(regressor, X, y, params={'Z': Z})
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn import base
from sklearn.utils import validation

from dfiv_ope import types
from dfiv_ope.iv import arrays, estimators, frames, iv_estimator, scores


class IVRegressor(base.RegressorMixin, base.BaseEstimator):
  """An instrumental-variable regression for pipelines and searches.

  Parameters:
    estimator: one of `estimators`, not fitted; `TwoSLS()` if None. Its
      hyper-parameters are set as estimator__name.
    treatment: the endogenous columns of X, names or indices, or one of them;
      all columns if None. The others are covariates.

  Attributes:
    estimator_: the fitted estimator, with its effects and its summary.
    treatment_: indices of the endogenous columns.
    n_features_in_: number of columns of X.
    feature_names_in_: their names, if they are strings.
  """

  def __init__(
    self,
    estimator: iv_estimator.IVEstimator | None = None,
    *,
    treatment: Sequence[int | str] | int | str | None = None,
  ):
    """Initialises the regressor; nothing is checked before `fit`."""
    self.estimator = estimator
    self.treatment = treatment

  def fit(
    self, X: Any, y: Any, *, Z: Any = None, sample_weight: Any = None
  ) -> 'IVRegressor':
    """Learns the structural function of y in the columns of X.

    Args:
      X: treatments and covariates, [n, columns].
      y: outcome, [n].
      Z: instruments, [n] or [n, columns], without the covariates: those are
        their own instruments. They are required: without them this would be
        ordinary regression.
      sample_weight: positive weights of rows, [n]; of linear estimators only.

    Returns:
      The regressor itself.

    Raises:
      TypeError: there is no Z, or weights for an estimator that takes none.
      ValueError: the data cannot be used; the message says why.
    """
    self._require(Z, 'fit')
    frames.check_rows({'X': X, 'y': y, 'Z': Z})
    X, y = validation.validate_data(
      self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2
    )
    self.treatment_ = self._columns()
    treatment, covariate = self._parts(X)
    estimator = (
      estimators.TwoSLS()
      if self.estimator is None
      else base.clone(self.estimator)
    )
    self.estimator_ = estimator.fit(
      y, treatment, Z=Z, X=covariate, sample_weight=sample_weight
    )
    return self

  def predict(self, X: Any) -> types.FloatArray:
    """Returns the structural function at X [n, columns]: [n]."""
    validation.check_is_fitted(self)
    X = validation.validate_data(self, X, dtype=np.float64, reset=False)
    return self.estimator_.predict(*self._parts(X))

  def score(
    self, X: Any, y: Any, sample_weight: Any = None, *, Z: Any = None
  ) -> float:
    """Returns R2 of the outcome by what Z tells of the prediction, f(X).

    It is largest for the structural function (`scores.projected_r2`). The
    usual R2 is largest for ordinary regression; ask for it by scoring='r2'.

    Args:
      X: treatments and covariates, [n, columns].
      y: outcome, [n].
      sample_weight: of each row in both means, [n]; all alike if None.
      Z: instruments of these rows.

    Raises:
      TypeError: there is no Z.
      ValueError: the data cannot be used; the message says why.
    """
    self._require(Z, 'score')
    frames.check_rows({'X': X, 'y': y, 'Z': Z})
    predicted = self.predict(X)
    _, covariate = self._parts(np.asarray(X, np.float64))
    Z = arrays.column_matrix('Z', Z)
    y = validation.column_or_1d(y)
    validation.check_consistent_length(predicted, y, Z)
    return scores.projected_r2(
      y,
      predicted,
      Z if covariate is None else np.concatenate([Z, covariate], axis=1),
      sample_weight,
    )

  @property
  def coef_(self) -> types.FloatArray:
    """Coefficients in the order of the columns of X; of `TwoSLS` only."""
    validation.check_is_fitted(self)
    order = np.argsort([*self.treatment_, *self._covariates()], kind='stable')
    return self.estimator_.coef_[order]

  def _require(self, Z: Any, method: str) -> None:
    if Z is None:
      raise TypeError(
        f'{type(self).__name__}.{method}(X, y, Z=Z) needs the instruments Z, '
        'got none. In a pipeline or a search, call sklearn.set_config('
        f'enable_metadata_routing=True) and set_{method}_request(Z=True).'
      )

  def _columns(self) -> types.FloatArray:
    """Returns the indices of the endogenous columns."""
    if self.treatment is None:
      return np.arange(self.n_features_in_)
    wanted = self.treatment
    if isinstance(wanted, str | int | np.integer):
      wanted = [wanted]
    names = list(getattr(self, 'feature_names_in_', ()))
    found = []
    for each in wanted:
      if isinstance(each, str):
        if each not in names:
          raise ValueError(
            f'treatment names {each!r}, but X has '
            f'{", ".join(names) or "no names"}. Pass a data frame with this '
            'column, or indices.'
          )
        found.append(names.index(each))
      elif -self.n_features_in_ <= each < self.n_features_in_:
        found.append(int(each) % self.n_features_in_)
      else:
        raise ValueError(
          f'treatment has the index {each}, but X has '
          f'{self.n_features_in_} columns, counted from 0.'
        )
    if not found or len(set(found)) < len(found):
      raise ValueError(
        'treatment must be different columns, at least one, got '
        f'{self.treatment!r}.'
      )
    return np.array(found)

  def _covariates(self) -> list[int]:
    return [
      column
      for column in range(self.n_features_in_)
      if column not in self.treatment_
    ]

  def _parts(
    self, X: types.FloatArray
  ) -> tuple[types.FloatArray, types.FloatArray | None]:
    """Returns treatments and covariates of checked rows."""
    covariates = self._covariates()
    return X[:, self.treatment_], X[:, covariates] if covariates else None
