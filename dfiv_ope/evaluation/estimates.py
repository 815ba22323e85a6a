"""What several runs of an estimator say of a value, and of differences.

estimate = estimates.estimate(evaluator, 'lstd', lstd.Config(), seeds=3)
estimate.value, estimate.interval(0.95)
estimate.difference(other, 0.95)              # paired
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import functools
import math
import statistics

import numpy as np

from dfiv_ope.agents import checkpoints
from dfiv_ope.agents.entries import base
from dfiv_ope.evaluation import bearing, inference, run_results
from dfiv_ope.evaluation import runs as runs_lib
from dfiv_ope.ope import task as task_lib

# Called as progress(runs done, note).
Progress = Callable[[float, str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
  """The mean of runs that differ in their seeds.

  Attributes:
    method: name of the estimator.
    runs: of each seed; those that failed are excluded from averages.
    missing: why there is no confidence interval; empty if there is one.
  """

  method: str
  runs: tuple[run_results.Run, ...]
  missing: str = ''

  @property
  def sound(self) -> tuple[run_results.Run, ...]:
    """The runs that did not fail."""
    return tuple(run for run in self.runs if not run.failure)

  @property
  def value(self) -> float:
    """The mean over runs; nan if all of them failed."""
    if not self.sound:
      return math.nan
    return statistics.fmean(run.metrics['estimate'] for run in self.sound)

  def checked(self, checks: Mapping[str, float]) -> 'Estimate':
    """Returns the same with what unrelated estimators say.

    Args:
      checks: of `runs.Evaluator.ask`, as metrics.
    """
    return dataclasses.replace(
      self,
      runs=tuple(
        run
        if run.failure
        else dataclasses.replace(run, metrics={**run.metrics, **checks})
        for run in self.runs
      ),
    )

  @functools.cached_property
  def draws(self) -> inference.Draws | None:
    """What intervals are made of; None if there is none."""
    if self.missing or not self.sound:
      return None
    return inference.Draws(
      np.array([run.metrics['estimate'] for run in self.sound]),
      np.array([run.resamples for run in self.sound]),
      np.array([run.metrics.get('correction', 0.0) for run in self.sound]),
      min(run.metrics.get('degrees', math.inf) for run in self.sound),
      bearing.checks(self.sound[0].metrics),
    )

  @functools.cached_property
  def metrics(self) -> dict[str, float]:
    """Medians over runs of what all of them have."""
    if not self.sound:
      return {}
    return {
      name: statistics.median(run.metrics[name] for run in self.sound)
      for name in self.sound[0].metrics
      if all(name in run.metrics for run in self.sound)
    }

  def interval(self, level: float = 0.95) -> inference.Interval | None:
    """Returns the confidence interval; None if there is none."""
    return None if self.draws is None else self.draws.interval(level)

  def difference(
    self, other: 'Estimate', level: float = 0.95
  ) -> inference.Interval | None:
    """Returns the interval of the paired difference; None if there is none."""
    if self.draws is None or other.draws is None:
      return None
    return self.draws.less(other.draws).interval(level)


def estimate(
  evaluator: runs_lib.Evaluator,
  method: str,
  config: base.MethodConfig,
  *,
  seeds: int | Sequence[int],
  progress: Progress | None = None,
  saved: Callable[[int], checkpoints.Series] | None = None,
) -> Estimate:
  """Runs an estimator with several seeds.

  Args:
    evaluator: of the task.
    method: name of the agent.
    config: its hyper-parameters.
    seeds: the number of seeds, or which ones.
    progress: told the number of runs done, and a note.
    saved: returns the checkpoints of a seed, from which a killed run goes on.
  """
  found = []
  for done, seed in enumerate(
    range(seeds) if isinstance(seeds, int) else seeds
  ):
    note = f'{method} seed {seed}'

    def report(
      step: int, steps: int, said: str, done: int = done, note: str = note
    ) -> None:
      if progress is not None:
        progress(done + (step / steps if steps else 1.0), f'{note} {said}')

    if progress is not None:
      progress(done, note)
    found.append(
      evaluator.run(
        method,
        config,
        seed=seed,
        progress=report,
        saved=saved(seed) if saved else None,
      )
    )
  return of_task(evaluator.task, method, found)


def each_of(
  evaluator: runs_lib.Evaluator,
  configs: Mapping[str, base.MethodConfig],
  *,
  seeds: int,
  progress: Progress | None = None,
) -> dict[str, Estimate]:
  """Runs several estimators, one after the other.

  Args:
    evaluator: of the task.
    configs: hyper-parameters by the names of the estimators.
    seeds: the number of seeds of each.
    progress: told the number of runs done of all, and a note.
  """
  found: dict[str, Estimate] = {}

  def report(done: float, note: str) -> None:
    if progress is not None:
      progress(len(found) * seeds + done, note)

  for method, config in configs.items():
    found[method] = estimate(
      evaluator, method, config, seeds=seeds, progress=report
    )
  return found


def of_task(
  task: task_lib.EvaluationTask, method: str, found: Sequence[run_results.Run]
) -> Estimate:
  """Returns `of_runs` on a task's log."""
  return of_runs(
    method, found, episodes=task.log.num_episodes, rows=len(task.log)
  )


def of_runs(
  method: str, found: Sequence[run_results.Run], *, episodes: int, rows: int
) -> Estimate:
  """Returns what runs of an estimator say together.

  Args:
    method: name of the agent.
    found: its runs, of several seeds.
    episodes: of the log.
    rows: of the log.
  """
  columns = max((run.metrics.get('columns', 0.0) for run in found), default=0.0)
  effective = min(
    (run.metrics.get('effective_episodes', math.inf) for run in found),
    default=math.inf,
  )
  return Estimate(
    method=method,
    runs=tuple(found),
    missing=inference.too_few(episodes, rows, int(columns), effective),
  )


def log_average(evaluator: runs_lib.Evaluator) -> Estimate:
  """Returns the naive estimate, the average return of the log."""
  return Estimate(
    method='log_average',
    runs=(evaluator.log_average(),),
    missing=inference.too_few(evaluator.task.log.num_episodes, 1, 0),
  )
