"""Intervals of the runs of a method on one log, from their rows."""

import numpy as np

from dfiv_ope import results, uncertainty


def of(
    rows: list[results.ResultRow], *, level: float,
) -> uncertainty.Interval | None:
  """Returns the interval of runs that differ in their seeds.

  Args:
    rows: of one method, config and problem; those that failed do not count.
    level: such as 0.95.

  Returns:
    None if no run has resamples: it was run by an older version.
  """
  sound = [row for row in rows if not row.failure and len(row.resamples)]
  if not sound:
    return None
  # Draws of other settings, by an older version, are not those of the last.
  last = sound[-1]
  sound = [row for row in sound if row.inference == last.inference
           and len(row.resamples) == len(last.resamples)]
  return uncertainty.interval(
      [row.metrics['estimate'] for row in sound],
      np.array([row.resamples for row in sound]),
      [row.metrics['correction'] for row in sound], level=level)
