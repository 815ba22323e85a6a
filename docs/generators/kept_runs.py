"""The runs that pages quote, kept in a CSV file beside them, a line each."""

from collections.abc import Callable, Iterable
import csv
import json
import pathlib
from typing import Any

Run = dict[str, str]


def read(path: pathlib.Path) -> list[Run]:
  """Returns the lines of a table: those kept, or a report's results.csv."""
  with path.open(encoding='utf-8', newline='') as file:
    return list(csv.DictReader(file))


def chosen(line: Run, columns: Iterable[str]) -> Run:
  """Returns what is kept of a line of a report, and the version it is of."""
  return {
    **{name: line[name] for name in columns},
    'version': json.loads(line['versions']).get('dfiv-ope', ''),
  }


def merged(old: Iterable[Run], new: Iterable[Run], by: Iterable[str]) -> list:
  """Returns old and new lines; a new one replaces that of the same names.

  Args:
    old: lines that are kept.
    new: lines to keep.
    by: columns that tell a run from all others.
  """
  names = tuple(by)
  kept = {tuple(line[name] for name in names): line for line in (*old, *new)}
  return list(kept.values())


def write(
  path: pathlib.Path, lines: Iterable[Run], order: Callable[[Run], Any]
) -> None:
  """Writes lines in order; all have the same columns."""
  ordered = sorted(lines, key=order)
  with path.open('w', encoding='utf-8', newline='') as file:
    writer = csv.DictWriter(file, list(ordered[0]), lineterminator='\n')
    writer.writeheader()
    writer.writerows(ordered)
