"""Names of actions and of episodes, whatever type a file gives them."""

from collections.abc import Iterable, Sequence
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from dfiv_ope.datasets.formats import source

EMPTY, UNKNOWN = -1, -2

# More than this and the column is hardly one of actions.
MOST_ACTIONS = 10_000
_WHOLE = re.compile(r'(-?(?:0|[1-9]\d*))(?:\.0*)?')
_NUMBER = re.compile(r'-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?')


class Names(NamedTuple):
  """A column of names.

  Attributes:
    codes: index into `names`, int64 [N]; EMPTY where there is none.
    names: the different names in the column.
  """
  codes: np.ndarray
  names: list[str]


def read(values: source.Raw) -> Names:
  """Reads a column as names; 1, 1.0 and '1' are the same name."""
  if isinstance(values, pd.Categorical):
    codes, unique = values.codes.astype(np.int64), values.categories
  else:
    text = values.dtype.kind in 'US'
    codes, unique = pd.factorize(values.astype(object) if text else values)
  if unique.dtype.kind in 'iu':
    return Names(codes, list(map(str, unique.tolist())))
  names = [_name(each) for each in unique]
  if '' not in names and len(set(names)) == len(names):
    return Names(codes, names)
  once = {name: index for index, name in enumerate(dict.fromkeys(
      name for name in names if name))}
  again = np.array([once.get(name, EMPTY) for name in names] + [EMPTY])
  return Names(again[codes], list(once))


def _name(value: object) -> str:
  text = value.decode() if isinstance(value, bytes) else str(value)
  text = text.strip()
  whole = _WHOLE.fullmatch(text)
  return whole[1] if whole else text


class Actions:
  """The actions of a log, in order."""

  def __init__(self, labels: Sequence[str]):
    """Initialises the actions from their labels."""
    self.labels = tuple(_name(label) for label in labels)
    self._index = {label: index for index, label in enumerate(self.labels)}

  @property
  def recorded(self) -> tuple[str, ...]:
    """The labels, empty if they are only numbers from 0."""
    numbers = tuple(map(str, range(len(self.labels))))
    return () if self.labels == numbers else self.labels

  def encode(self, values: source.Raw) -> np.ndarray:
    """Returns indices, int32 [N]; EMPTY and UNKNOWN where there is none."""
    codes, names = read(values)
    indices = np.array(
        [self._index.get(name, UNKNOWN) for name in names] + [EMPTY], np.int32)
    return indices[codes]


class Collection:
  """Gathers the actions of a log, chunk by chunk."""

  def __init__(self, file: str):
    """Begins with none; the file's name is for messages."""
    self._file = file
    self._names: set[str] = set()

  def add(self, chunk: source.Chunk, column: str) -> None:
    """Takes in the actions of a chunk.

    Raises:
      ValueError: they are continuous, vectors, or too many.
    """
    values = chunk.columns[column]
    if values.ndim != 1:
      raise ValueError(
          f'{self._file}: {column} has {np.prod(values.shape[1:])} entries a '
          'row, but an action must be one whole number or label.')
    codes, names = read(values)
    for index, name in enumerate(names):
      if name not in self._names and continuous(name):
        row = chunk.rows[np.flatnonzero(codes == index)[0]]
        raise ValueError(
            f'{self._file}, row {row}: {column} is {name}, but actions must be '
            'whole numbers or labels; continuous actions are not supported. '
            'Put them into a few classes first.')
    self._names.update(names)
    if len(self._names) > MOST_ACTIONS:
      raise ValueError(
          f'{self._file}: {column} has more than {MOST_ACTIONS:,} different '
          'values. Is it the column of actions?')

  def actions(self) -> Actions:
    """Returns all that were found, in order.

    Raises:
      ValueError: there were none.
    """
    if not self._names:
      raise ValueError(f'{self._file} holds no action in any row.')
    return Actions(in_order(self._names))


def in_order(names: Iterable[str]) -> list[str]:
  """Sorts labels, as numbers if all of them are."""
  names = list(names)
  if all(_WHOLE.fullmatch(name) for name in names):
    return sorted(names, key=int)
  return sorted(names)


def continuous(name: str) -> bool:
  """Whether a label is a number that is not whole."""
  return bool(_NUMBER.fullmatch(name)) and not float(name).is_integer()
