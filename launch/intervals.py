"""Intervals of the runs of a method on one log, from their rows."""

from collections.abc import Mapping, Sequence

import numpy as np

from dfiv_ope import results
from dfiv_ope.evaluation import inference


def of(
    rows: list[results.ResultRow], *, level: float,
) -> inference.Interval | None:
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
  return draws([row for row in sound if row.inference == last.inference
                and len(row.resamples) == len(last.resamples)]).interval(level)


def draws(rows: Sequence[results.ResultRow]) -> inference.Draws:
  """Returns the draws of runs of the same method, config and problem."""
  return inference.Draws(
      np.array([row.metrics['estimate'] for row in rows]),
      np.array([row.resamples for row in rows]),
      np.array([row.metrics.get('correction', 0.) for row in rows]),
      min(row.metrics.get('degrees', float('inf')) for row in rows))


def difference(
    rows: list[results.ResultRow], log: results.ResultRow | None, *,
    level: float,
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
  if log is None or not sound or missing(sound) or any(
      len(row.resamples) != len(log.resamples) for row in sound):
    return None
  return draws(sound).less(draws([log])).interval(level)


def of_log(
    problem: Mapping[str, object], *, level: float,
) -> tuple[float, float] | None:
  """Returns the ends of the interval of the average return of a log."""
  numbers = [problem.get(name) for name in (
      'log_return', 'log_standard_error', 'episodes')]
  if not all(isinstance(each, int | float) for each in numbers):
    return None
  mean, error, episodes = map(float, numbers)  # type: ignore[arg-type]
  return inference.mean_interval(mean, error, int(episodes), level=level)


def missing(rows: Sequence[results.ResultRow]) -> str:
  """Returns why runs have no interval; empty if nothing speaks against one.

  Args:
    rows: of one method, config and problem.
  """
  problem = rows[0].problem if rows else {}
  episodes, transitions = problem.get('episodes'), problem.get('transitions')
  if episodes is None or transitions is None:
    return ''
  columns = max(row.metrics.get('columns', 0.) for row in rows)
  return inference.too_few(int(episodes), int(transitions), int(columns))


def _sound(rows: list[results.ResultRow]) -> list[results.ResultRow]:
  return [row for row in rows if not row.failure and len(row.resamples)]
