"""The sums of LSTD-Q for many policies, in one pass over a log.

Of psi(s, a) = [g(s) (x) e_a, e_a, 1] a row has only the block of its action,
and of the next state only the blocks of the actions that a policy takes there.
With h = [g, 1], all that differs between policies is, for each pair of actions,

    sum of 1{a} h(s) [gamma d p(a'|s') h(s')]'.

Rows in which a group of policies decides alike share one product: for five
policies of three actions there are 243 kinds of rows, and the products of all
kinds together cost as much as those of one policy alone.
"""

from collections.abc import Sequence
import math

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge
from dfiv_ope.ope import choices as choices_lib

# Rows whose features are in memory at once, and the fewest that a kind of rows
# has on average: products of fewer are slow.
CHUNK, _ROWS_A_KIND = 65_536, 80


class CrossSums:
  """Sums over rows of what K policies do next.

  Attributes:
    total: of h(s) e_a and gamma d p(a') h(s'), [K, A, A, H, H].
  """

  def __init__(
    self, policies: Sequence[choices_lib.Choices], *, rows: int, size: int
  ):
    """Initialises sums of zero.

    Args:
      policies: what they do in all next states of the log.
      rows: of the log.
      size: H.
    """
    self._policies = policies
    self._actions = policies[0].table.shape[1]
    most = min(rows, CHUNK)
    self._groups = _groups(policies, most // _ROWS_A_KIND, self._actions)
    # Making these anew for each group would cost more than filling them.
    self._now, self._later = (np.empty((most, size)) for _ in range(2))
    self._kinds = np.empty(
      (
        max((self._count(group) for group in self._groups), default=1),
        size,
        size,
      )
    )
    self.total = np.zeros(
      (len(policies), self._actions, self._actions, size, size)
    )

  def _count(self, group: Sequence[int]) -> int:
    return math.prod(len(self._policies[each].table) for each in group)

  def add(
    self,
    now: types.FloatArray,
    later: types.FloatArray,
    actions: np.ndarray,
    rows: np.ndarray,
    going_on: np.ndarray,
  ) -> None:
    """Adds rows of the log.

    Args:
      now: h(s), [B, H].
      later: gamma d h(s'), [B, H].
      actions: logged ones, [B].
      rows: their numbers in the log, [B].
      going_on: which of the B are not the last of their episodes, at least
        one; the others have a `later` of zeros.
    """
    for group in self._groups:
      self._add_group(group, now, later, actions, rows, going_on)
    dense = [
      place for place, each in enumerate(self._policies) if each.codes is None
    ]
    for action in range(self._actions if dense else 0):
      chosen = going_on[actions[going_on] == action]
      here, there = now[chosen].T, later[chosen]
      for place in dense:
        weights = self._policies[place].at(rows[chosen])
        for other in range(self._actions):
          self.total[place, action, other] += here @ (
            weights[:, other, None] * there
          )

  def _add_group(
    self,
    group: Sequence[int],
    now: types.FloatArray,
    later: types.FloatArray,
    actions: np.ndarray,
    rows: np.ndarray,
    going_on: np.ndarray,
  ) -> None:
    """Adds rows to the sums of policies whose decisions are coded."""
    count = self._count(group)
    key = actions[going_on].astype(np.int64)
    for place in group:
      policy = self._policies[place]
      assert policy.codes is not None
      key = key * len(policy.table) + policy.codes[rows[going_on]]
    order = np.argsort(
      key.astype(np.min_scalar_type(self._actions * count)), kind='stable'
    )
    here, there = self._now[: len(order)], self._later[: len(order)]
    np.take(now, going_on[order], axis=0, out=here, mode='clip')
    np.take(later, going_on[order], axis=0, out=there, mode='clip')
    kinds, starts = np.unique(key[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    for action in range(self._actions):
      own = np.flatnonzero(kinds // count == action)
      if not len(own):
        continue
      products = self._kinds[: len(own)]
      for place, start, end in zip(
        range(len(own)), starts[own], ends[own], strict=True
      ):
        np.matmul(here[start:end].T, there[start:end], out=products[place])
      added = np.tensordot(
        self._weights(group, kinds[own] % count), products, axes=1
      )
      self.total[group, action] += added.reshape(
        len(group), self._actions, *products.shape[1:]
      )

  def _weights(
    self, group: Sequence[int], code: np.ndarray
  ) -> types.FloatArray:
    """Returns what policies do in rows of some kinds, [G A, kinds]."""
    found = []
    for place in reversed(group):
      table = self._policies[place].table
      code, own = np.divmod(code, len(table))
      found.append(table[own].T.astype(np.float64))
    return np.concatenate(found[::-1])


def _groups(
  policies: Sequence[choices_lib.Choices], most: int, actions: int
) -> list[list[int]]:
  """Returns policies with codes in groups of at most so many kinds of rows."""
  groups: list[list[int]] = []
  size = math.inf
  for place, policy in enumerate(policies):
    if policy.codes is None:
      continue
    size *= len(policy.table)
    if size > most:
      groups.append([])
      size = actions * len(policy.table)
    groups[-1].append(place)
  return groups


class OwnSums:
  """Sums over rows of what the log did, the same for all policies.

  Attributes:
    gram: of h(s) e_a with itself, [A, H, H].
    outcome: of h(s) e_a and the outcomes of K policies, [A, H, K].
    count: number of rows.
  """

  def __init__(self, *, actions: int, size: int, policies: int):
    """Initialises sums of zero."""
    self.gram = np.zeros((actions, size, size))
    self.outcome = np.zeros((actions, size, policies))
    self.count = 0

  def add(
    self, now: types.FloatArray, actions: np.ndarray, outcome: types.FloatArray
  ) -> None:
    """Adds rows: h(s) [B, H], logged actions [B], outcomes [B, K]."""
    order = np.argsort(actions, kind='stable')
    self.add_sorted(now[order], actions[order], outcome[order])

  def add_sorted(
    self, now: types.FloatArray, actions: np.ndarray, outcome: types.FloatArray
  ) -> None:
    """Adds rows as `add` does, in the order of their actions."""
    self.count += len(now)
    ends = np.searchsorted(actions, np.arange(len(self.gram)), side='right')
    for action, (start, end) in enumerate(
      zip(np.append(0, ends[:-1]), ends, strict=True)
    ):
      here = now[start:end]
      self.gram[action] += here.T @ here
      self.outcome[action] += here.T @ outcome[start:end]

  @property
  def gram_of_features(self) -> types.FloatArray:
    """The Gram matrix of psi, [D, D]."""
    actions, size, _ = self.gram.shape
    whole = np.zeros((actions, size, actions, size))
    for action in range(actions):
      whole[action, :, action] = self.gram[action]
    return _both(whole)

  def with_cross(
    self, gram: types.FloatArray, cross: types.FloatArray, policy: int
  ) -> ridge.Sums:
    """Returns the sums of psi and [psi - gamma d psi', r] of one policy.

    Sums of squares of the targets, which no solve asks for, are left out.

    Args:
      gram: of `gram_of_features`.
      cross: of `CrossSums`, of this policy, [A, A, H, H].
      policy: its number.
    """
    change = _both(np.moveaxis(cross, 1, 2))  # a, h(s), a', h(s')
    outcome = features(self.outcome[:, :, policy])
    return ridge.Sums(
      gram=gram,
      moment=np.concatenate([gram - change, outcome], axis=1),
      square=np.zeros(0),
      count=np.float64(self.count),
    )


def merge(parts: Sequence[OwnSums]) -> OwnSums:
  """Returns the sums over the rows of all parts."""
  actions, size, policies = parts[0].outcome.shape
  total = OwnSums(actions=actions, size=size, policies=policies)
  for each in parts:
    total.gram += each.gram
    total.outcome += each.outcome
    total.count += each.count
  return total


def features(blocks_: types.FloatArray) -> types.FloatArray:
  """Returns sums of h e_a [A, H] as those of psi, [D, 1]."""
  return np.concatenate(
    [
      blocks_[:, :-1].reshape(-1),
      blocks_[1:, -1],
      np.sum(blocks_[:, -1], keepdims=True),
    ]
  )[:, None]


def blocks(weights: types.FloatArray, actions: int) -> types.FloatArray:
  """Returns weights of psi [D, 1] as those of h for each action, [A, H]."""
  flat = np.asarray(weights)[:, 0]
  # The first action has no column of its own, the constant is shared.
  own = np.append(0.0, flat[-actions:-1]) + flat[-1]
  return np.concatenate(
    [flat[:-actions].reshape(actions, -1), own[:, None]], axis=1
  )


def _both(whole: types.FloatArray) -> types.FloatArray:
  """Takes [A, H, A, H] from h (x) e_a to psi on both sides, [D, D]."""
  actions, size = whole.shape[:2]
  first = _rows(whole.reshape(actions, size, -1))
  return _rows(first.T.reshape(actions, size, -1)).T


def _rows(blocks_: types.FloatArray) -> types.FloatArray:
  """Takes rows [A, H, C] from h (x) e_a to psi, [D, C]."""
  return np.concatenate(
    [
      blocks_[:, :-1].reshape(-1, blocks_.shape[2]),
      blocks_[1:, -1],
      np.sum(blocks_[:, -1], axis=0, keepdims=True),
    ]
  )
