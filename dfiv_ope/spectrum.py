"""The stage-1 operator, E[psi(X) | z] on features, and what it keeps.

Its singular values are the correlations of the best pairs of a treatment and
an instrument feature, each of unit variance. Where they fall fast, stage 1
forgets most of the treatment, and the structural function can only be told
along the first few directions.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types

# Directions that are looked at: those of the largest variance.
_MAX_RANK = 200
# Directions of less variance than this, relative to the largest, are noise.
_SMALLEST = 1e-10


class Spectrum(NamedTuple):
  """What the stage-1 operator does along its singular directions.

  Attributes:
    values: singular values, falling, [K].
    alignment: share of the part of the outcome that the instruments explain
      along each direction, [K]; sums to one.
    condition: of the instrument features: largest over smallest variance of
      the directions that are looked at.
  """
  values: types.FloatArray
  alignment: types.FloatArray
  condition: float

  @property
  def rank(self) -> float:
    """Directions that stage 1 keeps: the sum of squares of the values."""
    return float(np.sum(np.square(self.values)))


def analyse(
    instrument_gram: types.FloatArray,
    cross: types.FloatArray,
    treatment_gram: types.FloatArray,
    outcome: types.FloatArray,
) -> Spectrum:
  """Returns the spectrum from sums over rows.

  Args:
    instrument_gram: sum of outer products of phi, [D2, D2].
    cross: sum of outer products of phi and psi, [D2, D1].
    treatment_gram: sum of outer products of psi, [D1, D1].
    outcome: sum of phi times the outcome, [D2, 1].
  """
  left, variances = _whiten(np.asarray(instrument_gram))
  right, _ = _whiten(np.asarray(treatment_gram))
  vectors, values, _ = np.linalg.svd(
      left.T @ np.asarray(cross) @ right, full_matrices=False)
  explained = np.square(vectors.T @ (left.T @ np.asarray(outcome)))[:, 0]
  total = float(np.sum(explained))
  return Spectrum(
      values=values,
      alignment=explained / total if total else explained,
      condition=float(variances.max() / variances.min()))


def _whiten(
    gram: types.FloatArray,
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns W [D, K] with W' gram W = I, and the variances it divides by."""
  values, vectors = np.linalg.eigh(gram)
  values, vectors = values[::-1][:_MAX_RANK], vectors[:, ::-1][:, :_MAX_RANK]
  kept = values > _SMALLEST * values[0]
  return vectors[:, kept] / np.sqrt(values[kept]), values[kept]
