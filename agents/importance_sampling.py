"""What the four forms of importance sampling share (`ope.weighing`)."""

import numpy as np

from dfiv_ope.agents import direct
from dfiv_ope.agents.entries import weighing as entry
from dfiv_ope.ope import task as task_lib
from dfiv_ope.ope import weighing


def weigh(
  config: entry.Config,
  task: task_lib.EvaluationTask,
  *,
  per_decision: bool,
  normalised: bool,
) -> direct.Direct:
  """Returns the estimate of one of the forms.

  Args:
    config: cap and folds.
    task: the log and the target policy.
    per_decision: whether a reward has the weight of the steps up to it, not
      that of its whole episode.
    normalised: whether weights are divided by their sum.

  Raises:
    UnanswerableError: episodes are truncated, no weight is above zero, or there
      are no weights.
  """
  direct.require_ends(task)
  found = direct.weights(config, task)
  where, rewards = (
    found.where,
    np.asarray(task.log.transitions.reward, np.float64),
  )
  last = found.logs[where.ends]
  if np.all(np.isneginf(last)):
    raise direct.UnanswerableError(
      f'None of the {len(last):,} episodes could be one of the target '
      'policy: each has an action that it never takes. Use lstd, kiv or '
      'fqe, which need not follow an episode to its end.'
    )
  gains = found.discounts * rewards
  return direct.answer(
    weighing.of_steps(found.logs, gains, where, normalised=normalised)
    if per_decision
    else weighing.of_episodes(last, where.total(gains), normalised=normalised),
    {**found.metrics, 'values_share': 0.0},
  )
