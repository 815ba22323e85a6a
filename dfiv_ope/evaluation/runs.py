"""Runs of estimators on one task, each with what its interval needs.

    evaluator = runs.Evaluator(task)
    run = evaluator.run('lstd', lstd.Config(), seed=0)
    run.metrics['estimate'], run.resamples

What all runs of a task share is made once: its rows, and the influence of its
episodes for each kind of features.
"""

from collections.abc import Callable, Mapping
import dataclasses
import time
from typing import Any

from acme.utils import loggers
import numpy as np

from dfiv_ope import agents, types
from dfiv_ope.agents import base, checkpoints, memory
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import inference, influence, interval_settings
from dfiv_ope.ope import targets
from dfiv_ope.ope import task as task_lib

# Called as progress(updates done, updates in all, note).
Progress = Callable[[int, int, str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
  """What a run of an estimator found.

  Attributes:
    seed: of the run.
    metrics: by name: estimate, correction, diagnostics; empty if it failed.
    curves: the estimate and losses at each evaluation point.
    resamples: changes of the estimate by resampled episodes, [B].
    failure: why it has no estimate; empty if it has one.
    cpu_seconds: process time of the run, without its influence.
  """
  seed: int
  metrics: Mapping[str, float]
  curves: Mapping[str, list[float]]
  resamples: types.FloatArray
  failure: str
  cpu_seconds: float


class Evaluator:
  """Runs estimators on a task.

  Attributes:
    task: the log and the target policy.
  """

  def __init__(self, task: task_lib.EvaluationTask):
    self.task = task
    self._influences: dict[
        random_features.Settings, influence.Influence] = {}

  def learner(
      self, method: str, config: base.Config, *, seed: int,
      progress: Progress | None = None, rows: types.IVBatch | None = None,
  ) -> base.OPELearner:
    """Returns the learner of a method on the rows of the log.

    Args:
      method: name of the agent.
      config: its hyper-parameters.
      seed: seeds the agent and its batches.
      progress: told at each evaluation point.
      rows: some of the task's; None for all.
    """
    task = self.task
    rows = task.rows if rows is None else rows
    return base.OPELearner(
        agents.load(method).make(config, task.problem, seed=seed),
        task.problem,
        memory.InMemory(rows, batch_size=config.batch_size, seed=seed),
        initial_observations=task.initial_observations,
        logger=_Reporter(progress, config.updates))

  def influence(
      self, config: base.Config | None = None,
      agent: base.Agent | None = None) -> influence.Influence:
    """Returns the episodes' influence; found out when first asked for.

    Args:
      config: of the method whose features it has; None for the default ones.
      agent: a method of this config that has learned from the whole log.
    """
    task = self.task
    features = interval_settings.settings(
        config, task.log.num_actions, rows=len(task.log))
    if features not in self._influences:
      self._influences[features] = influence.Influence(
          task.problem,
          memory.InMemory(task.rows, batch_size=1, seed=0).parts,
          episodes=task.log.episodes, features=features, agent=agent,
          initial_observations=task.initial_observations)
    return self._influences[features]

  def run(
      self, method: str, config: base.Config, *, seed: int,
      progress: Progress | None = None,
  ) -> Run:
    """Runs a method from its start to its end; arguments as in `learner`."""
    started = time.process_time()
    learner = self.learner(method, config, seed=seed, progress=progress)
    learner.run()
    return self.finish(
        learner, seed=seed, cpu_seconds=time.process_time() - started)

  def learned(
      self, method: str, config: base.Config, *, seed: int,
      saved: checkpoints.Series, progress: Progress | None = None,
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
        method, config, seed=seed, rows=rows, progress=progress)
    saved.restore(learner)
    spent = saved.state.get('cpu_seconds', 0.)
    started = time.process_time()

    def seconds() -> float:
      return float(spent + time.process_time() - started)

    while not learner.done:
      learner.step()
      if not learner.done:
        saved.save(
            learner, number=len(learner.history['updates']),
            state={'cpu_seconds': seconds()})
    return learner, seconds()

  def finish(
      self, learner: base.OPELearner, *, seed: int, cpu_seconds: float) -> Run:
    """Returns what a learner found, with the influence of the episodes.

    Args:
      learner: of `learner`; it is done.
      seed: of the run.
      cpu_seconds: that it took.
    """
    curves = learner.history
    failure = learner.divergence
    if failure:
      return Run(seed=seed, metrics={}, curves=curves, resamples=np.zeros(0),
                 failure=failure, cpu_seconds=cpu_seconds)
    found = self.influence(learner.agent.config, learner.agent)
    effect = found.measure(learner.agent, learner.initial_values)
    draw_error = found.draw_error(learner.agent)
    resamples = inference.resample(effect.added)
    # What no resampled episode shows widens the interval as well.
    unseen = np.hypot(draw_error, found.extrapolation)
    if unseen:
      resamples = resamples + unseen * np.random.default_rng(
          seed).standard_normal(len(resamples))
    log = self.task.log
    metrics = {
        # What an episode earned tells what is plausible, if none was cut off.
        **({} if log.truncated else {
            'lowest_return': float(np.min(log.returns)),
            'highest_return': float(np.max(log.returns))}),
        **{name: values[-1] for name, values in curves.items()
           if name != 'updates'},
        'correction': effect.correction,
        'data_error': float(np.std(resamples)),
        'degrees': inference.degrees(effect.added),
        'effective_share': found.effective_share,
        'heavy_share': found.heavy_share,
        'columns': found.columns,
        'overlap_cells': found.cells,
        'overlap_features': found.size,
        'overlap_joint': float(found.together),
        'overlap_one_step': float(found.one_step),
        'overlap_bandwidth_scale': found.features.bandwidth_scale,
        'overlap_reduced': float(found.features.reduced),
        **({'extrapolation': found.extrapolation}
           if found.extrapolation else {}),
        **({'draws': float(targets.DRAWS), 'draw_error': draw_error}
           if draw_error else {}),
        **({} if found.first_stage is None
           else found.first_stage.measure(learner.agent))}
    return Run(seed=seed, metrics=metrics, curves=curves, resamples=resamples,
               failure='', cpu_seconds=cpu_seconds)

  def log_average(self) -> Run:
    """Returns the naive estimate: the average return of the log."""
    returns = self.task.log.returns
    added = (returns - np.mean(returns)) / len(returns)
    return Run(
        seed=0, curves={}, failure='', cpu_seconds=0.,
        resamples=inference.resample(added),
        metrics={'estimate': self.task.log.average_return.mean,
                 'degrees': inference.degrees(added)})


class _Reporter(loggers.Logger):
  """Passes on what a learner logs."""

  def __init__(self, progress: Progress | None, updates: int):
    self._progress = progress
    self._updates = updates

  def write(self, data: Mapping[str, Any]) -> None:
    if self._progress is not None:
      self._progress(
          int(data['updates']), self._updates,
          f'estimate {data["estimate"]:.4g}')

  def close(self) -> None:
    """Has nothing to close."""
