"""Policies made of others, as tables and as functions of observations."""

from collections.abc import Mapping

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, finite, process

# Shares of the best policy among those that are ranked.
_RANKED = (0.0, 0.25, 0.5, 0.75, 1.0)


def of_best(
  problem: finite.Finite,
  share: float,
  best: types.FloatArray,
  other: types.FloatArray | None = None,
) -> types.FloatArray:
  """Returns the table of a policy that is best with a probability, [S, A].

  Args:
    problem: the problem.
    share: probability of the best action.
    best: the table of the best policy.
    other: what it does otherwise; None for any action.
  """
  rest = (
    np.full_like(best, 1.0 / problem.num_actions) if (other is None) else other
  )
  return share * best + (1.0 - share) * rest


def ranked(
  problem: finite.Finite,
  best: types.FloatArray,
  other: types.FloatArray | None = None,
) -> Mapping[str, case.Value]:
  """Returns policies between any action and the best one, by name."""
  return {
    f'{share:g}': case.tabulated(problem, of_best(problem, share, best, other))
    for share in _RANKED
  }


def setting(
  problem: finite.Finite, behaviour: float, target: float
) -> case.Setting:
  """Returns a case of two policies that are best with some probability.

  Args:
    problem: the problem.
    behaviour: share of the best action in the log, any action otherwise.
    target: that of the target policy.
  """
  best = problem.optimal()
  return case.Setting(
    problem=problem,
    behaviour=problem.policy(of_best(problem, behaviour, best)),
    target=case.tabulated(problem, of_best(problem, target, best)),
    others=ranked(problem, best),
  )


def softmax(scores: types.FloatArray) -> types.FloatArray:
  """Returns probabilities of scores [B, A]."""
  weights = np.exp(scores - scores.max(axis=1, keepdims=True))
  return weights / weights.sum(axis=1, keepdims=True)


def explore(
  policy: process.Policy, share: float, num_actions: int
) -> process.Policy:
  """Returns a policy that takes any action with a probability.

  Args:
    policy: what it does otherwise.
    share: that probability.
    num_actions: A.
  """

  def explored(observations: types.FloatArray) -> types.FloatArray:
    return (1.0 - share) * policy(observations) + share / num_actions

  return explored
