"""Importance sampling on a log that is read in parts.

    Runner(survey, task, 'wis', config).runs([0], reduce)

Estimates are made of the weights and returns of whole episodes
(`agents.importance_sampling`), which one pass tells, in parts that are cut
where episodes begin. Memory holds one part and a few numbers for each episode.
Unrelated estimators are asked on the survey's sample, and what they say stays
as it is: on a sample weights vary more by chance than these do, so that moving
them with the estimate, as `streamed_runs` does, would add to it.

Only recorded probabilities are weighed by: clones of the behaviour policy that
never saw an episode take the whole log.
"""

from collections.abc import Sequence
import dataclasses
import time

import numpy as np

from dfiv_ope import agents
from dfiv_ope.agents import direct, importance_sampling
from dfiv_ope.agents.entries import weighing as entry
from dfiv_ope.evaluation import run_results, streamed_passes, streamed_scales
from dfiv_ope.evaluation import runs as runs_lib
from dfiv_ope.ope import episodes, streamed
from dfiv_ope.ope import task as task_lib

# Whose estimates are sums over whole episodes, with one weight for each.
METHODS = ('tis', 'wis')


def marks(lengths: np.ndarray) -> list[int]:
  """Returns where parts of whole episodes begin, and the end of the last.

  Args:
    lengths: number of steps of each episode, [E].
  """
  from dfiv_ope.agents import memory

  ends = np.cumsum(lengths)
  places = np.searchsorted(ends, memory.marks(int(ends[-1]))[1:])
  return [0, *np.unique(ends[places]).tolist()]


def tell(
  context: streamed_passes.Context,
  group: streamed_passes.Group,
  config: entry.Config,
) -> importance_sampling.Told:
  """Returns what the episodes of a group tell.

  Args:
    context: log and problem.
    group: parts of whole episodes.
    config: cap of weights.
  """
  return streamed_passes.merged(
    (
      importance_sampling.part(config, _task(context, part)).told
      for part in context.parts(group.marks)
    ),
    importance_sampling.merge,
  )


def _task(
  context: streamed_passes.Context, part: streamed.Part
) -> task_lib.EvaluationTask:
  """Returns whole episodes as a log of their own, and the policy."""
  problem = context.problem
  return task_lib.EvaluationTask(
    episodes.Episodes(
      transitions=part.transitions,
      episodes=part.episodes - part.episodes[0],
      initial_observations=part.starts,
      num_actions=problem.num_actions,
      discount=problem.discount,
      behaviour_probabilities=part.behaviour_probabilities,
    ),
    problem.policy,
  )


class Runner:
  """Runs a method; all seeds find the same, because nothing is drawn."""

  def __init__(
    self,
    survey: streamed.Survey,
    task: task_lib.EvaluationTask,
    method: str,
    config: entry.Config,
    *,
    sampled: runs_lib.Evaluator | None = None,
    group: int = streamed_passes.GROUP,
  ):
    """Refuses what cannot be streamed.

    Args:
      survey: of the log.
      task: its sample, and the policy; gets the problem of the whole log.
      method: one of `METHODS`.
      config: its hyper-parameters.
      sampled: runs methods on the task; None for one of its own.
      group: parts of a group, an even number.

    Raises:
      ValueError: the log has no behaviour probabilities.
    """
    if survey.sample.behaviour_probabilities is None:
      raise ValueError(
        f'{agents.ENTRIES[method].style.label} reads logs in parts that record '
        'behaviour probabilities, and this one has none. Import it with '
        'dfiv-ope dataset import.'
      )
    self._survey, self._task = survey, task
    self._method, self._config = method, config
    self._sampled = sampled or runs_lib.Evaluator(task)
    self._group = group
    self._found: run_results.Run | None = None

  def runs(
    self, seeds: Sequence[int], reduce: streamed_passes.Reduce
  ) -> list[run_results.Run]:
    """Returns runs of some seeds.

    Args:
      seeds: of the runs.
      reduce: works on groups of parts.
    """
    if self._found is None:
      self._found = self._run(reduce)
    return [dataclasses.replace(self._found, seed=seed) for seed in seeds]

  def _run(self, reduce: streamed_passes.Reduce) -> run_results.Run:
    started = time.process_time()
    survey, task = self._survey, self._task
    # Unrelated estimators are asked in the scales of the whole log.
    streamed_scales.settle(survey, task, reduce, self._group)
    try:
      found = self._estimate(reduce)
    except direct.UnanswerableError as error:
      return run_results.refused(
        str(error), seed=0, cpu_seconds=time.process_time() - started
      )
    seconds = time.process_time() - started
    checks = self._sampled.checks()
    self._sampled.keep(None)  # Weights of the sample are not asked for again.
    return run_results.weighed(
      found,
      seed=0,
      cpu_seconds=seconds,
      returned=run_results.plausible(
        survey.returns, cut=bool(survey.truncated)
      ),
      checks=checks,
    )

  def _estimate(self, reduce: streamed_passes.Reduce) -> direct.Direct:
    """Returns the estimate, by a pass over the log.

    Raises:
      UnanswerableError: weights cannot tell.
    """
    told = reduce(
      tell,
      importance_sampling.merge,
      self._task.problem,
      streamed_passes.groups(marks(self._survey.lengths), self._group),
      self._config,
    )
    return importance_sampling.answer(
      told, normalised=agents.load(self._method).NORMALISED
    )
