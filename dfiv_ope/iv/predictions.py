"""Predictions of a saved fit at the rows of a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dfiv_ope.iv import iv_estimator, roles

# Rows that are predicted together: a kernel has a column for each of the fit.
_TOGETHER = 5_000


def predict(
  estimator: iv_estimator.IVEstimator,
  numbers: Mapping[str, np.ndarray],
  columns: roles.Roles,
) -> np.ndarray:
  """Returns the structural function at each row, [n]."""
  T = np.stack([numbers[name] for name in columns.treatment], axis=1)
  X = (
    np.stack([numbers[name] for name in columns.covariate], axis=1)
    if (columns.covariate)
    else None
  )
  return np.concatenate(
    [
      estimator.predict(
        T[start : start + _TOGETHER],
        None if X is None else X[start : start + _TOGETHER],
      )
      for start in range(0, len(T), _TOGETHER)
    ]
  )


def outside(
  statistics: Sequence[Mapping[str, Any]],
  columns: roles.Roles,
  numbers: Mapping[str, np.ndarray],
) -> Iterator[str]:
  """Yields what to beware of: values that the fit has not seen.

  Args:
    statistics: of the columns of the fit.
    columns: their roles.
    numbers: columns of the predictions.
  """
  for each in statistics:
    if each['name'] not in columns.inputs:
      continue
    values = numbers[each['name']]
    beyond = int(((values < each['least']) | (values > each['greatest'])).sum())
    if beyond:
      yield (
        f'{beyond:,} of {len(values):,} rows have a value of {each["name"]} '
        f'outside that of the fit ({each["least"]:.5g} to '
        f'{each["greatest"]:.5g}): these predictions extrapolate.'
      )
