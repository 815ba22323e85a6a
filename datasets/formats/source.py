"""What all formats of logs have in common: columns that come in chunks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import typed_json

if TYPE_CHECKING:
  import pandas as pd

# A column as the file has it: numbers, text, or text by its categories.
Raw: TypeAlias = 'np.ndarray | pd.Categorical'

CHUNK_ROWS = 50_000
# More than this and the column is hardly one of actions.
MOST_ACTIONS = 10_000
# What formats that store episodes one by one call their columns.
EPISODE, OBSERVATION, ACTION, REWARD = (
  'episode',
  'observation',
  'action',
  'reward',
)
TERMINATED, TRUNCATED = 'terminated', 'truncated'


class Chunk(NamedTuple):
  """Some rows of a log.

  Attributes:
    columns: by name, [N] or [N, ...]; nan, None or '' where a cell is empty.
    rows: number of each row in the file, int64 [N].
    share: of the file that has been read so far.
  """

  columns: Mapping[str, Raw]
  rows: np.ndarray
  share: float


class Source(Protocol):
  """A log file that can be read more than once.

  Attributes:
    columns: names of all columns.
    actions: labels of all actions, if the file says so; else None.
    categories: labels of categorical observations, if the file says so.
    continuous: what actions are that are vectors, if the file says so.
  """

  columns: Sequence[str]
  actions: Sequence[str] | None
  categories: Mapping[str, Sequence[Any]] = {}
  continuous: actions_lib.Continuous | None = None

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[Chunk]:
    """Yields chunks in the order of the file.

    Args:
      columns: which ones to read.
      text: those that stay as they are written, where a file has no types.
    """

  def place(self, row: int) -> tuple[str, int]:
    """Returns which file has a row, empty for the only one, and its number."""
    return '', row


def not_installed(error: ImportError, what: str) -> ValueError:
  """Returns what to say of a package that is missing."""
  return ValueError(
    f'{what} needs {error.name}, which is not installed. Install it with '
    '`pip install "dfiv-ope[formats]"`.'
  )


def no_column(name: str, column: str, first: str) -> ValueError:
  """Returns the error of a file that lacks a column of the first one."""
  return ValueError(
    f'{name} has no column {column!r}, which {first} has. All files of a log '
    'need the same columns.'
  )


def described(data: Any) -> actions_lib.Continuous:
  """Returns what an exported file says of actions that are vectors.

  Raises:
    ValueError: it does not describe actions.
  """
  return typed_json.build(actions_lib.Continuous, data, name='continuous')


def with_empty_end(values: np.ndarray) -> np.ndarray:
  """Adds a last row without a value."""
  numbers = values.dtype.kind in 'fiub'
  end = np.full((1, *values.shape[1:]), np.nan if numbers else None)
  return np.concatenate([values.astype(np.float64 if numbers else object), end])


def in_chunks(
  episodes: Iterable[tuple[Mapping[str, np.ndarray], float]],
) -> Iterator[Chunk]:
  """Joins episodes to chunks, for formats that store them one by one.

  Args:
    episodes: the columns of each, and the share of the file read so far; the
      column `episode` and the numbers of rows, from 1, are added here.
  """
  waiting: list[Mapping[str, np.ndarray]] = []
  count, first, share = 0, 1, 0.0
  for number, (columns, share) in enumerate(episodes):
    rows = len(next(iter(columns.values())))
    waiting.append({EPISODE: np.full(rows, number), **columns})
    count += rows
    if count >= CHUNK_ROWS:
      yield _chunk(waiting, first, share)
      waiting, count, first = [], 0, first + count
  if waiting:
    yield _chunk(waiting, first, share)


def _chunk(
  episodes: list[Mapping[str, np.ndarray]], first: int, share: float
) -> Chunk:
  columns = {}
  for name in episodes[0]:
    parts = [each[name] for each in episodes]
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
      raise ValueError(
        f'{name} has entries of different shapes: '
        f'{", ".join(map(str, sorted(shapes)))}. They must be the same in '
        'all episodes.'
      )
    columns[name] = np.concatenate(parts)
  rows = np.arange(first, first + len(columns[EPISODE]))
  return Chunk(columns, rows, share)
