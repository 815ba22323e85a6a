"""Simulated tasks on the page: errors of methods where the truth is known."""

from collections.abc import Sequence
import dataclasses
import math

import pandas as pd

from dfiv_ope.launch.reporting import (
  chart_figure,
  charts,
  curves,
  details,
  figures,
  forest,
  log_results,
  log_tables,
  page,
  question,
  ranking,
  strips,
  tables,
)
from dfiv_ope.results import rows as rows_lib

# Questions whose estimates are all shown; of more of them, those at a middle
# noise, and so many of these.
_FEW, _MOST = 3, 6


def sections(
  frame: pd.DataFrame,
  rows: list[rows_lib.Row],
  found: list[log_results.LogResults],
  *,
  coverage: Sequence[rows_lib.Row] = (),
  label: str = '',
  mark: str = '',
) -> tuple[list[page.Section], dict[str, bytes]]:
  """Returns the sections of one discount, and the files of their figures.

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
    frame.variant, dict(zip(frame.variant, frame.method, strict=True))
  )
  made: list[page.Section] = []
  files: dict[str, bytes] = {}
  known = frame.relative_error.notna().any()
  several = known and not details.single_runs(frame)
  errors = strips.errors(frame, styles, mark) if known else []
  if len(found) == 1:
    made += question.sections(found[0], coverage, mark)
    files |= chart_figure.files(f'estimates{mark}', made[0].charts)
  else:
    made += _several(frame, found, errors, coverage, mark, label)
    shown = [
      chart for each in made for chart in each.charts if chart not in errors
    ]
    if shown:
      files |= chart_figure.files(f'estimates{mark}', shown)
  if errors:
    files |= chart_figure.files(f'errors{mark}', errors)

  def add(
    name: str,
    title: str,
    text: str = '',
    *,
    folded: bool = True,
    shown: Sequence[charts.Chart] = (),
    pictures: Sequence[page.Picture] = (),
    grids: Sequence[tables.Table | None] = (),
  ) -> None:
    made.append(
      page.Section(
        name=f'{name}{mark}',
        title=title,
        text=text,
        folded=folded,
        charts=[*shown],
        pictures=[*pictures],
        grids=[table for table in grids if table],
      )
    )

  if several:
    add(
      'summary',
      'Ranking of estimators',
      ' '.join(
        [
          *([headline(frame, label)] if len(found) == 1 else []),
          'Errors are made comparable by the absolute true value. An estimator '
          'earns its place where it beats the average return of the log.',
        ]
      ),
      folded=False,
      grids=[ranking.best(frame), ranking.methods(frame)],
    )
  if len(found) > 1 and known:
    add(
      'errors',
      'Errors by noise in numbers',
      grids=[
        *details.errors(frame, relative=True),
        *details.errors(frame, relative=False),
      ],
    )
  if several:
    add(
      'improvement',
      'Probability of improvement',
      grids=[ranking.improvement(frame)],
    )
  policies = ranking.policies(frame)
  if policies:
    add('policies', 'Ranking of policies', grids=[policies])
  times = strips.times(frame, styles, mark)
  if times:
    add('time', 'CPU time', shown=times)
    files |= chart_figure.files(f'time{mark}', times)
  training = curves.figure(frame, rows, styles)
  if training:
    training = dataclasses.replace(training, name=f'{training.name}{mark}')
    add('curves', 'Learning curves', pictures=[page.picture(training)])
    files |= training.files()
  add(
    'datasets',
    'Datasets and diagnostics',
    grids=[
      details.families(frame) if len(found) > 1 else None,
      details.datasets(frame),
      details.held_out(frame, rows),
    ],
  )
  failed = details.divergences(frame, rows)
  add(
    'divergences',
    'Divergences',
    '' if failed.rows else f'None of the {len(frame)} runs diverged.',
    grids=[failed if failed.rows else None],
  )
  told = f' ({label.removeprefix(", ")})' if label else ''
  return [
    dataclasses.replace(
      each,
      title=f'{each.title}{told}',
      grids=[
        _marked(table, frame, label=label, mark=mark) for table in each.grids
      ],
    )
    for each in made
  ], files


def _several(
  frame: pd.DataFrame,
  found: list[log_results.LogResults],
  errors: list[charts.Chart],
  coverage: Sequence[rows_lib.Row],
  mark: str,
  label: str,
) -> list[page.Section]:
  """Returns the answer of several questions: errors, else estimates."""
  shown = _middle(found) if len(found) > _FEW else found
  estimates = [
    forest.chart(f'estimates-{index + 1}{mark}', each, forest.heading(each))
    for index, each in enumerate(shown)
  ]
  first = page.Section(
    name=f'answer{mark}',
    title='Answer',
    lead=True,
    text=headline(frame, label),
    charts=errors or estimates,
  )
  title = 'Estimates' + ' at a middle noise' * (len(found) > _FEW)
  return [
    first,
    page.Section(
      name=f'all-estimates{mark}',
      title=title,
      folded=True,
      charts=estimates if errors else [],
      grids=[
        dataclasses.replace(
          log_tables.methods(each, coverage=coverage),
          name=f'estimates-{details.stem(forest.title(each), 100)}',
          caption=f'{forest.title(each)}. ' + log_tables.methods(each).caption,
        )
        for each in shown
      ],
    ),
  ]


def title(found: Sequence[log_results.LogResults]) -> str:
  """Returns the title of a page about some questions."""
  return (
    'What a policy is worth'
    if len(found) == 1
    else 'Off-policy evaluation: which estimator to trust'
  )


def headline(frame: pd.DataFrame, label: str = '') -> str:
  """Returns what came out of several questions, in a sentence or two.

  Args:
    frame: of one discount.
    label: what tells the discount from others, if there are others.
  """
  refused = int((frame.outcome == rows_lib.REFUSED).sum())
  failed = int(frame.failed.sum()) - refused
  ending = (
    f'{failed} of {len(frame)} runs diverged.'
    if failed
    else f'None of {len(frame)} runs diverged.'
  )
  if refused:
    ending += f' {refused} were refused: their method cannot answer.'
  if not frame.relative_error.notna().any():
    return (
      f'No true value is known{label}, so there are estimates but no errors: '
      f'see whether the families of estimators agree. {ending}'
    )
  if details.single_runs(frame):
    return (
      f'One run of each method{label}: this does not tell how much the '
      f'training changes an estimate, nor which method is best. {ending}'
    )
  scope, first, error, _, _, _, log = [
    cell.text for cell in ranking.best(frame).rows[-1]
  ]
  naive = '' if log == '–' else f', where the log itself is off by {log}'
  return (
    f'Smallest relative error on {scope}{label}: {first}, {error} '
    f'(interquartile mean{", 95 % interval" * ("[" in error)}){naive}. '
    f'{ending}'
  )


def _middle(
  found: list[log_results.LogResults],
) -> list[log_results.LogResults]:
  """Returns for each panel the question of most methods at a middle noise.

  It is one of the least random target policy.
  """
  panels: dict[str, list[log_results.LogResults]] = {}
  for each in found:
    panels.setdefault(each.frame.panel.iloc[0], []).append(each)
  chosen = []
  for _, group in sorted(panels.items()):
    least = min(each.frame.target_epsilon.iloc[0] for each in group)
    asked = [
      each for each in group if each.frame.target_epsilon.iloc[0] == least
    ]
    noises = sorted({each.frame.action_noise.iloc[0] for each in asked})
    chosen.append(
      max(
        (
          each
          for each in asked
          if each.frame.action_noise.iloc[0] == noises[len(noises) // 2]
        ),
        key=lambda each: len(each.methods),
      )
    )
  return chosen[:_MOST]


def lines(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the frame with the columns that the page and the CSV show."""
  return frame.assign(
    problem=frame.dataset,
    noise=frame.action_noise,
    base_method=frame.method,
    method=frame.variant,
    relative=frame.relative_error.replace(math.inf, math.nan),
    error=frame.error.replace(math.inf, math.nan),
    cpu=frame.cpu_seconds,
  )


def _marked(
  table: tables.Table, frame: pd.DataFrame, *, label: str, mark: str
) -> tables.Table:
  """Returns a table that says its discount, if there are others."""
  if not label:
    return table
  return dataclasses.replace(
    table,
    name=f'{table.name.removesuffix(mark)}{mark}',
    caption=f'{label.removeprefix(", ").capitalize()}. {table.caption}',
    links=[
      link and {**link, 'discount': frame.discount.iloc[0]}
      for link in table.links
    ],
  )
