"""Errors, coverage and costs of methods over the cases of the suite.

answers = suite_tables.answers(rows)
suite_tables.summary(answers)            # a line a group, half and method
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import csv
import dataclasses
import io
import itertools
import math
from typing import Any

import numpy as np

from dfiv_ope.cases import case as case_lib
from dfiv_ope.cases import suite
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

BOTH = 'both'
ALL = 'all cases'
# A method is near the top of a case if its error is at most this much larger.
_NEAR_TOP = 1.1
_SHORT, _FEW = 25, 5_000
_NAN = math.nan


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
  """What a method said of a log of a case.

  Attributes:
    case: name of the case.
    log: number of the log.
    method: name of the method.
    outcome: one of `rows.OUTCOMES`; all below is nan where it did not finish.
    estimate: of the value.
    truth: the value.
    error: estimate less truth, as a share of the truth's size.
    covered: 1 if the interval holds the truth, 0 if not, nan if there is none.
    half_width: of the interval, as a share of the truth's size.
    spearman: rank correlation of several policies, nan if none were ranked.
    regret: of the best by estimate, as a share of their range.
    rows: of the log.
    cpu_seconds: of the estimate and its interval.
  """

  case: str
  log: int
  method: str
  outcome: str
  estimate: float = _NAN
  truth: float = _NAN
  error: float = _NAN
  covered: float = _NAN
  half_width: float = _NAN
  spearman: float = _NAN
  regret: float = _NAN
  rows: float = _NAN
  cpu_seconds: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
  """A method on the cases of a group.

  Attributes:
    group: of cases, such as 'overlap poor'.
    half: of the suite, or BOTH.
    method: name of the method.
    logs: how many it was given.
    answered: on how many of them it gave an estimate.
    median_error: median size of the relative error.
    rmse: root of the mean squared relative error.
    coverage: share of intervals that hold the truth.
    intervals: how many there are.
    half_width: median relative half width.
    near_top: share of cases where no method's error was a tenth less.
    spearman: mean rank correlation.
    regret: mean regret.
    cpu_seconds: mean of a log.
  """

  group: str
  half: str
  method: str
  logs: int
  answered: int
  median_error: float
  rmse: float
  coverage: float
  intervals: int
  half_width: float
  near_top: float
  spearman: float
  regret: float
  cpu_seconds: float


def answers(rows: Iterable[rows_lib.Row]) -> list[Answer]:
  """Returns what rows of the suite say; other rows are left out.

  Of several rows of a method on the same log the last counts.
  """
  found = {}
  for row in rows:
    problem = row.problem
    if (
      not isinstance(problem, problems.SuiteCase)
      or row.retry
      or (problem.case not in suite.CASES)
    ):
      continue
    metrics: Mapping[str, float] = {} if row.failed else row.metrics
    truth, low, high = (
      metrics.get(name, _NAN) for name in ('truth', 'low', 'high')
    )
    size = abs(truth) or _NAN
    found[problem.case, problem.log, row.method] = Answer(
      case=problem.case,
      log=problem.log,
      method=row.method,
      outcome=row.outcome,
      truth=truth,
      estimate=metrics.get('estimate', _NAN),
      error=(metrics.get('estimate', _NAN) - truth) / size,
      covered=_NAN if math.isnan(low) else float(low <= truth <= high),
      half_width=(high - low) / 2.0 / size,
      **{
        name: metrics.get(name, _NAN) for name in ('spearman', 'regret', 'rows')
      },
      cpu_seconds=row.cpu_seconds,
    )
  return list(found.values())


def groups(name: str, rows: float) -> list[str]:
  """Returns the groups that a case is in, by its facts.

  Args:
    name: of the case.
    rows: of its log.
  """
  each = suite.CASES[name]
  facts = each.facts
  return [
    ALL,
    f'family {each.family}',
    'vectors as actions'
    if facts.vectors
    else 'names as states'
    if facts.table
    else 'numbers as states',
    f'overlap {facts.overlap}',
    f'horizon {"up to" if facts.horizon <= _SHORT else "above"} {_SHORT}',
    f'rows {"below" if rows < _FEW else "from"} {_FEW:,}',
    f'behaviour {"recorded" if facts.recorded else "unknown"}',
    'transitions ' + ('stochastic' if facts.stochastic else 'deterministic'),
  ]


def summary(found: Sequence[Answer]) -> list[Line]:
  """Returns a line for each group, half and method, in this order."""
  near = _near_top(found)
  size = {each.case: each.rows for each in found if each.rows > 0.0}
  placed: dict[tuple[str, str, str], list[Answer]] = {}
  for each in found:
    halves = (BOTH, suite.CASES[each.case].half)
    for group, half in itertools.product(
      groups(each.case, size.get(each.case, _NAN)), halves
    ):
      placed.setdefault((group, half, each.method), []).append(each)
  order = {half: at for at, half in enumerate((*case_lib.PARTS, BOTH))}
  return [
    _line(group, half, method, placed[group, half, method], near)
    for group, half, method in sorted(
      placed, key=lambda key: (key[0] != ALL, key[0], order[key[1]], key[2])
    )
  ]


def _near_top(found: Sequence[Answer]) -> dict[tuple[str, str], bool]:
  """Returns whether a method is near the top, by case and method."""
  errors: dict[str, dict[str, list[float]]] = {}
  for each in found:
    errors.setdefault(each.case, {}).setdefault(each.method, []).append(
      each.error**2
    )
  near = {}
  for name, by_method in errors.items():
    rmse = {
      method: math.sqrt(float(np.mean(squares)))
      for method, squares in by_method.items()
    }
    least = min(
      (each for each in rmse.values() if not math.isnan(each)), default=_NAN
    )
    near.update(
      {
        (name, method): each <= _NEAR_TOP * least
        for method, each in rmse.items()
      }
    )
  return near


def _line(
  group: str,
  half: str,
  method: str,
  found: Sequence[Answer],
  near: Mapping[tuple[str, str], bool],
) -> Line:
  sizes = np.abs([each.error for each in found])

  def of(function: Callable[[Any], Any], name: str) -> float:
    values = [
      value for each in found if not math.isnan(value := getattr(each, name))
    ]
    return float(function(values)) if values else _NAN

  known = sizes[~np.isnan(sizes)]
  cases = {each.case for each in found}
  return Line(
    group=group,
    half=half,
    method=method,
    logs=len(found),
    answered=len(known),
    median_error=float(np.median(known)) if len(known) else _NAN,
    rmse=float(np.sqrt(np.mean(known**2))) if len(known) else _NAN,
    coverage=of(np.mean, 'covered'),
    intervals=sum(not math.isnan(each.covered) for each in found),
    half_width=of(np.median, 'half_width'),
    near_top=sum(near[name, method] for name in cases) / len(cases),
    spearman=of(np.mean, 'spearman'),
    regret=of(np.mean, 'regret'),
    cpu_seconds=of(np.mean, 'cpu_seconds'),
  )


def as_csv(lines: Sequence[Line] | Sequence[Answer]) -> str:
  """Returns lines or answers with a header; six digits, empty for nan."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  names = [field.name for field in dataclasses.fields(lines[0])]
  writer.writerow(names)
  for line in lines:
    values = [getattr(line, name) for name in names]
    writer.writerow(
      [
        ('' if math.isnan(value) else f'{value:.6g}')
        if isinstance(value, float)
        else value
        for value in values
      ]
    )
  return text.getvalue()


def from_csv(text: str) -> list[Line]:
  """Returns the lines that `as_csv` was given, of six digits."""
  kinds = {field.name: field.type for field in dataclasses.fields(Line)}

  def parsed(each: Mapping[str, str]) -> Line:
    values: dict[str, Any] = {
      name: float(value or _NAN)
      if kinds[name] is float
      else int(value)
      if kinds[name] is int
      else value
      for name, value in each.items()
    }
    return Line(**values)

  return [parsed(each) for each in csv.DictReader(io.StringIO(text))]
