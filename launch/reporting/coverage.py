"""Interval coverage: how often confidence intervals held the true value.

Rows of `dfiv-ope benchmark coverage` are one interval each, of a method on a
log that was drawn anew. Those that differ only in their log are a study.
"""

import collections
from collections.abc import Iterable, Sequence
import dataclasses
import math
import statistics
from typing import Any

from scipy import stats

from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import method_labels
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Of the range of a share that was counted on some logs.
_LEVEL = 0.95
# Characters of a digest that tell two apart.
_DIGITS = 8
# What may tell two studies apart that have the same name.
_EXTRA = ('target', 'truth', 'seeds', 'discount', 'version')

# Of columns on a terminal, so that none of their numbers is folded; with one
# more column of 8 they fit 80.
_WIDTHS = {
  'method': 6,
  'log': 5,
  'level': 5,
  'logs': 4,
  'held': 5,
  'paired held': 6,
  'mean error': 6,
  'mean half width': 6,
}

Rows = Sequence[rows_lib.Row]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
  """The intervals of a method on logs that were drawn alike.

  Attributes:
    variant: label of the method.
    rows: one for each log, in the order of the logs.
  """

  variant: str
  rows: Rows

  @property
  def problem(self) -> problems.Coverage:
    """That of the first log."""
    return problem_of(self.rows[0])

  @property
  def task(self) -> str:
    """Name of the environment."""
    return self.problem.task

  @property
  def level(self) -> float:
    """Level of the intervals."""
    return self.problem.level

  @property
  def logs(self) -> int:
    """Number of logs; those where all seeds diverged count."""
    return len(self.rows)

  @property
  def sound(self) -> Rows:
    """Rows that have an interval."""
    return [row for row in self.rows if not row.failed]

  @property
  def held(self) -> int:
    """Number of logs whose interval holds the truth; none does not."""
    return round(sum(row.metrics['covered'] for row in self.sound))

  @property
  def share(self) -> float:
    """Share of the logs whose interval holds the truth."""
    return self.held / self.logs

  @property
  def range(self) -> tuple[float, float]:
    """Exact (Clopper-Pearson) 95 % interval of that share."""
    return _exact(self.held, self.logs)

  @property
  def narrow(self) -> bool:
    """Whether the intervals that there are hold the truth too seldom."""
    return bool(self.sound) and (
      _exact(self.held, len(self.sound))[1] < self.level
    )

  @property
  def paired(self) -> float:
    """The share for value less the log's own; nan if it was not measured."""
    if not any('paired_covered' in row.metrics for row in self.rows):
      return math.nan
    return (
      sum(row.metrics.get('paired_covered', 0.0) for row in self.rows)
      / self.logs
    )

  @property
  def error(self) -> float:
    """Mean distance of estimates from the truth; nan if there is none."""
    return _mean(
      abs(row.metrics['estimate'] - self.problem.truth) for row in self.sound
    )

  @property
  def half_width(self) -> float:
    """Mean half width of the intervals; nan if there is none."""
    return _mean(
      (row.metrics['high'] - row.metrics['low']) / 2.0 for row in self.sound
    )

  @property
  def diverged(self) -> int:
    """Number of runs that diverged, of all seeds and logs."""
    return round(sum(row.metrics.get('diverged', 0.0) for row in self.rows))

  def extra(self, name: str) -> str:
    """Returns what may tell it from another study, for a table."""
    value = (
      self.rows[0].version if name == 'version' else getattr(self.problem, name)
    )
    return value[:_DIGITS] if isinstance(value, str) else f'{value:.6g}'


def studies(rows: Iterable[rows_lib.Row]) -> list[Study]:
  """Returns the studies of rows; other problems and errors are left out."""
  ours = [
    row
    for row in rows
    if isinstance(row.problem, problems.Coverage) and not row.retry
  ]
  labels: dict[object, str] = {}
  groups: dict[object, list[rows_lib.Row]] = collections.defaultdict(list)
  for row, variant in zip(ours, method_labels.variants(ours), strict=True):
    name = (problem_of(row).study, _interval(row))
    groups[name].append(row)
    labels[name] = variant
  return [
    Study(
      variant=labels[name],
      rows=sorted(group, key=lambda row: problem_of(row).log),
    )
    for name, group in groups.items()
  ]


def measured(rows: Iterable[rows_lib.Row], row: rows_lib.Row) -> list[Study]:
  """Returns the studies of intervals that are made as those of a row.

  They are of the same method, config and version of its numbers, with the same
  settings of the interval.

  Args:
    rows: of any kind; those of studies count.
    row: of a method on any dataset.
  """
  return studies([each for each in rows if _interval(each) == _interval(row)])


def told_by(found: Sequence[Study]) -> list[str]:
  """Returns what the names of datasets and methods do not tell apart."""

  def names(*extra: str) -> int:
    return len(
      {
        (
          each.variant,
          each.problem.dataset,
          each.level,
          *map(each.extra, extra),
        )
        for each in found
      }
    )

  return [name for name in _EXTRA if names(name) > names()]


def place(study: Study, beside: Sequence[Study]) -> str:
  """Returns what logs are of: the shortest words that tell them apart."""
  datasets = {
    each.problem.dataset for each in beside if each.task == study.task
  }
  noisy = {
    each.problem.dataset
    for each in beside
    if each.task == study.task
    and each.problem.action_noise == study.problem.action_noise
  }
  name = (
    study.task
    if len(datasets) == 1
    else f'{study.task} with noise {study.problem.action_noise:g}'
    if len(noisy) == 1
    else study.problem.dataset
  )
  return ', '.join(
    [name, *(f'{extra} {study.extra(extra)}' for extra in told_by(beside))]
  )


def problem_of(row: rows_lib.Row) -> problems.Coverage:
  """Returns the problem of a row of a study."""
  assert isinstance(row.problem, problems.Coverage)
  return row.problem


def data(rows: Iterable[rows_lib.Row]) -> list[dict[str, Any]]:
  """Returns the studies as JSON data; what is not known is None."""
  return [
    {
      'method': study.rows[0].method,
      'label': str(study.variant),
      'config': study.rows[0].config,
      'version': study.rows[0].version,
      'dataset': study.problem.dataset,
      'task': study.task,
      'action_noise': study.problem.action_noise,
      'target': study.problem.target,
      'truth': study.problem.truth,
      'seeds': study.problem.seeds,
      'level': study.level,
      'logs': study.logs,
      'held': study.held,
      'share': study.share,
      'range': list(study.range),
      **{
        name: None if math.isnan(value) else value
        for name, value in (
          ('paired_share', study.paired),
          ('mean_error', study.error),
          ('mean_half_width', study.half_width),
        )
      },
      'diverged': study.diverged,
    }
    for study in studies(rows)
  ]


def show(rows: Iterable[rows_lib.Row]) -> None:
  """Prints the share of intervals that hold the truth, a study a line."""
  found = studies(rows)
  extra = told_by(found)
  settings = {(each.rows[0].method, each.rows[0].setting) for each in found}
  methods = [method for method, _ in settings]
  printed = console.Table('Intervals that hold the true value', boxed=False)
  for column in (
    'method',
    'log',
    *extra,
    'level',
    'logs',
    'held',
    'paired held',
    'mean error',
    'mean half width',
    'diverged',
  ):
    printed.add_column(
      column,
      min_width=None if len(extra) > 1 else _WIDTHS.get(column, _DIGITS),
      justify='left' if column in ('method', 'log') else 'right',
    )
  for study in found:
    method = study.rows[0].method
    printed.add_row(
      method if methods.count(method) == 1 else study.variant,
      study.problem.dataset,
      *map(study.extra, extra),
      f'{100.0 * study.level:g} %',
      str(study.logs),
      f'{100.0 * study.share:.0f} %',
      '' if math.isnan(study.paired) else f'{100.0 * study.paired:.0f} %',
      *(
        '-' if math.isnan(each) else f'{each:.3g}'
        for each in (study.error, study.half_width)
      ),
      str(study.diverged),
    )
  printed.show()


def _interval(row: rows_lib.Row) -> tuple[str, int, str]:
  """Returns what an interval rests on, besides its log and its seeds."""
  return row.setting, row.version, problems.hashed(row.inference)


def _exact(held: int, logs: int) -> tuple[float, float]:
  """Returns the exact interval of a share that was counted."""
  found = stats.binomtest(held, logs).proportion_ci(_LEVEL, method='exact')
  return float(found.low), float(found.high)


def _mean(values: Iterable[float]) -> float:
  known = list(values)
  return statistics.fmean(known) if known else math.nan
