"""The tables that `dfiv-ope evaluate` prints, and what to beware of."""

from collections.abc import Iterable
from typing import Any

from dfiv_ope.evaluation import result_rows
from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import policy_comparison, summary
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


def print_table(
  rows: Iterable[rows_lib.Row],
  *,
  level: float = 0.95,
  choices: Iterable[list[rows_lib.Row]] = (),
) -> None:
  """Prints a table for each question, and how several policies compare.

  Args:
    rows: of runs.
    level: of the intervals.
    choices: rows of selections, which are printed first.
  """
  rows, choices = list(rows), list(choices)
  if choices:  # The module waits for matplotlib.
    from dfiv_ope.launch.reporting import selection_table

    for scores in choices:
      selection_table.show(scores)
  for each in summary.summarise(rows, level=level):
    _print(each)
  policy_comparison.show(rows, level=level)


def data(
  rows: Iterable[rows_lib.Row],
  *,
  level: float = 0.95,
  choices: Iterable[list[rows_lib.Row]] = (),
) -> dict[str, Any]:
  """Returns what `print_table` prints, as JSON data."""
  from dfiv_ope.launch.reporting import selection_table

  rows = list(rows)
  return {
    'answers': [each.data() for each in summary.summarise(rows, level=level)],
    'comparisons': policy_comparison.data(rows, level=level),
    'selections': [selection_table.data(each) for each in choices],
  }


def _print(found: summary.Summary) -> None:
  """Prints each setting with its errors, averaged over seeds."""
  problem, diverged = found.problem, found.diverged
  table = console.Table(
    f'Value of {found.policy} on\n{problem.dataset}, discount '
    f'{problem.discount:.10g}',
    caption=_caption(problem, found.level),
    boxed=False,
  )
  for column in (
    'method',
    'config',
    'seeds',
    *(['div.'] if diverged else []),
    'estimate',
    'low',
    'high',
    *(('error', 'in %') if problem.truth is not None else ()),
    *(() if problem.truth is not None else ('trust',)),
    'CPU s',
  ):
    table.add_column(
      column,
      justify=('left' if column in ('method', 'config', 'trust') else 'right'),
    )
  for line in found.lines:
    naive = line.method == result_rows.LOG
    table.add_row(
      '(log)' if naive else line.method,
      line.config,
      '' if naive else str(line.seeds),
      *(['' if naive else str(line.diverged)] if diverged else []),
      '-' if line.estimate is None else _number(line.estimate),
      *(
        '' if end is None else _number(end, 4) for end in (line.low, line.high)
      ),
      *(_errors(line) if problem.truth is not None else ()),
      *(() if problem.truth is not None else (line.trust,)),
      '' if naive else f'{line.cpu_seconds:.1f}',
    )
  table.show()
  for words in (*found.failures, *found.warnings):
    console.say(words)


def _caption(problem: problems.OnDataset, level: float) -> str:
  words = (
    f'low, high: {100 * level:g} % confidence interval; (log): average '
    'return of the log.'
  )
  if problem.truth is None:
    return words
  error = problem.truth_standard_error
  return f'{words} The true value is {problem.truth:.4f}' + (
    '.' if error is None else f' ± {error:.4f}.'
  )


def _number(value: float, digits: int = 5) -> str:
  return f'{value:#.{digits}g}' if abs(value) < 10**digits else f'{value:,.0f}'


def _errors(line: summary.Line) -> list[str]:
  """Returns error and relative error over seeds."""
  return [
    '-' if line.error is None else f'{line.error:.3g}',
    '-' if line.relative_error is None else f'{100 * line.relative_error:.2f}',
  ]
