"""Many columns: what flexible methods do with those that do not matter."""

import warnings

import numpy as np

from dfiv_ope import types

# Columns of numbers from which on there is a warning.
_MANY = 10


class ManyColumnsWarning(UserWarning):
  """Irrelevant columns may move the effect."""


def warn_of_many(x: types.FloatArray) -> None:
  """Warns if many columns of x [n, D] take more than two values."""
  count = sum(len(np.unique(column)) > 2 for column in x.T)
  if count >= _MANY:
    warnings.warn(
      f'T and X have {count} columns of numbers. Kernels see few rows alike '
      'in so many, and a dictionary has products of all of them: columns '
      'that do not matter move the effect towards ordinary regression (20 of '
      'them at 2,000 rows: by a quarter) or drown it in noise. Drop such '
      'columns, or compare with TwoSLS and DFIV.',
      ManyColumnsWarning,
      stacklevel=5,
    )
