"""What to beware of in the answers of `evaluate`, in sentences."""

from collections.abc import Mapping
import statistics
from typing import Any

from dfiv_ope import results
from dfiv_ope.evaluation import inference
from dfiv_ope.launch import intervals
from dfiv_ope.ope import overlap

# Runs of each method and config, by what it is called.
Runs = Mapping[str, list[results.ResultRow]]


def collect(
    runs: Runs, log: results.ResultRow | None, *, level: float) -> list[str]:
  """Returns what a person should know of the answers on a log.

  Args:
    runs: of each method.
    log: the row of the average return, if there is one.
    level: of the intervals.
  """
  sound = {name: [row for row in rows if not row.failure]
           for name, rows in runs.items()}
  sound = {name: rows for name, rows in sound.items() if rows}
  few = dict.fromkeys(filter(None, map(intervals.missing, sound.values())))
  return [*few, *_differences(sound, log, level),
          *_overlap(sound), *_heavy(sound)]


def comparison(found: inference.Interval) -> str:
  """Returns which of policy and log is better, by their paired difference."""
  if found.low > 0.:
    return 'The policy does better than the one that wrote the log.'
  if found.high < 0.:
    return 'The policy does worse than the one that wrote the log.'
  return 'The log does not tell which of the two policies is better.'


def heavy(name: str, share: float) -> str:
  """Returns that a value rests on few rows; empty if it does not.

  Args:
    name: of the method.
    share: of `inference.heavy_share`.
  """
  if not share > inference.HEAVY:
    return ''
  return (
      f'{100. * share:.0f} % of the estimate of {name} rests on its largest '
      '0.1 % of rows with a reward (by weight times reward): see if these are '
      'right.')


def _differences(
    runs: Runs, log: results.ResultRow | None, level: float) -> list[str]:
  """Returns the value of each method less the average return of the log."""
  if log is None or 'policy' not in log.problem:
    return []
  found = {name: intervals.difference(rows, log, level=level)
           for name, rows in runs.items()}
  return [
      f'Policy less log by {name}: {each.estimate:+.3g} ({100 * level:g} % '
      f'interval {each.low:+.3g} to {each.high:+.3g}, from the same resampled '
      'episodes).'
      + (f' {comparison(each)}' if _grade(runs[name]) != 'poor' else '')
      for name, each in found.items() if each]


def _overlap(runs: Runs) -> list[str]:
  """Returns the verdict on the overlap, for each kind of features."""
  verdicts: dict[str, list[str]] = {}
  said: Mapping[str, Any] = {}
  for name, rows in runs.items():
    said = rows[0].problem.get('overlap')  # type: ignore[assignment]
    if not isinstance(said, Mapping):
      return []
    verdicts.setdefault(' '.join([
        overlap.verdict(_grade(rows)), *share_words(_median(rows))]),
        []).append(name)
  return [
      *(words if len(verdicts) == 1 else f'{", ".join(names)}: {words}'
        for words, names in verdicts.items()),
      *said.get('warnings', ())]


def share_words(metrics: Mapping[str, float]) -> list[str]:
  """Returns the effective sample size of a method, if its rows have it."""
  if not {'effective_share', 'overlap_features'} <= set(metrics):
    return []
  return [overlap.share_words(
      metrics['effective_share'], features=metrics['overlap_features'],
      bandwidth_scale=metrics['overlap_bandwidth_scale'],
      reduced=bool(metrics['overlap_reduced']),
      cells=metrics.get('overlap_cells', 0))]


def _grade(rows: list[results.ResultRow]) -> str:
  """Returns the grade of the overlap, with a method's features."""
  said = rows[0].problem.get('overlap')
  share = _median(rows).get('effective_share')
  return overlap.worst(
      str(said.get('grade', 'good')) if isinstance(said, Mapping) else 'good',
      'good' if share is None else overlap.share_grade(share))


def _heavy(runs: Runs) -> list[str]:
  words = [heavy(name, _median(rows).get('heavy_share', 0.))
           for name, rows in runs.items()]
  return [each for each in words if each]


def _median(rows: list[results.ResultRow]) -> dict[str, float]:
  """Returns medians over runs of the metrics that all of them have."""
  return {
      name: statistics.median(row.metrics[name] for row in rows)
      for name in rows[0].metrics
      if all(name in row.metrics for row in rows)}
