"""The IV benchmarks on the page: errors by setting, and their pictures."""

from collections.abc import Iterable
import math
import pathlib
import tempfile
from typing import Any

import markupsafe
import pandas as pd

from dfiv_ope.iv.diagnostics import messages
from dfiv_ope.launch.reporting import (
  chart_figure,
  charts,
  designs,
  figures,
  method_labels,
  page,
  strips,
  svg,
  tables,
)
from dfiv_ope.results import rows as rows_lib

_CAPTIONS = {
  'ate': 'Mean sales at a set price: the truth, the mean of each method over '
  'its seeds, and a band from the least to the largest.',
  'cate': 'Sales over the year at a set price: the truth, the mean of each '
  'method over its seeds, and a band from the least to the largest.',
  'instability': 'Error against the truth during the training, one line a '
  'seed. A point at the right edge is the error of what was '
  'kept in the end, by held-out losses.',
}
# What stands side by side in a chart, and how many of it.
_ACROSS = {'demand': 'rho', 'demand_mnist': 'rho'}
_MOST_COLUMNS = 6
# An effective F below this is that of weak instruments.
_WEAK_F = 10.0
# Points of the curves of effects.
_POINTS = 20

Rows = list[rows_lib.Row]


def title(names: Iterable[str]) -> str:
  """Returns the title of a page about these designs."""
  words = [designs.DESIGNS[name].words for name in names]
  together = ' and '.join(
    [', '.join(words[:-1]), words[-1]] if len(words) > 1 else words
  )
  return f'Instrumental variables on {together}'


def errors(name: str, lines: pd.DataFrame) -> tables.Table:
  """Returns the errors of a design, by setting and method.

  Args:
    name: one of `designs.DESIGNS`.
    lines: its frame.
  """
  design = designs.DESIGNS[name]
  made: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  for setting, part in designs.settings(name, lines):
    groups = dict(list(part.groupby('variant')))
    least = _learned(part).min()
    for variant in method_labels.order(groups):
      group = groups[variant]
      method, middle = group.method.iloc[0], group.mse.median()
      compared = (
        [
          tables.number(group.standardised.median()),
          _published(design, method, setting['case']),
        ]
        if design.published
        else []
      )
      made.append(
        [
          tables.text(variant),
          *map(_parameter, setting.items()),
          tables.count(len(group)),
          tables.count(group.failed.sum()),
          tables.number(
            middle,
            best=(
              method not in designs.NO_METHODS and middle == least < math.inf
            ),
          ),
          tables.number(group.mse.min()),
          tables.number(group.mse.max()),
          *compared,
          tables.number(group.cpu_seconds.median()),
        ]
      )
      links.append(
        {
          'method': variant,
          'panel': _panel(name, setting.get('case', '')),
          **{each: setting[each] for each in design.numbers},
        }
      )
  return tables.Table(
    name=name,
    caption=(
      f'Mean squared error on {design.words}, over seeds. A failed run '
      'counts as an infinite error; the smallest median of each setting '
      'is marked.'
    ),
    notes=[design.note] if design.note else [],
    columns=[
      'method',
      *([design.case] if design.case else []),
      *design.numbers,
      'seeds',
      'failed',
      'median',
      'least',
      'most',
      *(['standardised', 'in the paper'] if design.published else []),
      'CPU s (median)',
    ],
    rows=made,
    links=links,
  )


def headline(name: str, lines: pd.DataFrame) -> str:
  """Returns what came out at the largest setting of each case."""
  largest = {
    setting.get('case', ''): (setting, part)
    for setting, part in designs.settings(name, lines)
  }
  return ' '.join(
    _sentence(name, setting, part) for setting, part in largest.values()
  )


def sections(
  name: str, lines: pd.DataFrame, rows: Rows
) -> tuple[list[page.Section], dict[str, bytes]]:
  """Returns the sections of a design, and the files of its figures.

  Args:
    name: one of `designs.DESIGNS`.
    lines: its frame.
    rows: its rows, in the order of the frame.
  """
  effects, curves = _pictures(
    name,
    {
      each: [
        row
        for row, failed in zip(rows, lines.failed, strict=True)
        if not failed and len(row.curves.get(each, ())) == _POINTS
      ]
      for each in ('ate', 'cate')
      if name == 'demand'
    },
  )
  shown, files = _pictures(
    name,
    {
      'instability': rows
      if any(row.curves.get('watched_mse') for row in rows)
      else []
    },
  )
  design = designs.DESIGNS[name]
  drawn = [] if lines.failed.all() else _strips(name, lines)
  if drawn:
    files |= chart_figure.files(f'{name}-errors', drawn)
  made = [
    page.Section(
      name=name,
      title=design.title,
      lead=True,
      text=headline(name, lines),
      charts=drawn,
      pictures=shown,
    )
  ]
  stage = _first_stage(name, lines)
  if stage:
    made.append(stage)
  if effects:
    made.append(
      page.Section(
        name='effects',
        title='Effects on the demand design',
        pictures=[
          page.Picture(
            caption=effects[0].caption,
            drawings=[each for picture in effects for each in picture.drawings],
          )
        ],
      )
    )
  made.append(
    page.Section(
      name=f'{name}-numbers',
      title=f'{design.title}: errors in numbers',
      folded=True,
      grids=[errors(name, lines)],
    )
  )
  return made, {**files, **curves}


def _strips(
  name: str, lines: pd.DataFrame, value: str = 'mse', **look: Any
) -> list[charts.Chart]:
  """Returns runs of each method, with settings side by side."""
  styles = figures.styles(
    lines.variant, dict(zip(lines.variant, lines.method, strict=True))
  )
  groups: dict[str, dict[str, pd.DataFrame]] = {}
  for setting, part in designs.settings(name, lines):
    across = _ACROSS.get(name, 'case')
    column = designs.describe({across: setting.pop(across)})
    groups.setdefault(designs.describe(setting), {})[column] = part
  made: list[charts.Chart] = []
  for title, columns in groups.items():
    named = list(columns.items())
    for first in range(0, len(named), _MOST_COLUMNS):
      made.append(
        strips.chart(
          f'{name}-{value.replace("_", "-")}-{len(made) + 1}',
          dict(named[first : first + _MOST_COLUMNS]),
          value,
          styles=styles,
          title=title,
          last=designs.NO_METHODS,
          **{'axis': 'mean squared error', 'caption': strips.MARKS, **look},
        )
      )
  return made


def _first_stage(name: str, lines: pd.DataFrame) -> page.Section | None:
  """Are the instruments strong? None where rows do not say."""
  known = lines[lines.first_stage_r2.notna() & ~lines.failed]
  if known.empty:
    return None
  strength = known.effective_f.dropna()
  words = (
    ''
    if strength.empty
    else (
      f' The effective F of the samples is {tables.digits(strength.min())} to '
      f'{tables.digits(strength.max())}: '
      + (
        f'some are weak (below {_WEAK_F:g}).'
        if strength.min() < _WEAK_F
        else f'strong (weak below {_WEAK_F:g}).'
      )
    )
  )
  middle = known.first_stage_r2.median()
  return page.Section(
    name=f'{name}-stage',
    title='Are the instruments strong?',
    text='Instruments predict '
    f'{tables.percent(middle).text} of the treatment’s features '
    f'(held-out R², median over runs).{words}',
    charts=_strips(
      name,
      known,
      'first_stage_r2',
      axis='first-stage R²',
      percent=True,
      logarithmic=False,
      references=[
        charts.Reference(
          messages.WEAK_R2,
          f'weak below {100.0 * messages.WEAK_R2:g} %',
          charts.LIMIT,
        )
      ],
      caption='Held-out R² of the first stage; the dotted line is '
      f'{100.0 * messages.WEAK_R2:g} %, below which it is weak.',
    ),
  )


def shown_lines(name: str, lines: pd.DataFrame) -> pd.DataFrame:
  """Returns a frame with the columns that the page and the CSV show."""
  numbers = designs.DESIGNS[name].numbers
  panels = [_panel(name, case) for case in lines.case]
  return lines.assign(
    problem=[
      ' '.join(
        [
          panel,
          *(
            f'{each}={value}'
            for each, value in zip(numbers, values, strict=True)
          ),
        ]
      )
      for panel, values in zip(
        panels, lines[[*numbers]].astype(object).to_numpy(), strict=True
      )
    ],
    panel=panels,
    base_method=lines.method,
    method=lines.variant,
    mse=lines.mse.replace(math.inf, math.nan),
    cpu=lines.cpu_seconds,
  )


def _learned(part: pd.DataFrame) -> pd.Series:
  """Returns the median error of each method that learns, in one setting."""
  learners = part[~part.method.isin(designs.NO_METHODS)]
  return learners.groupby('variant').mse.median()


def _sentence(name: str, setting: dict[str, Any], part: pd.DataFrame) -> str:
  where = ' and '.join(
    f'{each} {setting[each]:{"," if each == "n" else "g"}}'
    for each in designs.DESIGNS[name].numbers
  )
  case = ' '.join(
    filter(None, (designs.DESIGNS[name].title, setting.get('case', '')))
  )
  medians = _learned(part)
  found = (
    'no method has a result'
    if not medians.min() < math.inf
    else f'smallest median error {tables.digits(medians.min())}, of '
    f'{medians.idxmin()}'
  )
  trivial = part.mse[part.method == designs.REFERENCE].median()
  beside = (
    ''
    if math.isnan(trivial)
    else (f'; a quadratic in the lit pixels has {tables.digits(trivial)}')
  )
  return f'{case}, {where}: {found}{beside}.'


def _panel(name: str, case: str) -> str:
  return f'{name} {case}' if case else name


def _parameter(item: tuple[str, Any]) -> tables.Cell:
  name, value = item
  if name == 'case':
    return tables.text(value)
  return tables.count(value) if name == 'n' else tables.number(value)


def _published(design: designs.Design, method: str, case: str) -> tables.Cell:
  """Returns the cell of a published error, as it was printed."""
  if (method, case) not in design.published:
    return tables.number(None)
  mean, error = design.published[method, case]
  return tables.Cell(f'{mean} ± {error}', float(mean))


def _pictures(
  design: str, wanted: dict[str, Rows]
) -> tuple[list[page.Picture], dict[str, bytes]]:
  """Returns figures for the page and as files: those that have rows."""
  wanted = {name: rows for name, rows in wanted.items() if rows}
  shown: list[page.Picture] = []
  files: dict[str, bytes] = {}
  if not wanted:
    return shown, files
  from dfiv_ope.launch.reporting import iv_figures

  with tempfile.TemporaryDirectory() as scratch:
    for name, rows in wanted.items():
      for path in iv_figures.draw(name, rows, pathlib.Path(scratch)):
        files[f'figures/{design}-{path.name}'] = path.read_bytes()
      caption = _CAPTIONS[name]
      if any(row.method == designs.REFERENCE for row in rows):
        caption += ' The dotted line is the quadratic in lit pixels.'
      drawing = svg.inline(
        files[f'figures/{design}-{name}.svg'].decode(),
        design.replace('_', '') + name,
        caption,
      )
      shown.append(
        page.Picture(
          caption=caption,
          drawings=[markupsafe.Markup(drawing)],
          wide=name == 'instability',
        )
      )
  return shown, files
