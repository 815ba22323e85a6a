"""Intervals of effects that are linear in the coefficients of a fit."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import arrays, bands, frames
from dfiv_ope.iv.linear import results


class LinearEffects(abc.ABC):
  """Effects of a linear fit with their standard errors."""

  random_state: Any
  covariate_: types.FloatArray | None
  names_: types.IVBatch
  scales_: types.IVBatch

  @abc.abstractmethod
  def _inference(self) -> results.LinearFit:
    """Returns the inference of the fit, or raises a ValueError."""

  def ate_interval(
    self, T0: Any, T1: Any, *, level: float = 0.95
  ) -> results.Intervals:
    """Returns the mean effect of T0 -> T1 with its interval, [1] each."""
    return self.effect_interval(T0=T0, T1=T1, level=level)

  def effect_interval(
    self, X: Any = None, *, T0: Any, T1: Any, level: float = 0.95
  ) -> results.Intervals:
    """Returns the effects of T0 -> T1, one for each row of T0 and T1.

    Args:
      X: not needed: a linear effect is the same for all covariates.
      T0: treatments to start from, [n] or [n, columns].
      T1: treatments to end at, likewise.
      level: of confidence.
    """
    del X
    change = self._points('T1', T1) - self._points('T0', T0)
    found = self._inference()
    contrasts = np.zeros([len(change), len(found.coefficients)])
    contrasts[:, : found.treatments] = change
    return found.combine(contrasts, level)

  def average_derivative(
    self, treatment: int = 0, *, level: float = 0.95
  ) -> results.Intervals:
    """Returns the mean of df/dt of a treatment: its slope, [1] each."""
    found = self._inference()
    if not 0 <= treatment < found.treatments:
      raise ValueError(
        f'There is no treatment {treatment}; the fit had '
        f'{found.treatments}, counted from 0.'
      )
    return found.combine(np.eye(len(found.coefficients))[[treatment]], level)

  def derivative_lines(self) -> list[str]:
    """Returns nothing: the table of coefficients has the slopes."""
    return []

  def dose_response_interval(
    self, T_grid: Any, *, level: float = 0.95, uniform: bool = False
  ) -> results.Intervals:
    """Returns E[Y | do(T=t)] at the mean covariates of the fit, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      level: of confidence.
      uniform: whether the band holds at all points together, rather than at
        each of them.

    Raises:
      ValueError: effects were absorbed, so that there is no constant.
    """
    return self.cate_interval(T_grid, given={}, level=level, uniform=uniform)

  def cate_interval(
    self,
    T_grid: Any,
    *,
    given: Mapping[int | str, float],
    level: float = 0.95,
    uniform: bool = False,
  ) -> results.Intervals:
    """Returns E[Y | do(T=t), X_j=x_j] for each row t of T_grid, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      given: values of some columns of X, by number or name; the others are at
        their means.
      level: of confidence.
      uniform: as in `dose_response_interval`.

    Raises:
      ValueError: effects were absorbed, so that there is no constant.
    """
    found = self._inference()
    if not found.constant:
      raise ValueError(
        'Levels have no interval where effects of groups are absorbed, only '
        'differences have. Ask for effect_interval.'
      )
    grid = self._points('T_grid', T_grid)
    covariate = self.covariate_
    if given:
      covariate = arrays.held(covariate, given, self.names_.covariate)
    means = np.zeros(0) if covariate is None else covariate.mean(axis=0)
    contrasts = np.concatenate(
      [grid, np.tile(np.append(means, 1.0), (len(grid), 1))], axis=1
    )
    each = found.combine(contrasts, level)
    if not uniform:
      return each
    margin = each.std_error * bands.largest_t(
      found.joint_covariance(contrasts), level, int(self.random_state)
    )
    return each._replace(
      low=each.estimate - margin, high=each.estimate + margin
    )

  def _points(self, name: str, values: Any) -> types.FloatArray:
    """Returns treatments as the fit has them, [G, columns]."""
    self._inference()
    return arrays.points(
      frames.aligned(name, values, self.names_.treatment),
      None,
      self.scales_.treatment,
      None,
    )[0]
