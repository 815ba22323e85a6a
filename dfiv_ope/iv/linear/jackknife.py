"""Cross-fitted 2SLS: no row helps to predict its own treatment.

Two-stage least squares with many instruments fits the noise of the first
stage, and so leans towards ordinary regression. Here the first-stage fit of a
row (or of a cluster of rows) comes from all others, and so does what the
controls explain of it (Kolesar's unbiased jackknife, UJIVE).
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv.linear import estimates, system


def solve(
  rows: system.System, folds: types.FloatArray | None = None
) -> estimates.Estimate:
  """Returns the cross-fitted estimate.

  b = (F'T)^-1 F'y, where F is what instruments and controls predict of T, less
  what the controls alone predict, each from the other rows.

  Args:
    rows: of the model.
    folds: rows that are left out together, codes [n]; each alone if None.

  Raises:
    ValueError: a fold cannot be predicted by the others.
  """
  predicted = _left_out(rows.basis, rows.treatment, folds) - _left_out(
    rows.controls, rows.treatment, folds
  )
  predicted = rows.partial(predicted)
  inverse = np.linalg.inv(predicted.T @ rows.treatment)  # [P, P]
  loadings = predicted @ inverse.T
  return estimates.with_controls(
    rows,
    inverse @ (predicted.T @ rows.outcome),
    loadings,
    loadings.T @ loadings,
  )


def _left_out(
  basis: types.FloatArray,
  targets: types.FloatArray,
  folds: types.FloatArray | None,
) -> types.FloatArray:
  """Returns predictions of targets [n, P], each fold's by the other rows.

  Args:
    basis: orthonormal regressors, [n, D].
    targets: [n, P].
    folds: codes, [n], or None for single rows.
  """
  if not basis.shape[1]:
    return np.zeros_like(targets)
  slopes = basis.T @ targets
  if folds is None:
    leverage = np.sum(np.square(basis), axis=1, keepdims=True)
    if np.any(leverage > 1.0 - 1e-10):
      raise ValueError(
        f'Row {int(np.argmax(leverage))} decides a coefficient of the first '
        'stage alone, so the others cannot predict it. Leave out the row, or '
        'the column that only it has.'
      )
    return (basis @ slopes - leverage * targets) / (1.0 - leverage)
  predicted = np.empty_like(targets)
  order = np.argsort(folds, kind='stable')
  ends = np.flatnonzero(np.diff(folds[order])) + 1
  for members in np.split(order, ends):
    own = basis[members]
    matrix = np.eye(own.shape[1]) - own.T @ own
    if np.linalg.eigvalsh(matrix)[0] < 1e-10:
      raise ValueError(
        f'Cluster {int(folds[members[0]])} decides a coefficient of the '
        'first stage alone, so the others cannot predict it. Leave out the '
        'cluster, or the column that only it has.'
      )
    predicted[members] = own @ np.linalg.solve(
      matrix, slopes - own.T @ targets[members]
    )
  return predicted
