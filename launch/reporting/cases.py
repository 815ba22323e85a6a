"""A user's log and a policy: what all methods say of the two."""

from collections.abc import Mapping
import dataclasses
import math
import statistics
from typing import Any

import pandas as pd

from dfiv_ope import results
from dfiv_ope.evaluation import inference
from dfiv_ope.launch import intervals
from dfiv_ope.launch.reporting import frames

# Of all intervals of a report.
LEVEL = 0.95
# A method whose correction is more of its standard errors is off the log's own
# Bellman equation by more than chance.
_CORRECTIONS = 2.
# What a selection says of a candidate.
_SCORES = ['tournament', 'projected_bellman_error', 'chosen']


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
  """The runs of a method, and what they say together.

  Attributes:
    variant: label of the method.
    method: its name.
    family: the family it belongs to.
    runs: how many there are.
    failed: how many of them diverged.
    cpu_seconds: of a run, on average.
    metrics: medians over the runs that did not diverge.
    estimate: mean over them; nan if all diverged.
    interval: of the estimate; None if no run says how data may change it, or
      there is too little data to say.
    difference: the same of the value less the average return of the log.
    missing: why there is too little data for an interval, if there is.
    place: of its first run among all.
  """
  variant: str
  method: str
  family: str
  runs: int
  failed: int
  cpu_seconds: float
  metrics: Mapping[str, float]
  estimate: float
  interval: inference.Interval | None
  difference: inference.Interval | None
  missing: str = ''
  place: int = 0

  @property
  def width(self) -> float:
    """Length of the interval; infinite without one."""
    if self.interval is None:
      return float('inf')
    return self.interval.high - self.interval.low

  @property
  def contradicted(self) -> bool:
    """Whether the log's own Bellman equation speaks against the method."""
    found = self.interval
    return found is not None and (
        abs(found.correction) > _CORRECTIONS * found.data_error)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
  """One question: a policy on a log, at a discount.

  Attributes:
    problem: what rows say of the two.
    frame: lines of the runs.
    methods: what each says, without the naive answer.
    selection: of `scores`, the last choice between methods; may be empty.
  """
  problem: Mapping[str, Any]
  frame: pd.DataFrame
  methods: list[Result]
  selection: pd.DataFrame

  @property
  def policy(self) -> str:
    """What the policy is called, and what tells the case from others."""
    return f'{self.problem.get("policy", "the policy")}{self.note}'

  @property
  def note(self) -> str:
    """What tells the case from others of the same name; often empty."""
    return str(self.frame.note.iloc[0])

  @property
  def log(self) -> tuple[float, float, float]:
    """Average return of the log and the ends of its interval, nan if none."""
    mean = frames.number(self.problem.get('log_return'))
    ends = intervals.of_log(self.problem, level=LEVEL)
    return mean, *(ends or (float('nan'),) * 2)

  @property
  def effective_share(self) -> float:
    """Effective sample size as a share of rows, of the preferred method."""
    best = self.preferred
    return (best.metrics.get('effective_share', float('nan')) if best
            else float('nan'))

  @property
  def lost_share(self) -> float:
    """Share of the reward where stage 1 keeps little; nan if unknown."""
    return self.median('first_stage_lost_share')

  def median(self, name: str) -> float:
    """Returns a metric of the log, which all methods share; nan if unknown."""
    known = [result.metrics[name] for result in self.methods
             if name in result.metrics]
    return statistics.median(known) if known else float('nan')

  @property
  def preferred(self) -> Result | None:
    """The method whose estimate is the answer.

    That of the selection if there was one. Otherwise the one that was run
    first, of those that did not diverge, are not contradicted and have several
    runs. The width of an interval is no reason: of several, the narrowest is
    the likeliest to be too narrow.
    """
    known = [each for each in self.methods if each.interval] or [
        each for each in self.methods if math.isfinite(each.estimate)]
    if len(self.selection):
      chosen = self.selection.chosen.idxmax()
      known = [each for each in known if each.variant == chosen] or known
    return min(known, default=None, key=lambda each: (
        bool(each.failed), each.contradicted, each.runs == 1, each.place))


def collect(frame: pd.DataFrame, rows: list[results.ResultRow]) -> list[Case]:
  """Returns the cases of rows of logs and of selections.

  Args:
    frame: of `frames.log`.
    rows: those it was made of.
  """
  cases = []
  for _, lines in frame.groupby('question', sort=False):
    ours = {index: rows[index] for index in lines.index}
    runs = lines[lines.kind == 'log']
    if runs.empty:  # A selection alone.
      continue
    selections = lines[lines.kind == 'selection']
    last = selections[selections.choice.isin(selections.choice.tail(1))]
    naive = [ours[index] for index in runs.index
             if runs.family[index] == frames.NAIVE]
    cases.append(Case(
        problem=ours[runs.index[0]].problem, frame=runs,
        methods=[
            _result(part, [ours[index] for index in part.index],
                    naive[-1] if naive else None)
            for name in frames.order(runs.variant)
            for part in [runs[runs.variant == name]]
            if part.family.iloc[0] != frames.NAIVE],
        selection=scores(last, [ours[index] for index in last.index])))
  return cases


def scores(
    lines: pd.DataFrame, rows: list[results.ResultRow]) -> pd.DataFrame:
  """Returns the scores of the candidates of a selection, the best first.

  Args:
    lines: of `frames.log`, of one selection.
    rows: those they were made of.
  """
  found = pd.DataFrame(
      [[frames.number(row.metrics.get(name)) for name in _SCORES]
       for row in rows], index=lines.variant, columns=_SCORES, dtype=float)
  return found.fillna({'chosen': 0.}).sort_values('tournament')


def _result(
    part: pd.DataFrame, rows: list[results.ResultRow],
    log: results.ResultRow | None,
) -> Result:
  sound = [row for row, failed in zip(rows, part.failed, strict=True)
           if not failed]
  first = part.iloc[0]
  return Result(
      variant=first.variant, method=first.method, family=first.family,
      runs=len(rows), failed=int(part.failed.sum()),
      cpu_seconds=part.cpu_seconds.mean(),
      metrics=pd.DataFrame([
          frames.diagnostics(row.metrics) for row in sound]).median().to_dict(),
      estimate=statistics.fmean(row.metrics['estimate'] for row in sound)
      if sound else float('nan'),
      interval=intervals.of(sound, level=LEVEL),
      difference=intervals.difference(sound, log, level=LEVEL),
      missing=intervals.missing(sound), place=int(part.index[0]))
