"""Outcomes of heavy tails: a few rows that would decide a least-squares fit.

Large outcomes that treatment and covariates explain are what a fit is to learn;
only what is far from a robust regression on these is noise of heavy tails.
"""

import warnings

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import features, landmarks, ridge

# Turns a median absolute deviation into the standard deviation of a normal.
_NORMAL = 1.4826
# What share of the variance lies beyond the bounds where tails are heavy.
_HEAVY = 0.1
# Of the robust regression: features of a kernel, rows for each of them, what
# they may leave of it, ridge penalty, rounds, and the size of an error, in
# standard deviations, beyond which it weighs less.
_LANDMARKS, _ROWS_EACH, _TOLERANCE = 50, 10, 1e-6
_PENALTY, _ROUNDS, _HUBER = 1e-6, 10, 1.345


class HeavyTailsWarning(UserWarning):
  """A few extreme outcomes were clipped."""


def clip(
  outcome: types.FloatArray,
  width: float,
  columns: types.FloatArray | None = None,
) -> types.FloatArray:
  """Returns outcomes with heavy tails clipped, and warns of it; others as is.

  Args:
    outcome: [n, 1].
    width: bounds are the median plus and minus so many standard deviations, as
      the median absolute deviation tells them; 0 to clip nothing.
    columns: treatments and covariates, [n, D]; with them, bounds are around a
      robust regression on them.
  """
  middle: types.FloatArray = np.median(outcome, keepdims=True)
  if columns is not None and _clipped(outcome - middle, width) is not None:
    middle = _regression(columns, outcome)
  rest = outcome - middle
  kept = _clipped(rest, width)
  if kept is None:
    return outcome
  share = float(np.mean(kept != rest))
  around = (
    'the median' if columns is None else 'what treatment and covariates explain'
  )
  warnings.warn(
    f'The outcome has heavy tails: {100.0 * share:.2g} % of the rows are '
    f'beyond {width:g} robust standard deviations of {around} and make '
    f'{100.0 * (1.0 - np.var(kept) / np.var(rest)):.0f} % of the variance of '
    'the rest. They were clipped there. outcome_width=0 keeps them (sieve, '
    'kiv, agmm, dfiv); a logarithm of the outcome may be the better question.',
    HeavyTailsWarning,
    stacklevel=4,
  )
  return np.where(kept == rest, outcome, middle + kept)


def _clipped(rest: types.FloatArray, width: float) -> types.FloatArray | None:
  """Returns errors [n, 1] clipped; None if their tails are not heavy."""
  centre = np.median(rest)
  bound = width * _NORMAL * np.median(np.abs(rest - centre))
  if not bound > 0.0:
    return None
  clipped: types.FloatArray = np.clip(rest, centre - bound, centre + bound)
  heavy = np.var(clipped) <= (1.0 - _HEAVY) * np.var(rest)
  return clipped if heavy else None


def _regression(
  columns: types.FloatArray, outcome: types.FloatArray
) -> types.FloatArray:
  """Returns Huber's regression of outcomes on smooth functions, [n, 1]."""
  count = min(_LANDMARKS, len(columns) // _ROWS_EACH)
  bandwidth = features.median_bandwidth(columns) * np.sqrt(columns.shape[1])
  kernel = landmarks.Landmarks(columns.shape[1])
  kernel.adapt(columns, bandwidth, _TOLERANCE, max(count, 1))
  design = ridge.append_intercept(
    np.concatenate([columns, np.square(columns), kernel(columns)], axis=1)
  )
  weights = np.ones_like(outcome)
  for _ in range(_ROUNDS):
    root = np.sqrt(weights)
    fitted: types.FloatArray = design @ ridge.solve_sums(
      ridge.sums(root * design, root * outcome), _PENALTY
    )
    size = np.abs(outcome - fitted)
    scale = _HUBER * _NORMAL * np.median(size)
    weights = np.minimum(1.0, scale / np.maximum(size, scale * 1e-9 + 1e-300))
  return fitted
