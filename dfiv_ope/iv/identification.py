"""Order and rank conditions: do the instruments reach every treatment?

Two-stage least squares regresses on what the instruments predict of the
treatment. Directions of the treatment of which they predict nothing, given the
covariates, are decided by rounding or by a penalty, not by the data.

    found = identification.check(treatment, instrument, covariate)
    found.problem        # a sentence; empty where both conditions hold

Chance makes any sample of a useless instrument pass: that is what the F
statistics of the first stage are for. What fails here fails exactly.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types

# A direction counts if its size is above this share of the standard deviation
# of its columns: well above rounding (1e-16, or 1e-7 in float32), well below
# what chance leaves (1 / sqrt(rows)).
TOLERANCE = 1e-6

# Of more columns, as many random combinations as decide the ranks are taken.
_MOST_COLUMNS = 200
_MORE_COMBINATIONS = 10

# Instruments of fewer values than this are said to tell few functions apart.
_FEW_VALUES = 5


class UnderidentifiedWarning(UserWarning):
  """The instruments leave part of the structural function open."""


class Identification(NamedTuple):
  """What is known of the order and the rank condition.

  Attributes:
    treatments: columns of the treatment.
    independent: how many of them are independent, given the covariates.
    instruments: independent columns of the instrument, given the covariates.
    rank: of what the instrument predicts of the treatment.
  """

  treatments: int
  independent: int
  instruments: int
  rank: int

  @property
  def problem(self) -> str:
    """Says which condition fails; empty where both hold."""
    columns = _count(self.treatments, 'column')
    if not self.instruments:
      return (
        'Not identified: every column of Z is constant or a linear '
        'combination of the columns of X, so Z moves nothing that X does not '
        'move. Pass an instrument that is not among the covariates.'
      )
    if self.independent < self.treatments:
      return (
        f'Not identified: T has {columns}, but only {self.independent} of '
        'them are linearly independent of each other and of X, so their '
        'effects cannot be told apart. Leave out copies and sums of others.'
      )
    if self.instruments < self.treatments:
      return (
        f'Not identified (order condition): T has {columns}, but Z only '
        f'{self.instruments} that is no linear combination of the others '
        'and of X. Add instruments, or move exogenous columns of T to X.'
      )
    if self.rank < self.treatments:
      return (
        f'Not identified (rank condition): T has {columns}, but what Z '
        f'predicts of them given X has rank {self.rank}. Add instruments '
        'that move the columns of T in other proportions.'
      )
    return ''


def check(
  treatment: types.FloatArray,
  instrument: types.FloatArray,
  covariate: types.FloatArray | None,
) -> Identification:
  """Returns the order and the rank condition of a linear first stage.

  Args:
    treatment: standardised columns, [n, D].
    instrument: standardised columns without the covariates, [n, Dz].
    covariate: standardised columns, [n, Dx], or None.
  """
  wanted = treatment.shape[1]
  given = basis(_with_constant(covariate, len(treatment)), relative=True)
  instruments = basis(residual(_combined(instrument, wanted), given))
  if wanted > min(_MOST_COLUMNS, instruments.shape[1]):
    # The order condition fails; the ranks of pictures would be slow to learn.
    independent = wanted
    if wanted <= _MOST_COLUMNS:
      independent = basis(residual(treatment, given)).shape[1]
    return Identification(
      wanted,
      independent,
      instruments.shape[1],
      min(wanted, instruments.shape[1]),
    )
  treatment = residual(treatment, given)
  shares = kept(treatment, instruments @ (instruments.T @ treatment))
  return Identification(
    wanted, len(shares), instruments.shape[1], int(np.sum(shares > TOLERANCE))
  )


def few_values(
  treatment: types.FloatArray, instrument: types.FloatArray
) -> str:
  """Says that the instruments have too few values for a curve; else empty.

  An instrument of K values has K means of the outcome, which tell K - 1
  functions of the treatment and a constant.

  Args:
    treatment: [n, D].
    instrument: without the covariates, [n, Dz].
  """
  values = len(np.unique(instrument, axis=0))
  if values >= _FEW_VALUES or values >= len(np.unique(treatment, axis=0)):
    return ''
  return (
    f'Z has {values} values, so it can tell {_count(values - 1, "function")} '
    'of T beside a constant, given X; what else a curve of T does comes from '
    'the smoothness that the method prefers, not from the data. Compare with '
    'TwoSLS, or look for an instrument of more values.'
  )


def kept(
  columns: types.FloatArray, predicted: types.FloatArray
) -> types.FloatArray:
  """Returns how much a prediction keeps of the directions of columns, [K].

  Args:
    columns: without what is given, [n, D].
    predicted: the prediction of each of them, [n, D].

  Returns:
    Singular values of the prediction of combinations that have unit size; the
    least is zero where one of them is not predicted at all. There are K
    independent combinations.
  """
  _, sizes, directions = np.linalg.svd(columns, full_matrices=False)
  keep = sizes > TOLERANCE * np.sqrt(len(columns))
  weights = directions[keep].T / sizes[keep]
  return np.linalg.svd(predicted @ weights, compute_uv=False)


def basis(
  columns: types.FloatArray, *, relative: bool = False
) -> types.FloatArray:
  """Returns an orthonormal basis of what columns [n, D] span, [n, rank].

  Args:
    columns: of about unit standard deviation, or what is left of such.
    relative: whether a direction is compared with the largest one rather than
      with a unit standard deviation.
  """
  directions, sizes, _ = np.linalg.svd(columns, full_matrices=False)
  scale = sizes.max(initial=0.0) if relative else np.sqrt(len(columns))
  return directions[:, sizes > TOLERANCE * scale]


def residual(
  columns: types.FloatArray, given: types.FloatArray
) -> types.FloatArray:
  """Returns columns [n, D] without what a `basis` [n, K] spans."""
  left = columns - given @ (given.T @ columns)
  return left - given @ (given.T @ left)  # Once more, against rounding.


def _with_constant(
  covariate: types.FloatArray | None, rows: int
) -> types.FloatArray:
  constant = np.ones((rows, 1))
  return (
    constant
    if covariate is None
    else np.concatenate([covariate, constant], axis=1)
  )


def _combined(columns: types.FloatArray, wanted: int) -> types.FloatArray:
  """Returns few random combinations of many columns: equal rank, if small."""
  size = min(wanted, _MOST_COLUMNS) + _MORE_COMBINATIONS
  if columns.shape[1] <= max(size, _MOST_COLUMNS):
    return columns
  weights = np.random.default_rng(0).standard_normal((columns.shape[1], size))
  return columns @ (weights / np.sqrt(columns.shape[1]))


def _count(number: int, noun: str) -> str:
  return f'{number} {noun}{"" if number == 1 else "s"}'
