"""What users pass to estimators, checked and made into arrays."""

from collections.abc import Callable, Iterator, Mapping
import contextlib
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import frames
from dfiv_ope.nn import scaling

# Called as progress(done, total, losses).
Progress = Callable[[int, int, Mapping[str, Any]], None]

# Two halves of the rows, and two rows a half to have any spread.
_LEAST_ROWS = 4

# What float64 would take without a word, and what to pass instead.
_NO_NUMBERS = {
  'M': ('dates', 'the days since one of them'),
  'm': ('durations', 'them as numbers of days'),
  'c': ('complex numbers', 'real ones'),
}
_WRAPPED = 'use regressors.IVRegressor(estimator), whose fit is fit(X, y, Z=Z)'


class Block(NamedTuple):
  """Columns of one kind.

  Attributes:
    matrix: float64, [n, columns].
    picture: whether the columns are pixels: they share one scale.
  """

  matrix: types.FloatArray
  picture: bool

  @property
  def scale(self) -> scaling.Standardiser:
    """The standardiser of each column, or of all pixels together."""
    if not self.picture:
      return scaling.fit_standardiser(self.matrix)
    pixels = scaling.fit_standardiser(self.matrix.reshape(-1, 1))
    return scaling.Standardiser(
      *(np.repeat(each, self.matrix.shape[1]) for each in pixels)
    )


def blocks(name: str, values: Any) -> list[Block]:
  """Returns values as blocks of columns, side by side.

  Args:
    name: what to call the values in an error.
    values: numbers: a scalar, [n], [n, columns], or pictures [n, ...];
      arrays, frames, lists; or a tuple of arrays, one a block.

  Raises:
    ValueError: they are not finite numbers of such a shape.
  """
  if (
    isinstance(values, tuple)
    and values
    and all(isinstance(each, np.ndarray) and each.ndim for each in values)
  ):
    parts = [blocks(name, each)[0] for each in values]
    rows = [len(part.matrix) for part in parts]
    if len(set(rows)) > 1:
      raise ValueError(
        f'The blocks of {name} must have the same number of rows, got {rows}.'
      )
    return parts
  try:
    given = np.asarray(values)
    kinds = [given.dtype.kind, *frames.kinds(values)]
    refused = next(filter(None, map(_NO_NUMBERS.get, kinds)), None)
    matrix = np.asarray(given, dtype=np.float64) if refused is None else given
  except (TypeError, ValueError) as error:
    raise ValueError(
      f'{name} must be numbers; some are not{frames.texts(values)} ({error}). '
      'Encode categories as numbers first: pandas.get_dummies(X, dtype=float), '
      'or C(region) in the fit_formula of linear estimators.'
    ) from error
  if refused is not None:
    raise ValueError(
      f'{name} must be numbers, got {refused[0]}. Pass {refused[1]}.'
    )
  picture = matrix.ndim > 2
  if not matrix.size:
    raise ValueError(f'{name} is empty, shape {matrix.shape}.')
  matrix = matrix.reshape(
    len(matrix) if matrix.ndim > 1 else -1, -1 if matrix.ndim > 1 else 1
  )
  broken = ~np.isfinite(matrix)
  if broken.any():
    row = int(np.argmax(broken.any(axis=1)))
    raise ValueError(
      f'{name} has {int(broken.sum())} values that are NaN or infinite, the '
      f'first in row {row}. Drop or impute these rows.'
    )
  return [Block(matrix, picture)]


def column_matrix(name: str, values: Any) -> types.FloatArray:
  """Returns values that `blocks` takes as one float64 [n, columns]."""
  matrices = [block.matrix for block in blocks(name, values)]
  return np.concatenate(matrices, axis=1) if matrices[1:] else matrices[0]


def scales(Y: Any, T: Any, Z: Any, X: Any) -> types.IVBatch:
  """Returns the standardiser of each member, as `batch` orders them."""
  made: list[scaling.Standardiser | None] = []
  for name, values in (('T', T), ('Z', Z), ('Y', Y), ('X', X)):
    if values is None:
      made.append(None)
      continue
    parts = [block.scale for block in blocks(name, values)]
    made.append(
      scaling.Standardiser(
        *(np.concatenate(each) for each in zip(*parts, strict=True))
      )
    )
  return types.IVBatch(*made)


def refuse_swapped(estimator: str, Y: Any, T: Any, Z: Any) -> None:
  """Refuses fit(X, y), which is scikit-learn's order, for fit(Y, T).

  Args:
    estimator: name of the estimator.
    Y: what stands first.
    T: what stands second.
    Z: instruments.

  Raises:
    TypeError: there is no Z.
    ValueError: Y is a matrix and T a vector, as X and y of scikit-learn are;
      a matrix of several columns is refused by `batch`.
  """
  if Z is None:
    raise TypeError(
      f'{estimator}.fit(Y, T, Z=Z, X=X) takes outcome, treatment and '
      'instruments Z, got no Z. In a pipeline or a search of scikit-learn, '
      f'{_WRAPPED}.'
    )
  # A tuple holds blocks of any shape.
  if (
    not isinstance(T, tuple)
    and not isinstance(Y, tuple)
    and (np.ndim(T) == 1 and np.ndim(Y) == 2 and np.shape(Y)[1] == 1)
  ):
    raise ValueError(
      f'{estimator}.fit(Y, T, Z=Z) takes the outcome first, got a matrix '
      f'{np.shape(Y)} and then a vector {np.shape(T)}, the shapes of '
      f"scikit-learn's fit(X, y). In its wrappers, {_WRAPPED}; otherwise "
      'pass Y as a vector or T as a matrix of one column.'
    )


def has_pictures(*members: Any) -> bool:
  """Returns whether some of the columns are pixels."""
  return any(
    block.picture
    for each in members
    if each is not None
    for block in blocks('columns', each)
  )


def batch(Y: Any, T: Any, Z: Any, X: Any) -> types.IVBatch:
  """Returns the rows of a regression as float64 arrays.

  Raises:
    ValueError: the data cannot be used; the message says why.
  """
  columns = {
    'Y': column_matrix('Y', Y),
    'T': column_matrix('T', T),
    'Z': column_matrix('Z', Z),
  }
  if X is not None:
    columns['X'] = column_matrix('X', X)
  rows = {name: len(values) for name, values in columns.items()}
  if len(set(rows.values())) > 1:
    raise ValueError(
      'Y, T, Z and X must have the same number of rows, got '
      f'{", ".join(f"{name}: {count}" for name, count in rows.items())}.'
    )
  if columns['Y'].shape[1] != 1:
    raise ValueError(
      f'Y must be one column, got shape {columns["Y"].shape}. Fit one '
      'estimator for each outcome; if Y holds regressors, as in '
      f"scikit-learn's fit(X, y), {_WRAPPED}."
    )
  if rows['Y'] < _LEAST_ROWS:
    raise ValueError(
      f'A fit needs at least {_LEAST_ROWS} rows, two for each stage, got '
      f'{rows["Y"]}.'
    )
  if np.all(np.ptp(columns['Z'], axis=0) == 0.0):
    raise ValueError(
      'Z is constant, so it cannot move the treatment. Pass an instrument '
      'that varies.'
    )
  # A pixel of a picture may be black in all of them.
  if any(
    np.any(np.ptp(block.matrix, axis=None if block.picture else 0) == 0.0)
    for block in blocks('T', T)
  ):
    raise ValueError(
      'A column of T is constant, so it has no effect to estimate. Leave it '
      'out or pass it in X.'
    )
  return types.IVBatch(
    treatment=columns['T'],
    instrument=columns['Z'],
    outcome=columns['Y'],
    covariate=columns.get('X'),
  )


def points(
  T: Any,
  X: Any,
  treatment: scaling.Standardiser,
  covariate: scaling.Standardiser | None,
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
      'The fit had no X, so predictions take none.'
      if covariate is None
      else 'The fit had covariates X, so predictions need them too.'
    )
  left = _like('T', T, treatment)
  if covariate is None:
    return left, None
  right = _like('X', X, covariate)
  rows = max(len(left), len(right))
  if not {len(left), len(right)} <= {1, rows}:
    raise ValueError(
      f'T has {len(left)} rows and X {len(right)}; pass as many of both, or '
      'one row of either.'
    )
  return tuple(  # type: ignore[return-value]
    np.broadcast_to(each, (rows, each.shape[1])) for each in (left, right)
  )


def held(
  covariate: types.FloatArray | None,
  given: Mapping[int | str, float],
  names: frames.Names | None = None,
) -> types.FloatArray | None:
  """Returns the covariates with some columns held at given values.

  Args:
    covariate: [n, columns], or None.
    given: values by number or name of a column.
    names: of the columns; None if they have none.
  """
  columns = 0 if covariate is None else covariate.shape[1]
  held_at: dict[int, float] = {}
  for column, value in given.items():
    if isinstance(column, str):
      if names is None or column not in names:
        raise ValueError(
          f'There is no column {column!r} of X; the fit had '
          f'{", ".join(names) if names else "no names"}.'
        )
      column = names.index(column)
    held_at[column] = value
    if not 0 <= column < columns:
      raise ValueError(
        f'There is no column {column} of X; the fit had {columns}, counted '
        'from 0.'
      )
  if covariate is None:
    return None
  covariate = covariate.copy()
  for column, value in held_at.items():
    covariate[:, column] = value
  return covariate


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
  """Yields a progress callback that draws a bar."""
  from rich import progress as rich_progress

  with rich_progress.Progress() as bar:
    task = bar.add_task(title, total=None)
    yield lambda done, total, losses: bar.update(
      task, completed=done, total=total
    )


def progress_part(
  progress: Progress | None, part: int, parts: int
) -> Progress | None:
  """Returns what tells of one of several equal parts of the work."""
  if progress is None or parts == 1:
    return progress
  whole = progress  # Not None inside the function either.
  return lambda done, total, losses: whole(
    part * total + done, parts * total, losses
  )


def _like(
  name: str, values: Any, scale: scaling.Standardiser
) -> types.FloatArray:
  matrix = column_matrix(name, values)
  wanted = len(scale.mean)
  if wanted > 1 and matrix.shape == (wanted, 1) and np.ndim(values) == 1:
    matrix = matrix.T  # One point given as a flat list.
  if matrix.shape[1] != wanted:
    raise ValueError(
      f'{name} must have the {wanted} columns of the fit, got shape '
      f'{matrix.shape}.'
    )
  return matrix
