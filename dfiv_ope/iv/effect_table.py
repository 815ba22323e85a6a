"""What a fitted structural function says at levels of a treatment.

    plain = effect_table.plain_regression(model, Y, T, X, seed=0)
    for each in effect_table.measure(model, plain, T, X, names, seed=0):
      each.levels, each.derivative, each.curve

An average outcome is the mean over rows of f(t, x) with one treatment set to
t: other treatments and covariates stay what they are in each row. Plain
regression, which has no instrument, stands beside it: what differs is what the
instrument changed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
import warnings

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import effects, estimators, iv_estimator, linear_estimator

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Of confidence.
LEVEL = 0.95
# A treatment of no more values than this has a level for each of them.
FEW_VALUES = 5
# Half of the step of a derivative, in standard deviations of the treatment.
STEP = 0.05
# The figure's curve: points, its ends, and rows that it is averaged over.
_POINTS, _ENDS, _CURVE_ROWS = 41, (0.01, 0.99), 1000
# Rows that are predicted together: a kernel has a column for each of the fit.
_TOGETHER = 5_000

# Called as progress(done, total).
Progress = Callable[[int, int], None]


class Level(NamedTuple):
  """A value of a treatment.

  Attributes:
    quantile: of the treatment that it is; None for one of few values.
    value: the treatment.
    outcome: average outcome, were all rows given this treatment.
    effect: the same less that of the base.
    plain_outcome: by plain regression.
    plain_effect: likewise.
    low: lower end of the effect's 95 % confidence interval; None for a fit
      that has none.
    high: its upper end.
  """

  quantile: float | None
  value: float
  outcome: float
  effect: float
  plain_outcome: float
  plain_effect: float
  low: float | None = None
  high: float | None = None


class TreatmentEffects(NamedTuple):
  """The effects of one treatment.

  Attributes:
    treatment: its name.
    base: the value that effects are against: its median, or the lowest of few
      values.
    levels: some values, in their order.
    derivative: mean over rows of df/dt, by central differences; nan for a
      treatment of few values.
    plain_derivative: by plain regression.
    curve: values of the treatment, average outcomes and those by plain
      regression, [points, 3]. Of many rows with covariates its shape is that
      of 1,000 drawn rows, its height at the base that of all.
    band: lower and upper ends of 95 % confidence intervals at each point of
      the curve, [points, 2]; None for a fit that has none. Those of a curve
      hold at all points together, those of a line at each.
    debiased_derivative: the derivative that has an interval, and its ends;
      None for a fit that has none.
    change: ends of a 95 % confidence interval of the effect of the first level
      -> the last; None for a fit that has none.
    bias_share: share of the band's variance that is a bound on bias, its mean
      over points; nan for a line.
  """

  treatment: str
  base: float
  levels: tuple[Level, ...]
  derivative: float
  plain_derivative: float
  curve: types.FloatArray
  band: types.FloatArray | None = None
  debiased_derivative: tuple[float, float, float] | None = None
  change: tuple[float, float] | None = None
  bias_share: float = float('nan')


def plain_regression(
  estimator: iv_estimator.IVEstimator,
  Y: types.FloatArray,
  T: types.FloatArray,
  X: types.FloatArray | None,
  *,
  seed: int,
  weights: types.FloatArray | None = None,
  groups: Any = None,
) -> iv_estimator.IVEstimator:
  """Returns a regression of Y on T and X that is as flexible.

  The treatment is its own instrument: least squares beside linear two-stage
  least squares, least squares on splines and polynomials beside all others.
  Where there are too many columns for these, it is linear.

  Args:
    estimator: what it is to stand beside.
    Y: outcome, [n].
    T: treatment, [n, columns].
    X: covariates, [n, columns], or None.
    seed: of random splits.
    weights: of rows, [n], for linear regression.
    groups: labels of clusters, for linear regression.
  """
  linear = estimators.TwoSLS(random_state=seed)
  tried: list[iv_estimator.IVEstimator] = [linear]
  if isinstance(estimator, estimators.TwoSLS):
    linear.set_params(**estimator.get_params())
  else:
    tried.insert(0, estimators.SieveIV(random_state=seed))
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # Of a first stage that there is not.
    for plain in tried[:-1]:
      try:
        return plain.fit(Y, T, Z=T, X=X)
      except ValueError:
        continue
    return linear.fit(Y, T, Z=T, X=X, sample_weight=weights, groups=groups)


def measure(
  estimator: effects.Effects,
  plain: effects.Effects,
  T: types.FloatArray,
  X: types.FloatArray | None,
  names: Sequence[str],
  *,
  seed: int,
  weights: types.FloatArray | None = None,
  groups: Any = None,
  progress: Progress | None = None,
) -> list[TreatmentEffects]:
  """Returns the effects of each treatment.

  Args:
    estimator: fitted.
    plain: of `plain_regression`.
    T: treatments of the rows to average over, [n, columns].
    X: covariates, [n, columns], or None.
    names: of the treatments.
    seed: draws the rows of curves.
    weights: of rows in averages, [n]; all alike if None.
    groups: labels of clusters, for intervals of curves.
    progress: called after each treatment.
  """
  found = []
  for column, name in enumerate(names):
    found.append(
      _one(
        [
          _Averages(each, T, X, column, seed, weights)
          for each in (estimator, plain)
        ],
        T[:, column],
        name,
      )
    )
    found[-1] = _with_intervals(
      found[-1], estimator, T, X, column, weights, groups
    )
    if progress is not None:
      progress(column + 1, len(names))
  return found


def _with_intervals(
  found: TreatmentEffects,
  estimator: effects.Effects,
  T: types.FloatArray,
  X: types.FloatArray | None,
  column: int,
  weights: types.FloatArray | None,
  groups: Any,
) -> TreatmentEffects:
  """Returns effects with the intervals that the method has."""
  values = found.curve[:, 0]
  if isinstance(estimator, linear_estimator.LinearEstimator):
    found = found._replace(
      band=_line_band(estimator, T, X, column, values, weights)
    )
    return _with_changes(
      found, lambda value, base: _line_change(estimator, column, value - base)
    )
  if not isinstance(estimator, iv_estimator.IVEstimator) or (
    not estimator.has_intervals
  ):
    return found
  band = estimator.levels_interval(
    column, values, level=LEVEL, uniform=True, groups=groups
  )
  found = found._replace(
    band=np.stack([band.low, band.high], axis=1),
    bias_share=float(np.mean(band.bias_share)),
  )
  found = _with_changes(
    found,
    lambda value, base: estimator.levels_interval(
      column, np.array([value]), base=base, level=LEVEL, groups=groups
    ),
  )
  if np.isnan(found.derivative):
    return found
  slope = estimator.average_derivative(column, level=LEVEL, groups=groups)
  return found._replace(
    debiased_derivative=(
      float(slope.estimate[0]),
      float(slope.low[0]),
      float(slope.high[0]),
    )
  )


def _with_changes(
  found: TreatmentEffects, interval: Callable[[float, float], Any]
) -> TreatmentEffects:
  """Returns effects with intervals of changes of the treatment.

  Args:
    found: without them.
    interval: called with the treatment's value and what it is against;
      returns `low` and `high`, [1] each, or None.
  """

  def ends(value: float, base: float) -> tuple[float, float] | None:
    if value == base:
      return 0.0, 0.0
    each = interval(value, base)
    return None if each is None else (float(each.low[0]), float(each.high[0]))

  levels = []
  for level in found.levels:
    both = ends(level.value, found.base)
    levels.append(
      level if both is None else level._replace(low=both[0], high=both[1])
    )
  return found._replace(
    levels=tuple(levels), change=ends(levels[-1].value, levels[0].value)
  )


def _line_change(
  estimator: linear_estimator.LinearEstimator, column: int, step: float
) -> Any:
  """Returns the interval of a step of one treatment; None if there is none."""
  if estimator.inference_ is None:
    return None
  contrast = np.zeros((1, len(estimator.coefficient_names_)))
  contrast[0, column] = step
  return estimator.inference_.combine(contrast, LEVEL)


def _line_band(
  estimator: linear_estimator.LinearEstimator,
  T: types.FloatArray,
  X: types.FloatArray | None,
  column: int,
  values: types.FloatArray,
  weights: types.FloatArray | None,
) -> types.FloatArray | None:
  """Returns intervals of a linear fit at values of one treatment."""
  if estimator.inference_ is None or not estimator.inference_.constant:
    return None
  means = np.append(
    np.average(
      T if X is None else np.concatenate([T, X], axis=1),
      axis=0,
      weights=weights,
    ),
    1.0,
  )
  contrasts = np.tile(means, (len(values), 1))
  contrasts[:, column] = values
  each = estimator.inference_.combine(contrasts, LEVEL)
  return np.stack([each.low, each.high], axis=1)


class _Averages:
  """Average outcomes with one treatment set to a value."""

  def __init__(
    self,
    model: effects.Effects,
    T: types.FloatArray,
    X: types.FloatArray | None,
    column: int,
    seed: int,
    weights: types.FloatArray | None,
  ):
    self._model, self._column = model, column
    self._weights = np.ones(len(T)) if weights is None else weights
    # With nothing else to average over, one row says what all would.
    alone = X is None and T.shape[1] == 1
    self._rows: list[Any] = [slice(0, 1) if alone else slice(None)] * 2
    if not alone and len(T) > _CURVE_ROWS:
      self._rows[1] = np.sort(
        np.random.default_rng((seed, column)).choice(
          len(T), _CURVE_ROWS, replace=False
        )
      )
    self._T, self._X = T, X

  def at(self, value: float, *, curve: bool = False) -> float:
    """Returns the average outcome at a value; of a curve, over fewer rows."""
    rows = self._rows[int(curve)]
    T = self._T[rows].copy()
    T[:, self._column] = value
    return self._mean(
      T, None if self._X is None else self._X[rows], self._weights[rows]
    )

  def derivative(self) -> float:
    """Returns the mean over rows of the derivative."""
    step = STEP * float(np.std(self._T[:, self._column]))
    move = np.zeros(self._T.shape[1])
    move[self._column] = step
    return (
      self._mean(self._T + move, self._X, self._weights)
      - self._mean(self._T - move, self._X, self._weights)
    ) / (2.0 * step)

  def _mean(
    self,
    T: types.FloatArray,
    X: types.FloatArray | None,
    weights: types.FloatArray,
  ) -> float:
    total = 0.0
    for start in range(0, len(T), _TOGETHER):
      some = slice(start, start + _TOGETHER)
      total += float(
        np.sum(
          weights[some]
          * self._model.predict(T[some], None if X is None else X[some])
        )
      )
    return total / float(np.sum(weights))


def _one(
  models: list[_Averages], treatment: types.FloatArray, name: str
) -> TreatmentEffects:
  """Returns the effects of one treatment, [n]."""
  values = np.unique(treatment)
  quantiles: tuple[float | None, ...] = QUANTILES
  low, high = np.quantile(treatment, _ENDS)
  grid = np.linspace(low, high, _POINTS)
  few = len(values) <= FEW_VALUES
  if few:
    quantiles, grid, base = (None,) * len(values), values, float(values[0])
  else:
    values = np.quantile(treatment, QUANTILES)
    base = float(np.median(treatment))
  heights = [model.at(base) for model in models]
  curves: list[Any] = []
  for model, height in zip(models, heights, strict=True):
    offset = height - model.at(base, curve=True)
    curves.append([offset + model.at(each, curve=True) for each in grid])
  levels = []
  for quantile, value in zip(quantiles, values, strict=True):
    ours, plain = (model.at(value) for model in models)
    levels.append(
      Level(
        quantile,
        float(value),
        ours,
        ours - heights[0],
        plain,
        plain - heights[1],
      )
    )
  slopes = [float('nan') if few else model.derivative() for model in models]
  return TreatmentEffects(
    name,
    base,
    tuple(levels),
    slopes[0],
    slopes[1],
    np.stack([grid, *map(np.asarray, curves)], axis=1),
  )
