"""Actions that are vectors: their entries, found in the columns of a log.

An entry is a number in all rows or a name in all rows. Of a name its place
among the sorted labels is stored (`actions.Continuous`).
"""

from collections.abc import Sequence
import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets import bounds as bounds_lib
from dfiv_ope.datasets import categories as categories_lib
from dfiv_ope.datasets import labels as labels_lib
from dfiv_ope.datasets import layout as layout_lib
from dfiv_ope.datasets.formats import source


class Entries:
  """Entries of a log's actions; what `labels.Actions` is where they are few.

  Attributes:
    continuous: what the actions are.
    labels: of discrete actions, so there are none.
    recorded: as `labels`.
  """

  labels: tuple[str, ...] = ()
  recorded: tuple[str, ...] = ()

  def __init__(self, continuous: actions_lib.Continuous):
    """Initialises the entries; those of an array x are x[0], x[1], ..."""
    self.continuous = continuous

  def text(self, columns: Sequence[str]) -> list[str]:
    """Returns the columns of the log that are kept as they are written."""
    if len(columns) < self.continuous.size:
      return []  # Arrays have types.
    return [columns[place] for place in self.continuous.categories]

  def encode_name(
    self, values: source.Raw, entry: int, *, place: str
  ) -> np.ndarray:
    """Returns places of labels, float64 [N]; nan where there is none.

    Args:
      values: the entry's column.
      entry: which one.
      place: file and name of the column, for messages.
    """
    codes, names = labels_lib.read(values, place=place)
    known = {
      label: float(index)
      for index, label in enumerate(self.continuous.categories[entry])
    }
    return np.array([known.get(name, np.nan) for name in names] + [np.nan])[
      codes
    ]


class Collection:
  """Gathers what the entries of a log's actions are, chunk by chunk."""

  def __init__(self, layout: layout_lib.Layout, *, file: str):
    """Begins with none.

    Args:
      layout: the columns.
      file: name of the log, for messages.
    """
    self._layout, self._file = layout, file
    self._entries: list[str] = []
    self._labels = categories_lib.Collection((), file=file)
    # The first cell of an entry that is a number, and that is text: row, name.
    self._numbers: dict[str, tuple[int, str]] = {}
    self._texts: dict[str, tuple[int, str]] = {}

  def add(self, chunk: source.Chunk) -> None:
    """Takes in the actions of a chunk.

    Raises:
      ValueError: an entry is a number here and a name there, or has too many
        names.
    """
    entries = [
      each
      for column in self._layout.action
      for each in categories_lib.entries(column, chunk.columns[column])
    ]
    self._entries = [entry for entry, _ in entries]
    for entry, values in entries:
      if categories_lib.of(self._layout.categorical_actions, entry):
        self._labels.gather(entry, values, chunk.rows)
      elif values.dtype.kind not in 'fiub':
        self._look(entry, values, chunk.rows)
      elif entry not in self._numbers:
        numbers = np.asarray(values, np.float64)
        index = np.flatnonzero(~np.isnan(numbers))[:1]
        for place in index:
          self._numbers[entry] = int(chunk.rows[place]), f'{numbers[place]:g}'
        self._refuse_both(entry)

  def actions(self) -> Entries:
    """Returns the entries.

    Raises:
      ValueError: there are none, bounds do not fit them, or the action is one
        name.
    """
    for name in self._layout.categorical_actions:
      if not any(categories_lib.of([name], entry) for entry in self._entries):
        raise ValueError(
          f'{name!r} should be a name, but it is no entry of the actions of '
          f'{self._file}, which are: {", ".join(self._entries[:40])}.'
        )
    names = {
      entry: tuple(map(str, each))
      for entry, each in self._labels.labels().items()
    }
    empty = [
      entry
      for entry in self._entries
      if entry not in names and entry not in self._numbers
    ]
    if empty or not self._entries:
      raise ValueError(
        f'{self._file} holds no action in any row'
        + (f': {empty[0]} is empty.' if empty else '.')
      )
    for entry, each in names.items():
      if len(each) < 2:
        raise ValueError(
          f'{self._file}: {entry} is {each[0]!r} in all rows, so it is no '
          'choice. Leave it out of the action.'
        )
    if len(self._entries) == len(names) == 1:
      raise ValueError(
        f'{self._file}: {self._entries[0]} is a name in all rows, so actions '
        'are no vectors. Leave out --continuous.'
      )
    nothing = (None,) * len(self._entries)
    continuous = actions_lib.Continuous(
      low=nothing,
      high=nothing,
      names=tuple(self._entries),
      categories={
        place: names[entry]
        for place, entry in enumerate(self._entries)
        if entry in names
      },
    )
    return Entries(
      with_bounds(continuous, self._layout.bounds, file=self._file)
    )

  def _look(self, entry: str, values: source.Raw, rows: np.ndarray) -> None:
    """Tells whether text is numbers or names."""
    codes, names = labels_lib.read(values, place=f'{self._file}: {entry}')
    for index, name in enumerate(names):
      kind = self._numbers if layout_lib.is_number(name) else self._texts
      if entry not in kind:
        kind[entry] = int(rows[np.argmax(codes == index)]), name
    self._refuse_both(entry)
    if entry in self._texts:
      self._labels.gather(entry, values, rows)

  def _refuse_both(self, entry: str) -> None:
    """Refuses an entry that is a number here and a name there."""
    if entry in self._numbers and entry in self._texts:
      (number_row, number), (text_row, text) = (
        self._numbers[entry],
        self._texts[entry],
      )
      raise ValueError(
        f'{self._file}: {entry} is {text!r} in row {text_row} and the number '
        f'{number} in row {number_row}, but an entry of the action is a '
        'number in all rows or a name in all. Correct it, or say --map '
        f'categorical_actions={entry} if it is a name in all.'
      )


def with_bounds(
  continuous: actions_lib.Continuous,
  pairs: Sequence[bounds_lib.Pair] | None,
  *,
  file: str,
) -> actions_lib.Continuous:
  """Returns actions with the bounds that were asked for, if any were.

  Args:
    continuous: the actions.
    pairs: one an entry; None to leave them as they are.
    file: name of the log, for messages.

  Raises:
    ValueError: the bounds do not fit the entries.
  """
  if pairs is None:
    return continuous
  names = list(map(continuous.entry, range(continuous.size)))
  if len(pairs) != len(names):
    raise ValueError(
      f'The actions of {file} have {len(names)} entries '
      f'({", ".join(names[:20])}), but there are bounds for {len(pairs)}. '
      f'Give {bounds_lib.SYNTAX}.'
    )
  for place in continuous.categories:
    if pairs[place] != (None, None):
      raise ValueError(
        f'{file}: {names[place]} is a name, which has no bounds. Write a '
        'colon alone for it.'
      )
  return dataclasses.replace(
    continuous,
    low=tuple(low for low, _ in pairs),
    high=tuple(high for _, high in pairs),
  )
