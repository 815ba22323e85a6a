"""LSTD-Q of many policies on one log, with what they share made once.

The features of a log's states, their Gram matrix and most products of rows do
not depend on the policy (`agents.shared_sums`). Two passes over the log serve
all policies of a batch: one for the sums that weights of features are solved
from, one for Bellman errors and weights of rows. What comes out are the runs
that `runs.Evaluator.run` makes of each policy alone, but for rounding; where a
log has more probabilities than that holds and draws from, they are exact here.
"""

from collections.abc import Iterator, Sequence
import functools
import math
import statistics
import time

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import bandwidth_choice, base, fixed_features, lstd
from dfiv_ope.agents.entries import base as entry_base
from dfiv_ope.evaluation import (
  first_stage,
  inference,
  influence,
  policy_sums,
  run_results,
  runs,
  shared_log,
  shared_pass,
)
from dfiv_ope.ope import decisions, targets
from dfiv_ope.ope import task as task_lib

# Bytes that the policies of a batch may add to the memory.
_MEMORY = 1_000_000_000


def fits(
  task: task_lib.EvaluationTask, config: entry_base.MethodConfig
) -> bool:
  """Returns whether policies of a log share the work of a method.

  They do with LSTD-Q on features for each action.

  Args:
    task: one of the policies.
    config: of the method.
  """
  if not isinstance(config, lstd.Config) or not (
    0 < task.log.num_actions < targets.DRAWS
  ):
    return False
  agent = lstd.make(config, task.problem, seed=0)
  return isinstance(agent, lstd.LSTD) and isinstance(
    agent.features, decisions.Outer
  )


def run(
  evaluators: Sequence[runs.Evaluator],
  config: lstd.Config,
  *,
  seeds: Sequence[int],
  keep: int = 0,
  progress: policy_sums.Progress = lambda done, note: None,
) -> list[list[run_results.Run]]:
  """Returns the runs of LSTD-Q of each policy, a run for each seed.

  Args:
    evaluators: of one log, a policy each; `fits` holds.
    config: of LSTD-Q.
    seeds: of the features.
    keep: how many evaluators keep the influence of their episodes: those with
      the greatest estimates.
    progress: told how far it is.
  """
  bandwidth_choice.settle([each.task for each in evaluators])
  log = shared_log.SharedLog(evaluators[0].task)
  found: list[list[run_results.Run]] = []
  while len(found) < len(evaluators):
    start = len(found)
    asked = _ask(log, evaluators[start:], config, len(seeds))
    share = len(asked) / len(evaluators)
    batch = _Batch(
      log,
      evaluators[start : start + len(asked)],
      policy_sums.Policies(
        log,
        asked,
        config,
        lambda done, note, start=start, share=share: progress(  # type: ignore[misc]
          start / len(evaluators) + done * share, note
        ),
      ),
      config,
      seeds,
    )
    runs_, moved = batch.run()
    found += runs_
    greatest = sorted(
      range(len(found)), key=lambda place: -_estimate(found[place])
    )[:keep]
    for place in range(len(found)):
      if place not in greatest:
        evaluators[place].keep(None)
      elif place >= start:
        evaluators[place].keep(moved[place - start].copy())
  return found


def _ask(
  log: shared_log.SharedLog,
  evaluators: Sequence[runs.Evaluator],
  config: lstd.Config,
  seeds: int,
) -> list[policy_sums.Asked]:
  """Returns what the first policies do: as many as fit memory, at least one."""
  problem = evaluators[0].task.problem
  size = config.settings_of(problem).random_features + 1
  # Sums of a seed, or weights of rows; and what episodes add.
  each = 8.0 * (
    max((log.num_actions * size) ** 2, len(log.actions))
    + 2 * seeds * log.num_episodes
  )
  asked: list[policy_sums.Asked] = []
  left: float = _MEMORY
  for evaluator in evaluators:
    asked.append(policy_sums.Asked.of(evaluator.task.problem, log))
    left -= each + asked[-1].following.size
    if left < each:
      break
  return asked


def _estimate(found: Sequence[run_results.Run]) -> float:
  """Returns the mean over runs; less than any if all failed."""
  known = [each.metrics['estimate'] for each in found if not each.failure]
  return statistics.fmean(known) if known else -math.inf


class _Batch:
  """As many policies as fit memory."""

  def __init__(
    self,
    log: shared_log.SharedLog,
    evaluators: Sequence[runs.Evaluator],
    policies: policy_sums.Policies,
    config: lstd.Config,
    seeds: Sequence[int],
  ):
    self._log = log
    self._evaluators = evaluators
    self._config = config
    self._seeds = seeds
    self._problems = [each.task.problem for each in evaluators]
    self._policies = policies
    _, self._looked_at = shared_pass.thinned(np.diff(log.marks).tolist())
    self._first_stage: list[fixed_features.Rows] | None = None

  def run(
    self,
  ) -> tuple[list[list[run_results.Run]], list[influence.Influence]]:
    """Returns the runs of each policy, and the influence of episodes."""
    started = time.process_time()
    share = 0.6 / len(self._seeds)
    solved = [
      self._policies.solve(seed, place * share, share)
      for place, seed in enumerate(self._seeds)
    ]
    weighed = self._policies.weigh(solved, self._looked_at)
    initial = [self._policies.initial_values(each) for each in solved]
    seconds = (time.process_time() - started) / (
      len(solved) * len(self._problems)
    )
    found, influences = [], []
    for policy, evaluator in enumerate(self._evaluators):
      self._policies.progress(
        0.8 + 0.2 * policy / len(self._evaluators), 'intervals'
      )
      moved = self._influence(policy, solved[0], weighed.weights[policy])
      influences.append(moved)
      evaluator.keep(moved)  # What checks ask for.
      found.append(
        [
          self._summarise(
            policy,
            evaluator,
            moved,
            each,
            seed,
            initial=start[:, policy],
            weighted=errors[:, policy],
            later=later[:, policy],
            cpu_seconds=seconds,
          )
          for each, seed, start, errors, later in zip(
            solved,
            self._seeds,
            initial,
            weighed.weighted,
            weighed.later,
            strict=True,
          )
        ]
      )
    return found, influences

  def _influence(
    self, policy: int, solved: policy_sums.Solved, weights: types.FloatArray
  ) -> influence.Influence:
    """Returns the influence of the episodes on the value of one policy."""
    log, problem = self._log, self._problems[policy]
    settings, sizes = (
      self._config.settings_of(problem),
      np.diff(log.marks).tolist(),
    )
    parts = functools.partial(self._parts, policy)
    assert solved.halves is not None
    return influence.Influence(
      problem,
      lambda: parts(range(len(sizes))),
      episodes=log.episodes,
      initial_observations=log.initial_observations,
      features=settings,
      fixed_starts=log.fixed_starts,
      weighed=influence.Weighed(
        weights,
        lambda: problem.outcome(log.transitions.reward)[:, 0],
        solved.function.output_size,
        first_stage.LogFirstStage(
          problem,
          solved.function,
          lambda: parts(self._looked_at),
          solved.halves,
          features=settings,
          episodes=log.episodes[
            np.concatenate([log.part(index) for index in self._looked_at])
          ],
          made=functools.partial(self._logged, solved.function),
        ),
      ),
    )

  def _logged(self, function: decisions.Outer) -> list[fixed_features.Rows]:
    """Returns psi(s, a) of the rows of the first stage, once for all policies.

    Args:
      function: psi, that of all policies.
    """
    if self._first_stage is None:
      self._first_stage = [
        fixed_features.Rows(function, rows.instrument)
        for rows in self._parts(0, self._looked_at)
      ]
    return self._first_stage

  def _parts(
    self, policy: int, parts: Sequence[int]
  ) -> Iterator[types.IVBatch]:
    """Yields some parts of the log as rows of a policy's regression."""
    log, problem = self._log, self._problems[policy]
    for index in parts:
      rows = slice(log.marks[index], log.marks[index + 1])
      chosen = self._policies.following[policy].at(rows)
      yield problem.rows(
        types.Transition(*(each[rows] for each in log.transitions)),
        later=decisions.Decision(
          log.later[rows],
          np.repeat(
            np.arange(log.num_actions, dtype=np.int32)[None],
            len(chosen),
            axis=0,
          ),
          chosen,
        ),
      )

  def _summarise(
    self,
    policy: int,
    evaluator: runs.Evaluator,
    moved: influence.Influence,
    solved: policy_sums.Solved,
    seed: int,
    *,
    initial: types.FloatArray,
    weighted: types.FloatArray,
    later: types.FloatArray,
    cpu_seconds: float,
  ) -> run_results.Run:
    """Returns the run of one policy and seed."""
    problem = self._problems[policy]
    metrics = {
      'updates': 0,
      'estimate': float(np.mean(initial)),
      'penalty': solved.penalties[policy],
    }
    curves = {name: [value] for name, value in metrics.items()}
    failure = base.divergence(problem, metrics)
    if failure:
      return run_results.diverged(
        failure, seed=seed, curves=curves, cpu_seconds=cpu_seconds
      )
    weighted = problem.value_scale * weighted
    return run_results.summarise(
      evaluator.task,
      solved.agents[policy],
      moved,
      influence.Effect(
        inference.contributions(
          None if self._log.fixed_starts else initial,
          weighted,
          np.arange(len(weighted)),
        ),
        float(np.sum(weighted)),
      ),
      curves=curves,
      seed=seed,
      cpu_seconds=cpu_seconds,
      checks=evaluator.checks(),
      later=later,
    )
