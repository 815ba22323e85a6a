"""The rows of a linear IV model, weighted and rotated once.

    rows = system.build(Y, T, Z, X, weights=w)
    rows.instruments.T @ rows.treatment    # what instruments explain

Every estimator and test of this room works with orthonormal columns: those of
the controls (covariates and constant) and those of the instruments given the
controls. So no Gram matrix is inverted, and units do not matter. Columns are
counted from their means, so neither does where the user counts them from: one
near 1e9 keeps its digits.
"""

from typing import NamedTuple
import warnings

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import identification
from dfiv_ope.iv.linear import absorption
from dfiv_ope.nn import scaling


class CollinearWarning(UserWarning):
  """Columns are linear combinations of others and were left out."""


class System(NamedTuple):
  """Rows of y = T b + X g + e with instruments Z, times the root weights.

  All columns but the constant are less their means; absorption leaves none.

  Attributes:
    outcome: y, [n].
    treatment: T, [n, P].
    regressors: kept columns of X, the constant first if there is one, [n, K].
    basis: orthonormal columns: K that span the regressors, then L that span
      what Z adds to them, [n, K + L].
    factor: upper triangle with regressors = controls @ factor, [K, K].
    left: what the controls leave of [y, T], [n, 1 + P].
    kept: which columns of the constant and X are regressors, [1 + columns].
    excluded: which columns of Z are no combination of others, [columns].
    constant: whether the constant is a regressor: not beside absorbed effects.
    absorbed: degrees of freedom of absorbed effects.
    root: roots of the weights, which have the mean 1, [n].
    centre: weighted means of the raw columns [y, T, X], to the last digit of
      a float64, [1 + P + columns].
  """

  outcome: types.FloatArray
  treatment: types.FloatArray
  regressors: types.FloatArray
  basis: types.FloatArray
  factor: types.FloatArray
  left: types.FloatArray
  kept: types.FloatArray
  excluded: types.FloatArray
  constant: bool
  absorbed: int
  root: types.FloatArray
  centre: types.FloatArray

  @property
  def controls(self) -> types.FloatArray:
    """Orthonormal columns that span the regressors, [n, K]."""
    return self.basis[:, : len(self.factor)]

  @property
  def instruments(self) -> types.FloatArray:
    """Orthonormal columns that span what Z adds to the regressors, [n, L]."""
    return self.basis[:, len(self.factor) :]

  @property
  def freedom(self) -> int:
    """Rows less coefficients, absorbed effects counted."""
    return (
      len(self.outcome)
      - self.treatment.shape[1]
      - len(self.factor)
      - self.absorbed
    )

  @property
  def first_freedom(self) -> int:
    """Rows less coefficients of a first stage."""
    return len(self.outcome) - self.basis.shape[1] - self.absorbed

  def partial(self, columns: types.FloatArray) -> types.FloatArray:
    """Returns what the controls leave of columns [n] or [n, D]."""
    return identification.residual(columns, self.controls)


def build(
  outcome: types.FloatArray,
  treatment: types.FloatArray,
  instrument: types.FloatArray,
  covariate: types.FloatArray | None,
  *,
  weights: types.FloatArray | None = None,
  absorb: types.FloatArray | None = None,
  names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> System:
  """Returns the rows as estimators want them; warns of collinear columns.

  Args:
    outcome: [n].
    treatment: [n, P].
    instrument: [n, columns].
    covariate: [n, columns], or None.
    weights: positive, [n]; all alike if None.
    absorb: codes of the groups of fixed effects, [n, ways]; none if None.
    names: of the columns of Z and of X, for sentences.

  Raises:
    ValueError: the instruments cannot identify the coefficients, or there are
      no more rows than coefficients.
  """
  rows = len(outcome)
  root = (
    np.ones(rows) if weights is None else np.sqrt(weights / np.mean(weights))
  )
  if covariate is None:
    covariate = np.zeros([rows, 0])
  raw = np.concatenate(
    [outcome[:, None], treatment, covariate, instrument], axis=1
  )
  absorbed = 0
  centre = np.average(raw, axis=0, weights=np.square(root))
  raw = raw - centre
  # What changes by no more than rounding does not change.
  raw[:, raw.std(axis=0) <= scaling.ROUNDING * np.abs(centre)] = 0.0
  if absorb is not None:
    raw, absorbed = absorption.remove(raw, absorb, np.square(root))
  sizes = np.square(root) @ np.square(raw - raw.mean(axis=0))
  raw = raw * root[:, None]
  y, T, X, Z = np.split(
    raw, np.cumsum([1, treatment.shape[1], covariate.shape[1]]), axis=1
  )
  if absorb is None:
    X = np.concatenate([root[:, None], X], axis=1)
  scales = np.sqrt(sizes[1 + T.shape[1] :])
  if absorb is None:
    scales = np.append(np.sqrt(rows), scales)
  kept, basis, factor = _independent(np.concatenate([X, Z], axis=1), scales)
  controls = int(np.sum(kept[: X.shape[1]]))
  _warn(kept[X.shape[1] :], 'Z', names[0])
  _warn(kept[int(absorb is None) : X.shape[1]], 'X', names[1])
  found = System(
    outcome=y[:, 0],
    treatment=T,
    regressors=X[:, kept[: X.shape[1]]],
    basis=basis,
    factor=factor[:controls, :controls],
    left=identification.residual(raw[:, : 1 + T.shape[1]], basis[:, :controls]),
    kept=kept[: X.shape[1]],
    excluded=kept[X.shape[1] :],
    constant=absorb is None,
    absorbed=absorbed,
    root=root,
    centre=centre[: 1 + T.shape[1] + covariate.shape[1]],
  )
  _check(found, np.sqrt(sizes[: 1 + T.shape[1]]))
  return found


def _independent(
  columns: types.FloatArray, scales: types.FloatArray
) -> tuple[types.FloatArray, types.FloatArray, types.FloatArray]:
  """Returns which columns [n, D] those before do not span, and their QR.

  Args:
    columns: in the order in which they are to be kept.
    scales: sizes that rounding of each is judged by, [D].

  Raises:
    ValueError: there are more of them than rows.
  """
  kept = scales > 0.0
  if np.sum(kept) > len(columns):
    raise ValueError(
      f'Z and X have {np.sum(kept)} columns with the constant, but there are '
      f'only {len(columns)} rows, so the first stage would fit all of T. Pass '
      'fewer instruments, or fit KIV or AGMM, which shrink them.'
    )
  while True:
    basis, factor = np.linalg.qr(columns[:, kept])
    left = np.abs(np.diag(factor)) > identification.TOLERANCE * scales[kept]
    if left.all():
      return kept, basis, factor
    # Those after a combination were judged by a direction that is rounding.
    kept[np.flatnonzero(kept)[int(np.argmin(left))]] = False


def _warn(kept: types.FloatArray, member: str, names: tuple[str, ...]) -> None:
  if kept.all():
    return
  left_out = [
    names[place] if names else f'column {place}'
    for place in np.flatnonzero(~kept)
  ]
  several = len(left_out) > 1
  warnings.warn(
    f'{member} is collinear: {", ".join(left_out)} '
    f'{"are linear combinations" if several else "is a linear combination"} '
    f'of other columns{" of Z and of X" * (member == "Z")} and '
    f'{"were" if several else "was"} left out of the fit.',
    CollinearWarning,
    stacklevel=5,
  )


def _check(found: System, scales: types.FloatArray) -> None:
  """Refuses what leaves no coefficients to estimate.

  Args:
    found: the rows.
    scales: sizes of y and T around their means, [1 + P].
  """
  treatments, instruments = (
    found.treatment.shape[1],
    (found.instruments.shape[1]),
  )
  sizes = np.sqrt(np.sum(np.square(found.left[:, 1:]), axis=0))
  flat = sizes <= identification.TOLERANCE * scales[1:]
  absorbed = ' and of the absorbed effects' if found.absorbed else ''
  if flat.any():
    raise ValueError(
      f'Not identified: column {int(np.argmax(flat))} of T is a linear '
      f'combination of the columns of X{absorbed}, so it has no effect of '
      'its own. Leave it out.'
    )
  if not scales[0]:
    within = ' within the absorbed groups' if found.absorbed else ''
    raise ValueError(
      f'Y is constant{within}, so there is nothing to explain and no standard '
      'error. Pass an outcome that varies.'
    )
  if instruments < treatments:
    raise ValueError(
      f'Not identified (order condition): T has {treatments} columns, but Z '
      f'only {instruments} that is no linear combination of the others, of '
      f'X{absorbed}. Add instruments, or move exogenous columns of T to X.'
    )
  fits = np.linalg.svd(
    found.instruments.T @ found.left[:, 1:] / sizes, compute_uv=False
  )
  if fits[-1] <= identification.TOLERANCE:
    raise ValueError(
      'Not identified (rank condition): what Z predicts of the columns of T '
      f'given X{absorbed} has a rank below {treatments}. Add instruments '
      'that move the columns of T in other proportions.'
    )
  if found.freedom < 1 or found.first_freedom < 1:
    raise ValueError(
      f'A fit with standard errors needs more rows than coefficients, got '
      f'{len(found.outcome)} rows and '
      f'{len(found.outcome) - min(found.freedom, found.first_freedom)} '
      'coefficients, absorbed effects counted.'
    )
