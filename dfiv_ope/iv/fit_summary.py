"""A fit to columns of a table, and all there is to say of it as JSON data."""

from collections.abc import Callable, Mapping
import dataclasses
import math
from typing import Any, NamedTuple
import warnings

import numpy as np
import pandas as pd

from dfiv_ope import configs, types, versions
from dfiv_ope.iv import (
  effect_table,
  estimators,
  iv_estimator,
  linear_estimator,
  methods,
  roles,
  summary_lines,
)
from dfiv_ope.iv.diagnostics import (
  curve_words,
  messages,
  strength,
  weak_instruments,
)

# Said of linear fits that have no intervals.
NO_INTERVALS = (
  'There are no confidence intervals: penalties other than the defaults pick '
  'the answer. The numbers are point estimates.'
)
# Shares of the work: the fit itself, and plain regression beside it.
_FIT, _PLAIN = 0.8, 0.9


class Fit(NamedTuple):
  """A fitted estimator and what is known of it.

  Attributes:
    estimator: fitted.
    effects: of each treatment.
    summary: all numbers but those of the figure, as JSON data; the same rows,
      settings and seed give the same.
  """

  estimator: iv_estimator.IVEstimator
  effects: list[effect_table.TreatmentEffects]
  summary: dict[str, Any]


def settings_type(method: str) -> type:
  """Returns the dataclass of what can be set: the config, and more."""
  config = methods.load(method).Config
  kind = estimators.ESTIMATORS[method]
  more: list[tuple[str, Any, Any]] = []
  if hasattr(kind(), 'n_splits'):
    more.append(('n_splits', int | None, None))
  if issubclass(kind, linear_estimator.LinearEstimator):
    more.append(('covariance', str | None, None))
  if not more:
    return config
  return dataclasses.make_dataclass(
    config.__name__, more, bases=(config,), frozen=True, kw_only=True
  )


def fit(
  numbers: Mapping[str, types.FloatArray],
  columns: roles.Roles,
  *,
  labels: Mapping[str, Any] | None = None,
  method: str,
  settings: Any,
  seed: int,
  progress: Callable[[float], None] = lambda share: None,
) -> Fit:
  """Fits a method to columns of a table.

  Args:
    numbers: columns by name, [n] each.
    columns: which is which.
    labels: of clusters by the name of their column, [n] each.
    method: one of `methods.NAMES`.
    settings: of `settings_type`.
    seed: seeds splits and training.
    progress: called with the share of the work that is done.

  Raises:
    ValueError: the columns cannot be used, or the fit has diverged.
  """
  columns.check_values(numbers)
  linear = issubclass(
    estimators.ESTIMATORS[method], linear_estimator.LinearEstimator
  )
  columns.check_rows(numbers, labels or {}, method=method, linear=linear)
  weights = None if columns.weights is None else numbers[columns.weights]
  groups = pd.DataFrame(labels) if labels else None
  more: dict[str, Any] = {}
  if linear:
    more = {'sample_weight': weights, 'groups': groups}
  frame = pd.DataFrame({name: numbers[name] for name in columns.names})
  outcome, treatment = frame[columns.outcome], frame[[*columns.treatment]]
  covariate = frame[[*columns.covariate]] if columns.covariate else None
  estimator = estimators.ESTIMATORS[method](
    random_state=seed,
    **{
      field.name: getattr(settings, field.name)
      for field in dataclasses.fields(settings)
    },
  )
  with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    estimator.fit(
      outcome,
      treatment,
      Z=frame[[*columns.instrument]],
      X=covariate,
      progress=lambda done, total, losses: progress(_FIT * done / total),
      **more,
    )
  Y, T = outcome.to_numpy(), treatment.to_numpy()
  X = None if covariate is None else covariate.to_numpy()
  plain = effect_table.plain_regression(
    estimator,
    Y,
    T,
    X,
    seed=seed,
    weights=weights,
    groups=groups if linear else None,
  )
  progress(_PLAIN)
  effects = effect_table.measure(
    estimator,
    plain,
    T,
    X,
    columns.treatment,
    seed=seed,
    weights=weights,
    groups=groups,
    progress=lambda done, total: progress(
      _PLAIN + (1.0 - _PLAIN) * done / total
    ),
  )
  if not all(np.isfinite(each.curve).all() for each in effects):
    raise ValueError(
      f'The fit of {method} has diverged: its predictions are not finite. '
      'Try another seed, stronger penalties or another method.'
    )
  return Fit(
    estimator,
    effects,
    cleaned(
      {
        'rows': len(frame),
        'columns': dataclasses.asdict(columns),
        'statistics': [
          _statistics(name, role, numbers[name])
          for role, names in columns.by_role.items()
          for name in names
        ],
        'method': method,
        'label': methods.ENTRIES[method].label(configs.encode(settings)),
        'version': methods.ENTRIES[method].version,
        'settings': configs.encode(settings),
        'seed': seed,
        'splits': {
          'count': len(estimator.models_),
          'spread': estimator.split_spread_,
        },
        'coefficients': _coefficients(estimator, plain, columns),
        **_inference(estimator, effects, T, groups),
        'effects': [_effects(each) for each in effects],
        'plain_regression': (
          'least squares'
          if isinstance(plain, estimators.TwoSLS)
          else 'least squares on splines and polynomials'
        ),
        'first_stage': _first_stage(estimator.first_stage_, columns.treatment),
        'warnings': list(
          dict.fromkeys(
            str(each.message)
            for each in caught
            if type(each.message).__module__.startswith('dfiv_ope')
          )
        ),
        'versions': versions.versions(),
      }
    ),
  )


def cleaned(value: Any) -> Any:
  """Returns JSON data with None for what is not a finite number."""
  if isinstance(value, dict):
    return {name: cleaned(each) for name, each in value.items()}
  if isinstance(value, list | tuple):
    return [cleaned(each) for each in value]
  if isinstance(value, float):
    return float(value) if math.isfinite(value) else None
  return value


def _statistics(
  name: str, role: str, values: types.FloatArray
) -> dict[str, Any]:
  return {
    'name': name,
    'role': role,
    'mean': float(np.mean(values)),
    'standard_deviation': float(np.std(values)),
    'least': float(np.min(values)),
    'greatest': float(np.max(values)),
    'distinct': len(np.unique(values)),
  }


def _coefficients(
  estimator: iv_estimator.IVEstimator,
  plain: iv_estimator.IVEstimator,
  columns: roles.Roles,
) -> list[dict[str, Any]]:
  """Returns the coefficients of a linear fit; none of others."""
  if not isinstance(estimator, estimators.TwoSLS) or not isinstance(
    plain, estimators.TwoSLS
  ):
    return []
  zero = [
    np.zeros((1, len(names))) if names else None
    for names in (columns.treatment, columns.covariate)
  ]
  pairs = zip(
    ('intercept', *columns.inputs),
    *(
      [float(each.predict(*zero)[0]), *map(float, each.coef_)]
      for each in (estimator, plain)
    ),
    strict=True,
  )
  found = [
    {'name': name, 'value': value, 'plain': other}
    for name, value, other in pairs
  ]
  if estimator.inference_ is not None:
    table = estimator.coef_table(effect_table.LEVEL)
    for each in found:
      row = table.loc[str(each['name'])]
      each.update(
        {
          name: float(row[name])
          for name in ('std_error', 'p_value', 'low', 'high')
        }
      )
  return found


def _inference(
  estimator: iv_estimator.IVEstimator,
  effects: list[effect_table.TreatmentEffects],
  T: types.FloatArray,
  groups: pd.DataFrame | None,
) -> dict[str, Any]:
  """Returns intervals, checks, tests and sets of a fit."""
  if not isinstance(estimator, linear_estimator.LinearEstimator):
    return {
      'intervals': curve_words.intervals(effects),
      'checks': [
        sentence
        for column, each in enumerate(effects)
        for sentence in curve_words.sentences(each, T[:, column])
      ]
      + _model_checks(estimator, groups),
      'tests': [],
      'weak_sets': [],
    }
  if estimator.inference_ is None:
    return {
      'intervals': NO_INTERVALS,
      'checks': [],
      'tests': [],
      'weak_sets': [],
    }
  found = estimator.inference_
  slopes = estimator.coef_table(effect_table.LEVEL).iloc[: found.treatments]
  share = f'{100.0 * effect_table.LEVEL:g} %'
  words = ', '.join(
    f'{name} {row.coefficient:.4g} [{row.low:.4g}, {row.high:.4g}]'
    for name, row in slopes.iterrows()
  )
  return {
    'intervals': (
      f'Slope and {share} confidence interval: {words} '
      f'({found.covariance_kind} standard errors).'
    ),
    'checks': estimator.checks(),
    'tests': [each._asdict() for each in found.tests],
    'weak_sets': [
      {
        'treatment': name,
        'test': label,
        'level': effect_table.LEVEL,
        'set': found.weak_set(kind, place, effect_table.LEVEL).text(),
      }
      for place, name in enumerate(slopes.index)
      for kind, label in summary_lines.set_labels(found)
    ],
  }


def _model_checks(
  estimator: iv_estimator.IVEstimator, groups: pd.DataFrame | None
) -> list[str]:
  """Returns what is said of a curve's instruments and splits."""
  words = [
    curve_words.stability(len(estimator.models_), estimator.split_spread_)
  ]
  if estimator.has_intervals:
    words.insert(
      0,
      curve_words.over_identification(
        estimator.over_identification(groups=groups)
      ),
    )
  return words


def _effects(found: effect_table.TreatmentEffects) -> dict[str, Any]:
  return {
    'treatment': found.treatment,
    'base': found.base,
    'levels': [level._asdict() for level in found.levels],
    'average_derivative': found.derivative,
    'debiased_average_derivative': (
      None
      if found.debiased_derivative is None
      else list(found.debiased_derivative)
    ),
    'change': None if found.change is None else list(found.change),
    'bias_share': found.bias_share,
    'band': []
    if found.band is None
    else [
      {'value': value, 'low': low, 'high': high}
      for value, (low, high) in zip(
        found.curve[:, 0].tolist(), found.band.tolist(), strict=True
      )
    ],
    'plain_average_derivative': found.plain_derivative,
  }


def _first_stage(
  found: strength.FirstStage, treatments: tuple[str, ...]
) -> list[dict[str, Any]]:
  """Returns the first stage of each treatment."""
  names = ["the treatment's effect"] if found.of_effect else list(treatments)
  tau = weak_instruments.TAUS.index(messages.WORST_BIAS)
  rows = []
  for place, name in enumerate(names):
    row: dict[str, Any] = {'treatment': name}
    if len(found.effective_f):
      row.update(
        partial_r2=float(found.linear_partial_r2[place]),
        robust_f=float(found.robust_f[place]),
        effective_f=float(found.effective_f[place]),
        critical_value=float(found.critical_values[place, tau]),
      )
    row.update(
      held_out_r2=float(found.r2[place]),
      held_out_partial_r2=float(found.partial_r2[place]),
      held_out_index_f=float(found.held_out_index_f[place]),
    )
    f, threshold = row['held_out_index_f'], messages.WEAK_F
    if found.linear:
      f, threshold = row['effective_f'], row['critical_value']
    rows.append(
      {
        **row,
        'weak': bool(f < threshold),
        'verdict': messages.strength(
          f,
          threshold,
          what=name,
          linear=found.linear,
          conditional=len(names) > 1,
        ),
      }
    )
  return rows
