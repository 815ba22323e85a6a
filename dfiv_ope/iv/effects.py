"""Effects of treatments from a structural function: f(t1, x) - f(t0, x)."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import arrays, frames


class Effects(abc.ABC):
  """What a fitted structural function says of effects.

  Attributes:
    covariate_: covariates of the fit, [n, columns], or None.
    names_: names of the columns of each member; None for arrays.
  """

  covariate_: types.FloatArray | None
  names_: types.IVBatch

  @abc.abstractmethod
  def predict(self, T: Any, X: Any = None) -> types.FloatArray:
    """Returns the structural function f(T, X) on the scale of Y, [n]."""

  @abc.abstractmethod
  def _check_fitted(self) -> None:
    """Raises a ValueError where there is no fit."""

  def effect(self, X: Any = None, *, T0: Any, T1: Any) -> types.FloatArray:
    """Returns f(T1, X) - f(T0, X) for each row of X (or of T0 and T1)."""
    return self.predict(T1, X) - self.predict(T0, X)

  def ate(self, T0: Any, T1: Any) -> float:
    """Returns the mean effect of T0 -> T1 over the covariates of the fit."""
    self._check_fitted()
    return float(np.mean(self.effect(self.covariate_, T0=T0, T1=T1)))

  def dose_response(self, T_grid: Any) -> types.FloatArray:
    """Returns E[Y | do(T=t)] for each row t of T_grid, [G]."""
    return self.cate(T_grid, given={})

  def cate(
    self, T_grid: Any, *, given: Mapping[int | str, float]
  ) -> types.FloatArray:
    """Returns E[Y | do(T=t), X_j=x_j] for each row t of T_grid, [G].

    Args:
      T_grid: treatments, [G] or [G, columns].
      given: values of some columns of X, by number or name; the others are
        averaged over the rows of the fit.
    """
    self._check_fitted()
    covariate = arrays.held(self.covariate_, given, self.names_.covariate)
    grid = arrays.column_matrix(
      'T_grid', frames.aligned('T_grid', T_grid, self.names_.treatment)
    )
    return np.array(
      [np.mean(self.predict(point[None], covariate)) for point in grid]
    )
