"""Tables as data, and as Markdown and LaTeX.

Texts of a table come from result rows, which anyone may have written: each
writer escapes them.
"""

from collections.abc import Mapping
import dataclasses
import math
from typing import Any

_MINUS = '-'
_NOTHING = '–'
_INFINITE = '∞'
# Digits of a digest that tell it from others.
_DIGITS = 12
# Letters of a short heading.
_SHORT = 20

_LATEX = {
  '\\': r'\textbackslash{}',
  '&': r'\&',
  '%': r'\%',
  '$': r'\$',
  '#': r'\#',
  '_': r'\_',
  '{': r'\{',
  '}': r'\}',
  '~': r'\textasciitilde{}',
  '^': r'\textasciicircum{}',
  '<': r'\textless{}',
  '>': r'\textgreater{}',
  '±': r'$\pm$',
  '∞': r'$\infty$',
  '–': '--',
  '²': '$^2$',
  '\n': ' ',
}


# What to filter the result rows by, to see those behind a line.
Link = Mapping[str, Any] | None


@dataclasses.dataclass(frozen=True)
class Cell:
  """One cell.

  Attributes:
    text: what is shown.
    value: what it is sorted by.
    best: whether it stands out.
  """

  text: str
  value: float | str | None = None
  best: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
  """A table.

  Attributes:
    name: the stem of its files.
    caption: what it shows, in a sentence.
    columns: names of the columns.
    rows: cells by row; the first cell is the row's heading.
    links: for each row the filter of the result rows behind it, or None.
    notes: what columns mean, a sentence each.
    cards: whether a narrow screen shows each row as a card of its own.
  """

  name: str
  caption: str
  columns: list[str]
  rows: list[list[Cell]]
  links: list[Link] = dataclasses.field(default_factory=list)
  notes: list[str] = dataclasses.field(default_factory=list)
  cards: bool = False

  def is_number(self, column: int) -> bool:
    """Whether a column is set flush right."""
    return column > 0 and any(
      isinstance(row[column].value, int | float) for row in self.rows
    )

  @property
  def short_keys(self) -> bool:
    """Whether the headings of rows leave room beside them on a phone."""
    return all(len(row[0].text) <= _SHORT for row in self.rows)

  def link(self, row: int) -> Link:
    """Returns the filter of the rows behind a line; its digest is cut."""
    found = self.links[row] if self.links else None
    return found and {
      name: value[:_DIGITS] if name == 'digest' else value
      for name, value in found.items()
    }


def text(value: Any) -> Cell:
  """Returns a cell of words."""
  return Cell(str(value), str(value))


def number(value: Any, *, best: bool = False) -> Cell:
  """Returns a cell of a number, three digits of it."""
  value = _float(value)
  return Cell(digits(value), value, best)


def count(value: Any) -> Cell:
  """Returns a cell of a whole number."""
  value = _float(value)
  return Cell(_NOTHING if math.isnan(value) else f'{value:,.0f}', value)


def percent(value: Any, *, best: bool = False) -> Cell:
  """Returns a cell of a share as a percentage."""
  value = _float(value)
  shown = digits(100.0 * value)
  return Cell(f'{shown} %' if math.isfinite(value) else shown, value, best)


def interval(
  value: float,
  low: float,
  high: float,
  *,
  share: bool = False,
  best: bool = False,
) -> Cell:
  """Returns a cell of a number and its interval, perhaps in per cent.

  An interval of no width is that of single runs, says nothing, and is left out.
  """
  if math.isnan(value):
    return Cell(_NOTHING, value)
  scale = 100.0 if share else 1.0
  places = _places(scale * value)
  shown = [digits(scale * each, places) for each in (value, low, high)]
  words = f'{shown[0]} %' if share else shown[0]
  if low < high:
    words += f' [{shown[1]}, {shown[2]}]'
  return Cell(words, value, best)


def probability(value: float, low: float, high: float) -> Cell:
  """Returns a cell of a probability and its interval."""
  if math.isnan(value):
    return Cell(_NOTHING, value)
  words = f'{value:.2f}'
  return Cell(
    words + (f' [{low:.2f}, {high:.2f}]' if low < high else ''), value
  )


def spread(value: float, deviation: float, *, share: bool = False) -> Cell:
  """Returns a cell of a mean and its standard deviation or error."""
  if math.isnan(value):
    return Cell(_NOTHING, value)
  scale = 100.0 if share else 1.0
  places = _places(scale * value)
  shown = digits(scale * value, places)
  if not math.isnan(deviation):
    shown += f' ± {digits(scale * deviation, places)}'
  return Cell(shown + (' %' if share else ''), value)


def digits(value: float, places: int | None = None) -> str:
  """Returns a number with three digits, or with that many decimal places."""
  if math.isnan(value):
    return _NOTHING
  if math.isinf(value):
    return _INFINITE if value > 0 else _MINUS + _INFINITE
  size = abs(value)
  if size >= 1e7 or 1e-12 < size < 1e-4:
    return f'{value:.2e}'
  if places is None:
    shown = f'{value:,.{_places(value)}f}'
    return shown.rstrip('0').rstrip('.') if '.' in shown else shown
  return f'{value:,.{places}f}'


def _places(value: float) -> int:
  """Returns the decimal places that show three digits of a number."""
  if not math.isfinite(value) or abs(value) < 1e-12:
    return 2
  return min(7, max(0, 2 - math.floor(math.log10(abs(value)))))


def markdown(table: Table) -> str:
  """Returns a table in GitHub's Markdown, its caption above it."""
  lines = [
    _markdown_line(table.columns),
    '|'
    + '|'.join(
      '---:' if table.is_number(index) else '---'
      for index in range(len(table.columns))
    )
    + '|',
  ]
  for row in table.rows:
    lines.append(
      _markdown_line([cell.text for cell in row], [cell.best for cell in row])
    )
  return '\n'.join(
    [
      _markdown_escape(table.caption),
      '',
      *lines,
      '',
      *(f'- {_markdown_escape(note)}' for note in table.notes),
      *([''] if table.notes else []),
    ]
  )


def latex(table: Table) -> str:
  """Returns a table in LaTeX for the booktabs package."""
  layout = ''.join(
    'r' if table.is_number(index) else 'l'
    for index in range(len(table.columns))
  )
  lines = [
    *(f'% {_one_line(each)}' for each in (table.caption, *table.notes)),
    r'\begin{tabular}{' + layout + '}',
    r'\toprule',
    _latex_line(map(_latex_escape, table.columns)),
    r'\midrule',
  ]
  for row in table.rows:
    lines.append(
      _latex_line(
        r'\textbf{' + _latex_escape(cell.text) + '}'
        if cell.best
        else _latex_escape(cell.text)
        for cell in row
      )
    )
  return '\n'.join([*lines, r'\bottomrule', r'\end{tabular}', ''])


def _float(value: Any) -> float:
  return float('nan') if value is None else float(value)


def _one_line(words: str) -> str:
  return ' '.join(words.split())


def _markdown_line(cells: list[str], best: list[bool] | None = None) -> str:
  marked = [
    f'**{_markdown_escape(cell)}**' if flag else _markdown_escape(cell)
    for cell, flag in zip(cells, best or [False] * len(cells), strict=True)
  ]
  return '| ' + ' | '.join(marked) + ' |'


def _markdown_escape(words: str) -> str:
  # Brackets are intervals and stay readable, unless they make a link.
  for mark in ('\\', '`', '*', '_', '|', ']('):
    words = words.replace(mark, '\\' + mark)
  return _one_line(words.replace('&', '&amp;').replace('<', '&lt;'))


def _latex_line(cells: Any) -> str:
  return ' & '.join(cells) + r' \\'


def _latex_escape(words: str) -> str:
  return ''.join(_LATEX.get(letter, letter) for letter in words)
