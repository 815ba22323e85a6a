"""What scikit-learn expects of a fitted estimator besides its predictions."""

import abc
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import arrays, frames, scores


class Conventions(abc.ABC):
  """Numbers and names of columns, and a score.

  Attributes:
    scales_: standardisers of each member.
    names_: names of the columns of each member; None for arrays.
  """

  scales_: types.IVBatch
  names_: types.IVBatch

  @abc.abstractmethod
  def predict(self, T: Any, X: Any = None) -> types.FloatArray:
    """Returns the structural function f(T, X) on the scale of Y, [n]."""

  @abc.abstractmethod
  def _check_fitted(self) -> None:
    """Raises a NotFittedError where there is no fit."""

  def score(
    self, Y: Any, T: Any, *, Z: Any, X: Any = None, sample_weight: Any = None
  ) -> float:
    """Returns R2 of Y by what Z and X tell of f(T, X) (`scores`).

    It is largest for the structural function, while the R2 of f(T, X) itself
    is largest for ordinary regression.

    Args:
      Y: outcome, [n].
      T: treatment, as in `fit`.
      Z: instruments of these rows.
      X: covariates, or None.
      sample_weight: of each row, [n]; all alike if None.
    """
    self._check_fitted()
    frames.check_rows({'Y': Y, 'T': T, 'Z': Z, 'X': X})
    told = [arrays.column_matrix('Z', Z)]
    if X is not None:
      told.append(arrays.column_matrix('X', X))
    return scores.projected_r2(
      arrays.column_matrix('Y', Y)[:, 0],
      np.ravel(self.predict(T, X)),
      np.concatenate(told, axis=1),
      sample_weight,
    )

  @property
  def n_features_in_(self) -> int:
    """Columns that a prediction takes: of T and X."""
    self._check_fitted()
    return sum(
      len(scale.mean)
      for scale in (self.scales_.treatment, self.scales_.covariate)
      if scale is not None
    )

  @property
  def feature_names_in_(self) -> types.FloatArray:
    """Their names; there is no such attribute where some have none."""
    self._check_fitted()
    members = [self.names_.treatment]
    if self.scales_.covariate is not None:
      members.append(self.names_.covariate)
    if any(names is None for names in members):
      raise AttributeError('The fit had columns without names.')
    return np.array([name for names in members for name in names], dtype=object)
