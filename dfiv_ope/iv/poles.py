"""Poles of LSTD-Q: penalties at which its linear system is nearly singular.

F'X of `ridge.solve_cross` is not symmetric: an eigenvalue may happen to lie at
minus the penalty, whatever that is, and on a short log now and then one does.
Then the values F u are enormous, and a larger penalty makes them many times
smaller; elsewhere it hardly changes them.
"""

import tensorflow as tf

from dfiv_ope.iv import ridge

# A penalty ten times as large changes values by 1 % where the log is long
# enough for its features (20,000 rows of catch, 60,000 of the other tasks), and
# divides them by 1.4 to 80 near a pole (1,000 and 3,000 rows of mountain_car).
_LARGER = 10.
_STEADY = 1.1
# From 1e-8 to 1e-4, say.
_MOST_RAISES = 4


def steady_penalty(total: ridge.Sums, penalty: float) -> float:
  """Returns the penalty, or a larger one where the system is near singular.

  It is raised tenfold while that makes the values a tenth smaller.

  Args:
    total: as in `ridge.solve_cross`.
    penalty: ridge penalty per row to start from, positive.
  """
  size = _size(total, penalty)
  for _ in range(_MOST_RAISES):
    smaller = _size(total, _LARGER * penalty)
    if size <= _STEADY * smaller:
      break
    penalty, size = _LARGER * penalty, smaller
  return penalty


def _size(total: ridge.Sums, penalty: float) -> float:
  """Returns the root of the mean square of F u."""
  weights = ridge.solve_cross(total, penalty)
  return float(tf.sqrt(tf.reduce_sum(
      weights * tf.matmul(total.gram, weights)) / total.count))
