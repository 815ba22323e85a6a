"""Methods that take a log in parts with passes of sums, and what runs them.

    streamed_methods.run(survey, task, 'wis', config, seeds=[0], reduce=reduce)

Closed forms on features are `streamed_runs`, what weighs episodes by recorded
probabilities is `streamed_weights`.
"""

from collections.abc import Sequence
from typing import Protocol

from dfiv_ope.agents.entries import base, random_features, weighing
from dfiv_ope.evaluation import (
  estimates,
  run_results,
  streamed_passes,
  streamed_runs,
  streamed_weights,
)
from dfiv_ope.evaluation import runs as runs_lib
from dfiv_ope.ope import streamed
from dfiv_ope.ope import task as task_lib

# Passes over all parts that each takes, besides those for scales.
PASSES = {
  **dict.fromkeys(streamed_runs.METHODS, 2),
  **dict.fromkeys(streamed_weights.METHODS, 1),
}
METHODS = tuple(PASSES)


def fits(method: str, *, recorded: bool) -> bool:
  """Returns whether a method takes a log in parts with passes of sums.

  Args:
    method: name of the estimator.
    recorded: whether the log records behaviour probabilities.
  """
  return method in METHODS and (
    recorded or method not in streamed_weights.METHODS
  )


class Runner(Protocol):
  """Runs a method with any seeds; what they share is found with the first."""

  def runs(
    self, seeds: Sequence[int], reduce: streamed_passes.Reduce
  ) -> list[run_results.Run]:
    """Returns runs of some seeds, by passes over the log."""


def runner(
  survey: streamed.Survey,
  task: task_lib.EvaluationTask,
  method: str,
  config: base.MethodConfig,
  *,
  sampled: runs_lib.Evaluator | None = None,
  group: int = streamed_passes.GROUP,
) -> Runner:
  """Returns what runs a method.

  Args:
    survey: of the log.
    task: its sample, and the policy; gets the problem of the whole log.
    method: one of `METHODS`.
    config: its hyper-parameters.
    sampled: runs methods on the task, and may know the checks of another
      method; None for one of its own.
    group: parts of a group, an even number.

  Raises:
    ValueError: the log is none of those that can be streamed.
  """
  if method in streamed_weights.METHODS:
    assert isinstance(config, weighing.Config)
    return streamed_weights.Runner(
      survey, task, method, config, sampled=sampled, group=group
    )
  assert isinstance(config, random_features.Config)
  return streamed_runs.Runner(
    survey, task, method, config, sampled=sampled, group=group
  )


def run(
  survey: streamed.Survey,
  task: task_lib.EvaluationTask,
  method: str,
  config: base.MethodConfig,
  *,
  seeds: Sequence[int],
  reduce: streamed_passes.Reduce,
  sampled: runs_lib.Evaluator | None = None,
  group: int = streamed_passes.GROUP,
) -> estimates.Estimate:
  """Returns what a method says of a policy's value.

  Args:
    survey: as `runner` takes it.
    task: likewise.
    method: likewise.
    config: likewise.
    seeds: of the runs.
    reduce: works on groups of parts.
    sampled: as `runner` takes it.
    group: likewise.

  Raises:
    ValueError: the log is none of those that can be streamed.
  """
  made = runner(survey, task, method, config, sampled=sampled, group=group)
  return estimates.of_runs(
    method,
    made.runs(seeds, reduce),
    episodes=survey.episodes,
    rows=survey.transitions,
  )
