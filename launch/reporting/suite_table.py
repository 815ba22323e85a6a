"""The suite of IV designs in one table: errors relative to the best method.

A design's best method is the one of least median error over seeds, baselines
apart. Shares leave out designs whose instruments move nothing.
"""

import collections
from collections.abc import Mapping, Sequence
import math
import statistics
from typing import Any

from dfiv_ope.benchmarks import baselines, suite
from dfiv_ope.launch import console
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Within so many times the best error a method counts as close to the best.
CLOSE = 1.5
# Confounding is strong where plain regression has so many times the error of
# the oracle.
STRONG = 2.0


def data(rows: Sequence[rows_lib.Row]) -> dict[str, Any]:
  """Returns the errors of each design and what they say of each method.

  An error that is not finite is None.
  """
  found: dict[str, Any] = _finite(_found(rows))
  return found


def show(rows: Sequence[rows_lib.Row]) -> None:
  """Prints the errors of each design, then a line for each method."""
  found = _found(rows)
  names = [*baselines.NAMES, *_methods(found['designs'])]
  names = [
    name
    for name in names
    if any(name in line['errors'] for line in found['designs'])
  ]
  table = console.Table(
    'Median error over seeds; * marks designs that are set aside'
  )
  for column in ('design', *names):
    table.add_column(column, justify='left' if column == 'design' else 'right')
  for line in found['designs']:
    table.add_row(
      line['design'] + (' *' if line['set_aside'] else ''),
      *(_shown(line['errors'].get(name)) for name in names),
    )
  table.show()
  table = console.Table('Methods over all designs, and those set aside *')
  for column in (
    'method',
    'designs',
    'median error / best',
    f'within {CLOSE:g}x',
    'lost to plain',
    'CPU s',
  ):
    table.add_column(column, justify='left' if column == 'method' else 'right')
  for line in found['methods']:
    if line['set_aside'] is not False:
      table.add_row(
        line['method'] + (' *' if line['set_aside'] else ''),
        str(line['designs']),
        _shown(line['ratio']),
        f'{100.0 * line["close"]:.0f} %',
        f'{line["lost"]} of {line["confounded"]}',
        _shown(line['cpu_seconds']),
      )
  table.show()


def _found(rows: Sequence[rows_lib.Row]) -> dict[str, Any]:
  lines = [_line(each) for each in _by_design(rows)]
  summaries = [
    {
      'set_aside': part,
      **_summary(
        name, [line for line in lines if part in (None, line['set_aside'])]
      ),
    }
    for part in (None, False, True)
    for name in _methods(lines)
  ]
  return {
    'designs': lines,
    'methods': [each for each in summaries if each['designs']],
  }


def _finite(value: Any) -> Any:
  """Returns nested data in which None stands for what is not finite."""
  if isinstance(value, Mapping):
    return {name: _finite(each) for name, each in value.items()}
  if isinstance(value, list):
    return [_finite(each) for each in value]
  return value if not isinstance(value, float) or math.isfinite(value) else None


def _by_design(rows: Sequence[rows_lib.Row]) -> list[list[rows_lib.Row]]:
  found: dict[str, list[rows_lib.Row]] = collections.defaultdict(list)
  for row in rows:
    found[row.problem.question].append(row)
  return list(found.values())


def _line(rows: Sequence[rows_lib.Row]) -> dict[str, Any]:
  """Returns the errors of a design."""
  design = rows[0].problem
  assert isinstance(design, problems.IVDesign)
  by_method: dict[str, list[rows_lib.Row]] = collections.defaultdict(list)
  for row in rows:
    by_method[row.method].append(row)
  seeds = {
    name: [math.inf if row.failed else row.metrics['mse'] for row in each]
    for name, each in by_method.items()
  }
  errors = {name: statistics.median(each) for name, each in seeds.items()}
  learned = [
    error for name, error in errors.items() if name not in baselines.NAMES
  ]
  plain, oracle = (
    errors.get(name, math.nan) for name in (baselines.PLAIN, baselines.ORACLE)
  )
  return {
    'design': design.words.removeprefix(f'{suite.NAME} law='),
    'set_aside': suite.is_set_aside(design.parameters),
    'identified': suite.is_identified(design.parameters),
    'confounded': plain > STRONG * oracle,
    'errors': errors,
    'ranges': {name: [min(each), max(each)] for name, each in seeds.items()},
    'best': min(learned, default=math.nan),
    'cpu_seconds': {
      name: statistics.median(row.cpu_seconds for row in each)
      for name, each in by_method.items()
    },
  }


def _methods(lines: Sequence[Mapping[str, Any]]) -> list[str]:
  """Returns the methods of all designs, in the order of their rows."""
  return list(
    dict.fromkeys(
      name
      for line in lines
      for name in line['errors']
      if name not in baselines.NAMES
    )
  )


def _summary(name: str, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
  counted = [
    line for line in lines if line['identified'] and name in line['errors']
  ]
  ratios = [line['errors'][name] / line['best'] for line in counted]
  plain = f'plain_{name}'
  confounded = [line for line in counted if line['confounded']]
  return {
    'method': name,
    'designs': len(counted),
    'ratio': statistics.median(ratios or [math.nan]),
    'close': sum(ratio <= CLOSE for ratio in ratios) / max(len(ratios), 1),
    'confounded': len(confounded),
    'lost': sum(
      line['errors'][name]
      > line['errors'].get(plain, line['errors'][baselines.PLAIN])
      for line in confounded
    ),
    'cpu_seconds': statistics.median(
      [line['cpu_seconds'][name] for line in counted] or [math.nan]
    ),
  }


def _shown(error: float | None) -> str:
  return '-' if error is None or math.isnan(error) else f'{error:.3g}'
