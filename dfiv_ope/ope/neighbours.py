"""Nearest neighbours: how often a log took a policy's action nearby."""

from collections.abc import Callable
import dataclasses
from typing import NamedTuple

import numpy as np

from dfiv_ope import types

# Neighbours are looked for among so many steps of the log, for so many of
# them: a share of 2,000 has a standard error of one per cent.
_REFERENCES = 20_000
_QUERIES = 2_000
_CHUNK = 200  # queries at once, to bound memory
# A neighbour is near if it is nearer than in this share of the log's own
# decisions, so a policy that acts as the log does is covered to this share.
NEAR = 0.95
# Rounding leaves the squared distance of equal rows below this.
_ROUNDING = 1e-8

# Returns an action of the policy in each of some steps [Q], encoded, [Q, E].
Intended = Callable[[np.ndarray], types.FloatArray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coverage:
  """Nearest neighbours of a policy's decisions; see `nearby`.

  Attributes:
    share: of the policy's decisions in the log's states, those that have a
      near neighbour of the same action in another episode.
    near: what distance between encoded observations is near; where actions
      are vectors, between observations and actions together.
    queries: in how many states this was looked at.
    references: among how many steps neighbours were looked for.
  """

  share: float
  near: float
  queries: int
  references: int


class Nearby(NamedTuple):
  """Which actions a log took near some of its states, whatever the policy.

  Attributes:
    rows: the states that are looked at, [Q].
    covered: whether the log took each action near them, [Q, A].
    near: what distance is near.
    references: among how many steps neighbours were looked for.
  """

  rows: np.ndarray
  covered: np.ndarray
  near: float
  references: int


def nearby(
  num_actions: int,
  actions: np.ndarray,
  episodes: np.ndarray,
  observations: types.FloatArray,
  *,
  seed: types.Seed,
  names: int = 0,
) -> Nearby:
  """Returns which actions a log took near its states.

  For a state s of the log and an action a, d(s, a) is the distance of s, in
  encoded observations, from the nearest state of another episode where the log
  took a. Near is the 95 % quantile of d at the logged decisions.

  A random sample of steps serves for both, so that its size changes the share
  little. A log of one episode has its other steps for neighbours.

  Args:
    num_actions: A.
    actions: logged actions, [N].
    episodes: to which episode each step belongs, [N].
    observations: logged states, encoded compactly, [N, D].
    seed: seeds the choice of steps.
    names: how many of the last columns are places of categories; two that
      differ are sqrt(2) apart, as their indicators are.
  """
  order, owners = _sample(episodes, seed)
  x = np.asarray(observations[order], np.float64)
  asked = order[:_QUERIES]
  squares = _squared_distances(
    x[:_QUERIES],
    x,
    actions[order],
    owners,
    num_actions=num_actions,
    names=names,
  )  # [Q, A]
  near = _near(taken(squares, actions[asked]))
  return Nearby(
    asked, squares <= near + _ROUNDING, float(np.sqrt(near)), len(order)
  )


def coverage(
  target: Callable[[np.ndarray], types.FloatArray], seen: Nearby
) -> Coverage:
  """Returns how much of a policy's decisions has near neighbours.

  The share is the mean over states of sum_a pi(a|s) [a was taken near s].

  Args:
    target: returns the policy's probabilities in some states of the log, [Q]
      to [Q, A].
    seen: of `nearby`.
  """
  share = np.mean(np.sum(target(seen.rows) * seen.covered, axis=1))
  return Coverage(
    share=float(min(share, 1.0)),
    near=seen.near,
    queries=len(seen.rows),
    references=seen.references,
  )


def vector_coverage(
  actions: types.FloatArray,
  intended: Intended,
  episodes: np.ndarray,
  observations: types.FloatArray,
  *,
  seed: types.Seed,
  names: int = 0,
) -> Coverage:
  """Returns how much of a policy's decisions has near neighbours.

  As `nearby`, but d(s, a) is the distance of (s, a) from the nearest logged
  (s, a) of another episode. An action counts as much as a state there, however
  few entries it has: else a log of many columns would cover any action.

  Args:
    actions: logged actions, encoded, [N, E].
    intended: gives the policy's actions.
    episodes: to which episode each step belongs, [N].
    observations: logged states, encoded compactly, [N, D].
    seed: seeds the choice of steps.
    names: as in `nearby`.
  """
  order, owners = _sample(episodes, seed)
  asked = order[:_QUERIES]
  weight = np.sqrt(max(1.0, observations.shape[1] / actions.shape[1]))

  def joint(rows: np.ndarray, columns: types.FloatArray) -> types.FloatArray:
    return np.concatenate(
      [
        weight * np.asarray(columns, np.float64),
        np.asarray(observations[rows], np.float64),
      ],
      axis=1,
    )

  logged = joint(order, actions[order])
  alike = np.zeros(len(order), np.int32)
  own, squares = (
    _squared_distances(
      queries, logged, alike, owners, num_actions=1, names=names
    )[:, 0]
    for queries in (logged[:_QUERIES], joint(asked, intended(asked)))
  )
  near = _near(own)
  return Coverage(
    share=float(np.mean(squares <= near + _ROUNDING)),
    near=float(np.sqrt(near)),
    queries=len(asked),
    references=len(order),
  )


def _sample(
  episodes: np.ndarray, seed: types.Seed
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the steps to look at, and the episode of each, [R]."""
  if len(np.unique(episodes)) == 1:
    episodes = np.arange(len(episodes))
  order = np.random.default_rng(seed).permutation(len(episodes))[:_REFERENCES]
  return order, np.asarray(episodes)[order]


def _near(own: types.FloatArray) -> float:
  """Returns what squared distance is near, from those of logged decisions."""
  own = own[np.isfinite(own)]
  # A distance of the log, not a mean of two: states may be discrete.
  return float(np.quantile(own, NEAR, method='higher')) if len(own) else 0.0


def _squared_distances(
  queries: types.FloatArray,
  x: types.FloatArray,
  actions: np.ndarray,
  episodes: np.ndarray,
  *,
  num_actions: int,
  names: int,
) -> types.FloatArray:
  """Returns those of queries from each action's nearest row of x, [Q, A].

  Infinite where no other episode has the action. The queries belong to the
  first of the episodes.
  """
  by_action = np.argsort(actions, kind='stable')
  seen, starts = np.unique(actions[by_action], return_index=True)
  numbers = x.shape[1] - names
  references, owners = x[by_action], episodes[by_action]
  norms = np.sum(np.square(references[:, :numbers]), axis=1)
  result = np.full((len(queries), num_actions), np.inf)
  for start in range(0, len(result), _CHUNK):
    rows = slice(start, min(start + _CHUNK, len(result)))
    asked = queries[rows]
    squares = np.sum(np.square(asked[:, :numbers]), axis=1)[:, None] + norms
    squares = np.maximum(
      squares - 2.0 * asked[:, :numbers] @ references[:, :numbers].T, 0.0
    )
    for column in range(numbers, x.shape[1]):
      squares += 2.0 * (asked[:, column, None] != references[:, column])
    squares[episodes[rows, None] == owners] = np.inf
    result[rows, seen] = np.minimum.reduceat(squares, starts, axis=1)
  return result


def taken(columns: types.FloatArray, actions: np.ndarray) -> types.FloatArray:
  """Returns the entry of each row's action: [N, A] and [N] to [N]."""
  return np.asarray(columns)[np.arange(len(actions)), actions]
