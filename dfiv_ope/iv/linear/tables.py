"""A fitted linear model as tables: frames, text, LaTeX and HTML."""

from collections.abc import Sequence
import html
import math
from typing import NamedTuple

import pandas as pd

from dfiv_ope.iv.diagnostics import weak_instruments
from dfiv_ope.iv.linear import real_sets, results, specification

_LATEX = str.maketrans(
  {
    '\\': r'\textbackslash{}',
    '_': r'\_',
    '%': r'\%',
    '&': r'\&',
    '#': r'\#',
    '$': r'\$',
    '{': r'\{',
    '}': r'\}',
    '^': r'\^{}',
    '~': r'\~{}',
  }
)
# Tables of a summary in full; those of more rows are cut.
_MOST_ROWS = 40


class Grid(NamedTuple):
  """A table of words.

  Attributes:
    title: what it shows.
    head: names of its columns.
    body: rows of cells.
  """

  title: str
  head: tuple[str, ...]
  body: tuple[tuple[str, ...], ...]


def coefficients(
  found: results.LinearFit, names: Sequence[str], level: float
) -> pd.DataFrame:
  """Returns coefficients with standard errors and intervals, by name."""
  each = found.intervals(level)
  return pd.DataFrame(
    {
      'coefficient': each.estimate,
      'std_error': each.std_error,
      't': found.t_values,
      'p_value': found.p_values,
      'low': each.low,
      'high': each.high,
    },
    index=list(names),
  )


def first_stage(found: results.LinearFit, names: Sequence[str]) -> pd.DataFrame:
  """Returns the first stage of each treatment, by name."""
  rows = []
  for each in found.first_stage:
    values = each._asdict()
    critical = values.pop('critical_values')
    rows.append(
      {
        **values,
        **{
          f'critical_value_{round(100 * tau)}': value
          for tau, value in zip(weak_instruments.TAUS, critical, strict=True)
        },
      }
    )
  return pd.DataFrame(rows, index=list(names))


def tests(found: Sequence[specification.Test]) -> pd.DataFrame:
  """Returns tests, one a row."""
  return pd.DataFrame(
    [each._asdict() for each in found], columns=specification.Test._fields
  ).set_index(['about', 'name'])


def grids(
  found: results.LinearFit,
  names: Sequence[str],
  sets: Sequence[tuple[str, str, real_sets.RealSet]],
  level: float,
  weak: Sequence[bool],
) -> list[Grid]:
  """Returns everything there is to print.

  Args:
    found: the fitted model.
    names: of all coefficients.
    sets: name of a treatment, of a set, and the set.
    level: of confidence of intervals and sets.
    weak: whether the instruments are weak for each treatment.
  """
  share = f'{100.0 * level:g} %'
  shown = coefficients(found, names, level).itertuples()
  body = tuple(
    (
      str(row.Index),
      *(_number(value) for value in row[1:3]),
      _fixed(row.t, 2),
      _fixed(row.p_value, 4),
      _number(row.low),
      _number(row.high),
    )
    if not math.isnan(row.std_error) or row.coefficient
    else (str(row.Index), 'left out', '', '', '', '', '')
    for row in shown
  )
  made = [
    Grid(
      'Coefficients',
      ('', 'coefficient', 'std. error', 't', 'p', f'{share} low', 'high'),
      _cut(body),
    )
  ]
  treatments = list(names[: found.treatments])
  several = found.treatments > 1
  critical = weak_instruments.TAUS.index(0.1)
  made.append(
    Grid(
      'First stage',
      (
        '',
        'R2',
        'partial R2',
        'F',
        'p',
        'conditional F' if several else 'effective F',
        'critical (10 % bias)',
      ),
      tuple(
        (
          name,
          _fixed(each.r2, 4),
          _fixed(each.partial_r2, 4),
          _number(each.f),
          _fixed(each.p_value, 4),
          _number(each.effective_f),
          _number(each.critical_values[critical]) + ' WEAK' * bool(low),
        )
        for name, each, low in zip(
          treatments, found.first_stage, weak, strict=True
        )
      ),
    )
  )
  if found.tests:
    made.append(
      Grid(
        'Tests',
        ('', 'of', 'statistic', 'law', 'p'),
        tuple(
          (
            each.name,
            each.about,
            _number(each.statistic),
            law(each),
            _fixed(each.p_value, 4),
          )
          for each in found.tests
        ),
      )
    )
  if sets:
    made.append(
      Grid(
        f'Sets that hold for weak instruments, {share}',
        ('', 'test', 'set'),
        tuple((name, kind, each.text()) for name, kind, each in sets),
      )
    )
  return made


def law(test: specification.Test) -> str:
  """Returns the distribution of a test under its null: 'F(2, 100)'."""
  if math.isinf(test.denominator):
    return f'chi2({test.freedom})'
  return f'F({test.freedom}, {test.denominator:g})'


def text(grid: Grid) -> list[str]:
  """Returns the lines of a table, numbers to the right."""
  rows = [grid.head, *grid.body]
  widths = [
    max(len(row[place]) for row in rows) for place in range(len(grid.head))
  ]
  # Words stand to the left.
  left = [
    all(not _numeric(row[place]) for row in grid.body)
    for place in range(len(grid.head))
  ]
  lines = [
    '  '.join(
      cell.ljust(width) if plain else cell.rjust(width)
      for cell, width, plain in zip(row, widths, left, strict=True)
    ).rstrip()
    for row in rows
  ]
  return [grid.title, lines[0], '-' * max(map(len, lines)), *lines[1:]]


def latex(made: Sequence[Grid]) -> str:
  """Returns tables as LaTeX, for the package booktabs."""
  parts = []
  for grid in made:
    lines = [
      r'\begin{table}',
      rf'\caption{{{_escaped(grid.title)}}}',
      rf'\begin{{tabular}}{{l{"r" * (len(grid.head) - 1)}}}',
      r'\toprule',
    ]
    lines.append(' & '.join(map(_escaped, grid.head)) + r' \\')
    lines.append(r'\midrule')
    lines += [' & '.join(map(_escaped, row)) + r' \\' for row in grid.body]
    parts.append(
      '\n'.join([*lines, r'\bottomrule', r'\end{tabular}', r'\end{table}'])
    )
  return '\n\n'.join(parts) + '\n'


def web(made: Sequence[Grid]) -> str:
  """Returns tables as HTML."""
  parts = []
  for grid in made:
    rows = [
      ''.join(f'<td>{html.escape(cell)}</td>' for cell in row)
      for row in grid.body
    ]
    head = ''.join(f'<th>{html.escape(cell)}</th>' for cell in grid.head)
    parts.append(
      f'<table>\n<caption>{html.escape(grid.title)}</caption>\n'
      f'<thead><tr>{head}</tr></thead>\n<tbody>\n'
      + '\n'.join(f'<tr>{row}</tr>' for row in rows)
      + '\n</tbody>\n</table>'
    )
  return '\n'.join(parts) + '\n'


def _escaped(cell: str) -> str:
  return cell.translate(_LATEX)


def _cut(body: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
  if len(body) <= _MOST_ROWS:
    return body
  more = (f'and {len(body) - _MOST_ROWS} more', *[''] * (len(body[0]) - 1))
  return (*body[:_MOST_ROWS], more)


def _numeric(cell: str) -> bool:
  return bool(cell) and (cell[0].isdigit() or cell[0] == '-')


def _number(value: float) -> str:
  return f'{value:.5g}'


def _fixed(value: float, digits: int) -> str:
  return f'{value:.{digits}f}'
