"""The suite on the page: a table of methods for each group of cases."""

from collections.abc import Sequence
import itertools
import math

import pandas as pd

from dfiv_ope.cases import case as case_lib
from dfiv_ope.cases import suite
from dfiv_ope.evaluation import guide, suite_tables
from dfiv_ope.launch.reporting import frames, page, tables
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

TITLE = 'Estimators on logs whose answers are known'
_HALVES = {
  case_lib.DEVELOPMENT: 'development half',
  case_lib.HELD_OUT: 'held-out half',
  case_lib.DEVELOPMENT_2: 'second set, for development',
  case_lib.HELD_OUT_2: 'second set, held out',
  case_lib.DEVELOPMENT_3: 'third set, for development',
  case_lib.HELD_OUT_3: 'third set, held out',
  suite_tables.BOTH: 'all that were run',
}
_COLUMNS = [
  'method',
  'answered',
  'median error',
  'RMSE',
  'intervals',
  'held',
  'median half width',
  'near the top',
  'rank correlation',
  'regret',
  'CPU s',
]

Lines = Sequence[suite_tables.Line]


def headline(lines: Lines) -> str:
  """Returns which method had the least median error on all cases."""
  known = [
    line
    for line in lines
    if line.group == suite_tables.ALL
    and line.half == suite_tables.BOTH
    and not math.isnan(line.median_error)
  ]
  if not known:
    return 'No method answered on any case.'
  best = min(known, key=lambda line: line.median_error)
  return (
    f'{best.method} had the least median error, '
    f'{tables.percent(best.median_error).text} of the truth, on '
    f'{best.answered} logs; its intervals held on '
    f'{round(best.coverage * best.intervals)} of {best.intervals}.'
    if best.intervals
    else f'{best.method} had the least median error, '
    f'{tables.percent(best.median_error).text} of the truth.'
  )


def sections(lines: Lines) -> list[page.Section]:
  """Returns all cases, half by half, and then each group of cases."""
  everything = [line for line in lines if line.group == suite_tables.ALL]
  groups = [
    line
    for line in lines
    if line.group != suite_tables.ALL and line.half == suite_tables.BOTH
  ]
  return [
    page.Section(
      name='suite',
      title='All cases',
      lead=True,
      grids=_grids(everything),
      text=f'{headline(lines)} Errors and half widths are relative to the '
      'true value. Rules and defaults are chosen on the development '
      'half; the held-out half shows what they are worth.',
    ),
    page.Section(
      name='suite-groups',
      title='Cases by what is known of them',
      folded=True,
      grids=_grids(groups),
    ),
  ]


def files(
  found: Sequence[suite_tables.Answer], lines: Lines
) -> dict[str, bytes]:
  """Returns all tables as Markdown and CSV, the guide's, single answers."""
  grids = '\n'.join(tables.markdown(each) for each in _grids(lines))
  return {
    'suite.md': f'# {TITLE}\n\n{grids}'.encode(),
    'suite.csv': suite_tables.as_csv(lines).encode(),
    'guide.csv': suite_tables.as_csv(guide.told(lines)).encode(),
    'suite_answers.csv': suite_tables.as_csv(found).encode(),
  }


def shown(rows: list[rows_lib.Row]) -> pd.DataFrame:
  """Returns the columns that the page and the CSV show of rows."""
  parts = []
  for row in rows:
    problem = row.problem
    assert isinstance(problem, problems.SuiteCase)
    known = suite.CASES.get(problem.case)
    parts.append(
      {
        'method': row.method,
        'base_method': row.method,
        'task': problem.case,
        'seed': row.seed,
        **{
          name: frames.number(row.metrics.get(name))
          for name in ('estimate', 'low', 'high', 'truth')
        },
        'error': abs(
          frames.number(row.metrics.get('estimate'))
          - frames.number(row.metrics.get('truth'))
        ),
        'cpu': row.cpu_seconds,
        'cpu_seconds': row.cpu_seconds,
        'outcome': row.outcome,
        'reason': row.reason,
        'problem': f'{problem.case}, log {problem.log}',
        'panel': known.family if known else problem.case,
      }
    )
  return pd.DataFrame(parts)


def _grids(lines: Lines) -> list[tables.Table]:
  """Returns a table for each group and half, the least errors first."""
  made = []
  for (group, half), members in itertools.groupby(
    lines, key=lambda line: (line.group, line.half)
  ):
    ordered = sorted(
      members,
      key=lambda line: (math.isnan(line.median_error), line.median_error),
    )
    made.append(
      tables.Table(
        name='suite-' + '-'.join(f'{group} {half}'.replace(',', '').split()),
        caption=f'{group[0].upper()}{group[1:]}, {_HALVES[half]}.',
        columns=_COLUMNS,
        rows=[_cells(line) for line in ordered],
      )
    )
  return made


def _cells(line: suite_tables.Line) -> list[tables.Cell]:
  return [
    tables.text(line.method),
    tables.Cell(f'{line.answered} of {line.logs}', line.answered),
    tables.percent(line.median_error),
    tables.percent(line.rmse),
    tables.count(line.intervals),
    tables.percent(line.coverage),
    tables.percent(line.half_width),
    tables.percent(line.near_top),
    tables.number(line.spearman),
    tables.percent(line.regret),
    tables.number(line.cpu_seconds),
  ]
