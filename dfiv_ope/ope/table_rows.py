"""Rows of a log as entries of a table, and what a policy does in it."""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types


class Rows(NamedTuple):
  """A log of N steps in a table of C states and A actions.

  Attributes:
    state: int64 [N].
    action: int64 [N].
    outcome: the reward, [N].
    continuation: gamma d, [N].
    next_state: int64 [N].
  """

  state: np.ndarray
  action: np.ndarray
  outcome: types.FloatArray
  continuation: types.FloatArray
  next_state: np.ndarray


class TablePolicy(NamedTuple):
  """What the target policy does in each of C states.

  Attributes:
    actions: int64 [C, K].
    probabilities: of these, [C, K].
    num_actions: A.
  """

  actions: np.ndarray
  probabilities: types.FloatArray
  num_actions: int


def probabilities(policy: TablePolicy, pairs: np.ndarray) -> types.FloatArray:
  """Returns pi(a|s) of pairs s A + a, [P]."""
  states, choices = policy.actions.shape
  keys = np.repeat(
    np.arange(states), choices
  ) * policy.num_actions + policy.actions.reshape(-1)
  known, place = np.unique(keys, return_inverse=True)
  total = np.bincount(
    place, weights=policy.probabilities.reshape(-1).astype(np.float64)
  )
  index = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
  return np.where(known[index] == pairs, total[index], 0.0)


def by_pair(
  rows: Rows, policy: TablePolicy, values: types.FloatArray
) -> tuple[types.FloatArray, np.ndarray, np.ndarray, np.ndarray]:
  """Returns y [N], the pairs s A + a [P], that of each row [N], their rows [P].

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
  """
  return rows.outcome + rows.continuation * values[rows.next_state], *np.unique(
    rows.state * policy.num_actions + rows.action,
    return_inverse=True,
    return_counts=True,
  )
