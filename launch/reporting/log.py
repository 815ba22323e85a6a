"""One policy on one log of a user: the answer, and how far to trust it."""

from collections.abc import Sequence
import math

import pandas as pd

from dfiv_ope.evaluation import verdict
from dfiv_ope.launch.reporting import (
  advice,
  figures,
  forest,
  log_results,
  log_tables,
  page,
  selection_table,
)
from dfiv_ope.ope import overlap
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Sentences on the top of the page.
_MOST_HEADLINES = 3

_COVERS = (
    'The interval covers which episodes happen to be in the log{}. It does not '
    'cover what a method cannot express, nor causes of actions and rewards '
    'that the log does not record.')
_TRAINING, _ONCE = (
    ', and the seeds of the training',
    ', not the training: each method ran once')


def sections(
    found: list[log_results.LogResults],
    coverage: Sequence[rows_lib.Row] = (),
) -> tuple[list[page.Section], list[figures.Figure]]:
  """Returns the parts of the page for all cases, and their figures.

  Args:
    found: of `log_results.collect`.
    coverage: rows of studies of interval coverage, of which those of the same
      methods are told.
  """
  made: list[page.Section] = []
  drawn = []
  if len(found) > 1:
    made.append(page.Section(
        name='answers', title='All policies',
        grids=[log_tables.answers(found)]))
  for index, case in enumerate(found):
    mark = f'-{index + 1}' if index else ''
    title = f': {case.frame.panel.iloc[0]}' if len(found) > 1 else ''
    drawn.append(forest.figure(f'log{mark}', [case], wide=True))
    shown = page.picture(
        drawn[-1], forest.figure(f'log{mark}-narrow', [case], wide=False))
    made += _sections(case, shown, mark, title, coverage)
  return made, drawn


def headline(found: list[log_results.LogResults]) -> str:
  """Returns the answers in a few sentences."""
  if len(found) > _MOST_HEADLINES:
    return f'{len(found)} policies were evaluated; the first table has them.'
  return ' '.join(map(advice.headline, found))


def _sections(
    case: log_results.LogResults, shown: page.Picture, mark: str, title: str,
    coverage: Sequence[rows_lib.Row],
) -> list[page.Section]:
  said = case.problem.overlap
  stage = advice.first_stage(case)
  made = [
      page.Section(
          name=f'value{mark}', title=f'Value of the policy{title}',
          text=' '.join([*([advice.headline(case)] if title else []),
                         _COVERS.format(_ONCE if case.single_runs
                                        else _TRAINING)]),
          pictures=[shown],
          grids=[log_tables.methods(case, mark, coverage)]),
      page.Section(
          name=f'next{mark}', title=f'What to do next{title}',
          points=advice.next_steps(case)),
      page.Section(
          name=f'overlap{mark}', title=f'Overlap of log and policy{title}',
          text=_verdict(case),
          points=said.warnings(
              log_tables.action_labels(case)) if said else [],
          grids=[log_tables.support(case, said, mark)] if said else []),
      page.Section(
          name=f'families{mark}', title=f'Agreement of families{title}',
          grids=[log_tables.families(case, mark)])]
  if stage:
    made.append(page.Section(
        name=f'stage{mark}', title=f'First stage{title}', points=stage,
        grids=[log_tables.first_stage(case, mark)]))
  if len(case.selection):
    made.append(page.Section(
        name=f'selection{mark}', title=f'Choice of the method{title}',
        grids=[selection_table.table(case.selection, mark)]))
  return made


def lines(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the frame with the columns that the page and the CSV show."""
  return frame.assign(
      problem=frame.panel, base_method=frame.method, method=frame.variant,
      cpu=frame.cpu_seconds,
      outcome=frame.outcome.mask(
          frame.kind == problems.Selection.kind, problems.Selection.kind))


def _verdict(case: log_results.LogResults) -> str:
  """Returns the verdict on the overlap, with the answer's features."""
  if case.problem.overlap is None:
    return 'The rows do not say.'
  share = case.effective_share
  grade = overlap.worst(
      case.problem.overlap.grade,
      'good' if math.isnan(share) else overlap.share_grade(share))
  return ' '.join([overlap.verdict(grade), *(
      verdict.share_words(case.preferred.metrics) if case.preferred else ())])
