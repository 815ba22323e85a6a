"""Estimators that weigh a log to a value: what they return and share.

A module of this kind has `estimate(config, task, *, seed)`. It returns a
`Direct`, or raises `UnanswerableError` with a sentence where weights cannot
tell.

    found = wis.estimate(wis.Config(), task, seed=0)
    found.value, inference.resample(found.added)
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents.entries import weighing as entry
from dfiv_ope.ope import propensities, weighing
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import episode_returns

UnanswerableError = propensities.UnanswerableError
# What a reward after the end of a truncated episode may count, at most, where
# nothing estimates it.
_NEGLIGIBLE = 0.01


class Direct(NamedTuple):
  """An estimate, and what its interval needs.

  Attributes:
    value: the estimate.
    added: contributions of the episodes, [E] (`inference.contributions`).
    metrics: what is worth knowing of it, such as `effective_episodes`.
    correction: what the log says is missing from the value.
    draw_error: standard error by what was simulated.
  """

  value: float
  added: types.FloatArray
  metrics: Mapping[str, float]
  correction: float = 0.0
  draw_error: float = 0.0


class Weights(NamedTuple):
  """The weights of a log's steps.

  Attributes:
    where: the episodes.
    logs: log of the product of ratios so far, [N].
    discounts: what a reward of each step counts at the start, [N].
    left: what a reward after the end of each episode would count, [E].
    metrics: what is known of the ratios.
  """

  where: weighing.Layout
  logs: types.FloatArray
  discounts: types.FloatArray
  left: types.FloatArray
  metrics: Mapping[str, float]

  @property
  def left_share(self) -> float:
    """What comes after the ends of episodes counts, weighed as they are."""
    last = self.logs[self.where.ends]
    most = np.max(last)
    if np.isneginf(most):
      return 1.0
    shares = np.exp(last - most)
    return float(shares @ self.left / np.sum(shares))


def weights(config: entry.Config, task: task_lib.EvaluationTask) -> Weights:
  """Returns the weights of a log.

  Args:
    config: cap and folds.
    task: the log and the target policy.

  Raises:
    UnanswerableError: the policy has no density, or the only episode no
      probabilities.
    ValueError: the log's probabilities are none.
  """
  log = task.log
  where = weighing.layout(log.episodes)
  return Weights(
    where,
    weighing.cumulative(task.log_ratios(config.folds), where, cap=config.cap),
    episode_returns.weights_of_all(
      log.discount, np.asarray(log.transitions.discount), where.starts
    ),
    left(task),
    {
      'estimated_propensities': float(
        task.behaviour_of_others(config.folds).estimated
      )
    },
  )


def require_ends(left: types.FloatArray) -> None:
  """Refuses a log of which a part of the value was cut off.

  Args:
    left: what a reward after the end of each episode would count, [E].

  Raises:
    UnanswerableError: rewards after the end of an episode would count.
  """
  cut = left >= _NEGLIGIBLE
  if cut.any():
    raise UnanswerableError(
      f'{int(cut.sum()):,} of {len(left):,} episodes are truncated, and the '
      f'rewards that would follow count up to {100.0 * left.max():.0f} %. '
      'Weights of what was logged cannot tell them: use dr, lstd or fqe, '
      'which estimate what follows.'
    )


def left(task: task_lib.EvaluationTask) -> types.FloatArray:
  """Returns what a reward after the end of each episode would count, [E]."""
  log = task.log
  return episode_returns.remaining_of_all(
    log.discount,
    np.asarray(log.transitions.discount),
    weighing.layout(log.episodes).starts,
  )


def answer(
  found: weighing.Weighed, metrics: Mapping[str, float], correction: float = 0.0
) -> Direct:
  """Returns a weighed value as an estimate.

  Raises:
    UnanswerableError: weights are too large for a number.
  """
  if not np.isfinite(found.value) or not np.all(np.isfinite(found.added)):
    raise UnanswerableError(
      'The weights of episodes, products of all their ratios, are too large '
      'to be numbers. Set a cap (--set cap=100), or use a weighted form '
      '(wis, wpdis, wdr) or lstd.'
    )
  known = {
    'effective_episodes': found.effective_episodes,
    'largest_weight_share': found.largest_share,
    'mean_weight': found.mean_weight,
  }
  return Direct(
    found.value,
    found.added,
    {
      **{name: value for name, value in known.items() if np.isfinite(value)},
      **metrics,
    },
    correction,
  )
