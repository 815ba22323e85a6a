"""What users pass to estimators, checked and made into arrays."""

from collections.abc import Callable, Iterator, Mapping
import contextlib
from typing import Any

import numpy as np

from dfiv_ope import features, types

# Called as progress(done, total, losses).
Progress = Callable[[int, int, Mapping[str, Any]], None]

# Two halves of the rows, and two rows a half to have any spread.
_LEAST_ROWS = 4


def column_matrix(name: str, values: Any) -> types.FloatArray:
  """Returns values as float64 [n, columns].

  Args:
    name: what to call the values in an error.
    values: numbers: a scalar, [n], or [n, columns]; arrays, frames, lists.

  Raises:
    ValueError: they are not finite numbers of such a shape.
  """
  try:
    matrix = np.asarray(values, dtype=np.float64)
  except (TypeError, ValueError) as error:
    raise ValueError(
        f'{name} must be numbers; some are not ({error}). Encode categories '
        'as numbers first.') from error
  if matrix.ndim < 2:
    matrix = matrix.reshape(-1, 1)
  if matrix.ndim > 2:
    raise ValueError(
        f'{name} must have shape [n] or [n, columns], got {matrix.shape}. '
        f'Reshape it to {(len(matrix), -1)}.')
  if not matrix.size:
    raise ValueError(f'{name} is empty, shape {matrix.shape}.')
  broken = ~np.isfinite(matrix)
  if broken.any():
    row = int(np.argmax(broken.any(axis=1)))
    raise ValueError(
        f'{name} has {int(broken.sum())} values that are NaN or infinite, the '
        f'first in row {row}. Drop or impute these rows.')
  return matrix


def batch(Y: Any, T: Any, Z: Any, X: Any) -> types.IVBatch:
  """Returns the rows of a regression as float64 arrays.

  Raises:
    ValueError: the data cannot be used; the message says why.
  """
  columns = {
      'Y': column_matrix('Y', Y), 'T': column_matrix('T', T),
      'Z': column_matrix('Z', Z)}
  if X is not None:
    columns['X'] = column_matrix('X', X)
  rows = {name: len(values) for name, values in columns.items()}
  if len(set(rows.values())) > 1:
    raise ValueError(
        'Y, T, Z and X must have the same number of rows, got '
        f'{", ".join(f"{name}: {count}" for name, count in rows.items())}.')
  if columns['Y'].shape[1] != 1:
    raise ValueError(
        f'Y must be one column, got shape {columns["Y"].shape}. Fit one '
        'estimator for each outcome.')
  if rows['Y'] < _LEAST_ROWS:
    raise ValueError(
        f'A fit needs at least {_LEAST_ROWS} rows, two for each stage, got '
        f'{rows["Y"]}.')
  if np.all(np.ptp(columns['Z'], axis=0) == 0.):
    raise ValueError(
        'Z is constant, so it cannot move the treatment. Pass an instrument '
        'that varies.')
  if np.any(np.ptp(columns['T'], axis=0) == 0.):
    raise ValueError(
        'A column of T is constant, so it has no effect to estimate. Leave it '
        'out or pass it in X.')
  return types.IVBatch(
      treatment=columns['T'], instrument=columns['Z'], outcome=columns['Y'],
      covariate=columns.get('X'))


def points(
    T: Any,
    X: Any,
    treatment: features.Standardiser,
    covariate: features.Standardiser | None,
) -> tuple[types.FloatArray, types.FloatArray | None]:
  """Returns points of prediction; one row of T or X stands for all rows.

  Args:
    T: treatments.
    X: covariates, or None.
    treatment: the scale of the fit, which knows its columns.
    covariate: likewise, or None for a fit without covariates.

  Raises:
    ValueError: the columns are not those of the fit.
  """
  if (X is None) != (covariate is None):
    raise ValueError(
        'The fit had no X, so predictions take none.' if covariate is None
        else 'The fit had covariates X, so predictions need them too.')
  left = _like('T', T, treatment)
  if covariate is None:
    return left, None
  right = _like('X', X, covariate)
  rows = max(len(left), len(right))
  if not {len(left), len(right)} <= {1, rows}:
    raise ValueError(
        f'T has {len(left)} rows and X {len(right)}; pass as many of both, or '
        'one row of either.')
  return tuple(  # type: ignore[return-value]
      np.broadcast_to(each, (rows, each.shape[1])) for each in (left, right))


def held(
    covariate: types.FloatArray | None, given: Mapping[int, float],
) -> types.FloatArray | None:
  """Returns the covariates with some columns held at given values."""
  columns = 0 if covariate is None else covariate.shape[1]
  for column in given:
    if not 0 <= column < columns:
      raise ValueError(
          f'There is no column {column} of X; the fit had {columns}, counted '
          'from 0.')
  if covariate is None:
    return None
  covariate = covariate.copy()
  for column, value in given.items():
    covariate[:, column] = value
  return covariate


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
  """Yields a progress callback that draws a bar."""
  from rich import progress as rich_progress
  with rich_progress.Progress() as bar:
    task = bar.add_task(title, total=None)
    yield lambda done, total, losses: bar.update(
        task, completed=done, total=total)


def _like(
    name: str, values: Any, scale: features.Standardiser,
) -> types.FloatArray:
  matrix = column_matrix(name, values)
  wanted = len(scale.mean)
  if wanted > 1 and matrix.shape == (wanted, 1) and np.ndim(values) == 1:
    matrix = matrix.T  # One point given as a flat list.
  if matrix.shape[1] != wanted:
    raise ValueError(
        f'{name} must have the {wanted} columns of the fit, got shape '
        f'{matrix.shape}.')
  return matrix
