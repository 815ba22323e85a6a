"""k-class estimators: least squares (0), two-stage least squares (1), LIML.

rows = system.build(...)
k_class.solve(rows, 1.)                       # two-stage least squares
k_class.solve(rows, k_class.liml_kappa(rows))
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv.linear import estimates, system

# Share of a treatment that instruments leave by rounding alone.
_DECIDED = 1e-13


class Parts(NamedTuple):
  """Products of [y, T] without the controls, split by the instruments.

  Attributes:
    explained: of what the instruments explain, [1 + P, 1 + P].
    left: of what they leave, [1 + P, 1 + P].
  """

  explained: types.FloatArray
  left: types.FloatArray


def parts(rows: system.System) -> Parts:
  """Returns what limited-information inference needs to know of the rows."""
  fits = rows.instruments.T @ rows.left  # [L, 1 + P]
  left = rows.left - rows.instruments @ fits
  return Parts(fits.T @ fits, left.T @ left)


def roots(found: Parts) -> types.FloatArray:
  """Returns the ratios of explained to left along directions, ascending.

  The ratio of a treatment that the instruments decide is infinite.
  """
  total = found.explained + found.left
  scale = np.sqrt(np.diag(total))
  sizes, directions = linalg.eigh(total / np.outer(scale, scale))
  # Along a direction of no size the model is exact: nothing is explained.
  exact = sizes <= len(sizes) * _DECIDED * sizes[-1]
  whitened = directions / np.sqrt(np.where(exact, np.inf, sizes))
  shares = linalg.eigvalsh(
    whitened.T @ (found.explained / np.outer(scale, scale)) @ whitened
  ).clip(0.0, 1.0)
  shares[shares > 1.0 - _DECIDED] = 1.0
  with np.errstate(divide='ignore'):
    return shares / (1.0 - shares)


def liml_kappa(found: Parts) -> float:
  """Returns kappa of limited-information maximum likelihood: 1 + least root."""
  return 1.0 + float(roots(found)[0])


def solve(
  rows: system.System, kappa: float, *, limit: bool = True
) -> estimates.Estimate:
  """Returns the k-class estimate.

  b = (T'(I - kappa M) T)^-1 T'(I - kappa M) y without the controls, where M
  takes out what the instruments explain.

  Args:
    rows: of the model.
    kappa: 1 for two-stage least squares.
    limit: whether its loadings are those of two-stage least squares, to which
      they tend if kappa tends to 1; otherwise those of this kappa.

  Raises:
    ValueError: kappa is so large that the matrix is not positive definite.
  """
  treatment = rows.left[:, 1:]
  fits = rows.instruments.T @ treatment  # [L, P]
  fitted = rows.instruments @ fits
  # I - kappa M = (1 - kappa) I + kappa Q Q'.
  matrix = kappa * fits.T @ fits + (1.0 - kappa) * treatment.T @ treatment
  right = (
    kappa * fits.T @ (rows.instruments.T @ rows.outcome)
    + (1.0 - kappa) * treatment.T @ rows.outcome
  )
  scale = np.sqrt(np.diag(matrix).clip(1e-300))
  try:
    factor = linalg.cho_factor(matrix / np.outer(scale, scale))
  except linalg.LinAlgError as error:
    raise ValueError(
      f'kappa={kappa:g} is too large for these rows: the k-class estimate '
      'exists below the LIML value. Pass a smaller one.'
    ) from error
  inverse = linalg.cho_solve(factor, np.eye(len(scale))) / np.outer(
    scale, scale
  )
  slopes = linalg.cho_solve(factor, right / scale) / scale
  if not limit:
    fitted = kappa * fitted + (1.0 - kappa) * treatment
  return estimates.with_controls(rows, slopes, fitted @ inverse, inverse, kappa)
