"""The blend of estimates of least mean squared error, MAGIC's x*.

Thomas and Brunskill (2016), Eq. (9): of weights x on a simplex, those with the
least x'(Omega + B)x, where Omega is the covariance of the estimates and B the
second moments of their biases: b b' where each bias is known.

What is known of biases are differences between estimates beyond what chance
explains. Where one of them is taken to have none, these are the biases of the
others (`biases`, `from_trusted`). Where none is, they only say how large biases
are, and each has as much a part in them as any other (`from_differences`).
"""

import numpy as np
from scipy import linalg, optimize, special

from dfiv_ope import types

# Relative to the mean variance: keeps equal estimates apart.
_GUARD = 1e-6
# Biases are measured from the nearer end of an interval of this level.
_LEVEL = 0.5
# Standard errors of a difference that chance explains; of 0.67, 1, 1.5 and 2
# this one had the least error on the suite's development half.
_CHANCE = 1.5


def biases(
  values: types.FloatArray, trusted: float, error: float
) -> types.FloatArray:
  """Returns the distance of values from an interval of the one without bias.

  Args:
    values: estimates, [J].
    trusted: the one that is taken to have no bias.
    error: its standard error.
  """
  half = float(special.ndtri(0.5 + _LEVEL / 2.0)) * error
  away = np.asarray(values) - trusted
  return np.sign(away) * np.maximum(np.abs(away) - half, 0.0)


def covariance(
  added: types.FloatArray, unseen: types.FloatArray | None = None
) -> types.FloatArray:
  """Returns that of estimates by what the episodes add to each, [J, J].

  Args:
    added: of mean zero, [J, E].
    unseen: standard errors that no episode shows, [J]; None for none.
  """
  episodes = added.shape[1]
  found = added @ added.T * episodes / max(episodes - 1, 1)
  return found if unseen is None else found + np.diag(np.square(unseen))


def from_trusted(
  values: types.FloatArray, covariances: types.FloatArray, trusted: int
) -> types.FloatArray:
  """Returns B = b b' where one of the estimates has no bias, [J, J].

  Args:
    values: estimates, [J].
    covariances: of them, [J, J].
    trusted: which one.
  """
  found = _beyond(values, covariances)[:, trusted]
  return np.outer(found, found)


def from_differences(
  values: types.FloatArray, covariances: types.FloatArray
) -> types.FloatArray:
  """Returns B where any of the estimates may have a bias, [J, J].

  A difference beyond chance is that of two biases: each has half its square,
  and the mean of those over all others.

  Args:
    values: estimates, [J].
    covariances: of them, [J, J].
  """
  found = np.square(_beyond(values, covariances))
  return np.diag(np.sum(found, axis=1) / 2.0 / max(len(values) - 1, 1))


def weights(matrix: types.FloatArray) -> types.FloatArray:
  """Returns x, not negative, of sum one, with the least x'Mx, [J].

  Args:
    matrix: M, Omega + B, [J, J].
  """
  size = float(np.trace(matrix)) / len(matrix)
  if not size:
    return np.full(len(matrix), 1.0 / len(matrix))
  matrix = matrix / size + _GUARD * np.eye(len(matrix))
  # The least x'Mx of sum one is the y >= 0 of least y'My / 2 - 1'y, scaled.
  root = linalg.cholesky(matrix)  # M = R'R
  found, _ = optimize.nnls(
    root, linalg.solve_triangular(root, np.ones(len(matrix)), trans='T')
  )
  return found / found.sum()


def _beyond(
  values: types.FloatArray, covariances: types.FloatArray
) -> types.FloatArray:
  """Returns differences less what chance explains of them, [J, J]."""
  own = np.diag(covariances)
  error = np.sqrt(
    np.maximum(own[:, None] + own[None, :] - 2.0 * covariances, 0.0)
  )
  gaps = np.asarray(values)[:, None] - np.asarray(values)[None, :]
  return np.sign(gaps) * np.maximum(np.abs(gaps) - _CHANCE * error, 0.0)
