"""Which estimator to trust: the tables that rank methods.

Errors are made comparable by dividing by the absolute true value, not by the
error of the log: where the log is almost right, as on cartpole, that error is
close to zero and the quotient says nothing. The log is a row of its own.
"""

import itertools
import math
from typing import Any

import pandas as pd

from dfiv_ope.evaluation import policy_ranking
from dfiv_ope.launch.reporting import method_labels, statistics, tables

# Of the bootstrap; the same rows make the same report.
_SEED = 0
# Errors of a method by cell.
Runs = dict[Any, list[float]]

_NONE = statistics.Score(math.nan, math.nan, math.nan)

ALL = 'all tasks'


def methods(frame: pd.DataFrame) -> tables.Table:
  """Returns the table of methods: error over all cells and by task."""
  known = frame[frame.relative_error.notna()]
  tasks = sorted(known.task.unique())
  scopes = {ALL: known, **{task: known[known.task == task] for task in tasks}}
  if len(tasks) == 1:
    del scopes[tasks[0]]
  scores = {scope: _scores(part) for scope, part in scopes.items()}
  leaders = {
    scope: _leaders(part, scores[scope])[:1] for scope, part in scopes.items()
  }
  naive = _log(frame)
  runs = _runs(known)
  lines: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  cells = known.cell.nunique()
  for variant in sorted(
    method_labels.order(frame.variant),
    key=lambda name: _place(scores[ALL], name),
  ):
    part = frame[frame.variant == variant]
    covered = known[known.variant == variant].cell.nunique()
    lines.append(
      [
        tables.text(variant),
        *(
          tables.interval(
            *scores[scope].get(variant, _NONE),
            share=True,
            best=variant in leaders[scope],
          )
          for scope in scopes
        ),
        tables.probability(*_improvement(runs.get(variant), runs.get(naive))),
        tables.count(len(part)),
        tables.count(part.failed.sum()),
        tables.number(part.cpu_seconds.median()),
        tables.Cell(f'{covered} of {cells}', covered),
        tables.text(part.family.iloc[0]),
      ]
    )
    links.append({'method': variant})
  return tables.Table(
    name='methods',
    caption=(
      'Methods by the interquartile mean (IQM) of their relative error '
      '|estimate - truth| / |truth|, with a 95 % bootstrap interval over '
      'runs; a diverged run counts as an infinite error.'
    ),
    notes=[
      'A problem is a task with its noise, log and target policy.',
      'The smallest error of those that were run on most problems is marked.',
    ],
    columns=[
      'method',
      *(f'error, {scope}' for scope in scopes),
      'P(better than the log)',
      'runs',
      'diverged',
      'CPU s (median)',
      'problems',
      'family',
    ],
    rows=lines,
    links=links,
  )


def best(frame: pd.DataFrame) -> tables.Table:
  """Returns the best method for each task and for all of them."""
  known = frame[frame.relative_error.notna()]
  naive = _log(frame)
  lines: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  tasks = sorted(known.task.unique())
  for scope in [*tasks, *([ALL] if len(tasks) > 1 else [])]:
    part = known if scope == ALL else known[known.task == scope]
    scores, runs = _scores(part), _runs(part)
    first, *others = _leaders(part, scores)
    second = others[0] if others else None
    lines.append(
      [
        tables.text(scope),
        tables.Cell(first, first, best=True),
        tables.interval(*scores[first], share=True),
        tables.text(second or '–'),
        tables.interval(*scores.get(second, _NONE), share=True),
        tables.probability(*_improvement(runs[first], runs.get(second))),
        tables.interval(*scores.get(naive, _NONE), share=True),
      ]
    )
    links.append({'method': first, **({} if scope == ALL else {'task': scope})})
  return tables.Table(
    name='best',
    caption=(
      'The method of smallest IQM of relative error, the next one, how '
      'often a run of the first beats one of the next, and the error of '
      'the log itself.'
    ),
    columns=[
      'task',
      'best',
      'its error (IQM)',
      'next',
      'its error',
      'P(best beats next)',
      'error of the log',
    ],
    rows=lines,
    links=links,
  )


def improvement(frame: pd.DataFrame) -> tables.Table:
  """Returns how often each method has a smaller error than each other one."""
  known = frame[frame.relative_error.notna()]
  names = method_labels.order(known.variant)
  runs = _runs(known)
  values: dict[tuple[str, str], statistics.Score] = {}
  for first, second in itertools.combinations(names, 2):
    value, low, high = _improvement(runs[first], runs[second])
    values[first, second] = statistics.Score(value, low, high)
    values[second, first] = statistics.Score(1.0 - value, 1.0 - high, 1.0 - low)
  return tables.Table(
    name='improvement',
    caption=(
      "How often a run of the row's method has a smaller error than a run "
      "of the column's on the same problem, averaged over problems, with "
      'a 95 % bootstrap interval.'
    ),
    notes=['A tie counts half; a diverged run loses.'],
    columns=['method', *names],
    rows=[
      [
        tables.text(first),
        *(
          tables.probability(*values.get((first, second), _NONE))
          for second in names
        ),
      ]
      for first in names
    ],
    links=[{'method': name} for name in names],
  )


def policies(frame: pd.DataFrame) -> tables.Table | None:
  """Returns how well methods rank several policies on the same log.

  None where no log was asked for the value of two policies.
  """
  known = frame[frame.truth.notna() & frame.target_epsilon.notna()]
  asked: dict[tuple[str, str, str, int], dict[float, Any]] = {}
  for row in known.itertuples():
    asked.setdefault((row.variant, row.panel, row.digest, row.seed), {})[
      row.target_epsilon
    ] = row
  groups: dict[tuple[str, str], list[dict[str, float]]] = {}
  for (variant, panel, _, _), targets in asked.items():
    if len(targets) > 1:
      groups.setdefault((variant, panel), []).append(
        _ranking(list(targets.values()))
      )
  if not groups:
    return None
  lines: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  for panel in sorted({panel for _, panel in groups}):
    for variant in method_labels.order(v for v, p in groups if p == panel):
      part = pd.DataFrame(groups[variant, panel])
      lines.append(
        [
          tables.text(variant),
          tables.text(panel),
          tables.count(len(part)),
          tables.number(part.policies.mean()),
          tables.count(part.failed.sum()),
          tables.number(part.correlation.mean()),
          tables.number(part.regret.mean()),
        ]
      )
      links.append({'method': variant, 'panel': panel})
  return tables.Table(
    name='policies',
    caption=(
      'Ranking of several target policies on the same log: mean Spearman '
      'rank correlation of estimates and true values, and regret@1, the '
      'true value lost by choosing the policy of highest estimate.'
    ),
    notes=['diverged: these estimates cannot be ranked or chosen.'],
    columns=[
      'method',
      'task',
      'rankings',
      'policies',
      'diverged',
      'rank correlation',
      'regret@1',
    ],
    rows=lines,
    links=links,
  )


def _ranking(rows: list[Any]) -> dict[str, float]:
  """Returns how well a method ranks the policies of one log."""
  sound = [row for row in rows if not row.failed]
  estimates = [row.estimate for row in sound]
  truths = [row.truth for row in sound]
  regret = math.nan
  if sound:
    # The best policy may be one whose estimate diverged.
    regret = (
      max(row.truth for row in rows)
      - max(truths)
      + policy_ranking.regret(estimates, truths)
    )
  return {
    'policies': len(rows),
    'failed': len(rows) - len(sound),
    'correlation': policy_ranking.rank_correlation(estimates, truths),
    'regret': regret,
  }


def _log(frame: pd.DataFrame) -> str | None:
  """Returns the label of the naive row."""
  labels = frame.variant[frame.family == method_labels.NAIVE]
  return labels.iloc[0] if len(labels) else None


def _runs(part: pd.DataFrame) -> dict[str | None, Runs]:
  """Returns for each method its relative errors by cell."""
  runs: dict[str | None, Runs] = {}
  for (variant, cell), errors in part.groupby(
    ['variant', 'cell']
  ).relative_error:
    runs.setdefault(variant, {})[cell] = errors.tolist()
  return runs


def _scores(part: pd.DataFrame) -> dict[str | None, statistics.Score]:
  return {
    variant: statistics.interquartile_mean(list(cells.values()), seed=_SEED)
    for variant, cells in _runs(part).items()
  }


def _place(
  scores: dict[str | None, statistics.Score], variant: str
) -> tuple[float, str]:
  return scores[variant].value if variant in scores else math.inf, variant


def _leaders(
  part: pd.DataFrame, scores: dict[str | None, statistics.Score]
) -> list[str]:
  """Returns methods by error, of those that were run on most cells."""
  covered = part.groupby('variant').cell.nunique()
  full = [name for name in covered.index if covered[name] == covered.max()]
  return sorted(full, key=lambda name: _place(scores, name))


def _improvement(ours: Runs | None, theirs: Runs | None) -> statistics.Score:
  """Returns how often one method beats another on the cells of both."""
  if ours is None or theirs is None or ours is theirs:
    return _NONE
  common = [cell for cell in ours if cell in theirs]
  if not common:
    return _NONE
  return statistics.probability_of_improvement(
    [ours[cell] for cell in common],
    [theirs[cell] for cell in common],
    seed=_SEED,
  )
