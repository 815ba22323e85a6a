"""Rows of a log whose cells are read, in arrays of fixed types."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope.datasets import labels

# A flag whose cell is empty.
ABSENT = -1
# Columns of `Rows.unread`.
STEP, TARGET = 0, 1


class Rows(NamedTuple):
  """Rows of a log.

  Attributes:
    row: their numbers in the file, int64 [N].
    episode: running number of the episode, int64 [N], never falling.
    step: float64 [N], or None where the log has no such column.
    observation: float64 [N, D].
    action: int32 [N], labels.EMPTY and labels.UNKNOWN where there is none; or
      vectors, float64 [N, d], nan where an entry is empty.
    reward: float64 [N]; nan where it is empty.
    terminated: int8 [N], 0, 1 or ABSENT where the cell is empty.
    truncated: as `terminated`.
    annotations: float32 [N, K].
    discount: the environment's own, float64 [N], nan where it is empty; None
      where the log has no such column.
    unread: whether the step, and whether a target probability, is nan because
      it could not be read, bool [N, 2]. What else could not be read is 0, or 1
      if it is the behaviour's probability.
  """

  row: np.ndarray
  episode: np.ndarray
  step: np.ndarray | None
  observation: np.ndarray
  action: np.ndarray
  reward: np.ndarray
  terminated: np.ndarray
  truncated: np.ndarray
  annotations: np.ndarray
  discount: np.ndarray | None
  unread: np.ndarray

  @property
  def no_action(self) -> np.ndarray:
    """Where the action is empty, all entries of it, bool [N]."""
    if self.action.ndim == 1:
      return self.action == labels.EMPTY
    return np.isnan(self.action).all(axis=1)


def take(rows: Rows, index: Any) -> Rows:
  """Returns some of the rows."""
  return _each(lambda x: x[index], rows)


def concatenate(first: Rows, second: Rows) -> Rows:
  """Returns the rows of both."""
  return _each(lambda x, y: np.concatenate([x, y]), first, second)


def _each(function: Callable[..., np.ndarray], *rows: Rows) -> Rows:
  """Applies a function to every column; one that is missing stays so."""
  columns: Any = (
    None if parts[0] is None else function(*parts)
    for parts in zip(*rows, strict=True)
  )
  return Rows(*columns)
