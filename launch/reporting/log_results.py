"""A log and a policy: what all methods say of the two."""

from collections.abc import Mapping, Sequence
import dataclasses
import functools
import math
import statistics

import pandas as pd

from dfiv_ope.evaluation import inference, row_intervals, verdict
from dfiv_ope.evaluation import trust as trust_lib
from dfiv_ope.launch.reporting import frames, method_labels
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Of all intervals of a report.
LEVEL = 0.95
# What a selection says of a candidate.
_SCORES = ['tournament', 'projected_bellman_error', 'chosen']


@dataclasses.dataclass(frozen=True, kw_only=True)
class MethodResult:
  """The runs of a method, and what they say together.

  Attributes:
    variant: label of the method.
    method: its name.
    family: the family it belongs to.
    rows: of its runs.
    failed: how many of them have no result.
    cpu_seconds: of a run, on average.
    metrics: medians over the runs that have a result.
    estimate: mean over them; nan if there is none.
    interval: of the estimate; None if no run says how data may change it, or
      there is too little data to say.
    difference: the same of the value less the average return of the log.
    missing: why there is too little data for an interval, if there is.
    place: of its first run among all.
  """

  variant: str
  method: str
  family: str
  rows: Sequence[rows_lib.Row]
  failed: int
  cpu_seconds: float
  metrics: Mapping[str, float]
  estimate: float
  interval: inference.Interval | None
  difference: inference.Interval | None
  missing: str = ''
  place: int = 0

  @property
  def runs(self) -> int:
    """How many runs there are."""
    return len(self.rows)

  @property
  def ends(self) -> tuple[float, float]:
    """The ends of the interval; nan without one."""
    found = self.interval
    return (found.low, found.high) if found else (math.nan, math.nan)

  @property
  def width(self) -> float:
    """Length of the interval; infinite without one."""
    if self.interval is None:
      return float('inf')
    return self.interval.high - self.interval.low

  @property
  def hidden_randomness(self) -> str:
    """What of its own randomness one run does not show; empty if nothing."""
    if self.interval is None:
      return ''
    return verdict.hidden_randomness(self.method, self.runs, self.metrics)

  @property
  def contradicted(self) -> bool:
    """Whether the log's own Bellman equation speaks against the method."""
    return self.interval is not None and self.interval.contradicted


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogResults:
  """What was found on one question: a policy on a log, at a discount.

  Attributes:
    problem: the question.
    frame: lines of the runs.
    methods: what each says, without the naive answer.
    selection: of `scores`, the last choice between methods; may be empty.
  """

  problem: problems.OnDataset
  frame: pd.DataFrame
  methods: list[MethodResult]
  selection: pd.DataFrame

  @property
  def policy(self) -> str:
    """What the policy is called, and what tells the case from others."""
    return f'{frames.policy_name(self.problem)}{self.note}'

  @property
  def note(self) -> str:
    """What tells the case from others of the same name; often empty."""
    return str(self.frame.note.iloc[0])

  @property
  def log(self) -> tuple[float, float, float]:
    """Average return of the log and the ends of its interval, nan if none."""
    ends = row_intervals.of_log(self.problem, level=LEVEL)
    return frames.number(self.problem.log_return), *(ends or (math.nan,) * 2)

  @property
  def single_runs(self) -> bool:
    """Whether no method was run twice, so that seeds tell nothing."""
    return all(each.runs == 1 for each in self.methods)

  @property
  def effective_share(self) -> float:
    """Effective sample size as a share of rows, of the preferred method."""
    best = self.preferred
    return best.metrics.get('effective_share', math.nan) if best else math.nan

  @property
  def lost_share(self) -> float:
    """Share of the reward where stage 1 keeps little; nan if unknown."""
    return self.median('first_stage_lost_share')

  def trust(self, method: MethodResult) -> trust_lib.Trust:
    """Returns how far to trust what a method says."""
    return self._judged[method.variant]

  @functools.cached_property
  def _judged(self) -> Mapping[str, trust_lib.Trust]:
    """How far to trust each method, by its label."""
    found, problem = self.problem.overlap, self.problem
    notes = problem.notes if isinstance(problem, problems.UserLog) else ()
    return trust_lib.judge_all(
      {
        each.variant: verdict.Answer(
          each.metrics,
          missing=each.missing,
          interval=each.interval,
          family=each.family,
          untold=each.hidden_randomness,
        )
        for each in self.methods
      },
      None if found is None else verdict.support(found, notes=notes),
    )

  def median(self, name: str) -> float:
    """Returns a metric of the log, which all methods share; nan if unknown."""
    known = [
      result.metrics[name] for result in self.methods if name in result.metrics
    ]
    return statistics.median(known) if known else math.nan

  @property
  def preferred(self) -> MethodResult | None:
    """The method whose estimate is the answer.

    That of the selection if there was one. Otherwise the one that was run
    first, of those that did not diverge, are not contradicted, rest on enough
    effective episodes and have several runs. The width of an interval is no
    reason: of several, the narrowest is the likeliest to be too narrow.
    """
    known = [each for each in self.methods if each.interval] or [
      each for each in self.methods if math.isfinite(each.estimate)
    ]
    if len(self.selection):
      chosen = self.selection.chosen.idxmax()
      known = [each for each in known if each.variant == chosen] or known
    return min(
      known,
      default=None,
      key=lambda each: (
        bool(each.failed),
        each.contradicted,
        bool(verdict.few_effective('', each.metrics)),
        each.runs == 1,
        each.place,
      ),
    )


def collect(frame: pd.DataFrame, rows: list[rows_lib.Row]) -> list[LogResults]:
  """Returns what was found on each question; selections alone are none.

  Args:
    frame: of `frames.ope` or `frames.log`.
    rows: those it was made of, by the labels of its index.
  """
  made = []
  for _, lines in frame.groupby('question', sort=False):
    selections = [
      index
      for index in lines.index
      if isinstance(rows[index].problem, problems.Selection)
    ]
    runs = lines.drop(selections)
    if runs.empty:
      continue
    chosen = lines.loc[selections]
    if selections:  # Only the last choice counts.
      chosen = chosen[chosen.choice == chosen.choice.iloc[-1]]
    naive = [
      rows[index]
      for index in runs.index
      if runs.family[index] == method_labels.NAIVE
    ]
    # A run that failed may not have opened the log.
    sound = runs.index[~runs.failed]
    problem = rows[sound[0] if len(sound) else runs.index[0]].problem
    assert isinstance(problem, problems.OnDataset)
    made.append(
      LogResults(
        problem=problem,
        frame=runs,
        methods=[
          _result(
            part,
            [rows[index] for index in part.index],
            naive[-1] if naive else None,
          )
          for name in method_labels.order(runs.variant)
          for part in [runs[runs.variant == name]]
          if part.family.iloc[0] != method_labels.NAIVE
        ],
        selection=scores(chosen, [rows[index] for index in chosen.index]),
      )
    )
  return made


def scores(lines: pd.DataFrame, rows: list[rows_lib.Row]) -> pd.DataFrame:
  """Returns the scores of the candidates of a selection, the best first.

  Args:
    lines: of `frames.log`, of one selection.
    rows: those they were made of.
  """
  found = pd.DataFrame(
    [
      [frames.number(row.metrics.get(name)) for name in _SCORES] for row in rows
    ],
    index=lines.variant,
    columns=_SCORES,
    dtype=float,
  )
  return found.fillna({'chosen': 0.0}).sort_values('tournament')


def ends(results: list[LogResults], index: pd.Index) -> pd.DataFrame:
  """Returns the interval of each line's method on its question: low, high.

  A run without a result has none.

  Args:
    results: of `collect`.
    index: of the frame that they are of.
  """
  made = pd.DataFrame(math.nan, index, ['low', 'high'])
  for each in results:
    sound = each.frame[~each.frame.failed]
    naive = sound.index[sound.family == method_labels.NAIVE]
    made.loc[naive] = each.log[1:]
    for method in each.methods:
      made.loc[sound.index[sound.variant == method.variant]] = method.ends
  return made


def _result(
  part: pd.DataFrame, rows: list[rows_lib.Row], log: rows_lib.Row | None
) -> MethodResult:
  sound = [
    row for row, failed in zip(rows, part.failed, strict=True) if not failed
  ]
  first = part.iloc[0]
  return MethodResult(
    variant=first.variant,
    method=first.method,
    family=first.family,
    rows=rows,
    failed=int(part.failed.sum()),
    cpu_seconds=part.cpu_seconds.mean(),
    metrics=pd.DataFrame([frames.diagnostics(row.metrics) for row in sound])
    .median()
    .to_dict(),
    estimate=statistics.fmean(row.metrics['estimate'] for row in sound)
    if sound
    else math.nan,
    interval=row_intervals.of(sound, level=LEVEL),
    difference=row_intervals.difference(sound, log, level=LEVEL),
    missing=row_intervals.missing(sound),
    place=int(part.index[0]),
  )
