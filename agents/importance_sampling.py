"""What the four forms of importance sampling share (`ope.weighing`).

A log may come in parts of whole episodes: what they tell merges (`Told`), and
is all that the forms with one weight for an episode need.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import direct
from dfiv_ope.agents.entries import weighing as entry
from dfiv_ope.ope import task as task_lib
from dfiv_ope.ope import weighing


class Told(NamedTuple):
  """What some whole episodes tell.

  Attributes:
    last: log of the weight of each episode, [E].
    left: what a reward after its end would count, [E].
    returns: discounted return of each, [E].
    metrics: what is known of the ratios.
  """

  last: types.FloatArray
  left: types.FloatArray
  returns: types.FloatArray
  metrics: Mapping[str, float]


class Part(NamedTuple):
  """The weights of some whole episodes.

  Attributes:
    weights: of their steps.
    gains: discounted rewards, [N].
  """

  weights: direct.Weights
  gains: types.FloatArray

  @property
  def told(self) -> Told:
    """What they tell."""
    where = self.weights.where
    return Told(
      self.weights.logs[where.ends],
      self.weights.left,
      where.total(self.gains),
      self.weights.metrics,
    )


def part(config: entry.Config, task: task_lib.EvaluationTask) -> Part:
  """Returns the weights of the episodes of a task."""
  weights = direct.weights(config, task)
  rewards = np.asarray(task.log.transitions.reward, np.float64)
  return Part(weights, weights.discounts * rewards)


def merge(first: Told, second: Told) -> Told:
  """Returns what the episodes of both tell, one after the other."""
  return Told(
    np.concatenate([first.last, second.last]),
    np.concatenate([first.left, second.left]),
    np.concatenate([first.returns, second.returns]),
    first.metrics,
  )


def answer(
  told: Told, *, normalised: bool, by_step: Part | None = None
) -> direct.Direct:
  """Returns the estimate.

  Args:
    told: by all episodes.
    normalised: whether weights are divided by their sum.
    by_step: all episodes, if a reward has the weight of the steps up to it.

  Raises:
    UnanswerableError: episodes are truncated, or no weight is above zero, or
      weights are too large for a number.
  """
  direct.require_ends(told.left)
  if np.all(np.isneginf(told.last)):
    raise direct.UnanswerableError(
      f'None of the {len(told.last):,} episodes could be one of the target '
      'policy: each has an action that it never takes. Use lstd, kiv or '
      'fqe, which need not follow an episode to its end.'
    )
  return direct.answer(
    weighing.of_episodes(told.last, told.returns, normalised=normalised)
    if by_step is None
    else weighing.of_steps(
      by_step.weights.logs,
      by_step.gains,
      by_step.weights.where,
      normalised=normalised,
    ),
    {**told.metrics, 'values_share': 0.0},
  )


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
  direct.require_ends(direct.left(task))  # Before clones are trained.
  found = part(config, task)
  return answer(
    found.told, normalised=normalised, by_step=found if per_decision else None
  )
