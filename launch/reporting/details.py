"""What lies behind the ranking: errors by noise, datasets, divergences."""

import math
import re
from typing import Any

import pandas as pd

from dfiv_ope import registry
from dfiv_ope.evaluation import inference
from dfiv_ope.launch.reporting import frames, method_labels, tables
from dfiv_ope.results import rows as rows_lib

# Metrics that tell of fits and first stages. What resampled episodes, overlap
# and cross-checks say stands elsewhere in the report, and all in results.csv.
_OF_FITS = re.compile(
  '(held_out|stage1|stage2|first_stage)_.*|penalty|instrument_condition'
)
_NOTES = {
  'first_stage_r2': 'first stage r2, f: how well states and actions predict '
  'the value that follows, on held-out rows; an F below 10 is weak.',
  'first_stage_value': 'first stage value 1, 10, 40: singular values of the '
  'first stage, by their place; rank: how many directions it keeps.',
}
# Families that are compared; the average return of the log is none of them.
_FAMILIES = tuple(
  name for name in registry.FAMILIES if name != method_labels.NAIVE
)


def errors(frame: pd.DataFrame, *, relative: bool) -> list[tables.Table]:
  """Returns for each panel the errors by method and noise."""
  column = 'relative_error' if relative else 'error'
  kind = 'Relative' if relative else 'Absolute'
  main = paper_policy(frame[frame[column].notna()])
  made = []
  for panel, part in main.groupby('panel'):
    noises = sorted(part.action_noise.unique())
    names = method_labels.order(part.variant)
    cells = {
      (variant, noise): group
      for (variant, noise), group in part.groupby(['variant', 'action_noise'])
    }
    truths = part.groupby('action_noise').truth_standard_error.mean()
    lines = [
      [
        tables.text(variant),
        *(
          _error(cells.get((variant, noise)), column, relative)
          for noise in noises
        ),
      ]
      for variant in names
    ]
    if not relative:
      lines.append(
        [
          tables.text('standard error of the truth'),
          *(tables.number(truths[noise]) for noise in noises),
        ]
      )
    made.append(
      tables.Table(
        name=f'{column.replace("_", "-")}-{stem(panel)}',
        caption=(
          f'{kind} error on {panel} by action noise, target policy with '
          f'epsilon {part.target_epsilon.min():g}: '
          + (
            'one run each.'
            if single_runs(part)
            else 'mean ± standard deviation of the runs that did not diverge, '
            'and how many did.'
          )
        ),
        columns=['method', *(f'noise {noise:g}' for noise in noises)],
        rows=lines,
        links=[{'method': name, 'panel': panel} for name in names]
        + [None] * (not relative),
      )
    )
  return made


def families(frame: pd.DataFrame) -> tables.Table:
  """Returns whether families of estimators agree, dataset by dataset."""
  sound = frame[~frame.failed]
  names = [name for name in _FAMILIES if (frame.family == name).any()]
  lines: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  for (panel, noise, target, dataset, digest, _), part in sound.groupby(
    [
      'panel',
      'action_noise',
      'target_epsilon',
      'dataset',
      'digest',
      'question',
    ],
    dropna=False,
  ):
    found = medians(part)
    if found.empty:
      continue
    lines.append(
      [
        tables.text(dataset),
        tables.text(panel),
        tables.number(noise),
        tables.number(target),
        *(tables.number(found.get(name)) for name in names),
        tables.percent(gap(found)),
        tables.number(part.log_return.iloc[0]),
        tables.spread(part.truth.iloc[0], part.truth_standard_error.iloc[0]),
      ]
    )
    links.append({'digest': digest, 'panel': panel})
  return tables.Table(
    name='families',
    caption=(
      'Agreement of estimator families: median estimate of each, and the '
      'gap between the largest and the smallest relative to their '
      'median. A wide gap is a reason to distrust all of them.'
    ),
    columns=[
      'dataset',
      'task',
      'noise',
      'target epsilon',
      *names,
      'gap',
      'return of the log',
      'truth ± s.e.',
    ],
    rows=lines,
    links=links,
  )


def medians(part: pd.DataFrame) -> pd.Series:
  """Returns the median estimate of each family on one problem.

  Estimates that rest on a few effective episodes say nothing of the others.
  """
  telling = ~part.failed & ~(part.effective_episodes < inference.FEW_EFFECTIVE)
  found = part[telling].groupby('family').estimate.median()
  return found.reindex([name for name in _FAMILIES if name in found])


def gap(found: pd.Series) -> float:
  """Returns the gap between medians of families, relative to the middle."""
  middle = abs(found.median())
  if len(found) < 2 or not middle:
    return math.nan
  return (found.max() - found.min()) / middle


def datasets(frame: pd.DataFrame) -> tables.Table:
  """Returns the datasets, their sizes and how far the policies overlap."""
  lines: list[list[tables.Cell]] = []
  links: list[tables.Link] = []
  for _, part in frame.groupby('question', sort=False):
    row = part.iloc[0]
    lines.append(
      [
        tables.text(row.dataset),
        tables.text(row.digest[:12]),
        tables.text(row.task),
        tables.number(row.action_noise),
        tables.number(row.epsilon),
        tables.number(row.target_epsilon),
        tables.count(row.transitions),
        tables.count(row.episodes),
        tables.number(row.overlap),
        tables.spread(row.truth, row.truth_standard_error),
        tables.spread(row.log_return, row.log_standard_error),
      ]
    )
    links.append({'digest': row.digest, 'panel': row.panel})
  return tables.Table(
    name='datasets',
    caption=(
      'Datasets: epsilon of the behaviour policy and of the one '
      'that is evaluated, size, overlap of the two, the true value and '
      'the average return of the log with their standard errors.'
    ),
    columns=[
      'dataset',
      'digest',
      'task',
      'noise',
      'log epsilon',
      'target epsilon',
      'transitions',
      'episodes',
      'overlap',
      'truth ± s.e.',
      'return of the log ± s.e.',
    ],
    rows=lines,
    links=links,
  )


def held_out(
  frame: pd.DataFrame, rows: list[rows_lib.Row]
) -> tables.Table | None:
  """Returns medians of the rows' own diagnostics; None if there are none."""
  extra = pd.DataFrame(
    [frames.diagnostics(row.metrics) for row in rows], index=frame.index
  )
  names = [name for name in extra.columns if _OF_FITS.fullmatch(name)]
  if not names:
    return None
  setting = ['panel', 'action_noise', 'target_epsilon']
  both = pd.concat([frame[['variant', *setting]], extra], axis=1)
  both = both[both[names].notna().any(axis=1)]
  medians = both.groupby([*setting, 'variant'], dropna=False)[names].median()
  # Policies have a column where there are several.
  several = frame.target_epsilon.nunique() > 1
  lines = [
    [
      tables.text(variant),
      tables.text(panel),
      tables.number(noise),
      *([tables.number(target)] if several else []),
      *(tables.number(value) for value in row),
    ]
    for (panel, noise, target, variant), row in zip(
      medians.index, medians.to_numpy(), strict=True
    )
  ]
  return tables.Table(
    name='held-out',
    caption=(
      'Diagnostics that need no truth: '
      f'{"" if single_runs(frame) else "medians over runs of "}held-out '
      'losses, penalties, and R², F and singular values of first stages, '
      'where rows have them; results.csv has all others.'
    ),
    columns=[
      'method',
      'task',
      'noise',
      *(['target epsilon'] if several else []),
      *(name.replace('_', ' ') for name in names),
    ],
    rows=lines,
    links=[
      {'method': variant, 'panel': panel, 'noise': float(noise)}
      for panel, noise, _, variant in medians.index
    ],
    notes=[
      note
      for name, note in _NOTES.items()
      if any(each.startswith(name) for each in names)
    ],
  )


def divergences(frame: pd.DataFrame, rows: list[rows_lib.Row]) -> tables.Table:
  """Returns every run that failed, and why."""
  failed = [
    (line, row)
    for (_, line), row in zip(frame.iterrows(), rows, strict=True)
    if line.failed
  ]
  return tables.Table(
    name='divergences',
    caption=(
      f'{len(failed)} of {len(frame)} runs have no result to trust. They '
      'count as infinite errors in every ranking.'
    ),
    columns=['method', 'dataset', 'task', 'noise', 'seed', 'reason'],
    rows=[
      [
        tables.text(line.variant),
        tables.text(line.dataset),
        tables.text(line.task),
        tables.number(line.action_noise),
        tables.count(row.seed),
        tables.text(line.reason),
      ]
      for line, row in failed
    ],
    links=[
      {'method': line.variant, 'digest': line.digest, 'panel': line.panel}
      for line, _ in failed
    ],
  )


def single_runs(frame: pd.DataFrame) -> bool:
  """Returns whether no method was run twice on any problem.

  Then nothing tells how much an estimate changes with the training, nor which
  method is best.
  """
  runs = (
    frame[frame.family != method_labels.NAIVE]
    .groupby(['variant', 'cell'])
    .size()
  )
  return bool((runs == 1).all())


def paper_policy(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns the rows of the least random target policy of each panel."""
  least = frame.groupby('panel').target_epsilon.transform('min')
  return frame[(frame.target_epsilon == least) | least.isna()]


def _error(part: Any, column: str, relative: bool) -> tables.Cell:
  """Returns mean, deviation and divergences of the runs of a cell."""
  if part is None:
    return tables.number(None)
  sound = part[column][~part.failed]
  failed = int(part.failed.sum())
  cell = tables.spread(sound.mean(), sound.std(), share=relative)
  if not failed:
    return cell
  words = f'{failed} of {len(part)} diverged'
  return tables.Cell(
    f'{cell.text} ({words})' if len(sound) else words,
    cell.value if len(sound) else math.inf,
  )


def stem(words: str, longest: int = 40) -> str:
  """Returns words as part of a file's name."""
  return re.sub(r'[^a-z0-9_]+', '-', words.lower())[:longest]
