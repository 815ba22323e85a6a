"""The page of `iv fit`: the dose-response, the effects, the first stage."""

from collections.abc import Mapping
import dataclasses
import math
from typing import TYPE_CHECKING, Any
import warnings

import numpy as np

from dfiv_ope import visible_text
from dfiv_ope.launch.reporting import facts, figures, iv_fit_tables, page

if TYPE_CHECKING:
  from dfiv_ope.iv import effect_table

# No method has this colour or this marker.
_PLAIN = figures.Style('plain regression (no instrument)', '#7570b3', 'P', '--')
# Letters of a name that an axis has room for.
_LONGEST = 40


def render(
  summary: Mapping[str, Any],
  effects: list['effect_table.TreatmentEffects'],
  date: str = '',
) -> bytes:
  """Returns the page, which needs no other file.

  Args:
    summary: of `fit_summary`, with `file` and `digest`.
    effects: with the curves of the figure.
    date: when it is made, to say so.
  """
  columns = summary['columns']
  notes = [each for each in (iv_fit_tables.splits(summary),) if each]
  coefficients = iv_fit_tables.coefficients(summary)
  sections = [
    page.Section(
      name='effects',
      title=f'Effect on {columns["outcome"]}',
      lead=True,
      numbers=iv_fit_tables.numbers(summary),
      text=iv_fit_tables.headline(summary),
      pictures=[_picture(summary, effects)],
      grids=iv_fit_tables.effects(summary),
    )
  ]
  if summary['warnings']:
    sections.append(
      page.Section(
        name='warnings', title='Warnings', points=[*summary['warnings']]
      )
    )
  if coefficients:
    sections.append(
      page.Section(name='linear', title='Coefficients', grids=[coefficients])
    )
  sections += [
    page.Section(
      name='first',
      title='Are the instruments strong?',
      text=' '.join(each['verdict'] for each in summary['first_stage']),
      grids=[iv_fit_tables.first_stage(summary)],
    ),
    *(
      [
        page.Section(
          name='tests',
          title='Tests',
          points=[*summary['checks']],
          grids=iv_fit_tables.tests(summary),
        )
      ]
      if summary['checks']
      else []
    ),
    page.Section(
      name='columns',
      title='Columns and settings',
      points=notes,
      folded=True,
      grids=[
        iv_fit_tables.columns(summary),
        iv_fit_tables.settings(summary),
        iv_fit_tables.versions(summary),
      ],
    ),
  ]
  text = page.render(
    title=f'Effect of {" and ".join(columns["treatment"])} on '
    f'{columns["outcome"]}',
    facts=[
      ('rows', f'{summary["rows"]:,}'),
      ('method', summary['label']),
      ('instrument', _listed(columns['instrument'])),
      ('covariates', _listed(columns['covariate']) or 'none'),
      *facts.of_rows(columns),
      ('seed', str(summary['seed'])),
      *(
        [('warnings', str(len(summary['warnings'])))]
        if summary['warnings']
        else []
      ),
      ('file', summary['file']),
      ('date', date),
    ],
    sections=sections,
    rows=None,
    footer='Made by dfiv-ope iv fit. The model, summary.json and effects.csv '
    'lie beside this page.',
  )
  return visible_text.lines(text).encode('utf-8', 'backslashreplace')


def _listed(names: list[str]) -> str:
  return ', '.join(names)


def _picture(
  summary: Mapping[str, Any], effects: list['effect_table.TreatmentEffects']
) -> page.Picture:
  """Returns the dose-response of each treatment."""
  known = figures.styles(
    [summary['label']], {summary['label']: summary['method']}
  )[summary['label']]
  few = any(level.quantile is None for each in effects for level in each.levels)
  figure = figures.Figure(
    name='dose',
    height=3.6,
    width=10.0,
    styles=[known, _PLAIN],
    panels=[
      _panel(each, known, summary['columns']['outcome']) for each in effects
    ],
    caption='Average outcome, were all rows given one value of the '
    'treatment. '
    + _band_words(effects)
    + (
      ''
      if few and len(effects) == 1
      else 'Dotted lines are the 10, 25, 50, 75 and 90 % quantiles of '
      'the treatment.'
    ),
  )
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # Of letters that a font does not have.
    return page.picture(
      figure,
      dataclasses.replace(figure, name='dose-narrow', height=3.2, width=4.0),
    )


def _band_words(effects: list['effect_table.TreatmentEffects']) -> str:
  if not any(each.band is not None for each in effects):
    return ''
  if any(math.isfinite(each.bias_share) for each in effects):
    return (
      'The band holds the whole curve in 95 % of samples, with what '
      'penalties may hide. '
    )
  return 'The band is the 95 % confidence interval at each value. '


def _panel(
  effects: 'effect_table.TreatmentEffects', style: figures.Style, outcome: str
) -> figures.Panel:
  """Returns the dose-response of one treatment."""
  few = effects.levels[0].quantile is None
  values, ours, plain = effects.curve.T

  def draw(axes: Any) -> None:
    if not few:
      for level in effects.levels:
        axes.axvline(
          level.value, color='#808080', linewidth=0.8, linestyle=':', zorder=0
        )
    if effects.band is not None:
      finite = np.where(np.isfinite(effects.band), effects.band, np.nan)
      axes.fill_between(
        values, *finite.T, color=style.color, alpha=0.2, linewidth=0
      )
    for each, line, place in (
      (_PLAIN, plain, 'plain_outcome'),
      (style, ours, 'outcome'),
    ):
      axes.plot(values, line, color=each.color, linestyle=each.dash)
      axes.plot(
        [level.value for level in effects.levels],
        [getattr(level, place) for level in effects.levels],
        color=each.color,
        marker=each.marker,
        linestyle='',
      )
    if few:
      axes.set_xticks(values)
    axes.set_xlabel(_short(effects.treatment))

  return figures.Panel(
    f'average {_short(outcome)}',
    draw,
    f'Average {outcome} by {effects.treatment}: {style.label} from '
    f'{ours[0]:.4g} at {values[0]:.4g} to {ours[-1]:.4g} at '
    f'{values[-1]:.4g}; plain regression from {plain[0]:.4g} to '
    f'{plain[-1]:.4g}.',
  )


def _short(name: str) -> str:
  return name if len(name) <= _LONGEST else f'{name[: _LONGEST - 1]}…'
