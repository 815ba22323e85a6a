"""Many columns: what flexible methods do with those that do not matter."""

import warnings

import numpy as np

from dfiv_ope import types

# Columns of numbers from which on there is a warning, and from which on they
# may be the pixels of a picture.
_MANY, _PIXELS = 10, 100


class ManyColumnsWarning(UserWarning):
  """Irrelevant columns may move the effect."""


def warn_of_many(x: types.FloatArray, *, pictures: bool = False) -> None:
  """Warns if many columns of x [n, D] take more than two values.

  Args:
    x: treatments and covariates.
    pictures: whether there is no warning of so many that they may be pixels.
  """
  if pictures and x.shape[1] >= _PIXELS:
    return
  count = sum(len(np.unique(column)) > 2 for column in x.T)
  if count >= _MANY:
    warnings.warn(
      f'T and X have {count} columns of numbers. Kernels see few rows alike '
      'in so many, a dictionary has products of all of them, and networks '
      'follow their noise: columns that do not matter move the effect towards '
      'ordinary regression (20 of them at 2,000 rows: by a quarter) or drown '
      'it in noise. Drop such columns, or compare with TwoSLS and DFIV.',
      ManyColumnsWarning,
      stacklevel=5,
    )
