"""The errors of methods on designs, as `dfiv-ope iv ...` prints them."""

import collections
from collections.abc import Sequence
import math
import statistics
from typing import Any

from dfiv_ope.launch import console
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


def data(rows: Sequence[rows_lib.Row]) -> list[dict[str, Any]]:
  """Returns the errors and times of each setting over its seeds."""
  by_setting: dict[Any, list[rows_lib.Row]] = collections.defaultdict(list)
  for row in rows:
    by_setting[row.problem.question, row.setting].append(row)
  return [_line(group) for group in by_setting.values()]


def _line(group: list[rows_lib.Row]) -> dict[str, Any]:
  first = group[0]
  assert isinstance(first.problem, problems.IVDesign)
  sound = [row.metrics['mse'] for row in group if not row.failed]
  errors = sound + [math.inf] * (len(group) - len(sound))
  middle, least, most = (
    value if math.isfinite(value) else None
    for value in (statistics.median(errors), min(errors), max(errors))
  )
  return {
    'design': first.problem.words,
    'method': first.method,
    'preset': first.preset,
    'custom': first.custom,
    'seeds': len(group),
    'failed': len(group) - len(sound),
    'median': middle,
    'least': least,
    'most': most,
    'cpu_seconds': statistics.median(row.cpu_seconds for row in group),
    'config': dict(first.config),
  }


def show(rows: Sequence[rows_lib.Row]) -> None:
  """Prints the median error and time of each setting over its seeds."""
  table = console.Table('Mean squared error against the truth')
  for column in (
    'design',
    'method',
    'config',
    'seeds',
    'median',
    'least',
    'most',
    'CPU s',
  ):
    table.add_column(
      column,
      justify=('left' if column in ('design', 'method', 'config') else 'right'),
    )
  for line in data(rows):
    table.add_row(
      line['design'],
      line['method'],
      'custom' if line['custom'] else line['preset'],
      str(line['seeds']),
      *(
        '-' if line[name] is None else f'{line[name]:.4g}'
        for name in ('median', 'least', 'most')
      ),
      f'{line["cpu_seconds"]:.2f}',
    )
  table.show()
  for row in rows:
    if row.failed:
      console.say(
        f'{row.method} seed {row.seed}: {row.outcome}: {row.reason}; counted '
        'as an infinite error.'
      )
