"""Instruments as many as regressors: u = (F'X)^-1 F'y, guarded.

With F = psi(s, a) and X = psi(s, a) - gamma d psi(s', pi) this is LSTD-Q; with
predicted features F it is the moment form of two-stage least squares.

F'X is not symmetric: an eigenvalue may happen to lie at minus the penalty,
whatever that is, and on a short log now and then one does. The system is then
near-singular: the values F u are enormous, and a larger penalty makes them many
times smaller; elsewhere it hardly changes them. So the penalty is raised until
it no longer matters.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge

# A penalty ten times as large changes values by 1 % where the log is long
# enough for its features (20,000 rows of catch, 60,000 of the other tasks), and
# divides them by 1.4 to 80 where the system is near-singular (1,000 and 3,000
# rows of mountain_car).
_LARGER = 10.0
_STEADY = 1.1
# From 1e-8 to 1e-4, say.
_MOST_RAISES = 4


class Solution(NamedTuple):
  """Weights and the penalty that they were found with.

  Attributes:
    weights: [D, 1], float64.
    penalty: ridge penalty per row.
  """

  weights: types.FloatArray
  penalty: float


def solve(total: ridge.Sums, penalty: float) -> Solution:
  """Returns u with (F'X + n penalty I) u = F'y; the last is not penalised.

  The penalty is raised tenfold while that makes the values a tenth smaller.

  Args:
    total: sums of the instruments F [B, D] and the targets [X, y], [B, D + 1].
      The size of values is told by the Gram matrix.
    penalty: ridge penalty per row to start from, positive.
  """
  weights = np.asarray(ridge.solve_cross(total, penalty))
  for _ in range(_MOST_RAISES):
    steadier = np.asarray(ridge.solve_cross(total, _LARGER * penalty))
    if _size(total, weights) <= _STEADY * _size(total, steadier):
      break
    weights, penalty = steadier, _LARGER * penalty
  return Solution(weights, penalty)


def dual(
  total: ridge.Sums, value: types.FloatArray, penalty: float
) -> Solution:
  """Returns w with (F'X + n penalty I)' w = v, at the penalty of `solve`.

  With u of `solve`, v'u = w'F'y: w says what a unit of each row's y adds to it.

  Args:
    total: as in `solve`.
    value: v, [D, 1].
    penalty: as in `solve`.
  """
  penalty = solve(total, penalty).penalty
  return Solution(np.asarray(ridge.solve_dual(total, value, penalty)), penalty)


def _size(total: ridge.Sums, weights: types.FloatArray) -> float:
  """Returns the root of the mean square of F u."""
  return float(
    np.sqrt(
      np.sum(weights * (np.asarray(total.gram) @ weights)) / float(total.count)
    )
  )
