"""Intervals of effects as methods of an estimator, computed when asked."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import arrays, frames
from dfiv_ope.iv.functionals import inference as inference_lib
from dfiv_ope.iv.functionals import intervals

# A fit keeps rows of no more numbers than these.
_MOST_NUMBERS = 20_000_000
# A summary has average derivatives of so many treatments at most, and of those
# with more values than these.
MOST_TREATMENTS, FEW_VALUES = 5, 5


class EffectIntervals(abc.ABC):
  """Effects with intervals, for every method that learns a curve.

  Attributes:
    rows_: of the fit; None if they are too large to keep, or were not saved.
    derivative_lines_: average derivatives in words, of one that was loaded.
  """

  _dtype: type
  random_state: Any
  model_: Any
  scales_: types.IVBatch
  names_: types.IVBatch
  rows_: types.IVBatch | None = None
  derivative_lines_: tuple[str, ...] = ()
  _intervals_of: tuple[Any, inference_lib.Inference] | None = None

  @abc.abstractmethod
  def _check_fitted(self) -> None:
    """Raises a ValueError where there is no fit."""

  def ate_interval(
    self, T0: Any, T1: Any, *, level: float = 0.95, groups: Any = None
  ) -> intervals.FunctionalIntervals:
    """Returns the mean effect of T0 -> T1 with its interval, [1] each.

    Args:
      T0: the treatment to start from.
      T1: the treatment to end at.
      level: of confidence.
      groups: labels of clusters of the rows, [n]; independent rows if None.
    """
    return self._inferred(groups).ate_interval(T0, T1, level=level)

  def effect_interval(
    self,
    X: Any = None,
    *,
    T0: Any,
    T1: Any,
    level: float = 0.95,
    groups: Any = None,
  ) -> intervals.FunctionalIntervals:
    """Returns f(T1, x) - f(T0, x) for each row of X (or of T0 and T1)."""
    return self._inferred(groups).effect_interval(X, T0=T0, T1=T1, level=level)

  def average_derivative(
    self, treatment: int = 0, *, level: float = 0.95, groups: Any = None
  ) -> intervals.FunctionalIntervals:
    """Returns the mean of df/dt of a treatment over the rows, [1] each."""
    return self._inferred(groups).average_derivative(treatment, level=level)

  def dose_response_interval(
    self,
    T_grid: Any,
    *,
    level: float = 0.95,
    uniform: bool = False,
    groups: Any = None,
  ) -> intervals.FunctionalIntervals:
    """Returns E[Y | do(T=t)] for each row t of T_grid, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      level: of confidence.
      uniform: whether the band holds at all points together, rather than at
        each of them.
      groups: as in `ate_interval`.
    """
    return self._inferred(groups).dose_response_interval(
      T_grid, level=level, uniform=uniform
    )

  def cate_interval(
    self,
    T_grid: Any,
    *,
    given: Mapping[int | str, float],
    level: float = 0.95,
    uniform: bool = False,
    groups: Any = None,
  ) -> intervals.FunctionalIntervals:
    """Returns E[Y | do(T=t), X_j=x_j] for each row t of T_grid, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      given: values of some columns of X, by number or name.
      level: of confidence.
      uniform: as in `dose_response_interval`.
      groups: as in `ate_interval`.
    """
    return self._inferred(groups).cate_interval(
      T_grid, given=given, level=level, uniform=uniform
    )

  def levels_interval(
    self,
    treatment: int,
    values: types.FloatArray,
    *,
    base: float | None = None,
    level: float = 0.95,
    uniform: bool = False,
    groups: Any = None,
  ) -> intervals.FunctionalIntervals:
    """Returns average outcomes with one treatment set to values, [G] each.

    Args:
      treatment: its number; others stay what they are in each row.
      values: [G].
      base: a value whose average outcome is taken off, or None.
      level: of confidence.
      uniform: as in `dose_response_interval`.
      groups: as in `ate_interval`.
    """
    return self._inferred(groups).levels_interval(
      treatment, values, base=base, level=level, uniform=uniform
    )

  @property
  def has_intervals(self) -> bool:
    """Whether there are rows for intervals, and enough of them."""
    self._check_fitted()
    return self.rows_ is not None and (
      len(self.rows_.outcome) >= inference_lib.FEWEST_ROWS
    )

  def inference(
    self, Y: Any, T: Any, *, Z: Any, X: Any = None, groups: Any = None
  ) -> inference_lib.Inference:
    """Returns intervals from rows that are passed, as after `load`.

    Args:
      Y: outcome, [n].
      T: treatment, as in `fit`.
      Z: instruments.
      X: covariates, or None.
      groups: labels of clusters, [n].
    """
    self._check_fitted()
    frames.check_rows({'Y': Y, 'T': T, 'Z': Z, 'X': X, 'groups': groups})
    return inference_lib.Inference(
      self._fitted(), arrays.batch(Y, T, Z, X), groups=groups
    )

  def derivative_lines(self) -> list[str]:
    """Returns average derivatives in words, for a summary."""
    rows = self.rows_
    if rows is None:
      return list(self.derivative_lines_)
    if not self.has_intervals or rows.treatment.shape[1] > MOST_TREATMENTS:
      return []
    names = self.names_.treatment or [
      f'treatment {place}' if rows.treatment.shape[1] > 1 else 'treatment'
      for place in range(rows.treatment.shape[1])
    ]
    return [
      f'Average derivative by {name}: '
      f'{self.average_derivative(place).summary()}'
      for place, name in enumerate(names)
      if len(np.unique(rows.treatment[:, place])) > FEW_VALUES
    ]

  def _keep(self, rows: types.IVBatch) -> None:
    """Keeps the rows of a fit for intervals."""
    numbers = sum(each.size for each in rows if each is not None)
    self.rows_ = rows if numbers <= _MOST_NUMBERS else None
    self.derivative_lines_ = ()
    self._intervals_of = None

  def _inferred(self, groups: Any) -> inference_lib.Inference:
    """Returns the inference of the rows of the fit, made once."""
    self._check_fitted()
    if self.rows_ is None:
      raise ValueError(
        'This estimator has no rows: it was loaded, or they were too many to '
        'keep. Call inference(Y, T, Z=Z, X=X) with them, and ask that for '
        'intervals.'
      )
    if self._intervals_of is None or self._intervals_of[0] is not groups:
      self._intervals_of = (
        groups,
        inference_lib.Inference(self._fitted(), self.rows_, groups=groups),
      )
    return self._intervals_of[1]

  def _fitted(self) -> inference_lib.Fitted:
    return inference_lib.Fitted(
      self.model_,
      self.scales_,
      self.names_,
      self._dtype,
      int(self.random_state),
    )
