"""The table that `dfiv-ope evaluate` prints, and what to beware of."""

import collections
from collections.abc import Iterable, Mapping
import re
import statistics
from typing import Any

from dfiv_ope import agents, results
from dfiv_ope.evaluation import verdict
from dfiv_ope.launch import console, intervals
from dfiv_ope.launch.reporting import frames


def by_question(
    rows: Iterable[results.ResultRow]) -> list[list[results.ResultRow]]:
  """Returns the rows of each question; those of two truths stand apart."""
  parts: dict[tuple[str, float | None], list[results.ResultRow]] = (
      collections.defaultdict(list))
  for row in rows:
    parts[results.question(row.problem), row.problem.get('truth')].append(row)
  return list(parts.values())


def print_table(
    rows: Iterable[results.ResultRow], *, level: float = 0.95) -> None:
  """Prints a table, one for each question where there are several."""
  for part in by_question(rows):
    _print_one(part, level=level)


def _print_one(rows: list[results.ResultRow], *, level: float) -> None:
  """Prints each setting with its errors, averaged over seeds."""
  groups: dict[tuple[str, str, str], list[results.ResultRow]] = (
      collections.defaultdict(list))
  order = ('log', *agents.NAMES)
  rows = sorted(rows, key=lambda row: order.index(row.method)
                if row.method in order else len(order))
  for row, label in zip(rows, _labels(rows), strict=True):
    groups[row.method, label, repr(row.config)].append(row)
  problem = rows[0].problem
  truth = problem.get('truth')
  table = console.Table(
      f'Value of {_target(problem)} on\n{problem["dataset"]}'
      + _discount(problem),
      caption=_caption(problem, level), boxed=False)
  diverged = any(row.failure for row in rows)
  for column in ('method', 'config', 'seeds', *(['div.'] if diverged else []),
                 'estimate', 'low', 'high',
                 *(('error', 'in %') if truth is not None else ()),
                 'CPU s'):
    table.add_column(
        column, justify='left' if column in ('method', 'config') else 'right')
  for (method, label, _), group in groups.items():
    sound = [row.metrics for row in group if not row.failure]
    errors = _errors(sound, truth)
    estimate = (
        _number(statistics.mean(each['estimate'] for each in sound))
        if sound else '-')
    if method == 'log':
      table.add_row(
          '(log)', '', '', *([''] if diverged else []), estimate,
          *_ends(intervals.of_log(problem, level=level)), *errors)
      continue
    found = intervals.of(group, level=level)
    seconds = statistics.mean(row.cpu_seconds for row in group)
    table.add_row(
        method, label, str(len(group)),
        *([str(len(group) - len(sound))] if diverged else []), estimate,
        *_ends(found and (found.low, found.high)), *errors, f'{seconds:.1f}')
  table.show()
  for row in rows:
    if row.failure:
      console.say(
          f'{row.method} seed {row.seed}: {row.failure}; excluded from '
          'averages.')
  naive = [row for row in rows if row.method == 'log']
  for words in verdict.collect(
      _answers(_named(groups), naive[0] if naive else None, level),
      support=_support(problem), level=level,
      notes=[note['sentence'] for note in problem.get('columns', ())]):
    console.say(words)


def _answers(
    runs: Mapping[str, list[results.ResultRow]],
    log: results.ResultRow | None, level: float,
) -> dict[str, verdict.Answer]:
  """Returns what methods found, without those whose runs all failed."""
  sound = {name: [row for row in rows if not row.failure]
           for name, rows in runs.items()}
  return {
      name: verdict.Answer(
          metrics=_median(rows), missing=intervals.missing(rows),
          difference=intervals.difference(rows, log, level=level))
      for name, rows in sound.items() if rows}


def _support(problem: Mapping[str, Any]) -> verdict.Support | None:
  """Returns what a problem says of the overlap, if a user asked for it."""
  said = problem.get('overlap')
  if 'policy' not in problem or not isinstance(said, Mapping):
    return None
  return verdict.Support(
      str(said.get('grade', 'good')), said.get('warnings', ()))


def _median(rows: list[results.ResultRow]) -> dict[str, float]:
  """Returns medians over runs of the metrics that all of them have."""
  return {
      name: statistics.median(row.metrics[name] for row in rows)
      for name in rows[0].metrics
      if all(name in row.metrics for row in rows)}


def _named(
    groups: Mapping[tuple[str, str, str], list[results.ResultRow]],
) -> dict[str, list[results.ResultRow]]:
  """Returns the groups of methods by short names."""
  methods = [method for method, _, _ in groups]
  return {
      method if methods.count(method) == 1 else f'{method} ({label})': group
      for (method, label, _), group in groups.items() if method != 'log'}


def _labels(rows: list[results.ResultRow]) -> list[str]:
  """Returns what each row's config is called: what sets it apart, if any.

  A config that makes a method another one is called by that one's name.
  """
  labels = []
  for row, variant in zip(rows, frames.variants(rows), strict=True):
    found = re.search(r' \((.*)\)$', variant)
    known = frames.style(row.method)
    if known and not variant.startswith(known.label):
      labels.append(variant)
    else:
      labels.append(
          found[1] if found and row.preset != 'default' else row.preset)
  return labels


def _target(problem: Mapping[str, Any]) -> str:
  """Returns what a problem's policy is called."""
  if 'policy' in problem:
    return str(problem['policy'])
  epsilon = problem.get('target_epsilon')
  return 'the target policy' + (f' with epsilon {epsilon:g}' if epsilon else '')


def _discount(problem: Mapping[str, Any]) -> str:
  """Returns the discount as the end of a title."""
  known = problem.get('discount')
  return '' if known is None else f', discount {known:.10g}'


def _caption(problem: Mapping[str, Any], level: float) -> str:
  words = (f'low, high: {100 * level:g} % confidence interval; (log): average '
           'return of the log.')
  if problem.get('truth') is None:
    return words
  error = problem.get('truth_standard_error')
  return (f'{words} The true value is {problem["truth"]:.4f}'
          + ('.' if error is None else f' ± {error:.4f}.'))


def _number(value: float, digits: int = 5) -> str:
  return (f'{value:#.{digits}g}' if abs(value) < 10 ** digits
          else f'{value:,.0f}')


def _ends(ends: tuple[float, float] | None) -> list[str]:
  """Returns the ends of an interval; blank if there is none."""
  return [_number(end, 4) for end in ends] if ends else ['', '']


def _errors(
    sound: list[Mapping[str, float]], truth: float | None) -> list[str]:
  """Returns error and relative error over seeds; nothing without a truth."""
  if truth is None:
    return []
  if not sound:
    return ['-', '-']
  error = statistics.mean(abs(each['estimate'] - truth) for each in sound)
  return [f'{error:.3g}', f'{100 * error / abs(truth):.2f}' if truth else '-']
