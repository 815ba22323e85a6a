"""Which estimator when, on the terminal and in docs/methods.md."""

from collections.abc import Sequence
from typing import Any

from dfiv_ope.evaluation import guide, suite_tables
from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import tables

_COLUMNS = (
  'logs',
  'try first',
  'error',
  'held',
  'held-out error',
  'held-out held',
  'best held out',
)
_CAPTION = (
  'Median error as a share of the true value, and how many 95 % intervals '
  'held it, on the cases with known answers: the method of the least error '
  'on the development half, what it did on the held-out half, and what was '
  'best there.'
)


def data() -> list[dict[str, Any]]:
  """Returns the advice as JSON data."""
  return [
    {
      'logs': each.group,
      'method': each.chosen.method,
      'development': _numbers(each.chosen),
      'held_out': each.held_out and _numbers(each.held_out),
      'best_held_out': each.best
      and {'method': each.best.method, **_numbers(each.best)},
    }
    for each in guide.advise(guide.stored())
  ]


def show() -> None:
  """Prints the advice."""
  table = console.Table('Which estimator when', caption=_CAPTION, boxed=False)
  lines = _cells(guide.advise(guide.stored()))
  longest = max(len(word) for cells in lines for word in cells[0].text.split())
  for column in _COLUMNS:
    table.add_column(
      column,
      justify='left' if column in ('logs', 'try first') else 'right',
      # No word is cut.
      min_width=longest if column == 'logs' else None,
    )
  for cells in lines:
    table.add_row(*(cell.text.replace(' of ', '/') for cell in cells))
  table.show()


def markdown() -> str:
  """Returns the table of docs/methods.md."""
  return tables.markdown(
    tables.Table(
      name='guide',
      caption=_CAPTION,
      columns=list(_COLUMNS),
      rows=_cells(guide.advise(guide.stored())),
    )
  )


def _cells(found: Sequence[guide.Advice]) -> list[list[tables.Cell]]:
  return [
    [
      tables.text(each.group),
      tables.text(each.chosen.method),
      tables.percent(each.chosen.median_error),
      _held(each.chosen),
      tables.percent(each.held_out and each.held_out.median_error),
      _held(each.held_out),
      tables.text(
        '-'
        if each.best is None
        else (
          f'{each.best.method} {tables.percent(each.best.median_error).text}'
        )
      ),
    ]
    for each in found
  ]


def _held(line: suite_tables.Line | None) -> tables.Cell:
  """Returns how many intervals held, of how many logs had one."""
  if line is None or not line.intervals:
    return tables.Cell('-')
  held = round(line.coverage * line.intervals)
  return tables.Cell(f'{held} of {line.intervals}', line.coverage)


def _numbers(line: suite_tables.Line) -> dict[str, Any]:
  return {
    'logs': line.logs,
    'answered': line.answered,
    'median_error': line.median_error,
    'intervals': line.intervals,
    'coverage': line.coverage if line.intervals else None,
    'cpu_seconds': line.cpu_seconds,
  }
