"""Runs of estimators on one task, each with what its interval needs.

    evaluator = runs.Evaluator(task)
    run = evaluator.run('lstd', lstd.Config(), seed=0)
    run.metrics['estimate'], run.resamples

`Evaluator.run` takes both kinds of estimators (`agents`). What all runs of a
task share is made once: its rows, the influence of its episodes for each kind
of features, and the behaviour probabilities.
"""

from collections.abc import Callable, Mapping
import functools
import time
from typing import Any

from acme.utils import loggers

from dfiv_ope import agents, types
from dfiv_ope.agents import (
  bandwidth_choice,
  base,
  checkpoints,
  direct,
  lstd,
  memory,
)
from dfiv_ope.agents.entries import base as entry_base
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import (
  cross_checks,
  influence,
  interval_settings,
  run_results,
  shared_pass,
)
from dfiv_ope.ope import elsewhere
from dfiv_ope.ope import task as task_lib

_LSTD = agents.ENTRIES['lstd'].configs['default']

# Called as progress(updates done, updates in all, note).
Progress = Callable[[int, int, str], None]


class Evaluator:
  """Runs estimators on a task.

  Attributes:
    task: the log and the target policy.
  """

  def __init__(
    self,
    task: task_lib.EvaluationTask,
    *,
    checked: bool = True,
    checks: Mapping[str, float] | None = None,
  ):
    """Makes what runs share when it is first asked for.

    Args:
      task: the log and the target policy.
      checked: whether unrelated estimators are asked, too.
      checks: what they say, if it is known.
    """
    self.task = task
    self._checked = checked
    self._checks: Mapping[str, float] | None = checks
    self._influences: dict[random_features.Settings, influence.Influence] = {}

  @property
  def _settled(self) -> task_lib.EvaluationTask:
    """The task, once the bandwidth of its features has been chosen."""
    bandwidth_choice.settle([self.task])
    return self.task

  @functools.cached_property
  def _parts(self) -> memory.Parts:
    """The rows of the task, in parts."""
    return memory.Parts(self.task.rows)

  def learner(
    self,
    method: str,
    config: base.Config,
    *,
    seed: int,
    progress: Progress | None = None,
    rows: types.IVBatch | None = None,
  ) -> base.OPELearner:
    """Returns the learner of a method on the rows of the log.

    Args:
      method: name of the agent.
      config: its hyper-parameters.
      seed: seeds the agent and its batches.
      progress: told at each evaluation point.
      rows: some of the task's; None for all.
    """
    task = self._settled
    agent = agents.load(method).make(config, task.problem, seed=seed)
    if seed == 0 and rows is None and isinstance(agent, lstd.LSTD):
      agent.keep(
        shared_pass.labels(len(task.log), cross_checks.looked_at(task))
      )
    return base.OPELearner(
      agent,
      task.problem,
      memory.InMemory(
        task.rows if rows is None else rows,
        batch_size=config.batch_size,
        seed=seed,
        parts=self._parts if rows is None else None,
      ),
      initial_observations=task.initial_observations,
      logger=_Reporter(progress, config.updates),
    )

  def keep(self, found: influence.Influence | None) -> None:
    """Keeps the influence that was found with those of other policies.

    Args:
      found: of features that `influence` is asked for; None to keep none.
    """
    self._influences.clear()
    if found is not None:
      self._influences[found.features] = found

  def influence(
    self, config: base.Config | None = None, agent: base.Agent | None = None
  ) -> influence.Influence:
    """Returns the episodes' influence; found out when first asked for.

    Args:
      config: of the method whose features it has; None for the default ones.
      agent: a method of this config that has learned from the whole log.
    """
    task = self._settled
    features = interval_settings.settings(config, task.problem)
    if features not in self._influences:
      self._influences[features] = influence.Influence(
        task.problem,
        self._parts,
        episodes=task.log.episodes,
        features=features,
        agent=agent,
        initial_observations=task.initial_observations,
        fixed_starts=task.log.starts is not None,
      )
    return self._influences[features]

  def checks(
    self, learner: base.OPELearner | None = None
  ) -> Mapping[str, float]:
    """Returns what unrelated estimators say of the value, as metrics.

    Args:
      learner: one of seed 0 on the whole log, which is done: LSTD-Q of the
        default config is not fitted again.
    """
    if learner is not None and learner.agent.config != _LSTD:
      learner = None
    if self._checks is None:
      agent = None if learner is None else learner.agent
      self._checks = (
        cross_checks.measure(
          self._settled,
          weigh=lambda: self.influence(_LSTD, agent).weights,
          learner=learner,
        )
        if self._checked
        else {}
      )
    return self._checks

  def ask(self) -> Mapping[str, float]:
    """Returns what unrelated estimators say, whether asked before or not."""
    if not self._checked:
      self._checked, self._checks = True, None
    return self.checks()

  def run(
    self,
    method: str,
    config: entry_base.MethodConfig,
    *,
    seed: int,
    progress: Progress | None = None,
    saved: checkpoints.Series | None = None,
  ) -> run_results.Run:
    """Runs a method of either kind to its end.

    Args:
      method: name of the estimator.
      config: its hyper-parameters.
      seed: of the run.
      progress: told at each evaluation point.
      saved: checkpoints of this run, from which it goes on; None for none.
        What weighs the log is over too soon to have any.
    """
    if agents.ENTRIES[method].direct:
      return self._weigh(method, config, seed=seed)
    assert isinstance(config, base.Config)
    if agents.ENTRIES[method].imagines:
      started = time.process_time()
      try:
        elsewhere.require(self.task, method)
      except direct.UnanswerableError as error:
        return run_results.refused(
          str(error), seed=seed, cpu_seconds=time.process_time() - started
        )
    if saved is not None:
      learner, seconds = self.learned(
        method, config, seed=seed, saved=saved, progress=progress
      )
    else:
      started = time.process_time()
      learner = self.learner(method, config, seed=seed, progress=progress)
      learner.run()
      seconds = time.process_time() - started
    return self.finish(learner, seed=seed, cpu_seconds=seconds)

  def _weigh(
    self, method: str, config: entry_base.MethodConfig, *, seed: int
  ) -> run_results.Run:
    """Runs an estimator that has no Q-function."""
    started = time.process_time()
    try:
      _require_episodes(method, self.task)
      found: direct.Direct = agents.load(method).estimate(
        config, self._settled, seed=seed
      )
    except direct.UnanswerableError as error:
      return run_results.refused(
        str(error), seed=seed, cpu_seconds=time.process_time() - started
      )
    seconds = time.process_time() - started
    return run_results.weighed(
      found,
      seed=seed,
      cpu_seconds=seconds,
      returned=run_results.returns(self.task),
      checks=self.checks(),
    )

  def learned(
    self,
    method: str,
    config: base.Config,
    *,
    seed: int,
    saved: checkpoints.Series,
    progress: Progress | None = None,
    rows: types.IVBatch | None = None,
  ) -> tuple[base.OPELearner, float]:
    """Returns a learner that has learned, and the CPU seconds it took.

    A killed run goes on from its last checkpoint.

    Args:
      method: name of the agent.
      config: its hyper-parameters.
      seed: seeds the agent and its batches.
      saved: checkpoints of this run, one at each evaluation point.
      progress: told at each evaluation point.
      rows: some of the task's; None for all.
    """
    learner = self.learner(
      method, config, seed=seed, rows=rows, progress=progress
    )
    saved.restore(learner)
    spent = saved.state.get('cpu_seconds', 0.0)
    started = time.process_time()

    def seconds() -> float:
      return float(spent + time.process_time() - started)

    while not learner.done:
      learner.step()
      if not learner.done:
        saved.save(
          learner,
          number=len(learner.history['updates']),
          state={'cpu_seconds': seconds()},
        )
    return learner, seconds()

  def finish(
    self, learner: base.OPELearner, *, seed: int, cpu_seconds: float
  ) -> run_results.Run:
    """Returns what a learner found, with the influence of the episodes.

    Args:
      learner: of `learner`; it is done.
      seed: of the run.
      cpu_seconds: that it took.
    """
    curves = learner.history
    failure = learner.divergence
    if failure:
      return run_results.diverged(
        failure, seed=seed, curves=curves, cpu_seconds=cpu_seconds
      )
    found = self.influence(learner.agent.config, learner.agent)
    return run_results.summarise(
      self.task,
      learner.agent,
      found,
      found.measure(learner.agent, learner.initial_values),
      curves=curves,
      seed=seed,
      cpu_seconds=cpu_seconds,
      checks=self.checks(learner if seed == 0 else None),
    )

  def log_average(self) -> run_results.Run:
    """Returns the naive estimate: the average return of the log."""
    return run_results.average(self.task.log.returns)


def _require_episodes(method: str, task: task_lib.EvaluationTask) -> None:
  """Refuses logs whose episodes do not begin where the value does.

  Raises:
    UnanswerableError: the log has only transitions, or start states were given.
  """
  if task.log.transitions_only or task.log.starts is not None:
    raise direct.UnanswerableError(
      f'{method} weighs whole episodes from their own start states, but '
      + (
        'the log is of transitions without episodes'
        if task.log.transitions_only
        else 'other start states were given'
      )
      + '. Use lstd, kiv, fqe or dfiv.'
    )


class _Reporter(loggers.Logger):
  """Passes on what a learner logs."""

  def __init__(self, progress: Progress | None, updates: int):
    self._progress = progress
    self._updates = updates

  def write(self, data: Mapping[str, Any]) -> None:
    if self._progress is not None:
      self._progress(
        int(data['updates']), self._updates, f'estimate {data["estimate"]:.4g}'
      )

  def close(self) -> None:
    """Has nothing to close."""
