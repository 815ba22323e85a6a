"""Outcomes of heavy tails: a few rows that would decide a least-squares fit."""

import warnings

import numpy as np

from dfiv_ope import types

# Turns a median absolute deviation into the standard deviation of a normal.
_NORMAL = 1.4826
# What share of the variance lies beyond the bounds where tails are heavy.
_HEAVY = 0.1


class HeavyTailsWarning(UserWarning):
  """A few extreme outcomes were clipped."""


def clip(outcome: types.FloatArray, width: float) -> types.FloatArray:
  """Returns outcomes with heavy tails clipped, and warns of it; others as is.

  Args:
    outcome: [n, 1].
    width: bounds are the median plus and minus so many standard deviations, as
      the median absolute deviation tells them; 0 to clip nothing.
  """
  middle = np.median(outcome)
  bound = width * _NORMAL * np.median(np.abs(outcome - middle))
  if not bound > 0.:
    return outcome
  clipped = np.clip(outcome, middle - bound, middle + bound)
  if np.var(clipped) > (1. - _HEAVY) * np.var(outcome):
    return outcome
  share = float(np.mean(clipped != outcome))
  warnings.warn(
      f'The outcome has heavy tails: {100. * share:.2g} % of the rows are '
      f'beyond {width:g} robust standard deviations of the median and make '
      f'{100. * (1. - np.var(clipped) / np.var(outcome)):.0f} % of its '
      'variance. They were clipped there. outcome_width=0 keeps them; a '
      'logarithm of the outcome may be the better question.',
      HeavyTailsWarning, stacklevel=4)
  return clipped
