"""What a log tells of actions that it seldom or never takes in a state.

Three numbers of `tables`: how many rows of the prior fit (`fitting_rows`), what
an action differs by in the states that have it (`offsets`), and what actions
differ by that the target policy prefers (`preference`).
"""

import functools
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import table_rows

_LEAST = 0.01
# Offsets of actions that fewer states have are zero.
_LEAST_STATES = 5


class Offsets(NamedTuple):
  """What actions add to their state's mean, with standard errors, [A] each."""

  mean: types.FloatArray
  error: types.FloatArray


class Preference(NamedTuple):
  """What an action adds to its state's mean by the target's probability of it.

  Attributes:
    slope: for a probability that is one higher.
    error: its standard error, over states.
    mean: probability of the rows that leave each state, [C].
  """

  slope: float
  error: float
  mean: types.FloatArray


def no_preference(policy: table_rows.TablePolicy) -> Preference:
  """Returns that of a prior which does not know the target policy."""
  return Preference(0.0, 0.0, np.zeros(len(policy.actions)))


def preference(
  rows: table_rows.Rows,
  policy: table_rows.TablePolicy,
  values: types.FloatArray,
  visits: types.FloatArray,
) -> Preference:
  """Returns the slope of y = r + gamma d V(s') in pi(a|s) within states.

  Least squares, in which a state counts as often as the target policy visits
  it, since states differ in what depends on their actions; drawn to zero as far
  as chance explains it (James and Stein).

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
    visits: discounted visits of the target policy to each state, [C].
  """
  y, pairs, pair, _ = table_rows.by_pair(rows, policy, values)
  size = len(policy.actions)
  by_state = functools.partial(np.bincount, rows.state, minlength=size)
  counts = np.maximum(by_state(), 1)
  taken = table_rows.probabilities(policy, pairs)[pair]  # [N]
  mean = by_state(weights=taken) / counts
  away = taken - mean[rows.state]
  gaps = y - (by_state(weights=y) / counts)[rows.state]
  weights = (np.maximum(visits, 0.0) / counts)[rows.state] * away
  total = float(weights @ away)
  if total <= 0.0:
    return Preference(0.0, 0.0, mean)
  slope = float(weights @ gaps) / total
  error = (
    float(np.linalg.norm(by_state(weights=weights * (gaps - slope * away))))
    / total
  )
  kept = max(0.0, 1.0 - (error / slope) ** 2) if slope else 0.0
  return Preference(kept * slope, error, mean)


def offsets(
  rows: table_rows.Rows,
  policy: table_rows.TablePolicy,
  values: types.FloatArray,
) -> Offsets:
  """Returns how far each action lies from the other rows of its states.

  The mean over the states that have it, drawn to zero as far as chance
  explains it (James and Stein).

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
  """
  y, pairs, pair, counts = table_rows.by_pair(rows, policy, values)
  state, action = np.divmod(pairs, policy.num_actions)
  sums = np.bincount(pair, weights=y)
  others = np.bincount(state, weights=counts)[state] - counts
  known = others > 0  # Elsewhere there is nothing to compare with.
  gaps = (
    sums / counts
    - (np.bincount(state, weights=sums)[state] - sums) / np.maximum(others, 1)
  )[known]  # [P]
  by_action = functools.partial(
    np.bincount, action[known], minlength=policy.num_actions
  )
  states = by_action()
  mean = by_action(weights=gaps) / np.maximum(states, 1)
  error = np.sqrt(
    by_action(weights=np.square(gaps - mean[action[known]]))
    / (np.maximum(states, 1) * np.maximum(states - 1, 1))
  )
  kept = np.where(
    states >= _LEAST_STATES,
    np.maximum(
      0.0, 1.0 - np.square(error / np.where(mean == 0.0, np.inf, mean))
    ),
    0.0,
  )
  return Offsets(kept * mean, np.where(states >= _LEAST_STATES, error, 0.0))


def fitting_rows(
  rows: table_rows.Rows,
  policy: table_rows.TablePolicy,
  values: types.FloatArray,
) -> float:
  """Returns the prior rows that fit what the log shows, at least _LEAST.

  With y = r + gamma d V(s') of mean q(s, a) and variance sigma^2 within each
  pair, and q(s, .) of variance tau^2 around the mean of its state, the best
  estimate of q(s, a) has k = sigma^2 / tau^2. Both are found as in an analysis
  of variance.

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
  """
  y, pairs, pair, counts = table_rows.by_pair(rows, policy, values)
  means = np.bincount(pair, weights=y) / counts
  states, place = np.unique(pairs // policy.num_actions, return_inverse=True)
  totals = np.bincount(place, weights=counts)
  centres = np.bincount(place, weights=counts * means) / totals
  within = np.sum(np.square(y - means[pair])) / max(len(y) - len(pairs), 1)
  # Rows that tell actions of one state apart.
  size = np.sum(
    totals
    - np.bincount(place, weights=np.square(counts.astype(np.float64))) / totals
  )
  between = np.sum(counts * np.square(means - centres[place])) - within * (
    len(pairs) - len(states)
  )
  if between <= 0.0 or size <= 0.0:
    return np.inf
  return max(_LEAST, float(within * size / between))
