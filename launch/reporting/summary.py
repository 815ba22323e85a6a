"""What rows of one question say together: a line for each method and config."""

import collections
from collections.abc import Iterable, Mapping
import dataclasses
import statistics
from typing import Any

from dfiv_ope import agents, configs
from dfiv_ope.evaluation import result_rows, row_intervals, trust, verdict
from dfiv_ope.launch.reporting import frames, method_labels
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Line:
  """The runs of a method with a config.

  Attributes:
    method: its name; 'log' for the average return of the log.
    config: what sets its config apart, or the name of its preset.
    seeds: number of runs.
    diverged: how many of them have no result.
    estimate: mean over the others; None if there is none.
    low: lower end of the confidence interval; None if there is none.
    high: upper end.
    error: mean distance from the truth; None where that is not known.
    relative_error: the same as a share of the truth.
    cpu_seconds: of a run, on average.
    settings: its hyper-parameters.
    trust: how far to trust it, of `trust.GRADES`; empty for the log, or where
      there is no result.
  """

  method: str
  config: str
  seeds: int
  diverged: int
  estimate: float | None
  low: float | None
  high: float | None
  error: float | None
  relative_error: float | None
  cpu_seconds: float
  settings: Mapping[str, Any]
  trust: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
  """The answers to one question.

  Attributes:
    problem: what was asked.
    policy: what the target policy is called.
    level: of the intervals.
    lines: of the log and of the methods.
    failures: which runs have no result, and why.
    verdicts: how far to trust each method, a sentence each.
    warnings: these, and what else to beware of.
  """

  problem: problems.OnDataset
  policy: str
  level: float
  lines: list[Line]
  failures: list[str]
  verdicts: list[str]
  warnings: list[str]

  @property
  def diverged(self) -> bool:
    """Whether a run has no result."""
    return any(line.diverged for line in self.lines)

  def data(self) -> dict[str, Any]:
    """Returns all of it as JSON data."""
    problem = self.problem
    return {
      'dataset': problem.dataset,
      'digest': problem.digest,
      'discount': problem.discount,
      'policy': self.policy,
      'target': problem.target,
      'truth': problem.truth,
      'truth_standard_error': problem.truth_standard_error,
      'level': self.level,
      'estimates': [dataclasses.asdict(line) for line in self.lines],
      'failures': self.failures,
      'warnings': self.warnings,
    }


def by_question(rows: Iterable[rows_lib.Row]) -> list[list[rows_lib.Row]]:
  """Returns the rows of each question; those of two truths stand apart.

  Only rows of methods on datasets are of a question that a table answers.
  """
  parts: dict[tuple[str, float | None], list[rows_lib.Row]] = (
    collections.defaultdict(list)
  )
  for row in rows:
    if isinstance(row.problem, problems.OnDataset):
      parts[row.problem.question, row.problem.truth].append(row)
  return list(parts.values())


def summarise(
  rows: Iterable[rows_lib.Row], *, level: float = 0.95
) -> list[Summary]:
  """Returns the answers to each question, in the order of the rows."""
  return [_one(part, level) for part in by_question(rows)]


def _one(rows: list[rows_lib.Row], level: float) -> Summary:
  order = (result_rows.LOG, *agents.NAMES)
  rows = sorted(
    rows,
    key=lambda row: (
      order.index(row.method) if row.method in order else len(order)
    ),
  )
  groups: dict[tuple[str, str, str], list[rows_lib.Row]] = (
    collections.defaultdict(list)
  )
  for row, variant in zip(rows, method_labels.variants(rows), strict=True):
    groups[row.method, _config(row, variant), row.setting].append(row)
  # A failed run may not have opened the log.
  problem = next(
    (row.problem for row in rows if not row.failed), rows[0].problem
  )
  assert isinstance(problem, problems.OnDataset)
  naive = next(
    (row for row in rows if row.method == result_rows.LOG and not row.failed),
    None,
  )
  notes = problem.notes if isinstance(problem, problems.UserLog) else ()
  support, named = _support(problem), _named(groups)
  answers = _answers(named, naive, level)
  judged = trust.judge_all(answers, support)
  names = {id(group): name for name, group in named.items()}
  verdicts = trust.sentences(judged)
  return Summary(
    problem=problem,
    policy=_target(problem),
    level=level,
    lines=[
      _line(
        problem,
        method,
        label,
        group,
        level,
        judged.get(names.get(id(group), '')),
      )
      for (method, label, _), group in groups.items()
    ],
    failures=[
      f'{row.method} seed {row.seed}: {row.outcome}: '
      f'{row.reason.rstrip(".")}; excluded from averages.'
      for row in rows
      if row.failed
    ],
    verdicts=verdicts,
    warnings=verdicts
    + verdict.collect(
      answers,
      support=support,
      level=level,
      notes=[
        note.sentence for note in notes if support is None or not note.doubt
      ],
      distrusted=trust.distrusted(judged),
    ),
  )


def _line(
  problem: problems.OnDataset,
  method: str,
  label: str,
  group: list[rows_lib.Row],
  level: float,
  judged: trust.Trust | None,
) -> Line:
  sound = [row.metrics['estimate'] for row in group if not row.failed]
  if method == result_rows.LOG:
    ends = row_intervals.of_log(problem, level=level)
  else:
    found = row_intervals.of(group, level=level)
    ends = found and (found.low, found.high)
  truth = problem.truth
  error = (
    statistics.mean(abs(each - truth) for each in sound)
    if sound and truth is not None
    else None
  )
  return Line(
    method=method,
    config='' if method == result_rows.LOG else label,
    seeds=len(group),
    diverged=len(group) - len(sound),
    estimate=statistics.mean(sound) if sound else None,
    low=ends[0] if ends else None,
    high=ends[1] if ends else None,
    error=error,
    relative_error=error / abs(truth) if error is not None and truth else None,
    cpu_seconds=statistics.mean(row.cpu_seconds for row in group),
    settings=dict(group[0].config),
    trust=judged.grade if judged else '',
  )


def _answers(
  runs: Mapping[str, list[rows_lib.Row]], log: rows_lib.Row | None, level: float
) -> dict[str, verdict.Answer]:
  """Returns what methods found, without those whose runs all failed."""
  sound = {
    name: [row for row in rows if not row.failed] for name, rows in runs.items()
  }
  return {
    name: verdict.Answer(
      metrics=_median(rows),
      missing=row_intervals.missing(rows),
      difference=row_intervals.difference(rows, log, level=level),
      interval=row_intervals.of(rows, level=level),
      **_kind(rows),
    )
    for name, rows in sound.items()
    if rows
  }


def _kind(rows: list[rows_lib.Row]) -> dict[str, str]:
  """Returns the family of a method, and what its runs do not tell."""
  method = rows[0].method
  entry = agents.ENTRIES.get(method)
  return {
    'family': entry.style.family if entry else '',
    'untold': verdict.hidden_randomness(method, len(rows), _median(rows)),
  }


def _support(problem: problems.OnDataset) -> verdict.Support | None:
  """Returns what a problem says of the overlap, if a user asked for it."""
  if not isinstance(problem, problems.UserLog) or problem.overlap is None:
    return None
  return verdict.support(problem.overlap, problem.action_labels, problem.notes)


def _median(rows: list[rows_lib.Row]) -> dict[str, float]:
  """Returns medians over runs of the metrics that all of them have."""
  return {
    name: statistics.median(row.metrics[name] for row in rows)
    for name in rows[0].metrics
    if all(name in row.metrics for row in rows)
  }


def _named(
  groups: Mapping[tuple[str, str, str], list[rows_lib.Row]],
) -> dict[str, list[rows_lib.Row]]:
  """Returns the groups of methods by short names."""
  methods = [method for method, _, _ in groups]
  return {
    method if methods.count(method) == 1 else f'{method} ({label})': group
    for (method, label, _), group in groups.items()
    if method != result_rows.LOG
  }


def _config(row: rows_lib.Row, variant: method_labels.Variant) -> str:
  """Returns what a row's config is called: what sets it apart, if anything.

  A config that makes a method another one is called by that one's name.
  """
  entry = agents.ENTRIES.get(row.method)
  notes = variant.notes if row.custom or row.preset != 'default' else ()
  if (
    row.custom
    and entry
    and row.preset in entry.configs
    and (
      variant.base
      not in (
        entry.style.label,
        entry.label(configs.encode(entry.configs[row.preset])),
      )
    )
  ):
    return ', '.join([variant.base, *notes])
  return ', '.join(notes) or method_labels.preset(row)


def _target(problem: problems.OnDataset) -> str:
  """Returns what a problem's policy is called."""
  epsilon = (
    problem.target_epsilon
    if isinstance(problem, problems.SimulatedTask)
    else 0.0
  )
  return frames.policy_name(problem) + (
    f' with epsilon {epsilon:g}' if epsilon else ''
  )
