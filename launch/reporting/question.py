"""One policy on one log: the answer, why to believe it, all the numbers."""

from collections.abc import Sequence

from dfiv_ope.launch.reporting import (
  advice,
  answer,
  first_stage_words,
  log_results,
  log_tables,
  page,
  selection_table,
  tables,
  why,
)
from dfiv_ope.results import rows as rows_lib

_COVERS = (
  'An interval covers which episodes happen to be in the log, the seeds of '
  'the training where there are several, and what cross-checks say. It does '
  'not cover what no method can express, nor causes of actions and rewards '
  'that the log does not record.'
)


def sections(
  case: log_results.LogResults,
  coverage: Sequence[rows_lib.Row] = (),
  mark: str = '',
) -> list[page.Section]:
  """Returns the parts of a page about one question.

  Args:
    case: what was run on one log and policy.
    coverage: rows of studies of interval coverage, of which those of the same
      methods are told.
    mark: what sets their names apart.
  """
  return [
    answer.section(case, mark=mark),
    page.Section(
      name=f'next{mark}',
      title='What to do next',
      points=advice.next_steps(case),
    ),
    *why.sections(case, mark),
    page.Section(
      name=f'numbers{mark}',
      title='All estimates in numbers',
      folded=True,
      text=_COVERS,
      points=first_stage_words.sentences(case),
      grids=_grids(case, coverage, mark),
    ),
  ]


def folded(
  case: log_results.LogResults,
  title: str,
  coverage: Sequence[rows_lib.Row] = (),
  mark: str = '',
) -> page.Section:
  """Returns all of one question as a part that a reader opens.

  Args:
    case: as in `sections`.
    title: its heading.
    coverage: as in `sections`.
    mark: as in `sections`.
  """
  first, *reasons = [answer.section(case, mark=mark), *why.sections(case, mark)]
  return page.Section(
    name=f'policy{mark}',
    title=title,
    folded=True,
    numbers=first.numbers,
    text=first.text,
    points=advice.next_steps(case),
    charts=[
      *first.charts,
      *(chart for each in reasons for chart in each.charts),
    ],
    grids=_grids(case, coverage, mark),
  )


def _grids(
  case: log_results.LogResults, coverage: Sequence[rows_lib.Row], mark: str
) -> list[tables.Table]:
  said = case.problem.overlap
  return [
    log_tables.methods(case, mark, coverage),
    log_tables.families(case, mark),
    *([log_tables.support(case, said, mark)] if said else []),
    *(
      [log_tables.first_stage(case, mark)]
      if first_stage_words.sentences(case)
      else []
    ),
    *(
      [selection_table.table(case.selection, mark)]
      if len(case.selection)
      else []
    ),
  ]
