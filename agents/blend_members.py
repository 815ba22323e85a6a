"""What a blend is made of: estimates that share as little as can be.

- `lstd`: LSTD-Q, as it is, with the weights of its dual;
- `nearest`: rollouts in the log's nearest steps, where these are near. Not of
  a table: rollouts among names are LSTD-Q without its prior, with noise;
- `dr`: doubly robust, where probabilities are recorded, enough episodes have a
  weight, and these average about one.

Each has what the episodes add to it, so that their covariance is known without
any refit.
"""

import contextlib

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import (
  base,
  cross_fitting,
  direct,
  doubly_robust,
  lstd,
  nearest,
  one_step_lstd,
  table_lstd,
)
from dfiv_ope.agents.entries import blend as entry
from dfiv_ope.iv import just_identified
from dfiv_ope.ope import tables
from dfiv_ope.ope import task as task_lib

LSTD, NEAREST, DR = 'lstd', 'nearest', 'dr'
# Effective episodes of weights that tell their own error: with 10 and more, all
# of 16 logs of the suite's development half were within 1.5 standard errors.
_FEWEST = 10.0
# Means of weights, which are one in the long run: beyond these, as the verdict
# says, episodes that the target policy would often have are missing.
_MEAN_WEIGHTS = 0.8, 1.25
# Of visits in some tenth of what counts: where more are far from every step of
# the log, which the verdict says of the answer, rollouts are no member.
_FAR = 0.3


def find(
  config: entry.Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> dict[str, direct.Direct]:
  """Returns the members that can answer, by name; LSTD-Q always does.

  Args:
    config: of all of them.
    task: the log and the target policy.
    seed: of features, folds and rollouts.
  """
  found = {LSTD: _regression(config, task, seed=seed)}
  if task.log.num_episodes < 2 or task.problem.one_step:
    return found  # Rollouts of one step are another regression.
  rolls = not cross_fitting.is_table(config, task)
  recorded = task.log.behaviour_probabilities is not None
  if not rolls and not recorded:
    return found
  held_out = cross_fitting.folds(task, config.folds, seed=seed)
  values = cross_fitting.values(config, task, held_out, seed=seed)
  if rolls:
    # Some policies are known in the states of the log alone.
    with contextlib.suppress(ValueError):
      rolled = nearest.roll(task, values, rollouts=config.rollouts, seed=seed)
      if rolled.metrics['beyond_share'] <= _FAR:
        found[NEAREST] = rolled
  if recorded:
    try:
      made = doubly_robust.Ingredients(
        direct.weights(config, task), values, held_out
      )
      weighed = doubly_robust.answer(made, made.weigh(normalised=False))
    except direct.UnanswerableError:
      return found
    low, high = _MEAN_WEIGHTS
    if (
      weighed.metrics.get('effective_episodes', 0.0) >= _FEWEST
      and low <= weighed.metrics.get('mean_weight', 1.0) <= high
    ):
      found[DR] = weighed
  return found


def _regression(
  config: entry.Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns LSTD-Q with the influence of its episodes."""
  problem = task.problem
  agent = lstd.make(config, problem, seed=seed)
  agent.start(task.initial_observations)
  parts = cross_fitting.parts(task, np.arange(len(task.log)))
  weights, unseen = _weights(config, task, agent, parts)

  def error(rows: types.IVBatch) -> types.FloatArray:
    if problem.one_step:
      return base.left(rows, agent.predict(rows.treatment.now))
    return agent.errors(rows)

  initial = [
    agent.predict(decision)[:, 0]
    for decision in problem.target.in_parts(task.initial_observations)
  ]
  values = cross_fitting.Values(
    *(
      problem.value_scale * np.concatenate(each)
      for each in (initial, [error(rows) for rows in parts()])
    )
  )
  return cross_fitting.answer(
    task, values, weights, {}, value=float(np.mean(values.initial))
  )._replace(draw_error=problem.value_scale * unseen)


def _weights(
  config: entry.Config,
  task: task_lib.EvaluationTask,
  agent: base.Agent,
  parts: base.Parts,
) -> tuple[types.FloatArray, float]:
  """Solves LSTD-Q; returns what a row's reward adds, and what is not seen."""
  problem, initial = task.problem, task.initial_observations
  if isinstance(agent, one_step_lstd.OneStepLSTD):
    agent.solve(parts)
    assert agent.fitted is not None
    return agent.fitted.weights, agent.fitted.extrapolation
  if isinstance(agent, table_lstd.TableLSTD):
    agent.solve(parts)
    starts = table_lstd.starts_of(problem, initial)
    found = tables.solve(
      table_lstd.rows_of(problem, parts),
      table_lstd.policy_of(problem),
      starts,
      prior_rows=config.prior_rows,
    )
    return found.weigh(starts), found.extrapolation(starts)
  assert isinstance(agent, lstd.LSTD)
  total = agent.sums(parts)
  agent.solve_sums(total)
  value = np.sum(
    [
      np.sum(agent.features(decision), axis=0)
      for decision in problem.target.in_parts(initial)
    ],
    axis=0,
  )[:, None] / len(initial)
  dual = just_identified.dual(total, value, config.penalty).weights
  return np.concatenate(
    [agent.features.dot(rows.instrument, dual)[:, 0] for rows in parts()]
  ), 0.0
