"""What an interval of a new log holds, where the truth is known."""

from dfiv_ope.evaluation import estimates


def metrics(
    found: estimates.Estimate, average: estimates.Estimate, *,
    level: float, truth: float, logged: float,
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
      'paired_estimate': paired.estimate, 'paired_low': paired.low,
      'paired_high': paired.high, 'paired_truth': difference,
      'paired_covered': float(paired.low <= difference <= paired.high)}
