"""Names of actions and of episodes, whatever type a file gives them."""

from collections.abc import Callable, Iterable, Sequence
import re
from typing import Any, NamedTuple
import unicodedata

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets.formats import source

EMPTY, UNKNOWN = -1, -2
CONTINUOUS = (
  '{}, but actions must be whole numbers or labels; if they are '
  'amounts, say --continuous (in Python continuous=True)'
)

# Called as complain(sentence, example, places): what is wrong with cells, what
# is wrong with the first of them, and which they are.
Complain = Callable[[str, str, np.ndarray], None]

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


class Spellings:
  """How the names of a log are written, to tell those that are nearly equal.

  Names are compared without the blanks around them, since files align their
  columns with blanks; so two that differ by nothing else cannot be told apart.
  """

  def __init__(self, place: str):
    """Begins with none; the place, such as a file, is for messages."""
    self._place = place
    self._written: dict[str, str] = {}

  def add(self, name: str, value: object, *, row: int | None = None) -> None:
    """Takes in a name and how it is written.

    Raises:
      ValueError: another name differs only by blanks, or it has characters
        that a terminal would take for commands.
    """
    where = self._place if row is None else f'{self._place}, row {row}'
    words = self.complaint(name, value)
    if words is not None:
      raise ValueError(f'{where}: {words}.')

  def complaint(self, name: str, value: object) -> str | None:
    """Takes in a name as `add` does; returns what is wrong with it."""
    if has_commands(name):
      return (
        f'the label {ascii(name)} has a control character: write it without'
      )
    if _WHOLE.fullmatch(name):
      return None  # Blanks do not make another number.
    text = _text(value)
    other = self._written.setdefault(name, text)
    if other == text:
      return None
    return (
      f'the labels {ascii(other)} and {ascii(text)} differ only by '
      'blanks: write both in the same way, or give them other names'
    )


def read(
  values: source.Raw,
  *,
  place: str,
  spellings: Spellings | None = None,
  rows: np.ndarray | None = None,
  complain: Complain | None = None,
) -> Names:
  """Reads a column as names; 1, 1.0 and '1' are the same name.

  Args:
    values: the column.
    place: file and name of the column, for messages.
    spellings: how names were written so far; None if it does not matter.
    rows: numbers of the rows in the file, for messages.
    complain: is told of names that `spellings` refuses.

  Raises:
    ValueError: the column has several entries a row or values of a kind that
      cannot be names, or `spellings` refuses a name and nobody is told.
  """
  import pandas as pd  # A log that is only opened does without.

  values = one_entry(values, place=place)
  if isinstance(values, pd.Categorical):
    codes, unique = values.codes.astype(np.int64), values.categories
  else:
    if values.dtype.kind not in 'biufOUS':
      raise ValueError(
        f'{place} has values of type {values.dtype}, which cannot be labels. '
        'Write them as whole numbers or text.'
      )
    text = values.dtype.kind in 'US'
    codes, unique = pd.factorize(values.astype(object) if text else values)
  if unique.dtype.kind in 'iu':
    return Names(codes, list(map(str, unique.tolist())))
  names = [_name(each) for each in unique]
  if spellings is not None:
    for name, each in zip(names, unique, strict=True):
      words = spellings.complaint(name, each)
      if words is None:
        continue
      # The later one, where both are in these rows.
      places = max(
        (
          np.flatnonzero(codes == other)
          for other, its_name in enumerate(names)
          if its_name == name
        ),
        key=lambda found: found[0] if found.size else -1,
      )
      if complain is None:
        spellings.add(
          name, each, row=None if rows is None else int(rows[places[0]])
        )
      elif places.size:
        complain(words, words, places)
  if '' not in names and len(set(names)) == len(names):
    return Names(codes, names)
  once = {
    name: index
    for index, name in enumerate(dict.fromkeys(name for name in names if name))
  }
  again = np.array([once.get(name, EMPTY) for name in names] + [EMPTY])
  return Names(again[codes], list(once))


def has_commands(name: str) -> bool:
  """Whether a label has characters that a terminal takes for commands."""
  return not name.isprintable() and any(
    unicodedata.category(each) in ('Cc', 'Cs') and each != '\t' for each in name
  )


def one_entry(values: Any, *, place: str) -> Any:
  """Returns a column [N] or [N, 1] as [N].

  Args:
    values: the column.
    place: file and name of the column, for messages.

  Raises:
    ValueError: it has more entries a row.
  """
  if values.ndim == 1:
    return values
  if values.shape[1:] != (1,):
    raise ValueError(
      f'{place} has {int(np.prod(values.shape[1:]))} entries a row (shape '
      f'{values.shape}), but one is wanted.'
    )
  return values[:, 0]


def _name(value: object) -> str:
  text = _text(value).strip()
  whole = _WHOLE.fullmatch(text)
  return whole[1] if whole else text


def _text(value: object) -> str:
  if not isinstance(value, bytes):
    return str(value)
  try:
    return value.decode()
  except UnicodeDecodeError as error:
    raise ValueError(
      f'The label {value!r} is not text in UTF-8. Save labels as text.'
    ) from error


class Actions:
  """The actions of a log, in order.

  Attributes:
    labels: one an action.
    continuous: None, since they are finitely many; `vectors.Entries` has it.
  """

  continuous: actions_lib.Continuous | None = None

  def __init__(self, labels: Sequence[str]):
    """Initialises the actions from their labels.

    Raises:
      ValueError: there are too many, or two that cannot be told apart.
    """
    if len(labels) > source.MOST_ACTIONS:
      raise ValueError(
        f'There are {len(labels):,} actions; at most '
        f'{source.MOST_ACTIONS:,} are supported.'
      )
    self.labels = tuple(_name(label) for label in labels)
    spellings = Spellings('The actions')
    for name, label in zip(self.labels, labels, strict=True):
      spellings.add(name, label)
    if len(set(self.labels)) < len(self.labels) or '' in self.labels:
      raise ValueError(
        'The actions must have different labels, none of them empty, got '
        f'{", ".join(map(ascii, labels[:20]))}.'
      )
    self._index = {label: index for index, label in enumerate(self.labels)}

  @property
  def recorded(self) -> tuple[str, ...]:
    """The labels, empty if they are only numbers from 0."""
    numbers = tuple(map(str, range(len(self.labels))))
    return () if self.labels == numbers else self.labels

  def text(self, columns: Sequence[str]) -> list[str]:
    """Returns the columns of the log that are kept as they are written."""
    return list(columns)

  def encode(
    self,
    values: source.Raw,
    *,
    column: str,
    place: str,
    spellings: Spellings,
    complain: Complain,
  ) -> np.ndarray:
    """Returns indices, int32 [N]; EMPTY and UNKNOWN where there is none.

    Args:
      values: the column.
      column: its name.
      place: file and name of the column, for messages.
      spellings: how the actions were written so far.
      complain: is told of labels that cannot be told apart and of continuous
        actions; each of these has some index.
    """
    codes, names = read(
      values, place=place, spellings=spellings, complain=complain
    )
    refused = [name not in self._index and continuous(name) for name in names]
    places = np.flatnonzero(np.array([*refused, False])[codes])
    if places.size:
      complain(
        CONTINUOUS.format(f'{column} is not whole'),
        CONTINUOUS.format(f'{column} is {names[codes[places[0]]]}'),
        places,
      )
    indices = [
      self._index.get(name, 0 if told or has_commands(name) else UNKNOWN)
      for name, told in zip(names, refused, strict=True)
    ]
    return np.array([*indices, EMPTY], np.int32)[codes]


class Collection:
  """Gathers the actions of a log, chunk by chunk.

  Labels that are refused when rows are decoded are left out.
  """

  def __init__(self, column: str, *, file: str):
    """Begins with none; the file's name is for messages."""
    self._column, self._file = column, file
    self._names: set[str] = set()
    self._refused = ''

  def add(self, chunk: source.Chunk) -> None:
    """Takes in the actions of a chunk.

    Raises:
      ValueError: they are too many.
    """
    column = self._column
    codes, names = read(chunk.columns[column], place=f'{self._file}: {column}')
    for index, name in enumerate(names):
      if continuous(name):
        if not self._refused:
          row = chunk.rows[np.flatnonzero(codes == index)[0]]
          words = CONTINUOUS.format(f'{column} is {name}')
          self._refused = f'{self._file}, row {row}: {words}.'
      elif not has_commands(name):
        self._names.add(name)
    if len(self._names) > source.MOST_ACTIONS:
      raise ValueError(
        f'{self._file}: {column} has more than {source.MOST_ACTIONS:,} '
        'different values. Is it the column of actions?'
      )

  def actions(self) -> Actions:
    """Returns all that were found, in order.

    Raises:
      ValueError: there were none.
    """
    if not self._names:
      raise ValueError(
        self._refused
        or f'{self._file} holds no action in any row. Name the column of '
        'actions with --map action=COLUMN (in Python action=...), or a log '
        'that has rows.'
      )
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
