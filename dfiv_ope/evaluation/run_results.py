"""What a run of an estimator found, with what its interval needs."""

from collections.abc import Mapping
import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, direct
from dfiv_ope.evaluation import inference, influence
from dfiv_ope.ope import targets
from dfiv_ope.ope import task as task_lib


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
    refused: whether it failed because the method cannot answer what is asked,
      not because it diverged.
  """

  seed: int
  metrics: Mapping[str, float]
  curves: Mapping[str, list[float]]
  resamples: types.FloatArray
  failure: str
  cpu_seconds: float
  refused: bool = False


def diverged(
  failure: str,
  *,
  seed: int,
  curves: Mapping[str, list[float]],
  cpu_seconds: float,
) -> Run:
  """Returns the run of a method that has no estimate.

  Args:
    failure: why not.
    seed: of the run.
    curves: the estimate and losses at each evaluation point.
    cpu_seconds: that it took.
  """
  return Run(
    seed=seed,
    metrics={},
    curves=curves,
    resamples=np.zeros(0),
    failure=failure,
    cpu_seconds=cpu_seconds,
  )


def refused(failure: str, *, seed: int, cpu_seconds: float) -> Run:
  """Returns the run of a method that cannot answer what is asked.

  Args:
    failure: why not.
    seed: of the run.
    cpu_seconds: that it took.
  """
  found = diverged(failure, seed=seed, curves={}, cpu_seconds=cpu_seconds)
  return dataclasses.replace(found, refused=True)


def summarise(
  task: task_lib.EvaluationTask,
  agent: base.Agent,
  found: influence.Influence,
  effect: influence.Effect,
  *,
  curves: Mapping[str, list[float]],
  seed: int,
  cpu_seconds: float,
  checks: Mapping[str, float],
  returned: Mapping[str, float] | None = None,
  later: types.FloatArray | None = None,
) -> Run:
  """Returns the run of an agent that has learned.

  Args:
    task: the log and the target policy.
    agent: the method.
    found: the influence of the episodes, in its features.
    effect: what they do to its estimate.
    curves: the estimate and losses at each evaluation point.
    seed: of the run.
    cpu_seconds: that it took.
    checks: of `runs.Evaluator.checks`.
    returned: of `plausible`; None for that of the task's log.
    later: what the first stage is measured on, as there; None to ask the agent.
  """
  draw_error = found.draw_error(agent)
  resamples = widened(
    inference.resample(effect.added),
    np.hypot(draw_error, found.extrapolation),
    seed,
  )
  metrics = {
    **(returns(task) if returned is None else returned),
    **checks,
    **{
      name: values[-1] for name, values in curves.items() if name != 'updates'
    },
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
    # A regression with fewer features than it should have and no penalty.
    **(
      {'few_joint_features': 1.0}
      if task.problem.one_step and found.together and found.features.reduced
      else {}
    ),
    **({'extrapolation': found.extrapolation} if found.extrapolation else {}),
    **(
      {'draws': float(targets.DRAWS), 'draw_error': draw_error}
      if draw_error
      else {}
    ),
    **(
      {}
      if found.first_stage is None
      else found.first_stage.measure(agent, later)
    ),
  }
  return Run(
    seed=seed,
    metrics=metrics,
    curves=curves,
    resamples=resamples,
    failure='',
    cpu_seconds=cpu_seconds,
  )


def weighed(
  found: direct.Direct,
  *,
  seed: int,
  cpu_seconds: float,
  returned: Mapping[str, float],
  checks: Mapping[str, float],
) -> Run:
  """Returns the run of an estimator that weighs the log.

  Args:
    found: its estimate.
    seed: of the run.
    cpu_seconds: that it took.
    returned: of `plausible`.
    checks: of `runs.Evaluator.checks`.
  """
  resamples = widened(inference.resample(found.added), found.draw_error, seed)
  return Run(
    seed=seed,
    curves={},
    resamples=resamples,
    failure='',
    cpu_seconds=cpu_seconds,
    metrics={
      **returned,
      **checks,
      'estimate': found.value,
      'correction': found.correction,
      'data_error': float(np.std(resamples)),
      'degrees': inference.degrees(found.added),
      **({'draw_error': found.draw_error} if found.draw_error else {}),
      **found.metrics,
    },
  )


def returns(task: task_lib.EvaluationTask) -> dict[str, float]:
  """Returns `plausible` of a task's log."""
  log = task.log
  return plausible(
    log.returns, cut=bool(log.truncated) or log.starts is not None
  )


def plausible(found: types.FloatArray, *, cut: bool) -> dict[str, float]:
  """What an episode earned tells what is plausible, if none was cut off.

  Args:
    found: returns of the episodes, [E].
    cut: whether some were cut off, or start elsewhere.
  """
  spread = {'return_spread': float(np.std(found))}
  return (
    spread
    if cut
    else {
      **spread,
      'lowest_return': float(np.min(found)),
      'highest_return': float(np.max(found)),
    }
  )


def average(found: types.FloatArray) -> Run:
  """Returns the naive estimate: the average return of the log.

  Args:
    found: returns of its episodes, [E].
  """
  added = (found - np.mean(found)) / len(found)
  return Run(
    seed=0,
    curves={},
    failure='',
    cpu_seconds=0.0,
    resamples=inference.resample(added),
    metrics={
      'estimate': float(np.mean(found)),
      'degrees': inference.degrees(added),
    },
  )


def widened(
  resamples: types.FloatArray, unseen: float, seed: int
) -> types.FloatArray:
  """Returns resamples with a standard error that no episode shows, [B]."""
  if not unseen:
    return resamples
  return resamples + unseen * np.random.default_rng(seed).standard_normal(
    len(resamples)
  )
