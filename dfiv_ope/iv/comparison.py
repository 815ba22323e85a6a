"""Several fitted models side by side, as papers print them.

    print(comparison.of({'OLS': plain, '2SLS': line, 'KIV': curve}))

Linear fits show their coefficients, others the average derivative of each
treatment, which is what a slope estimates where the effect is a curve.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import math
from typing import Any

import pandas as pd

from dfiv_ope.iv import frames, linear_estimator
from dfiv_ope.iv.linear import reset, results, specification, tables

# What the coefficients of a model are; said where some are derivatives.
_KIND, _SLOPE = 'coefficients', 'slope'
_STATISTICS = ('coefficient', 'std_error', 'p_value', 'low', 'high')
# Tests whose p values a comparison has: what they are called, what they are
# about, and their names, the first that a fit has.
_TESTS = (
  (
    'over-identification p',
    specification.OVER_IDENTIFICATION,
    ('Hansen J', 'Sargan'),
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
    body = []
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
      'Coefficients (standard errors)', ('', *names), tuple(body)
    )


def of(
  models: Mapping[str, Any],
  *,
  keep: Sequence[str] | None = None,
  level: float = 0.95,
) -> Comparison:
  """Returns fitted models side by side.

  Args:
    models: by what to call them.
    keep: names of the coefficients to show, in their order; all if None.
    level: of confidence of `low` and `high`.

  Raises:
    ValueError: there are no models, or none has one of the names.
  """
  if not models:
    raise ValueError('compare needs at least one fitted model, got none.')
  results.check_level(level)
  columns = {name: _coefficients(each, level) for name, each in models.items()}
  found: dict[str, None] = {}
  for each in columns.values():
    found.update(dict.fromkeys(each.index))
  # The intercept last, as in the tables of each.
  order = sorted(found, key=lambda name: name == 'intercept')
  if keep is not None:
    unknown = [name for name in keep if name not in found]
    if unknown:
      raise ValueError(
        f'No model has a coefficient {unknown[0]!r}; they have '
        f'{", ".join(order)}.'
      )
    order = list(keep)
  facts = pd.DataFrame({name: _facts(each) for name, each in models.items()})
  if (facts.loc[_KIND] == _SLOPE).all():
    facts = facts.drop(index=_KIND)
  return Comparison(
    coefficients=pd.concat(
      {name: each.reindex(order) for name, each in columns.items()}, axis=1
    ),
    facts=facts,
  )


def _coefficients(model: Any, level: float) -> pd.DataFrame:
  """Returns coefficients of a line, or average derivatives of a curve."""
  if isinstance(model, linear_estimator.LinearEstimator):
    return model.coef_table(level)[list(_STATISTICS)]
  rows = {}
  names = frames.labels(
    'T', model.names_.treatment, len(model.scales_.treatment.mean)
  )
  for place, name in enumerate(names):
    each = model.average_derivative(place, level=level)
    rows[name] = {
      'coefficient': float(each.estimate[0]),
      'std_error': float(each.std_error[0]),
      'p_value': float('nan'),
      'low': float(each.low[0]),
      'high': float(each.high[0]),
    }
  return pd.DataFrame.from_dict(rows, orient='index')[list(_STATISTICS)]


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
      each.name: each.p_value for each in fit.tests if each.about == about
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
