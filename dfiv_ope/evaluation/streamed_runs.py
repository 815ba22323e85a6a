"""Closed forms on a log that is read in parts, with all that intervals need.

    Runner(survey, task, 'kiv', config).runs([0], reduce)

Sums, weights and errors are those of `evaluation.runs` on the same parts of all
rows: what a method is solved from are sums of folds (`fixed_features.Linear`),
its interval is made of LSTD-Q's sums of the same features. Memory holds one
part, the sums, and a few numbers for each episode. What is not a sum is
measured on the survey's sample of whole episodes: the overlap, and what
unrelated estimators say (`streamed_choices` has what is chosen).
"""

from collections.abc import Mapping, Sequence
import math
import time
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import agents, types
from dfiv_ope.agents import base, fixed_features
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import (
  estimates,
  inference,
  influence,
  run_results,
  shared_pass,
  streamed_effects,
  streamed_influence,
  streamed_passes,
  streamed_scales,
)
from dfiv_ope.evaluation import runs as runs_lib
from dfiv_ope.ope import streamed
from dfiv_ope.ope import task as task_lib

# Whose values are linear in features that are known before the log is read.
METHODS = ('lstd', 'kiv')


class Runner:
  """Runs a method with any seeds; what they share is found with the first.

  Seeds that are run together share the reading of the log, and what they find
  is the same as alone.
  """

  def __init__(
    self,
    survey: streamed.Survey,
    task: task_lib.EvaluationTask,
    method: str,
    config: random_features.Config,
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
      sampled: runs methods on the task, and may know the checks of another
        method; None for one of its own.
      group: parts of a group, an even number.

    Raises:
      ValueError: the log is none of those that can be streamed.
    """
    _require(survey, task, method, config)
    self._survey, self._task = survey, task
    self._method, self._config = method, config
    self._sampled = sampled or runs_lib.Evaluator(task)
    self._group = group
    self._shared: _Shared | None = None

  def runs(
    self, seeds: Sequence[int], reduce: streamed_passes.Reduce
  ) -> list[run_results.Run]:
    """Returns runs of some seeds.

    Args:
      seeds: of the features.
      reduce: works on groups of parts.
    """
    started = time.process_time()
    survey, task, config = self._survey, self._task, self._config
    groups = streamed_scales.settle(survey, task, reduce, self._group)
    problem = task.problem
    shared = self._shared
    # Weights of rows and diagnostics are of the features of seed 0.
    wanted = tuple(seeds if shared else dict.fromkeys((0, *seeds)))
    stages = {
      number: label.stage
      for number, label in enumerate(shared_pass.labels(survey.transitions, 0))
      if label.stage != shared_pass.NOTHING
    }
    made: dict[int, fixed_features.Linear] = {
      seed: agents.load(self._method).make(config, problem, seed=seed)
      for seed in wanted
    }
    folds = next(iter(made.values())).folds
    sums = reduce(
      streamed_passes.sums,
      streamed_passes.merge_sums,
      problem,
      groups,
      config,
      wanted,
      stages,
      folds,
    )
    solved = {
      seed: agent.solve_sums(
        *(sums.of(seed, fold=fold) for fold in range(folds))
      )
      for seed, agent in made.items()
    }
    fitted = {seed: agent.weights for seed, agent in made.items()}
    dual = (
      shared.dual
      if shared
      else streamed_influence.dual(survey, problem, config, sums)
    )
    found = reduce(
      streamed_effects.effects,
      streamed_effects.merge_effects,
      problem,
      groups,
      config,
      {0: shared.weights, **fitted} if shared else fitted,
      dual,
      inference.heavy_rows(survey.rewarded),
    )
    seconds = (time.process_time() - started) / len(made)
    if shared is None:
      own = streamed_influence.Influence(
        problem, config, made[0].features, sums, found, survey
      )
      del sums  # As large as what the checks take.
      value = float(np.mean(found.initial[0]))
      shared = self._shared = _Shared(fitted[0], dual, own, self._checks(value))
    places = {seed: place for place, seed in enumerate({0: None, **fitted})}
    return [
      _finish(
        task,
        made[seed],
        shared.own,
        solved[seed],
        found.initial[places[seed]],
        problem.value_scale * found.errors[places[seed]],
        survey=survey,
        seed=seed,
        cpu_seconds=seconds,
        checks=shared.checks,
      )
      for seed in seeds
    ]

  def _checks(self, value: float) -> Mapping[str, float]:
    """Returns what unrelated estimators say, as metrics.

    They are asked on the sample. What they differ by from the method there is
    added to its value on all rows: that a sample is small is no bias.
    """
    learner = self._sampled.learner(self._method, self._config, seed=0)
    learner.run()
    checks = self._sampled.checks(learner)
    self._sampled.keep(None)  # Weights of the sample are not asked for again.
    shift = value - learner.evaluate()
    if self._survey.complete:
      return checks
    if learner.divergence or not math.isfinite(shift):
      shift = 0.0
    return checked(self._survey) | {
      name: each + shift if name.startswith(inference.CHECK) else each
      for name, each in checks.items()
    }


def checked(survey: streamed.Survey) -> dict[str, float]:
  """Returns the metric of how many rows the checks of a sample are of."""
  if survey.complete:
    return {}
  return {inference.CHECKED: len(survey.sample) / survey.transitions}


class _Shared(NamedTuple):
  """What runs of any seeds take from that of seed 0.

  Attributes:
    weights: u of seed 0, [D, 1].
    dual: coefficients of the weights of rows, [D, 1].
    own: the influence of episodes.
    checks: what unrelated estimators say.
  """

  weights: types.FloatArray
  dual: types.FloatArray
  own: streamed_influence.Influence
  checks: Mapping[str, float]


def log_average(survey: streamed.Survey) -> estimates.Estimate:
  """Returns the naive estimate, the average return of the log."""
  return estimates.Estimate(
    method='log_average',
    runs=(run_results.average(survey.returns),),
    missing=inference.too_few(survey.episodes, 1, 0),
  )


def sums_of_parts(
  config: random_features.Config, size: random_features.Size, *, tabular: bool
) -> bool:
  """Returns whether a method on features is made of sums of parts of a log.

  Args:
    config: of the method.
    size: of the log.
    tabular: whether all columns of a state are categorical.
  """
  return _kind(config, size, tabular) in (
    random_features.PER_ACTION,
    random_features.TOGETHER,
  )


def _kind(
  config: random_features.Config, size: random_features.Size, tabular: bool
) -> str:
  return config.settings_of(size).kind(
    num_actions=size.num_actions, tabular=tabular, one_step=size.one_step
  )


def _require(
  survey: streamed.Survey,
  task: task_lib.EvaluationTask,
  method: str,
  config: random_features.Config,
) -> None:
  """Refuses features that are not sums of parts."""
  config.require(task.log.num_actions)
  size = random_features.Size(
    task.log.num_actions,
    survey.transitions,
    one_step=not survey.largest_discount,
  )
  tabular = len(survey.categories) == len(survey.scales.mean)
  if not sums_of_parts(config, size, tabular=tabular):
    raise ValueError(
      f'{agents.ENTRIES[method].style.label} with '
      f'features={_kind(config, size, tabular)} needs the whole log in memory. '
      ' Import it with dfiv-ope dataset import, or set '
      'features=together.'
    )


def _finish(
  task: task_lib.EvaluationTask,
  agent: fixed_features.Linear,
  own: streamed_influence.Influence,
  solved: Mapping[str, float],
  values: types.FloatArray,
  errors: types.FloatArray,
  *,
  survey: streamed.Survey,
  seed: int,
  **known: Any,
) -> run_results.Run:
  """Returns the run of a seed, from sums over all rows."""
  metrics = {'estimate': float(np.mean(values)), **solved}
  curves: dict[str, list[float]] = {
    'updates': [0],
    **{name: [value] for name, value in metrics.items()},
  }
  failure = base.divergence(task.problem, metrics)
  if failure:
    return run_results.diverged(
      failure, seed=seed, curves=curves, cpu_seconds=known['cpu_seconds']
    )
  effect = influence.Effect(
    inference.contributions(values, errors, np.arange(survey.episodes)),
    float(np.sum(errors)),
  )
  return run_results.summarise(
    task,
    agent,
    own,
    effect,
    curves=curves,
    seed=seed,
    returned=run_results.plausible(survey.returns, cut=bool(survey.truncated)),
    **known,
  )
