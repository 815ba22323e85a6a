"""Fixed effects of groups, taken out of columns instead of estimated.

    left, freedom = absorption.remove(columns, codes, weights)

Columns without their group means give the same coefficients as a dummy for
every group (Frisch, Waugh and Lovell). Of several ways of grouping, means are
taken out in turn until nothing changes.
"""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from dfiv_ope import types

# Rounds of means; what they still change, as a share of a column's size; and
# the share of it that they leave by rounding of a column that groups decide.
_MOST_ROUNDS, _STEADY, _DECIDED = 10_000, 1e-13, 1e-9


def remove(
  columns: types.FloatArray, codes: types.FloatArray, weights: types.FloatArray
) -> tuple[types.FloatArray, int]:
  """Returns columns without fixed effects, and the effects' number.

  Args:
    columns: [n, D].
    codes: groups as 0, 1, ..., [n, ways].
    weights: positive, [n].

  Returns:
    What is left, [n, D], zeros of a column that the groups decide, and how many
    independent dummies there would be.

  Raises:
    ValueError: the means of several ways do not settle.
  """
  averages = [_averager(way, weights) for way in codes.T]
  left = columns - columns.mean(axis=0)
  size = np.maximum(np.sqrt(np.mean(np.square(left), axis=0)), 1e-300)
  for _ in range(_MOST_ROUNDS):
    change = np.zeros(columns.shape[1])
    for members, means in averages:
      step = means @ left
      left = left - members @ step
      change = np.maximum(change, np.max(np.abs(step), axis=0))
    if len(averages) == 1 or np.all(change <= _STEADY * size):
      decided = np.sqrt(np.mean(np.square(left), axis=0)) <= _DECIDED * size
      return np.where(decided, 0.0, left), _rank(codes)
  raise ValueError(
    f'The fixed effects do not settle in {_MOST_ROUNDS} rounds: their groups '
    'are hardly connected. Absorb one of them and pass the others as dummies '
    'in X.'
  )


def _averager(
  way: types.FloatArray, weights: types.FloatArray
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
  """Returns who is in which group [n, G], and what takes its mean [G, n]."""
  rows = np.arange(len(way))
  members = sparse.csr_matrix((np.ones(len(way)), (rows, way)))
  totals = np.bincount(way, weights=weights)
  return members, sparse.csr_matrix((weights / totals[way], (way, rows)))


def _rank(codes: types.FloatArray) -> int:
  """Returns the number of independent dummies of all groups.

  Of two ways it is exact: groups less the parts that they connect. Each
  further way is counted as if it was connected, so with one less.
  """
  counts = [int(way.max()) + 1 for way in codes.T]
  if len(counts) == 1:
    return counts[0]
  pairs = sparse.coo_matrix(
    (np.ones(len(codes)), (codes[:, 0], counts[0] + codes[:, 1])),
    shape=(sum(counts[:2]),) * 2,
  )
  parts = csgraph.connected_components(pairs, directed=False)[0]
  return sum(counts) - parts - len(counts[2:])
