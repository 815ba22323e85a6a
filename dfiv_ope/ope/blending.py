"""The blend of estimates of least mean squared error, MAGIC's x*.

Thomas and Brunskill (2016), Eq. (9): of weights x on a simplex, those with the
least x'(Omega + b b')x, where Omega is the covariance of the estimates and b
their biases.
"""

import numpy as np
from scipy import linalg, optimize, stats

from dfiv_ope import types

# Relative to the mean variance: keeps equal estimates apart.
_GUARD = 1e-6
# Biases are measured from the nearer end of an interval of this level.
_LEVEL = 0.5


def biases(
    values: types.FloatArray, trusted: float, error: float,
) -> types.FloatArray:
  """Returns the distance of values from an interval of the one without bias.

  Args:
    values: estimates, [J].
    trusted: the one that is taken to have no bias.
    error: its standard error.
  """
  half = float(stats.norm.ppf(0.5 + _LEVEL / 2.)) * error
  away = np.asarray(values) - trusted
  return np.sign(away) * np.maximum(np.abs(away) - half, 0.)


def weights(
    added: types.FloatArray, bias: types.FloatArray) -> types.FloatArray:
  """Returns x, not negative, of sum one, [J].

  Args:
    added: what each episode adds to each estimate, of mean zero, [J, E].
    bias: of each, [J].
  """
  episodes = added.shape[1]
  matrix = added @ added.T * episodes / max(episodes - 1, 1) + np.outer(
      bias, bias)
  size = float(np.trace(matrix)) / len(matrix)
  if not size:
    return np.full(len(matrix), 1. / len(matrix))
  matrix = matrix / size + _GUARD * np.eye(len(matrix))
  # The least x'Mx of sum one is the y >= 0 of least y'My / 2 - 1'y, scaled.
  root = linalg.cholesky(matrix)  # M = R'R
  found, _ = optimize.nnls(
      root, linalg.solve_triangular(root, np.ones(len(matrix)), trans='T'))
  return found / found.sum()
