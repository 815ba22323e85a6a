"""Policies that are summed together: those with few joint kinds of decisions.

A policy of few kinds of decisions cuts the states of a log into as many sets,
several policies into the intersections of these. Policies of one task often
decide alike, so that most intersections are empty: 25 policies with thresholds
on a plane make some 500 sets, not 3^25. Sums over sets are added up to those of
each policy afterwards (`cross_sums`).
"""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import choices as choices_lib

# States in which joint kinds are counted before policies are grouped.
_COUNTED = 20_000
# In products of one row: what gathering a row adds to its product, and what
# the product of a kind costs that has no rows.
_GATHER, _KIND = 0.5, 60
# Codes of several policies are one number below this.
_MOST_CODES = 2**62


class Group(NamedTuple):
  """Policies whose decisions are told apart together.

  Attributes:
    members: places of the policies.
    kinds: which joint kind each state has, int32 [N].
    tables: what each member does in each kind, float64 [kinds, G A].
  """

  members: list[int]
  kinds: np.ndarray
  tables: types.FloatArray


def of(policies: Sequence[choices_lib.Choices], *, rows: int) -> list[Group]:
  """Returns groups of the policies whose decisions are coded.

  A policy joins the group before it where that makes the sums of a policy
  cheaper: it shares the product of each row, and adds kinds.

  Args:
    policies: what they do in the states of a log.
    rows: that are summed at once.
  """
  groups: list[list[int]] = []
  kinds, cheapest = np.zeros(0, np.int64), math.inf
  for place, policy in enumerate(policies):
    if policy.codes is None:
      continue
    some = policy.codes[:: -(-len(policy.codes) // _COUNTED)].astype(np.int64)
    size, actions = policy.table.shape
    if groups:
      members = [*groups[-1], place]
      found = np.unique(kinds * size + some, return_inverse=True)[1]
      cost = _cost(int(found.max()) + 1, len(members), rows, actions)
      if cost <= cheapest:
        groups[-1], kinds, cheapest = members, found, cost
        continue
    groups.append([place])
    kinds, cheapest = some, _cost(size, 1, rows, actions)
  return [_group(policies, members) for members in groups]


def _cost(kinds: int, members: int, rows: int, actions: int) -> float:
  """Returns what the sums of one of a group's policies take."""
  products = (1.0 + _GATHER) * rows + _KIND * kinds * actions
  return products / members + kinds * actions**2


def _group(
  policies: Sequence[choices_lib.Choices], members: list[int]
) -> Group:
  kinds, count = np.zeros(1, np.int64), 1
  for place in members:
    policy = policies[place]
    assert policy.codes is not None
    count *= len(policy.table)
    if count > _MOST_CODES:
      kinds = np.unique(kinds, return_inverse=True)[1]
      count = (int(kinds.max()) + 1) * len(policy.table)
    kinds = kinds * len(policy.table) + policy.codes
  _, first, kinds = np.unique(kinds, return_index=True, return_inverse=True)
  return Group(
    members,
    kinds.astype(np.int32),
    np.concatenate(
      [policies[place].at(first) for place in members], axis=1
    ).astype(np.float64),
  )
