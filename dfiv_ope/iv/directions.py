"""Kernels that are wide in directions in which a function hardly changes.

A Gaussian kernel with a bandwidth for each column learns sin(t + x) as a
function of two columns, though it changes along one direction only. Gradients
of a first fit tell the directions along which it changes, as the eigenvectors
of their mean outer product; in the others the kernel is made wider.
"""

import numpy as np

from dfiv_ope import types

# How much wider a direction may become.
_WIDEST = 10.0


def turned(
  bandwidth: types.FloatArray,
  unit: types.FloatArray,
  gradients: types.FloatArray,
) -> types.FloatArray:
  """Returns bandwidths times how little a function changes: [D, D].

  Args:
    bandwidth: of each column, [D].
    unit: of each column, in which directions are compared, [D].
    gradients: of the function, in each column, [n, D].

  Returns:
    A matrix B; rows x B^-1 are what a kernel of unit bandwidth sees. It is
    diag(bandwidth) where the function changes alike in all directions.
  """
  slopes = gradients * unit
  sizes, vectors = np.linalg.eigh(slopes.T @ slopes)
  if not sizes[-1] > 0.0:
    return np.diag(bandwidth)
  wider = np.minimum(
    np.sqrt(sizes[-1] / np.maximum(sizes, 1e-12 * sizes[-1])), _WIDEST
  )
  shape = (vectors * wider) @ vectors.T
  return (bandwidth / unit)[:, None] * shape * unit


def scaled(
  x: types.FloatArray, bandwidth: types.FloatArray
) -> types.FloatArray:
  """Returns rows [n, D] in units of bandwidths, [D] or a matrix [D, D]."""
  if bandwidth.ndim == 1:
    return x / bandwidth
  return np.linalg.solve(bandwidth.T, x.T).T
