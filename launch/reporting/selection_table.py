"""The choice between methods by held-out episodes, `--method auto`."""

from collections.abc import Mapping, Sequence
import math
import statistics
from typing import Any

import pandas as pd

from dfiv_ope.evaluation import error_selection
from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import (
  frames,
  log_results,
  method_labels,
  page,
  tables,
)
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

_Rows = list[rows_lib.Row]
# Relative errors of candidates by their label.
_Errors = Mapping[str, float]


def table(
  scores: pd.DataFrame, mark: str = '', errors: _Errors | None = None
) -> tables.Table:
  """Returns the scores of the candidates.

  Args:
    scores: of `log_results.scores`.
    mark: what sets the name of the table apart.
    errors: of candidates, where the truth is known.
  """
  return tables.Table(
    name=f'log-selection{mark}',
    caption=(
      'Methods fitted on half of the episodes and judged on the other '
      'half; less is better. The tournament decides.'
    ),
    columns=[
      'method',
      'tournament',
      'projected Bellman error',
      'chosen',
      *(['relative error of the whole log'] if errors else []),
    ],
    rows=[
      [
        tables.text(name),
        *(
          tables.number(line[column], best=bool(line.chosen))
          for column in ('tournament', 'projected_bellman_error')
        ),
        tables.text('yes' if line.chosen else 'no'),
        *([tables.percent(errors.get(name))] if errors else []),
      ]
      for name, line in scores.iterrows()
    ],
  )


def data(rows: _Rows) -> list[dict[str, Any]]:
  """Returns the scores of one selection as JSON data."""
  return [
    {
      'method': row.method,
      'config': dict(row.config),
      'outcome': row.outcome,
      'reason': row.reason,
      **_scores(row),
      'chosen': bool(row.metrics.get('chosen')),
      'cpu_seconds': row.cpu_seconds,
    }
    for row in rows
  ]


def _scores(row: rows_lib.Row) -> dict[str, float]:
  """Returns what speaks for a candidate and against it."""
  if isinstance(row.problem, problems.Selection):
    return dict(row.metrics)
  return {
    name: row.metrics[name]
    for name in ('estimate', error_selection.ERROR)
    if name in row.metrics
  }


def show(rows: _Rows) -> None:
  """Prints the scores of one selection and says which candidate won."""
  if not isinstance(rows[0].problem, problems.Selection):
    _show_errors(rows)
    return
  printed = console.Table(
    'Candidates, fitted on half of the episodes and judged on the other',
    caption='Less is better; the tournament decides.',
    boxed=False,
  )
  for column in ('method', 'tournament', 'projected Bellman error', 'CPU s'):
    printed.add_column(
      column, justify='left' if column == 'method' else 'right'
    )
  labelled = sorted(
    zip(method_labels.variants(rows), rows, strict=True),
    key=lambda each: each[1].metrics.get('tournament', math.inf),
  )
  for label, row in labelled:
    scores = (
      ['diverged', '-']
      if row.failed
      else [
        f'{row.metrics[name]:.3g}'
        for name in ('tournament', 'projected_bellman_error')
      ]
    )
    printed.add_row(label, *scores, f'{row.cpu_seconds:.1f}')
  printed.show()
  for label, row in labelled:
    if row.metrics.get('chosen'):
      console.say(
        f'Selected {label}: lowest held-out correlation between its Bellman '
        "error and any candidate's Q-values."
      )


def _show_errors(rows: _Rows) -> None:
  """Prints estimates and what their errors are thought to be."""
  printed = console.Table(
    'Candidates, by the estimated errors of their estimates',
    caption='Root mean squared error: chance by resampled episodes, and '
    'differences between candidates beyond chance.',
    boxed=False,
  )
  for column in ('method', 'estimate', 'estimated error', 'CPU s'):
    printed.add_column(
      column, justify='left' if column == 'method' else 'right'
    )
  labelled = sorted(
    zip(method_labels.variants(rows), rows, strict=True),
    key=lambda each: each[1].metrics.get(error_selection.ERROR, math.inf),
  )
  for label, row in labelled:
    printed.add_row(
      label,
      *(
        f'{row.metrics[name]:.4g}' if name in row.metrics else '-'
        for name in ('estimate', error_selection.ERROR)
      ),
      f'{row.cpu_seconds:.1f}',
    )
  printed.show()
  for label, row in labelled:
    if row.metrics.get('chosen'):
      console.say(f'Selected {label}: least estimated error.')


def sections(
  frame: pd.DataFrame,
  rows: _Rows,
  found: list[log_results.LogResults],
  ope: _Rows,
) -> list[page.Section]:
  """Returns the selections that are part of no case, and what they cost.

  They are those on simulated datasets, whose estimates stand elsewhere, and
  those that were ended before any method ran.

  Args:
    frame: of `frames.log`.
    rows: those it was made of.
    found: the cases among them.
    ope: rows of simulated datasets.
  """
  answered = {case.frame.question.iloc[0] for case in found}
  made: list[page.Section] = []
  costs: dict[str, list[tuple[str, pd.DataFrame, _Errors]]] = {}
  rest = frame[
    (frame.kind == problems.Selection.kind) & ~frame.question.isin(answered)
  ]
  labels = frames.discounts(rest)
  for index, (_, part) in enumerate(
    rest.groupby(['question', 'choice'], sort=False), start=1
  ):
    ours = [rows[each] for each in part.index]
    scores = log_results.scores(part, ours)
    errors = _errors(list(part.variant), ours, ope)
    first = part.iloc[0]
    title = first.dataset + first.note if first.own_policy else first.panel
    if first.target_epsilon > 0.0:
      title += f', target with epsilon {first.target_epsilon:g}'
    made.append(
      page.Section(
        name=f'choice-{index}',
        title=f'Choice of the method: {title}',
        folded=True,
        grids=[table(scores, f'-of-{index}', errors)],
      )
    )
    if (
      scores.chosen.any()
      and set(scores.index) <= set(errors)
      and any(map(math.isfinite, errors.values()))
    ):
      costs.setdefault(labels[part.index[0]], []).append(
        (title, scores, errors)
      )
  if costs:
    made.insert(
      0,
      page.Section(
        name='regret',
        title='What choosing without the truth costs',
        grids=[regret(costs)],
      ),
    )
  return made


def regret(
  costs: Mapping[str, Sequence[tuple[str, pd.DataFrame, _Errors]]],
) -> tables.Table:
  """Returns what choices cost against the candidate of least error.

  Args:
    costs: for each discount, in words, and each of its datasets the name,
      `log_results.scores` and all errors.
  """
  lines = []
  for label, group in costs.items():
    losses = []
    for name, scores, errors in group:
      least = min(errors, key=errors.__getitem__)
      picked = [scores.chosen.idxmax(), scores.projected_bellman_error.idxmin()]
      finite = [each for each in errors.values() if math.isfinite(each)]
      losses.append(
        [
          *(errors[each] - errors[least] for each in picked),
          statistics.mean(finite) - errors[least],
        ]
      )
      lines.append(
        [
          tables.text(name),
          *map(tables.percent, losses[-1]),
          *(
            cell
            for each in (picked[0], least, picked[1])
            for cell in (tables.text(each), tables.percent(errors[each]))
          ),
        ]
      )
    if len(group) > 1:
      lines.append(
        [
          tables.text(f'mean{label}'),
          *(
            tables.percent(statistics.mean(column))
            for column in zip(*losses, strict=True)
          ),
          *[tables.text('–')] * 6,
        ]
      )
  return tables.Table(
    name='selection-regret',
    caption=(
      'Regret: how much larger the relative error of the chosen candidate '
      'is than that of the best one, in percentage points.'
    ),
    notes=[
      'by projected error: regret of the candidate which the projected '
      'Bellman error would have chosen.',
      'at random: regret of a pick among those that did not diverge.',
    ],
    columns=[
      'log',
      'regret',
      'by projected error',
      'at random',
      'chosen',
      'its error',
      'best',
      'its error',
      'projected error chooses',
      'its error',
    ],
    rows=lines,
  )


def _errors(labels: list[str], rows: _Rows, ope: _Rows) -> dict[str, float]:
  """Returns the mean errors of a selection's candidates, if they were run.

  Args:
    labels: of the candidates.
    rows: of the selection, one a candidate.
    ope: rows of simulated datasets, some of which are the candidates' runs.
  """
  problem = rows[0].problem
  assert isinstance(problem, problems.Selection)
  runs: dict[str, list[float]] = {}
  for row in ope:
    if (
      row.problem.question == problem.question
      and isinstance(row.problem, problems.OnDataset)
      and row.problem.truth == problem.asked.truth
    ):
      runs.setdefault(row.setting, []).append(
        math.inf if row.failed else row.metrics.get('relative_error', math.nan)
      )
  means = {
    label: statistics.mean(runs.get(row.setting, [math.nan]))
    for label, row in zip(labels, rows, strict=True)
  }
  return {label: mean for label, mean in means.items() if not math.isnan(mean)}
