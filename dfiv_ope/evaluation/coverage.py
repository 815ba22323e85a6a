"""What an interval of a new log holds, where the truth is known."""

from typing import Any

from dfiv_ope.evaluation import estimates
from dfiv_ope.results import rows


def outcome(
  found: estimates.Estimate,
  average: estimates.Estimate,
  *,
  level: float,
  truth: float,
  logged: float,
) -> dict[str, Any]:
  """Returns what the row of an interval says, by the row's fields.

  Args:
    found: estimate of the target policy's value.
    average: the log's average return.
    level: of the intervals.
    truth: the target policy's value.
    logged: the behaviour policy's value.

  Raises:
    ValueError: the log is too small for an interval.
  """
  if found.missing:
    raise ValueError(found.missing)
  held = metrics(found, average, level=level, truth=truth, logged=logged)
  return {
    'metrics': {**held, 'diverged': len(found.runs) - len(found.sound)},
    'outcome': rows.FINISHED if held else rows.DIVERGED,
    'reason': '' if held else 'all seeds',
  }


def metrics(
  found: estimates.Estimate,
  average: estimates.Estimate,
  *,
  level: float,
  truth: float,
  logged: float,
) -> dict[str, float]:
  """Returns an interval, the paired one, and what they hold.

  Args:
    found: estimate of the target policy's value.
    average: the log's average return.
    level: of the intervals.
    truth: the target policy's value.
    logged: the behaviour policy's value.
  """
  interval = found.interval(level)
  paired = found.difference(average, level)
  if interval is None or paired is None:
    return {}
  difference = truth - logged
  return {
    **interval._asdict(),
    'covered': float(interval.low <= truth <= interval.high),
    'paired_estimate': paired.estimate,
    'paired_low': paired.low,
    'paired_high': paired.high,
    'paired_truth': difference,
    'paired_covered': float(paired.low <= difference <= paired.high),
  }
