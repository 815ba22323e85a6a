"""Does something that lasts within an episode move actions and rewards?

Where a trait of an episode that is not recorded (how ill a patient is, which
site a customer is of) moves rewards, the rewards of an episode lie above or
below what states and actions explain, again and again. Where it moves actions
as well, the rows in which the log does what the target policy would do are
those of some traits more than of others, and every method that takes the
observation for the state is wrong in the same way.

    found = traits.levels(columns, rewards, log.episodes)
    traits.missing(found.values, weights, log.episodes)

Rewards are r = f(s, a) + level of the episode + noise. The level of a row is
told by the later rows of its episode alone: earlier noise moves the state, and
so what the policy does, but later noise does not. So f solves

    sum_i phi_i (x_i - s_i sum of later x) = 0,   x = r - phi'c,

with s = rho / (1 + (k - 1) rho) for k later rows and rho the correlation of x
within episodes: forward orthogonal deviations (Arellano and Bover, 1995),
shrunk as random effects are. Without it f has taken up the mean of the levels
where an action is common, and nothing is left to be seen.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import history

# What is missing by as many standard errors is no chance.
CERTAIN = 4.0
# Ridge penalty per row of f, and the largest correlation.
_PENALTY, _LARGEST = 1e-6, 0.99
# The correlation is found again until it changes by less, at most so often.
_STEADY, _ROUNDS = 0.02, 4


class Levels(NamedTuple):
  """What episodes have of their own.

  Attributes:
    values: of each row, in units of the reward, [N]; their mean over episodes
      is zero, and they are zero where no later row tells.
    correlation: of what states and actions leave of rewards, within episodes.
  """

  values: types.FloatArray
  correlation: float


def levels(
  columns: types.FloatArray,
  rewards: types.FloatArray,
  episodes: np.ndarray,
  reached: types.FloatArray | None = None,
) -> Levels:
  """Returns the levels of episodes' rewards.

  Args:
    columns: phi, features of state and action, a constant among them, [N, D].
    rewards: [N].
    episodes: index of the episode of each row, rising, [N].
    reached: of `reached`, [N]; None if nothing ended an episode.
  """
  groups = _Groups(episodes, reached)
  gram = columns.T @ columns
  ridge = _PENALTY * len(columns) * np.eye(len(gram))
  left: types.FloatArray = rewards - columns @ np.linalg.solve(
    gram + ridge, columns.T @ rewards
  )
  correlation = groups.correlation(left)
  for _ in range(_ROUNDS):
    if correlation <= 0.0:
      break
    before = min(correlation, _LARGEST)
    weights = np.linalg.solve(
      gram - columns.T @ groups.later(columns, before) + ridge,
      columns.T @ (rewards - groups.later(rewards, before)),
    )
    left = rewards - columns @ weights
    # An episode counts as one, however often it shows up here.
    left -= np.mean(groups.means(left))
    correlation = groups.correlation(left)
    if abs(correlation - before) < _STEADY:
      break
  if correlation <= 0.0:
    return Levels(np.zeros(len(left)), correlation)
  correlation = min(correlation, _LARGEST)
  found = groups.later(left, correlation)
  found -= np.mean(groups.shrunk(left, correlation))
  return Levels(np.where(groups.count_later, found, 0.0), correlation)


def reached(episodes: np.ndarray, ended: np.ndarray) -> types.FloatArray:
  """Returns what share of its possible length each row's episode came to, [N].

  A reward that ends its episode makes it short: in means over rows such
  episodes would lie high by chance alone. So rows that did not come to be count
  as zeros.

  Args:
    episodes: index of the episode of each transition, [N].
    ended: whether the transition terminated its episode, [N].
  """
  length = np.bincount(episodes)
  cut = np.bincount(episodes, weights=ended) == 0
  return np.where(cut, 1.0, length / np.max(length))[episodes]


def missing(
  values: types.FloatArray, weights: types.FloatArray, episodes: np.ndarray
) -> history.Missing:
  """Returns what a value misses by levels of episodes.

  Args:
    values: levels of the rows, [N].
    weights: what the value rises by with the reward of each row, [N].
    episodes: index of the episode of each row, [N].
  """
  each = np.bincount(episodes, weights=-weights * values)
  spread = float(np.sqrt(np.sum(np.square(each - np.mean(each)))))
  return history.Missing(float(np.sum(each)), spread)


class _Groups:
  """Rows by episodes.

  Attributes:
    count_later: how many later rows the episode of each has, [N].
  """

  def __init__(self, episodes: np.ndarray, reached: types.FloatArray | None):
    """Counts them; episodes rise."""
    first = np.diff(episodes, prepend=episodes[0] - 1) != 0
    self._index = np.cumsum(first) - 1
    self._count = np.bincount(self._index)
    self._last = (np.cumsum(self._count) - 1)[self._index]
    self.count_later = self._last - np.arange(len(episodes))
    # With those that did not come to be.
    self._full = self._count / (1.0 if reached is None else reached[first])
    self._full_later = (self._full - self._count)[
      self._index
    ] + self.count_later

  def later(self, x: types.FloatArray, correlation: float) -> types.FloatArray:
    """Returns s times the sum of later rows of the episode, [N] or [N, D]."""
    total = np.cumsum(x, axis=0)
    share = _share(self._full_later, correlation)
    return (total[self._last] - total) * share.reshape(-1, *[1] * (x.ndim - 1))

  def means(self, x: types.FloatArray) -> types.FloatArray:
    """Returns the mean of each episode, [E]."""
    return np.bincount(self._index, weights=x) / self._full

  def shrunk(self, x: types.FloatArray, correlation: float) -> types.FloatArray:
    """Returns s times the sum of each episode, [E]."""
    share = _share(self._full, correlation)
    return share * np.bincount(self._index, weights=x)

  def correlation(self, x: types.FloatArray) -> float:
    """Returns the mean product of two rows of an episode, by the variance."""
    pairs = np.sum(self._count * (self._count - 1))
    total = np.bincount(self._index, weights=x)
    variance = float(np.mean(np.square(x)))
    if not pairs or not variance:
      return 0.0
    products = np.sum(np.square(total)) - np.sum(np.square(x))
    return float(products / pairs) / variance


def _share(count: np.ndarray, correlation: float) -> types.FloatArray:
  """Returns rho / (1 + (k - 1) rho): of a sum of k that is no chance."""
  return correlation / (1.0 + (np.maximum(count, 1) - 1.0) * correlation)
