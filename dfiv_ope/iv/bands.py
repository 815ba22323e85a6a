"""Uniform bands: how far the largest of several t statistics may be out."""

import numpy as np

from dfiv_ope import types

# Draws of a normal vector that a band is widened by.
_DRAWS = 20_000


def largest_t(covariance: types.FloatArray, level: float, seed: int) -> float:
  """Returns what the largest of correlated t statistics stays below.

  A bootstrap that multiplies what rows add by normal numbers has just these
  draws, whatever the number of rows: sums of multiples are normal.

  Args:
    covariance: of the estimates, [G, G].
    level: share of draws.
    seed: of the draws.
  """
  scale = np.sqrt(np.diag(covariance))
  values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
  root = vectors * np.sqrt(values.clip(0.0))
  keep = values > 1e-12 * values[-1]
  draws = (
    np.random.default_rng((seed, 6)).standard_normal((_DRAWS, int(keep.sum())))
    @ root[:, keep].T
  )
  return float(np.quantile(np.max(np.abs(draws), axis=1), level))
