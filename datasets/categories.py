"""Categorical columns of observations: their labels, and what is stored.

Whole numbers are stored as they are; of other labels, which are sorted, the
place is stored. So a policy sees the numbers of its environment, and
`encoding` makes indicators of them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dfiv_ope.datasets import labels as labels_lib
from dfiv_ope.datasets.formats import source

# Of a column: all whole numbers or all text.
Labels = Sequence[Any]

# A column with more is hardly one of names that come again.
MOST = 20_000


def in_order(names: Iterable[str]) -> Labels:
  """Returns labels in order, as numbers if all of them are."""
  ordered = labels_lib.in_order(names)
  try:
    return tuple(map(int, ordered))
  except ValueError:
    return tuple(ordered)


def encode(values: source.Raw, labels: Labels, *, place: str) -> np.ndarray:
  """Returns what is stored, float64 [N]; nan where a cell has no label.

  Numbers for labels that are text are their places, as an export has them.

  Args:
    values: the column.
    labels: of its categories.
    place: file and name of the column, for messages.
  """
  textual = isinstance(labels[0], str)
  if textual and values.dtype.kind in 'fiu':
    places = np.asarray(values, np.float64)
    return np.where(np.isin(places, np.arange(len(labels))), places, np.nan)
  codes, names = labels_lib.read(values, place=place)
  stored = {
    str(label): float(place if textual else label)
    for place, label in enumerate(labels)
  }
  return np.array([stored.get(name, np.nan) for name in names] + [np.nan])[
    codes
  ]


def decode(stored: np.ndarray, labels: Labels) -> np.ndarray:
  """Returns the labels of what is stored: text, or whole numbers."""
  if isinstance(labels[0], str):
    return np.array(labels, object)[stored.astype(np.int64)]
  return stored.astype(np.int64)


def of(names: Sequence[str], entry: str) -> bool:
  """Whether an entry of the observation is among named columns.

  The entries of an array x are x[0], x[1], ...; its name stands for all.
  """
  return entry in names or entry.split('[')[0] in names


class Collection:
  """Gathers the labels of categorical columns, chunk by chunk."""

  def __init__(self, named: Sequence[str], *, file: str):
    """Begins with none.

    Args:
      named: columns, or entries of arrays.
      file: name of the log, for messages.
    """
    self._named = named
    self._file = file
    self._entries: list[str] = []
    self._names: dict[str, set[str]] = {}
    self._spellings: dict[str, labels_lib.Spellings] = {}

  @property
  def columns(self) -> list[str]:
    """The columns of the file that are needed."""
    return list(dict.fromkeys(name.split('[')[0] for name in self._named))

  def add(self, chunk: source.Chunk) -> None:
    """Takes in the labels of a chunk.

    Raises:
      ValueError: they are measurements rather than names, or too many.
    """
    found = [
      each
      for column in self.columns
      for each in entries(column, chunk.columns[column])
    ]
    if not self._entries:
      self._entries = [entry for entry, _ in found]
      for name in self._named:
        if not any(of([name], entry) for entry in self._entries):
          raise ValueError(
            f'{name!r} should be categorical, but {self._file} has only '
            f'{", ".join(self._entries[:40])}.'
          )
    for entry, values in found:
      if of(self._named, entry):
        self.gather(entry, values, chunk.rows)

  def gather(self, entry: str, values: source.Raw, rows: np.ndarray) -> None:
    """Takes in the labels of an entry in some rows, as `add` does."""
    _, names = labels_lib.read(
      values,
      place=f'{self._file}: {entry}',
      rows=rows,
      spellings=self._spellings.setdefault(
        entry, labels_lib.Spellings(self._file)
      ),
    )
    self._take(entry, names)

  def labels(self) -> dict[str, Labels]:
    """Returns the labels of every entry, in order."""
    return {
      entry: in_order(names) for entry, names in self._names.items() if names
    }

  def _take(self, entry: str, names: list[str]) -> None:
    known = self._names.setdefault(entry, set())
    known.update(names)
    fraction = next(filter(labels_lib.continuous, names), None)
    if fraction is not None:
      raise ValueError(
        f'{self._file}: {entry} is {fraction} in some row, but a categorical '
        'column holds whole numbers or text. Leave it a number.'
      )
    if len(known) > MOST:
      raise ValueError(
        f'{self._file}: {entry} has more than {MOST:,} different values, too '
        'many for a categorical column. Group them, or leave it a number.'
      )


def entries(column: str, values: source.Raw) -> list[tuple[str, source.Raw]]:
  """Returns the entries of a column with their names, [N] each."""
  if values.ndim == 1:
    return [(column, values)]
  flat = np.asarray(values).reshape(len(values), int(np.prod(values.shape[1:])))
  return [
    (f'{column}[{index}]', flat[:, index]) for index in range(flat.shape[1])
  ]
