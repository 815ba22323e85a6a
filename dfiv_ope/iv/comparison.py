"""Several fitted models side by side, as papers print them.

    print(comparison.of({'OLS': plain, '2SLS': line, 'KIV': curve}))

Linear fits show their coefficients, others the average derivative of each
treatment, which is what a slope estimates where the effect is a curve. Of a
treatment of few values it is the change per unit from the lowest to the
highest.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd

from dfiv_ope.iv import effect_intervals, frames, linear_estimator
from dfiv_ope.iv.linear import (
  covariances,
  reset,
  results,
  specification,
  tables,
)

# What the coefficients of a model are; said where some are derivatives.
_KIND, _SLOPE = 'coefficients', 'slope'
_STATISTICS = ('coefficient', 'std_error', 'p_value', 'low', 'high')
# Tests whose p values a comparison has: what they are called, what they are
# about, and their names: the first that a fit has and that holds there.
_TESTS = (
  (
    'over-identification p',
    specification.OVER_IDENTIFICATION,
    ('Hansen J', 'Basmann F'),
  ),
  (
    'endogeneity p',
    specification.ENDOGENEITY,
    ('Wooldridge regression', 'Wu-Hausman'),
  ),
  ('RESET p', reset.LINEARITY, ('RESET',)),
  ('Interactions p', reset.LINEARITY, ('Interactions',)),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
  """Models side by side; `print` it, or ask for a frame, LaTeX or HTML.

  Attributes:
    coefficients: by model and statistic in columns, by name in rows; nan
      where a model has no such coefficient.
    facts: by model in columns: rows, standard errors, strength, p values.
  """

  coefficients: pd.DataFrame
  facts: pd.DataFrame

  def to_frame(self) -> pd.DataFrame:
    """Returns the numbers: `frame['2SLS', 'std_error']['educ']`."""
    return self.coefficients.copy()

  def to_latex(self) -> str:
    """Returns the table as LaTeX (booktabs)."""
    return tables.latex([self._grid])

  def to_html(self) -> str:
    """Returns the table as HTML."""
    return tables.web([self._grid])

  def __str__(self) -> str:
    return '\n'.join(tables.text(self._grid))

  @property
  def _grid(self) -> tables.Grid:
    names = list(self.facts)
    body: list[tuple[str, ...]] = []
    for name, row in self.coefficients.iterrows():
      for statistic, form in (
        ('coefficient', '{:.5g}'),
        ('std_error', '({:.3g})'),
      ):
        values = [row[model, statistic] for model in names]
        body.append(
          (
            str(name) if statistic == 'coefficient' else '',
            *('' if math.isnan(each) else form.format(each) for each in values),
          )
        )
    body += [
      (str(name), *(_shown(each) for each in row))
      for name, row in self.facts.iterrows()
    ]
    return tables.Grid(
      'Coefficients (standard errors)', ('', *map(str, names)), tuple(body)
    )


def of(
  models: Mapping[str, Any],
  *,
  keep: Sequence[str] | str | None = None,
  level: float = 0.95,
) -> Comparison:
  """Returns fitted models side by side.

  Args:
    models: by what to call them.
    keep: names of the coefficients to show, in their order, or one name; all
      if None.
    level: of confidence of `low` and `high`.

  Raises:
    TypeError: models have no names.
    ValueError: there are no models, one has no standard errors, or none has
      one of the names.
  """
  if not isinstance(models, Mapping):
    raise TypeError(
      "compare takes models by name, such as {'OLS': first, '2SLS': second}, "
      f'got a {type(models).__name__}.'
    )
  if not models:
    raise ValueError('compare needs at least one fitted model, got none.')
  results.check_level(level)
  columns = {
    name: _coefficients(name, each, level) for name, each in models.items()
  }
  found: dict[str, None] = {}
  for each in columns.values():
    found.update(dict.fromkeys(each.index))
  # The intercept last, as in the tables of each.
  order = sorted(found, key=lambda name: name == 'intercept')
  if keep is not None:
    keep = [keep] if isinstance(keep, str) else list(keep)
    unknown = [name for name in keep if name not in found]
    if unknown:
      raise ValueError(
        f'No model has a coefficient {unknown[0]!r}; they have '
        f'{", ".join(order)}.'
      )
    order = keep
  facts = pd.DataFrame({name: _facts(each) for name, each in models.items()})
  if (facts.loc[_KIND] == _SLOPE).all():
    facts = facts.drop(index=_KIND)
  return Comparison(
    coefficients=pd.concat(
      {name: each.reindex(order) for name, each in columns.items()}, axis=1
    ),
    facts=facts,
  )


def _coefficients(name: str, model: Any, level: float) -> pd.DataFrame:
  """Returns coefficients of a line, or average derivatives of a curve."""
  model._check_fitted()
  if isinstance(model, linear_estimator.LinearEstimator):
    try:
      return model.coef_table(level)[list(_STATISTICS)]
    except ValueError as error:
      raise ValueError(f'{name} cannot be compared. {error}') from error
  if not model.has_intervals:
    raise ValueError(
      f'{name} cannot be compared: it was loaded, or its rows are too few or '
      'too many for standard errors. Leave it out.'
    )
  names = frames.labels(
    'T', model.names_.treatment, len(model.scales_.treatment.mean)
  )
  return pd.DataFrame.from_dict(
    {label: _slope(model, place, level) for place, label in enumerate(names)},
    orient='index',
  )[list(_STATISTICS)]


def _slope(model: Any, place: int, level: float) -> dict[str, float]:
  """Returns what a curve has in place of the slope of a treatment."""
  values = np.unique(model.rows_.treatment[:, place])
  if len(values) > effect_intervals.FEW_VALUES:
    each, unit = model.average_derivative(place, level=level), 1.0
  else:
    # A derivative would be of the curve between and beyond these values.
    each = model.levels_interval(
      place, values[-1:], base=float(values[0]), level=level
    )
    unit = float(values[-1] - values[0])
  return {
    'coefficient': float(each.estimate[0]) / unit,
    'std_error': float(each.std_error[0]) / unit,
    'p_value': float('nan'),
    'low': float(each.low[0]) / unit,
    'high': float(each.high[0]) / unit,
  }


def _facts(model: Any) -> dict[str, Any]:
  """Returns what stands below the coefficients of a model."""
  fit: results.LinearFit | None = getattr(model, 'inference_', None)
  if fit is None:
    return {
      _KIND: 'average derivative',
      'rows': model.n_rows_,
      'first-stage F': min(model.first_stage_.held_out_index_f),
    }
  found = {
    _KIND: _SLOPE,
    'rows': fit.rows,
    'standard errors': fit.covariance_kind,
    'R2': fit.r2,
    'first-stage F': min(each.effective_f for each in fit.first_stage),
  }
  for label, about, names in _TESTS:
    p_values = {
      each.name: each.p_value
      for each in fit.tests
      if each.about == about
      and (each.robust or fit.covariance_kind == covariances.UNADJUSTED)
    }
    for name in names:
      if name in p_values:
        found[label] = p_values[name]
        break
  return found


def _shown(value: Any) -> str:
  if isinstance(value, float):
    return '' if math.isnan(value) else f'{value:.4g}'
  return str(value)
