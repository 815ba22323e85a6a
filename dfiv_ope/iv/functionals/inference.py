"""Intervals of effects for methods that are linear in fixed features.

    found = inference.Inference(model, Y, T, Z=Z, X=X)
    found.ate_interval(0., 1.)
    found.dose_response_interval(grid, uniform=True)

The features are those of the fitted model; coefficients are solved for anew,
cross-fitted and debiased (`debiased`). So estimates differ a little from what
`ate` of the model says, which is the plug-in.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from dfiv_ope import types
from dfiv_ope.iv import (
  arrays,
  closed_form,
  features,
  frames,
  iv_estimator,
  two_stage,
)
from dfiv_ope.iv.functionals import debiased
from dfiv_ope.iv.linear import inputs, results

# Half of the step of a derivative, in standard deviations of the treatment.
_STEP = 0.05
# Draws of multipliers for a uniform band.
_DRAWS = 2_000
# Most columns of features: one for so many rows.
_ROWS_A_COLUMN, _MOST_COLUMNS = 10, 200
# Random features beside those of the method, whose number is chosen for the
# least error of f and so leaves out what is too small to matter there, though
# not in an average.
_WAVES = 60


class FunctionalIntervals(NamedTuple):
  """Debiased estimates with intervals, [G] each.

  Attributes:
    estimate: debiased.
    std_error: standard errors.
    low: lower ends.
    high: upper ends.
    plug_in: without the correction for penalties.
  """
  estimate: types.FloatArray
  std_error: types.FloatArray
  low: types.FloatArray
  high: types.FloatArray
  plug_in: types.FloatArray


class Inference:
  """Debiased effects of a fitted `KIV` or `SieveIV` on its rows."""

  def __init__(
      self, model: iv_estimator.IVEstimator, Y: Any, T: Any, *, Z: Any,
      X: Any = None, groups: Any = None):
    """Initialises it with rows, those of the fit as a rule.

    Args:
      model: fitted; its features are used.
      Y: outcome, [n].
      T: treatment, as in `fit`.
      Z: instruments.
      X: covariates, or None.
      groups: labels of clusters, [n]; rows are independent if None.

    Raises:
      ValueError: the model has no features of its own, or rows are too few.
    """
    model._check_fitted()
    if not isinstance(model.model_, closed_form.Model):
      raise ValueError(
          f'{type(model).__name__} has no intervals yet: its features are '
          'learned. KIV and SieveIV have them, TwoSLS has those of a line.')
    frames.check_rows({'Y': Y, 'T': T, 'Z': Z, 'X': X, 'groups': groups})
    self._model = model
    rows = arrays.batch(Y, T, Z, X)
    if len(rows.outcome) < _ROWS_A_COLUMN * debiased.FOLDS:
      raise ValueError(
          f'Cross-fitting needs at least {_ROWS_A_COLUMN * debiased.FOLDS} '
          f'rows, got {len(rows.outcome)}.')
    self._rows = rows
    self._clusters = inputs.clusters(groups, len(rows.outcome))
    self._folds = self._draw()
    both = model._standardised(rows, np.arange(len(rows.outcome)))
    self._waves = [
        features.FourierFeatures(
            features.median_bandwidth(columns), size=_WAVES,
            seed=(self._seed, 9, place))
        for place, columns in enumerate((
            closed_form.join(both.treatment, both.covariate),
            closed_form.join(both.instrument)))]
    phi = np.concatenate(
        [model.model_.instrument_features(both.instrument),
         self._waves[1](both.instrument)], axis=1)
    design = self._design(rows.treatment, rows.covariate)
    if both.covariate is not None:  # Exogenous: their own instruments.
      phi = np.concatenate([phi, both.covariate], axis=1)
    most = min(_MOST_COLUMNS, len(phi) // _ROWS_A_COLUMN)
    self._rotation = _leading(design[:, :-1], most)
    self._stages = debiased.Stages(debiased.Rows(
        design=self._rotated(design),
        instruments=_with_constant(phi @ _leading(phi, most)),
        outcome=model.scales_.outcome.apply(rows.outcome)[:, 0]), self._folds)

  def ate_interval(
      self, T0: Any, T1: Any, *, level: float = 0.95) -> FunctionalIntervals:
    """Returns the mean effect of T0 -> T1 over the covariates of the rows."""
    return self._intervals([self._difference(T0, T1)], level)

  def average_derivative(
      self, treatment: int = 0, *, level: float = 0.95,
  ) -> FunctionalIntervals:
    """Returns the mean over rows of df/dt, by central differences."""
    T, X = self._rows.treatment, self._rows.covariate
    if not 0 <= treatment < T.shape[1]:
      raise ValueError(
          f'There is no treatment {treatment}; the fit had {T.shape[1]}, '
          'counted from 0.')
    step = np.zeros(T.shape[1])
    step[treatment] = _STEP * np.std(T[:, treatment])

    def moment() -> types.FloatArray:
      return (self._at(T + step, X) - self._at(T - step, X)) / (
          2. * step[treatment])

    return self._intervals([moment], level)

  def dose_response_interval(
      self, T_grid: Any, *, level: float = 0.95, uniform: bool = False,
  ) -> FunctionalIntervals:
    """Returns E[Y | do(T=t)] for each row t of T_grid, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      level: of confidence.
      uniform: whether the band holds at all points together, by multipliers
        of the influence of rows, rather than at each of them.
    """
    grid = self._points('T_grid', T_grid)
    return self._intervals(
        [self._level(point) for point in grid], level, uniform=uniform,
        shift=True)

  def _intervals(
      self, moments: Sequence[debiased.Moment], level: float, *,
      uniform: bool = False, shift: bool = False,
  ) -> FunctionalIntervals:
    level = results.check_level(level)
    found = self._stages.estimate(moments)
    influence = found.influence
    if self._clusters is not None:
      influence = np.stack([
          np.bincount(self._clusters[:, 0], weights=each)
          for each in influence.T], axis=1)
    count = len(influence)
    rows = len(self._folds)
    error = np.sqrt(np.sum(np.square(influence), axis=0)
                    * count / (count - 1.)) / rows
    factor = float(stats.norm.ppf(0.5 + level / 2.))
    if uniform:
      draws = np.random.default_rng((self._seed, 7)).standard_normal(
          (_DRAWS, count))
      largest = np.max(np.abs(draws @ influence) / rows / error, axis=1)
      factor = max(factor, float(np.quantile(largest, level)))
    outcome = self._model.scales_.outcome
    scale = float(outcome.scale[0])
    offset = float(outcome.mean[0] + outcome.remainder[0]) if shift else 0.
    middle = offset + scale * found.estimate
    margin = factor * scale * error
    return FunctionalIntervals(
        middle, scale * error, middle - margin, middle + margin,
        offset + scale * found.plug_in)

  @property
  def _seed(self) -> int:
    return int(self._model.random_state)

  def _draw(self) -> types.FloatArray:
    """Returns folds of rows; a cluster lies in one."""
    generator = np.random.default_rng((self._seed, 8))
    rows = len(self._rows.outcome)
    if self._clusters is None:
      return generator.permutation(rows) % debiased.FOLDS
    clusters = self._clusters[:, 0]
    count = int(clusters.max()) + 1
    if count < debiased.FOLDS:
      raise ValueError(
          f'Cross-fitting needs at least {debiased.FOLDS} clusters, got '
          f'{count}. Pass finer groups.')
    return (generator.permutation(count) % debiased.FOLDS)[clusters]

  def _design(
      self, T: types.FloatArray, X: types.FloatArray | None,
  ) -> types.FloatArray:
    """Returns what f is linear in at raw points, the constant last."""
    scales = self._model.scales_
    T = scales.treatment.apply(T)
    if X is not None and scales.covariate is not None:
      X = scales.covariate.apply(X)
    done = self._model.model_.features(types.IVBatch(
        treatment=T,
        instrument=np.zeros((1, self._rows.instrument.shape[1] + (
            0 if X is None else X.shape[1]))),
        outcome=np.zeros((1, 1)), covariate=X))
    own = two_stage.design(done.treatment, done.covariate)
    return np.concatenate(
        [own[:, :-1], self._waves[0](closed_form.join(T, X)), own[:, -1:]],
        axis=1)

  def _rotated(self, design: types.FloatArray) -> types.FloatArray:
    return _with_constant(design[:, :-1] @ self._rotation)

  def _at(
      self, T: types.FloatArray, X: types.FloatArray | None,
  ) -> types.FloatArray:
    return self._rotated(self._design(T, X))

  def _level(self, point: types.FloatArray) -> debiased.Moment:
    X = self._rows.covariate
    rows = 1 if X is None else len(X)
    return lambda: self._at(np.tile(point, (rows, 1)), X)

  def _difference(self, T0: Any, T1: Any) -> debiased.Moment:
    start, end = (self._points(name, each)[0]
                  for name, each in (('T0', T0), ('T1', T1)))
    one, other = self._level(end), self._level(start)
    return lambda: one() - other()

  def _points(self, name: str, values: Any) -> types.FloatArray:
    return arrays.points(
        frames.aligned(name, values, self._model.names_.treatment), None,
        self._model.scales_.treatment, None)[0]


def _leading(columns: types.FloatArray, most: int) -> types.FloatArray:
  """Returns directions of most variation, the largest of unit size, [D, K]."""
  values, vectors = np.linalg.eigh(columns.T @ columns / len(columns))
  keep = np.flatnonzero(values > 1e-10 * values[-1])[-most:]
  return vectors[:, keep] / np.sqrt(values[-1])


def _with_constant(columns: types.FloatArray) -> types.FloatArray:
  return np.concatenate([columns, np.ones((len(columns), 1))], axis=1)
