"""Weights, clusters and absorbed groups as users pass them, checked."""

from collections.abc import Mapping
from typing import Any
import warnings

import numpy as np
import pandas as pd

from dfiv_ope import types

# Two ways of clustering are the most that there is a covariance for.
_MOST_WAYS = 2
# What to do where an estimator does not take these.
_REMEDIES = {
  'sample_weight': 'Fit one of them, or leave it out.',
  'groups': (
    'Pass them to the intervals instead: ate_interval(T0, T1, groups=groups).'
  ),
  'absorb': 'Pass the groups as columns of X, or fit one of them.',
}


class ClusterWarning(UserWarning):
  """Clusters tell less than is asked of them."""


def refuse(estimator: str, given: Mapping[str, Any]) -> None:
  """Refuses what only linear estimators take.

  Args:
    estimator: name of one that is not linear.
    given: further arguments of its `fit` by name.

  Raises:
    TypeError: one of them is not None.
  """
  for name, value in given.items():
    if name not in _REMEDIES:
      raise TypeError(
        f'{estimator}.fit has no argument {name!r}. It takes Y, T, Z, X, '
        'progress and watch.'
      )
    if value is not None:
      raise TypeError(
        f'{estimator} takes no {name}; the linear estimators do (TwoSLS, LIML, '
        f'KClass, GMM, CrossFitTwoSLS). {_REMEDIES[name]}'
      )


def weights(values: Any, rows: int) -> types.FloatArray | None:
  """Returns weights of rows [n]; None if there are none.

  Raises:
    ValueError: they are not positive numbers, one a row.
  """
  if values is None:
    return None
  try:
    found = np.asarray(values, np.float64)
  except (TypeError, ValueError) as error:
    raise ValueError(
      f'sample_weight must be numbers; some are not ({error}).'
    ) from error
  found = found.reshape(-1) if found.shape == (rows, 1) else found
  if found.shape != (rows,):
    raise ValueError(
      f'sample_weight must have one number for each of the {rows} rows, got '
      f'shape {found.shape}.'
    )
  wrong = ~(np.isfinite(found) & (found > 0.0))
  if wrong.any():
    row = int(np.argmax(wrong))
    raise ValueError(
      f'sample_weight must be positive, but {int(wrong.sum())} of {rows} are '
      f'not, the first in row {row}: {found[row]:g}. Leave rows of weight '
      'zero out of the fit.'
    )
  return found


def codes(name: str, values: Any, rows: int) -> types.FloatArray | None:
  """Returns labels of groups as 0, 1, ..., [n, ways]; None if there are none.

  Args:
    name: what to call them in an error.
    values: labels of any type: [n], [n, ways] or a frame.
    rows: n.

  Raises:
    ValueError: they have another shape, or are missing in some rows.
  """
  if values is None:
    return None
  frame = pd.DataFrame(
    values if isinstance(values, pd.DataFrame) else _columns(values)
  )
  if len(frame) != rows or not frame.shape[1]:
    raise ValueError(
      f'{name} must have a label for each of the {rows} rows, got shape '
      f'{frame.shape}.'
    )
  found = []
  for column in range(frame.shape[1]):
    numbers, _ = pd.factorize(frame.iloc[:, column])
    if np.any(numbers < 0):
      row = int(np.argmax(numbers < 0))
      raise ValueError(
        f'{name} has no label in {int(np.sum(numbers < 0))} rows, the first '
        f'in row {row}. Leave these rows out, or give them a label.'
      )
    found.append(numbers)
  return np.stack(found, axis=1)


def clusters(values: Any, rows: int) -> types.FloatArray | None:
  """Returns codes of clusters [n, ways], one way or two; None without.

  Raises:
    ValueError: there is one cluster only, or more than two ways.
  """
  found = codes('groups', values, rows)
  if found is None:
    return None
  if found.shape[1] > _MOST_WAYS:
    raise ValueError(
      f'groups may have one column or two, got {found.shape[1]}. Cluster by '
      'the two coarsest.'
    )
  for way in found.T:
    count = int(way.max()) + 1
    if count == 1:
      raise ValueError(
        'groups has one cluster only, so nothing tells how clusters differ. '
        'Pass finer groups, or none.'
      )
    if count == rows:
      warnings.warn(
        'Every row is a cluster of its own, so clustered standard errors are '
        'the robust ones. Leave groups out, or pass coarser ones.',
        ClusterWarning,
        stacklevel=4,
      )
  return found


def warn_of_few(count: int, coefficients: int) -> None:
  """Warns where the covariance of clusters is singular.

  Args:
    count: number of clusters.
    coefficients: that their covariance is of.
  """
  if count <= coefficients:
    warnings.warn(
      f'{count} clusters are too few for {coefficients} coefficients: their '
      'covariance is singular, so joint tests are not defined, and standard '
      'errors are too small. Use coarser models or more clusters.',
      ClusterWarning,
      stacklevel=4,
    )


def _columns(values: Any) -> Any:
  found = np.asarray(values)
  return found if found.ndim <= 2 else found.reshape(len(found), -1)
