"""Learners on a log that is longer than memory.

Batches are drawn from rows of the regression that lie on disk: made once for a
policy, some thousand at a time, and mapped (`datasets.mapped_arrays`). What is
held of each row is a few numbers for the interval. Columns that nobody needs,
the overlap and unrelated estimators are asked on the survey's sample, as
`evaluation.streamed_runs` does.
"""

from collections.abc import Callable, Iterator, Mapping
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import row_nests
from dfiv_ope.agents.entries import base
from dfiv_ope.datasets import log_copy, mapped_arrays, surveys
from dfiv_ope.evaluation import (
  estimates,
  runs,
  streamed_passes,
  streamed_runs,
  streamed_scales,
)
from dfiv_ope.ope import bellman, targets
from dfiv_ope.ope import task as task_lib


def learns(config: base.MethodConfig) -> bool:
  """Returns whether a method draws batches of rows."""
  return isinstance(config, base.Config) and config.updates > 0


def run(
  survey: surveys.Survey,
  task: task_lib.EvaluationTask,
  configs: Mapping[str, base.MethodConfig],
  *,
  seeds: int,
  reduce: streamed_passes.Reduce,
  sampled: runs.Evaluator,
  group: int,
  folder: pathlib.Path,
  progress: Callable[[float], None],
) -> dict[str, estimates.Estimate]:
  """Returns what learners say of a policy's value.

  Args:
    survey: of the log, with a copy.
    task: its sample, and the policy; gets the problem of the whole log.
    configs: of the methods, by name.
    seeds: number of seeds.
    reduce: works on groups of parts.
    sampled: of the task.
    group: parts of a group, an even number.
    folder: for the rows, which is replaced.
    progress: told what share is done.
  """
  return estimates.each_of(
    evaluator(
      survey, task, reduce=reduce, sampled=sampled, group=group, folder=folder
    ),
    configs,
    seeds=seeds,
    progress=lambda done, note: progress(done / (seeds * len(configs))),
  )


def evaluator(
  survey: surveys.Survey,
  task: task_lib.EvaluationTask,
  *,
  reduce: streamed_passes.Reduce,
  sampled: runs.Evaluator,
  group: int,
  folder: pathlib.Path,
) -> runs.Evaluator:
  """Returns what runs learners on a log.

  Args:
    survey: of the log, with a copy.
    task: its sample, and the policy; gets the problem of the whole log.
    reduce: works on groups of parts.
    sampled: of the task, which is asked what unrelated estimators say.
    group: parts of a group, an even number.
    folder: for the rows, which is replaced.
  """
  streamed_scales.settle(survey, task, reduce, group)
  checks = {**sampled.checks(), **streamed_runs.checked(survey)}
  assert survey.copy is not None
  log = log_copy.opened(survey.copy, survey.sample, truncated=survey.truncated)
  whole = task_lib.EvaluationTask(log, task.policy, dropped=task.dropped)
  whole.problem = task.problem
  whole.rows = write_rows(whole.problem, whole.transitions, folder)
  return runs.Evaluator(whole, checks=checks)


def write_rows(
  problem: bellman.Problem, transitions: types.Transition, folder: pathlib.Path
) -> Any:
  """Writes a log as rows of the regression; returns them as mapped arrays.

  Args:
    problem: what is asked of the log.
    transitions: all of the log, [N, ...].
    folder: which is replaced.
  """
  with mapped_arrays.Writer(folder) as writer:
    for part in _parts(problem, transitions):
      written = (part.treatment, part.outcome)  # The instrument is among them.
      writer.add(
        {
          f'{place:02d}': np.asarray(each)
          for place, each in enumerate(row_nests.leaves(written))
        }
      )
  arrays = iter(mapped_arrays.opened(folder).values())
  treatment, outcome = row_nests.map_rows(lambda _: next(arrays), written)
  return types.IVBatch(treatment, treatment.now, outcome)


def _parts(
  problem: bellman.Problem, transitions: types.Transition
) -> Iterator[types.IVBatch]:
  """Yields the rows of a log, `targets.PART` at a time."""
  parts = (
    types.Transition(
      *(each[start : start + targets.PART] for each in transitions)
    )
    for start in range(0, len(transitions.action), targets.PART)
  )
  if problem.one_step:  # What follows its steps does not matter.
    yield from map(problem.log_rows, parts)
    return
  decided = problem.target.of_log_in_parts(transitions.next_observation)
  for part, later in zip(parts, decided, strict=True):
    yield problem.rows(part, later=later)
