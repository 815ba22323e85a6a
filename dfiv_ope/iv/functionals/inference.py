"""Effects of a fitted method with intervals, from rows.

    found = inference.Inference(fitted, rows, groups=None)
    found.ate_interval(0., 1.)
    found.dose_response_interval(grid, uniform=True)

Users get it from an estimator: `model.ate_interval(0., 1.)`, or
`model.inference(Y, T, Z=Z, X=X)` for other rows than those of the fit. The
features are those of the fitted model (`spaces`); coefficients are solved for
anew (`stages`). So estimates differ a little from what `ate` of the model says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import arrays, frames
from dfiv_ope.iv.functionals import intervals, residuals, spaces, stages
from dfiv_ope.iv.linear import inputs, results

# Half of the step of a derivative, in standard deviations of the treatment.
_STEP = 0.05
# Fewer rows have no intervals.
FEWEST_ROWS = spaces.ROWS_A_COLUMN * stages.FOLDS


class Fitted(NamedTuple):
  """What intervals need of a fitted estimator.

  Attributes:
    model: has `structural_columns` and `instrument_columns`.
    scales: standardisers of each member.
    names: of the columns of each member; None for arrays.
    dtype: of the data that the model sees.
    seed: of everything that is drawn.
  """

  model: Any
  scales: types.IVBatch
  names: types.IVBatch
  dtype: type
  seed: int


class Inference:
  """Effects of a fitted method with intervals."""

  def __init__(
    self, fitted: Fitted, rows: types.IVBatch, *, groups: Any = None
  ):
    """Initialises it with rows, those of the fit as a rule.

    Args:
      fitted: whose features are used.
      rows: on the raw scale.
      groups: labels of clusters, [n]; rows are independent if None.

    Raises:
      ValueError: rows or clusters are too few.
    """
    count = len(rows.outcome)
    if count < FEWEST_ROWS:
      raise ValueError(
        f'Cross-fitting needs at least {FEWEST_ROWS} rows, got {count}.'
      )
    self._fitted, self._rows = fitted, rows
    clusters = inputs.clusters(groups, count)
    if clusters is not None and clusters.shape[1] > 1:
      raise ValueError(
        f'Intervals of curves have one way of clustering, got '
        f'{clusters.shape[1]}. Pass the coarser one.'
      )
    self._clusters = None if clusters is None else clusters[:, 0]
    self._folds = self._draw()
    treatment, instrument, outcome, covariate = (
      None if each is None else scale.apply(each)
      for each, scale in zip(rows, fitted.scales, strict=True)
    )
    assert treatment is not None and instrument is not None
    assert outcome is not None
    self._space = spaces.Space(
      self._structural,
      _given(treatment, covariate),
      seed=fitted.seed,
      trends=True,
    )
    told = spaces.Space(
      self._instruments, _given(instrument, covariate), seed=fitted.seed
    )
    phi = told.rows
    if covariate is not None:  # Exogenous: their own instruments.
      phi = np.concatenate([covariate, phi], axis=1)
    self._features = stages.Rows(
      design=self._space.rows,
      instruments=phi,
      outcome=outcome[:, 0],
      lines=self._space.lines,
    )
    self._stages = stages.Stages(self._features, self._folds)

  def ate_interval(
    self, T0: Any, T1: Any, *, level: float = 0.95
  ) -> intervals.FunctionalIntervals:
    """Returns the mean effect of T0 -> T1 over the covariates of the rows."""
    start, end = self._ends(T0, T1)
    return self._intervals(
      [
        _difference(
          self._level(end[0], self._rows.covariate),
          self._level(start[0], self._rows.covariate),
        )
      ],
      level,
    )

  def effect_interval(
    self, X: Any = None, *, T0: Any, T1: Any, level: float = 0.95
  ) -> intervals.FunctionalIntervals:
    """Returns f(T1, x) - f(T0, x) for each row of X (or of T0 and T1)."""
    X = frames.aligned('X', X, self._fitted.names.covariate)
    ends = [
      arrays.points(
        frames.aligned(name, each, self._fitted.names.treatment),
        X,
        self._fitted.scales.treatment,
        self._fitted.scales.covariate,
      )
      for name, each in (('T0', T0), ('T1', T1))
    ]
    count = max(len(each[0]) for each in ends)
    (start, covariate), (end, _) = (
      [
        None if each is None else np.broadcast_to(each, (count, each.shape[1]))
        for each in pair
      ]
      for pair in ends
    )
    assert start is not None and end is not None
    rows = [
      None if covariate is None else covariate[row : row + 1]
      for row in range(count)
    ]
    return self._intervals(
      [
        _difference(
          self._level(end[row], given), self._level(start[row], given)
        )
        for row, given in enumerate(rows)
      ],
      level,
    )

  def average_derivative(
    self, treatment: int = 0, *, level: float = 0.95
  ) -> intervals.FunctionalIntervals:
    """Returns the mean over rows of df/dt, by central differences."""
    T, X = self._rows.treatment, self._rows.covariate
    if not 0 <= treatment < T.shape[1]:
      raise ValueError(
        f'There is no treatment {treatment}; the fit had {T.shape[1]}, '
        'counted from 0.'
      )
    step = np.zeros(T.shape[1])
    step[treatment] = _STEP * np.std(T[:, treatment])

    return self._intervals(
      [
        _difference(
          self._over(T + step, X),
          self._over(T - step, X),
          2.0 * float(step[treatment]),
        )
      ],
      level,
    )

  def dose_response_interval(
    self, T_grid: Any, *, level: float = 0.95, uniform: bool = False
  ) -> intervals.FunctionalIntervals:
    """Returns E[Y | do(T=t)] for each row t of T_grid, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      level: of confidence.
      uniform: whether the band holds at all points together, rather than at
        each of them.
    """
    return self.cate_interval(T_grid, given={}, level=level, uniform=uniform)

  def cate_interval(
    self,
    T_grid: Any,
    *,
    given: Mapping[int | str, float],
    level: float = 0.95,
    uniform: bool = False,
  ) -> intervals.FunctionalIntervals:
    """Returns E[Y | do(T=t), X_j=x_j] for each row t of T_grid, [G] each.

    Args:
      T_grid: treatments, [G] or [G, columns].
      given: values of some columns of X, by number or name; the others are
        averaged over the rows.
      level: of confidence.
      uniform: as in `dose_response_interval`.
    """
    covariate = arrays.held(
      self._rows.covariate, given, self._fitted.names.covariate
    )
    return self._intervals(
      [
        self._level(point, covariate)
        for point in self._points('T_grid', T_grid)
      ],
      level,
      uniform=uniform,
      shift=True,
    )

  def levels_interval(
    self,
    treatment: int,
    values: types.FloatArray,
    *,
    base: float | None = None,
    level: float = 0.95,
    uniform: bool = False,
  ) -> intervals.FunctionalIntervals:
    """Returns average outcomes with one treatment set to values, [G] each.

    Other treatments and covariates stay what they are in each row.

    Args:
      treatment: its number.
      values: [G].
      base: a value whose average outcome is taken off, or None.
      level: of confidence.
      uniform: as in `dose_response_interval`.
    """
    return self._intervals(
      self._levels(treatment, values, base),
      level,
      uniform=uniform,
      shift=base is None,
    )

  def plain_levels(
    self, treatment: int, values: types.FloatArray
  ) -> types.FloatArray:
    """Returns what `levels_interval` estimates by plain regression, [G].

    The features are their own instruments.
    """
    plain = stages.Stages(
      self._features._replace(instruments=self._features.design), self._folds
    )
    found = plain.estimate(self._levels(treatment, values, None)).estimate
    outcome = self._fitted.scales.outcome
    return outcome.invert(found[:, None])[:, 0]

  def over_identification(self) -> residuals.Explained:
    """Returns what instruments and covariates tell of what f leaves."""
    return residuals.explained(
      self._features.instruments,
      self._stages.residuals,
      self._folds,
      self._clusters,
    )

  @property
  def treatments(self) -> int:
    """Their number."""
    return self._rows.treatment.shape[1]

  def _levels(
    self, treatment: int, values: types.FloatArray, base: float | None
  ) -> list[stages.Moment]:
    """Returns averages with one treatment set to values, less one at base."""
    T, X = self._rows.treatment, self._rows.covariate
    if T.shape[1] == 1 and X is None:
      T = T[:1]

    def at(value: float) -> stages.Moment:
      points = T.copy()
      points[:, treatment] = value
      return self._over(points, X)

    return [
      at(float(value))
      if base is None
      else _difference(at(float(value)), at(base))
      for value in values
    ]

  def _intervals(
    self,
    moments: Sequence[stages.Moment],
    level: float,
    *,
    uniform: bool = False,
    shift: bool = False,
  ) -> intervals.FunctionalIntervals:
    found = self._stages.estimate(moments)
    outcome = self._fitted.scales.outcome
    scale = float(outcome.scale[0])
    offset = float(outcome.mean[0] + outcome.remainder[0]) if shift else 0.0
    return intervals.of(
      stages.Functionals(
        estimate=offset + scale * found.estimate,
        influence=scale * found.influence,
        change=found.change / [[scale], [scale**2]],
        bias=scale * found.bias,
      ),
      clusters=self._clusters,
      level=results.check_level(level),
      uniform=uniform,
      seed=self._fitted.seed,
    )

  def _draw(self) -> types.FloatArray:
    """Returns folds of rows; a cluster lies in one."""
    generator = np.random.default_rng((self._fitted.seed, 8))
    if self._clusters is None:
      return generator.permutation(len(self._rows.outcome)) % stages.FOLDS
    count = int(self._clusters.max()) + 1
    if count < stages.FOLDS:
      raise ValueError(
        f'Cross-fitting needs at least {stages.FOLDS} clusters, got '
        f'{count}. Pass finer groups.'
      )
    return (generator.permutation(count) % stages.FOLDS)[self._clusters]

  def _structural(self, *points: types.FloatArray) -> types.FloatArray:
    return self._fitted.model.structural_columns(
      *(each.astype(self._fitted.dtype) for each in points)
    )

  def _instruments(self, *points: types.FloatArray) -> types.FloatArray:
    return self._fitted.model.instrument_columns(
      np.concatenate(points, axis=1).astype(self._fitted.dtype)
    )

  def _over(
    self, T: types.FloatArray, X: types.FloatArray | None
  ) -> stages.Moment:
    """Returns the average of f over raw points."""
    scales = self._fitted.scales
    given = None
    if X is not None:
      assert scales.covariate is not None
      given = scales.covariate.apply(X)
    points = _given(scales.treatment.apply(T), given)
    return lambda coefficients: self._space.average(coefficients, *points)

  def _level(
    self, point: types.FloatArray, X: types.FloatArray | None
  ) -> stages.Moment:
    return self._over(np.tile(point, (1 if X is None else len(X), 1)), X)

  def _ends(self, T0: Any, T1: Any) -> list[types.FloatArray]:
    return [self._points(name, each) for name, each in (('T0', T0), ('T1', T1))]

  def _points(self, name: str, values: Any) -> types.FloatArray:
    return arrays.points(
      frames.aligned(name, values, self._fitted.names.treatment),
      None,
      self._fitted.scales.treatment,
      None,
    )[0]


def _given(
  first: types.FloatArray, second: types.FloatArray | None
) -> tuple[types.FloatArray, ...]:
  return (first,) if second is None else (first, second)


def _difference(
  one: stages.Moment, other: stages.Moment, step: float = 1.0
) -> stages.Moment:
  return lambda coefficients: one(coefficients).less(other(coefficients), step)
