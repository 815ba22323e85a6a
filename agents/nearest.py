"""Rollouts of the target policy in a model made of the log's own steps.

The value is the mean return in the model (`ope.nearest_model`). The steps that
rollouts took are weights w of the log's rows, so that E v(s0) + sum w e, with
errors e of LSTD-Q on other episodes, is a doubly robust estimate of the same
value: what its episodes add to it makes the interval, and the difference of the
two is the correction.
"""

import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import cross_fitting, direct
from dfiv_ope.agents.entries import lstd
from dfiv_ope.agents.entries import nearest as entry
from dfiv_ope.ope import elsewhere, nearest_model
from dfiv_ope.ope import rollouts as rollouts_lib
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS
# What may be left of the discounted future at the end of a rollout.
_TAIL = 1e-3
# The most steps of a rollout, whatever the discount.
_MOST = 100_000
# Without a discount a rollout has as many times the steps of the log's longest
# episode.
_LONGEST = 3


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate.

  Raises:
    UnanswerableError: the policy fails in a state that the log does not have.
  """
  # Before all other work.
  found = _rolled(task, config.rollouts, seed)
  return _answered(
    task,
    cross_fitting.values(
      lstd.Config(),
      task,
      cross_fitting.folds(task, config.folds, seed=seed),
      seed=seed,
    ),
    found,
  )


def roll(
  task: task_lib.EvaluationTask,
  values: cross_fitting.Values,
  *,
  rollouts: int,
  seed: types.Seed,
) -> direct.Direct:
  """Returns the estimate with an interval by given values.

  Args:
    task: the log and the target policy.
    values: of other episodes.
    rollouts: at least as many.
    seed: of what is drawn.

  Raises:
    UnanswerableError: as `estimate`.
  """
  return _answered(task, values, _rolled(task, rollouts, seed))


def _rolled(
  task: task_lib.EvaluationTask, rollouts: int, seed: types.Seed
) -> rollouts_lib.Rollouts:
  """Returns at least as many rollouts."""
  log = task.log
  model = nearest_model.Model(log, seed=seed, dropped=task.dropped)
  try:
    return model.roll(
      task.policy,
      starts(log.initial_observations, rollouts),
      steps=steps(log.discount, log.longest),
      seed=seed,
    )
  except ValueError as error:
    raise elsewhere.refusal('nearest', error) from error


def _answered(
  task: task_lib.EvaluationTask,
  values: cross_fitting.Values,
  found: rollouts_lib.Rollouts,
) -> direct.Direct:
  """Returns the estimate of rollouts."""
  return cross_fitting.answer(
    task,
    values,
    found.weights,
    {'beyond_share': float(np.nanmax(found.beyond)), 'left_share': found.left},
    value=float(np.mean(found.returns)),
  )._replace(draw_error=error(found.returns, task.log.num_episodes))


def error(returns: types.FloatArray, episodes: int) -> float:
  """Returns the standard error of rollouts' mean.

  What starts add to it is in the interval already, where each has several.
  """
  apart = (
    returns.reshape(-1, episodes)
    if len(returns) >= 2 * episodes
    else returns[:, None]
  )
  return float(np.sqrt(np.mean(np.var(apart, axis=0, ddof=1)) / len(returns)))


def steps(discount: float, longest: int) -> int:
  """Returns how many steps a rollout has at most.

  Args:
    discount: gamma.
    longest: steps of the log's longest episode.
  """
  if discount >= 1.0:
    return _LONGEST * longest
  if discount <= _TAIL:
    return 1
  return min(_MOST, math.ceil(math.log(_TAIL) / math.log(discount)))


def starts(initial: types.FloatArray, rollouts: int) -> types.FloatArray:
  """Returns as many initial states, or a few more: all as often, [K, D]."""
  if len(initial) > rollouts:
    return initial[:: -(-len(initial) // rollouts)]
  return np.tile(initial, (-(-rollouts // len(initial)), 1))
