"""LSTD-Q's sums of steps and what follows, for many policies of one log.

With h of a state (`shared_sums`), all that differs between policies of a log
is, for each pair of actions,

    sum of 1{a} h(s) [gamma d p(a'|s') h(s')]'.

Rows in which a group of policies decides alike share one product
(`decision_groups`), so that the products of a group cost as much as those of
one policy. Policies whose probabilities are different in every state share
nothing but the features.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from dfiv_ope import types
from dfiv_ope.agents import decision_groups, shared_sums
from dfiv_ope.ope import choices as choices_lib

# Bytes of products that are held before they are added up.
_PRODUCTS = 200_000_000
# Rows that a policy of many kinds is asked for at a time: what multiplies its
# probabilities stays near the processor.
_DENSE = 1_024


class Steps(NamedTuple):
  """Rows of a log, none of which ends its episode.

  Attributes:
    states: h of states, [S, H].
    now: which of them are s, [B].
    later: which of them are s', [B].
    continuation: gamma d, [B].
    actions: logged ones, [B].
    rows: their numbers in the log, [B].
  """

  states: types.FloatArray
  now: np.ndarray
  later: np.ndarray
  continuation: types.FloatArray
  actions: np.ndarray
  rows: np.ndarray


class CrossSums:
  """Sums over rows of what K policies do next."""

  def __init__(
    self, policies: Sequence[choices_lib.Choices], *, rows: int, size: int
  ):
    """Initialises sums of zero.

    Args:
      policies: what they do in all next states of the log.
      rows: of the log that are added at once.
      size: H.
    """
    self._policies = policies
    self._actions = actions = policies[0].table.shape[1]
    self._groups = decision_groups.of(policies, rows=rows)
    self._dense = [
      place for place, each in enumerate(policies) if each.codes is None
    ]
    # Of each group, and of each other policy, by logged action.
    self._sums = [
      np.zeros((actions, len(each.members) * actions, size * size))
      for each in self._groups
    ]
    self._others = np.zeros((len(self._dense), actions, actions, size, size))
    # Making these anew for each kind would cost more than filling them.
    self._here, self._there = (
      np.empty((min(rows, shared_sums.PIECE), size)) for _ in range(2)
    )
    # p(a'|s') h(s') of the policies of many kinds, one at a time.
    self._later = np.empty(
      (min(len(self._here), _DENSE) if self._dense else 0, actions, size)
    )
    most = max((len(each.tables) for each in self._groups), default=0)
    self._products = np.empty(
      (min(most, max(1, _PRODUCTS // (8 * size**2))), size, size)
    )

  def of(self, policy: int) -> types.FloatArray:
    """Returns the sums of h(s) e_a and gamma d p(a') h(s'), [A, A, H, H]."""
    actions, size = self._actions, self._here.shape[1]
    if policy in self._dense:
      return self._others[self._dense.index(policy)]
    for group, found in zip(self._groups, self._sums, strict=True):
      if policy in group.members:
        start = group.members.index(policy) * actions
        return found[:, start : start + actions].reshape(
          actions, actions, size, size
        )
    raise IndexError(policy)

  def add(self, steps: Steps) -> None:
    """Adds rows of the log."""
    for group, total in zip(self._groups, self._sums, strict=True):
      key = steps.actions.astype(np.int64) * len(group.tables)
      key += group.kinds[steps.rows]
      order = np.argsort(key, kind='stable')
      kinds, starts = np.unique(key[order], return_index=True)
      ends = np.append(starts[1:], len(order))
      most = len(self._products)
      for action in range(self._actions):
        own = np.flatnonzero(kinds // len(group.tables) == action)
        for first in range(0, len(own), most):
          some = own[first : first + most]
          for place, kind in enumerate(some):
            self._multiply(
              steps, order[starts[kind] : ends[kind]], self._products[place]
            )
          _add_products(
            total[action],
            group.tables[kinds[some] % len(group.tables)],
            self._products[: len(some)],
          )
    for action in range(self._actions if self._dense else 0):
      chosen = np.flatnonzero(steps.actions == action)
      for start in range(0, len(chosen), len(self._later)):
        self._add_dense(steps, chosen[start : start + len(self._later)], action)

  def _add_dense(self, steps: Steps, some: np.ndarray, action: int) -> None:
    """Adds some of the rows, of one action, for policies of many kinds."""
    here, there = self._gather(steps, some)
    later = self._later[: len(some)]
    for total, place in zip(self._others, self._dense, strict=True):
      chances = self._policies[place].at(steps.rows[some])
      np.multiply(chances[:, :, None], there[:, None, :], out=later)
      product = here.T @ later.reshape(len(some), -1)
      total[action] += np.moveaxis(
        product.reshape(len(product), self._actions, -1), 1, 0
      )

  def _gather(
    self, steps: Steps, some: np.ndarray
  ) -> tuple[types.FloatArray, types.FloatArray]:
    """Returns h(s) and gamma d h(s') of few of the rows, both [B, H]."""
    here, there = self._here[: len(some)], self._there[: len(some)]
    np.take(steps.states, steps.now[some], axis=0, out=here, mode='clip')
    np.take(steps.states, steps.later[some], axis=0, out=there, mode='clip')
    there *= steps.continuation[some, None]
    return here, there

  def _multiply(
    self, steps: Steps, some: np.ndarray, out: types.FloatArray
  ) -> None:
    """Writes the sum of h(s) gamma d h(s')' over some rows, [H, H]."""
    for start in range(0, len(some), len(self._here)):
      here, there = self._gather(steps, some[start : start + len(self._here)])
      if start:
        out += here.T @ there
      else:
        np.matmul(here.T, there, out=out)


def _add_products(
  total: types.FloatArray, tables: types.FloatArray, products: types.FloatArray
) -> None:
  """Adds products of kinds [kinds, H, H] to sums [G A, H^2], in place.

  Args:
    total: of the members of a group, in order of memory.
    tables: their probabilities in each kind, [kinds, G A].
    products: of each kind.
  """
  # In BLAS's own order the sums are the transpose; it adds without a copy.
  blas.dgemm(
    1.0,
    products.reshape(len(products), -1).T,
    tables.T,
    beta=1.0,
    c=total.T,
    trans_b=True,
    overwrite_c=True,
  )
