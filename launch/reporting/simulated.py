"""Simulated tasks on the page: errors of methods where the truth is known."""

from collections.abc import Sequence
import dataclasses
import math

import pandas as pd

from dfiv_ope.launch.reporting import (
  details,
  estimates_table,
  figures,
  forest,
  frames,
  log_results,
  page,
  plots,
  ranking,
  tables,
)
from dfiv_ope.results import rows as rows_lib

# Questions whose estimates are what a page begins with; of more of them, those
# at a middle noise are shown after the errors, and so many of these.
_FEW, _MOST = 3, 6


def sections(
    frame: pd.DataFrame, rows: list[rows_lib.Row],
    found: list[log_results.LogResults], *,
    coverage: Sequence[rows_lib.Row] = (), label: str = '', mark: str = '',
) -> tuple[list[page.Section], list[figures.Figure]]:
  """Returns the sections of one discount, and their figures.

  Nothing that one run cannot tell is there where each method has one.

  Args:
    frame: of `frames.ope`.
    rows: those it was made of.
    found: of `log_results.collect`, of the same.
    coverage: rows of studies of interval coverage.
    label: what tells the discount from others, if there are others.
    mark: the same, for names.
  """
  styles = figures.styles(
      frame.variant, dict(zip(frame.variant, frame.method, strict=True)))
  made: list[page.Section] = []
  drawn: list[figures.Figure] = []

  def add(
      name: str, title: str, text: str = '', *,
      pictures: Sequence[figures.Figure | None] = (),
      grids: Sequence[tables.Table | None] = (),
      narrow: figures.Figure | None = None,
  ) -> None:
    shown = [dataclasses.replace(figure, name=f'{figure.name}{mark}')
             for figure in pictures if figure and figure.panels]
    drawn.extend(shown)
    other = narrow and dataclasses.replace(narrow, name=f'{narrow.name}{mark}')
    made.append(page.Section(
        name=f'{name}{mark}', title=f'{title}{label}', text=text,
        pictures=[page.picture(figure, other) for figure in shown],
        grids=[_marked(table, frame, label=label, mark=mark)
               for table in grids if table]))

  few = len(found) <= _FEW
  for number, each in enumerate(found if few else (), start=1):
    name = f'estimates-{number}' if number > 1 else 'estimates'
    add(name, f'Estimates: {forest.title(each)}' if len(found) > 1
        else 'Estimates',
        pictures=[forest.figure(name, [each], wide=True)],
        narrow=forest.figure(f'{name}-narrow', [each], wide=False),
        grids=[estimates_table.table(each, coverage)])
  known = frame.relative_error.notna().any()
  several = known and not details.single_runs(frame)
  noises = known and frame.action_noise.nunique() > 1
  if noises:
    add('error', 'Error against action noise',
        pictures=[plots.error_figure(frame, styles, relative=False)])
  if several:
    add('summary', 'Summary',
        'Errors are made comparable by the absolute true value. An estimator '
        'earns its place where it beats the average return of the log.',
        grids=[ranking.best(frame), ranking.methods(frame)])
  if not few:
    middle = _middle(found)
    add('estimates', 'Estimates at a middle noise',
        pictures=[forest.figure('estimates', middle, wide=False)],
        grids=[estimates_table.table(each, coverage) for each in middle])
  if noises:
    add('relative', 'Relative error by noise',
        pictures=[plots.error_figure(frame, styles, relative=True)],
        grids=details.errors(frame, relative=True))
    add('absolute', 'Absolute error by noise',
        grids=details.errors(frame, relative=False))
  if several:
    add('improvement', 'Probability of improvement',
        grids=[ranking.improvement(frame)])
  policies = ranking.policies(frame)
  if policies:
    add('policies', 'Ranking of policies', grids=[policies])
  if (frame.relative_error.notna() & (frame.cpu_seconds > 0.)).any():
    add('time', 'CPU time', pictures=[plots.time_figure(frame, styles)])
  curves = plots.curves_figure(frame, rows, styles)
  if curves:
    add('curves', 'Learning curves', pictures=[curves])
  add('families', 'Agreement of families', grids=[details.families(frame)])
  add('datasets', 'Datasets and diagnostics',
      grids=[details.datasets(frame), details.held_out(frame, rows)])
  failed = details.divergences(frame, rows)
  add('divergences', 'Divergences',
      '' if failed.rows else f'None of the {len(frame)} runs diverged.',
      grids=[failed if failed.rows else None])
  return made, drawn


def headline(
    frame: pd.DataFrame, found: list[log_results.LogResults], label: str = '',
) -> str:
  """Returns what came out, in a sentence or two.

  Args:
    frame: of one discount.
    found: of `log_results.collect`, of the same.
    label: what tells the discount from others, if there are others.
  """
  refused = int((frame.outcome == rows_lib.REFUSED).sum())
  failed = int(frame.failed.sum()) - refused
  ending = (f'{failed} of {len(frame)} runs diverged.' if failed
            else f'None of {len(frame)} runs diverged.')
  if refused:
    ending += f' {refused} were refused: their method cannot answer.'
  if not frame.relative_error.notna().any():
    return (
        f'No true value is known{label}, so there are estimates but no errors: '
        f'see whether the families of estimators agree. {ending}')
  if details.single_runs(frame):
    return ' '.join([
        *([_numbers(found[0])] if len(found) == 1 else []),
        f'One run of each method{label}: this does not tell how much the '
        f'training changes an estimate, nor which method is best. {ending}'])
  scope, first, error, _, _, _, log = [
      cell.text for cell in ranking.best(frame).rows[-1]]
  naive = '' if log == '–' else f', where the log itself is off by {log}'
  return (
      f'Smallest relative error on {scope}{label}: {first}, {error} '
      f'(interquartile mean{", 95 % interval" * ("[" in error)}){naive}. '
      f'{ending}')


def _numbers(found: log_results.LogResults) -> str:
  """Returns the truth, what methods say and what the log says."""
  truth, mean = frames.number(found.problem.truth), found.log[0]
  said = [each.estimate for each in found.methods
          if math.isfinite(each.estimate)]
  words = f'{forest.title(found)}: the true value is {tables.digits(truth)}'
  if said:
    ends = ' to '.join(dict.fromkeys(
        tables.digits(end) for end in (min(said), max(said))))
    words += (f'; {len(said)} method{"s" if len(said) > 1 else ""} '
              f'estimate{"" if len(said) > 1 else "s"} {ends}')
  return words + (
      '.' if math.isnan(mean) else
      f'; the average return of the log is {tables.digits(mean)}.')


def _middle(
    found: list[log_results.LogResults]) -> list[log_results.LogResults]:
  """Returns for each panel the question of most methods at a middle noise.

  It is one of the least random target policy.
  """
  panels: dict[str, list[log_results.LogResults]] = {}
  for each in found:
    panels.setdefault(each.frame.panel.iloc[0], []).append(each)
  chosen = []
  for _, group in sorted(panels.items()):
    least = min(each.frame.target_epsilon.iloc[0] for each in group)
    asked = [each for each in group
             if each.frame.target_epsilon.iloc[0] == least]
    noises = sorted({each.frame.action_noise.iloc[0] for each in asked})
    chosen.append(max(
        (each for each in asked if each.frame.action_noise.iloc[0]
         == noises[len(noises) // 2]), key=lambda each: len(each.methods)))
  return chosen[:_MOST]


def lines(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the frame with the columns that the page and the CSV show."""
  return frame.assign(
      problem=frame.dataset, noise=frame.action_noise,
      base_method=frame.method, method=frame.variant,
      relative=frame.relative_error.replace(math.inf, math.nan),
      error=frame.error.replace(math.inf, math.nan), cpu=frame.cpu_seconds)


def _marked(
    table: tables.Table, frame: pd.DataFrame, *, label: str, mark: str,
) -> tables.Table:
  """Returns a table that says its discount, if there are others."""
  if not label:
    return table
  return dataclasses.replace(
      table, name=f'{table.name}{mark}',
      caption=f'{label.removeprefix(", ").capitalize()}. {table.caption}',
      links=[link and {**link, 'discount': frame.discount.iloc[0]}
             for link in table.links])
