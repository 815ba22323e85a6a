"""Intervals of the runs of a method on one log, from their rows."""

from collections.abc import Sequence
import math

import numpy as np

from dfiv_ope.evaluation import bearing, inference
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


def of(rows: list[rows_lib.Row], *, level: float) -> inference.Interval | None:
  """Returns the interval of runs that differ in their seeds.

  Args:
    rows: of one method, config and problem; those that failed do not count.
    level: such as 0.95.

  Returns:
    None if the log is too small (`missing` says so), or no run has
    resamples: it was run by an older version.
  """
  sound = _sound(rows)
  if not sound or missing(sound):
    return None
  # Draws of other settings, by an older version, are not those of the last.
  last = sound[-1]
  return draws(
    [
      row
      for row in sound
      if row.inference == last.inference
      and len(row.resamples) == len(last.resamples)
    ]
  ).interval(level)


def draws(rows: Sequence[rows_lib.Row]) -> inference.Draws:
  """Returns the draws of runs of the same method, config and problem."""
  return inference.Draws(
    np.array([row.metrics['estimate'] for row in rows]),
    np.array([row.resamples for row in rows]),
    np.array([row.metrics.get('correction', 0.0) for row in rows]),
    min(row.metrics.get('degrees', float('inf')) for row in rows),
    bearing.checks(rows[0].metrics),
  )


def difference(
  rows: list[rows_lib.Row], log: rows_lib.Row | None, *, level: float
) -> inference.Interval | None:
  """Returns the interval of the value less the average return of the log.

  Args:
    rows: as in `of`.
    log: the row of the average return; None if there is none.
    level: such as 0.95.

  Returns:
    None as in `of`, or if the row of the log has no resamples.
  """
  sound = _sound(rows)
  if (
    log is None
    or not sound
    or missing(sound)
    or any(len(row.resamples) != len(log.resamples) for row in sound)
  ):
    return None
  return draws(sound).less(draws([log])).interval(level)


def of_log(
  problem: problems.OnDataset, *, level: float
) -> tuple[float, float] | None:
  """Returns the ends of the interval of the average return of a log."""
  mean, error = problem.log_return, problem.log_standard_error
  if mean is None or error is None or problem.episodes is None:
    return None
  return inference.mean_interval(mean, error, problem.episodes, level=level)


def missing(rows: Sequence[rows_lib.Row]) -> str:
  """Returns why runs have no interval; empty if nothing speaks against one.

  Args:
    rows: of one method, config and problem.
  """
  problem = rows[0].problem if rows else None
  if not isinstance(problem, problems.OnDataset) or (
    problem.episodes is None or problem.transitions is None
  ):
    return ''
  columns = max(row.metrics.get('columns', 0.0) for row in rows)
  effective = min(
    row.metrics.get('effective_episodes', math.inf) for row in rows
  )
  return inference.too_few(
    problem.episodes, problem.transitions, int(columns), effective
  )


def _sound(rows: list[rows_lib.Row]) -> list[rows_lib.Row]:
  return [row for row in rows if not row.failed and len(row.resamples)]
