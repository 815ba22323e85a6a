"""Reads the columns of a chunk as what they mean, in arrays of fixed types."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope.datasets import categories as categories_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import decoded_rows, labels, vectors
from dfiv_ope.datasets import layout as layout_lib
from dfiv_ope.datasets.formats import source

_TRUE = frozenset({'1', 'true', 't', 'yes'})
_FALSE = frozenset({'0', 'false', 'f', 'no'})
# Characters of a cell that a message shows.
_SHOWN = 60
# What to do with types of time, by numpy's kind of them.
_OF_TIME = {
  'M': ' Of a time, subtract the first one and divide by np.timedelta64(1, '
  "'h'): hours. As the number of a step leave it out: the rows of an episode "
  'stand in their order.',
  'm': " Divide by np.timedelta64(1, 'h'): hours.",
}


class Fault(NamedTuple):
  """Cells of a column that cannot be read.

  Attributes:
    sentence: what is wrong with all of them.
    example: what is wrong with the first.
    rows: their numbers in the file.
    of_episodes: whether it is unclear which episodes these rows belong to.
  """

  sentence: str
  example: str
  rows: np.ndarray
  of_episodes: bool = False


class Decoded(NamedTuple):
  """A chunk.

  Attributes:
    rows: those that have an episode.
    nameless: numbers of those that have none.
    returned: the episodes that were there before and came back.
    faults: what could not be read of `rows`.
  """

  rows: decoded_rows.Rows
  nameless: np.ndarray
  returned: list[int]
  faults: list[Fault]


class Decoder:
  """Decodes the chunks of one log, in their order.

  Attributes:
    layout: the columns.
    actions: all actions of the log.
    annotations: names of the further columns, as they are stored.
    annotation_columns: what the file calls them.
    observation_names: of the entries of an observation.
  """

  def __init__(
    self,
    layout: layout_lib.Layout,
    actions: labels.Actions | vectors.Entries,
    *,
    file: str,
    categories: Mapping[str, categories_lib.Labels] | None = None,
  ):
    """Initialises the decoder.

    Args:
      layout: the columns.
      actions: all actions of the log.
      file: name of the log, for messages.
      categories: labels of the categorical entries of the observation.
    """
    self.layout, self.actions = layout, actions
    self._categories = categories or {}
    self.observation_names: list[str] = []
    self._file = file
    self._episodes: list[str] = []
    self._seen: set[str] = set()
    self._faults: list[Fault] = []
    self._spellings = {
      name: labels.Spellings(file) for name in (layout.episode, *layout.action)
    }
    targets = range(len(actions.labels) if layout.target_probabilities else 0)
    self.annotations = (
      *([columns_lib.BEHAVIOUR_PROBABILITY] if self.has_behaviour else []),
      *(f'{columns_lib.TARGET_PROBABILITY}{index}' for index in targets),
    )
    self._targets = self._in_order_of_actions(layout)

  @property
  def has_behaviour(self) -> bool:
    """Whether the first annotation is the behaviour's probability."""
    return self.layout.behaviour_probability is not None

  def episode_name(self, number: int) -> str:
    """Returns what the file calls an episode."""
    return self._episodes[number]

  def decode(self, chunk: source.Chunk) -> Decoded:
    """Decodes the next chunk of the file.

    Raises:
      ValueError: a whole column is not of its kind.
    """
    layout, place = self.layout, chunk.rows
    self._faults = []
    codes, names = labels.read(
      chunk.columns[layout.episode],
      place=f'{self._file}: {layout.episode}',
      spellings=self._spellings[layout.episode],
      complain=self._complain(place, of_episodes=True),
    )
    known = codes != labels.EMPTY
    nameless = place[~known]
    if nameless.size:
      chunk = source.Chunk(
        {name: x[known] for name, x in chunk.columns.items()},
        place[known],
        chunk.share,
      )
      codes, place = codes[known], chunk.rows
    episode, returned = self._number(codes, names)

    def flag(name: str | None) -> np.ndarray:
      if name is None:
        return np.zeros(len(place), np.int8)
      return self._flags(name, chunk)

    unread = np.zeros((len(place), 2), bool)
    rows = decoded_rows.Rows(
      row=place,
      episode=episode,
      step=None
      if layout.step is None
      else self._one_number(
        layout.step,
        chunk,
        otherwise=np.nan,
        unread=unread[:, decoded_rows.STEP],
        hint='; steps are counted: leave step out where the rows of an episode '
        'stand in their order, or number them',
      ),
      observation=self._observation(chunk),
      action=self._action(chunk),
      reward=self._one_number(layout.reward, chunk),
      terminated=flag(layout.terminated),
      truncated=flag(layout.truncated),
      annotations=self._annotations(chunk, unread[:, decoded_rows.TARGET]),
      discount=None
      if layout.discount is None
      else self._one_number(layout.discount, chunk),
      unread=unread,
    )
    return Decoded(rows, nameless, returned, self._faults)

  def _complain(
    self, rows: np.ndarray, *, of_episodes: bool = False
  ) -> labels.Complain:
    """Returns what takes in faults of cells in some rows."""

    def complain(sentence: str, example: str, places: np.ndarray) -> None:
      self._faults.append(Fault(sentence, example, rows[places], of_episodes))

    return complain

  def _number(
    self, codes: np.ndarray, names: list[str]
  ) -> tuple[np.ndarray, list[int]]:
    """Gives running numbers to episodes; finds those that come back."""
    if not len(codes):
      return codes, []
    starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
    order = [names[code] for code in codes[starts].tolist()]
    first = len(self._episodes)
    if self._episodes and order[0] == self._episodes[-1]:
      first -= 1  # It goes on from the chunk before.
      order = order[1:]
    returned = []
    for number, name in enumerate(order, len(self._episodes)):
      if name in self._seen:
        returned.append(number)
      self._seen.add(name)
    self._episodes += order
    runs = np.diff(starts, append=len(codes))
    return np.repeat(np.arange(first, first + len(runs)), runs), returned

  def _action(self, chunk: source.Chunk) -> np.ndarray:
    """Returns places of actions, int32 [N], or vectors, float64 [N, d]."""
    actions = self.actions
    if isinstance(actions, labels.Actions):
      (column,) = self.layout.action
      if chunk.columns[column].shape[1:] not in ((), (1,)):
        raise ValueError(
          f'{self._file}: {column} has several entries a row, so actions are '
          'vectors, which have neither labels (--actions) nor target '
          'probabilities. Leave these out.'
        )
      return actions.encode(
        chunk.columns[column],
        column=column,
        place=f'{self._file}: {column}',
        spellings=self._spellings[column],
        complain=self._complain(chunk.rows),
      )
    entries = [
      each
      for name in self.layout.action
      for each in categories_lib.entries(name, chunk.columns[name])
    ]
    if len(entries) != actions.continuous.size:
      raise ValueError(
        f'{self._file}, row {chunk.rows[0]}: the action has {len(entries)} '
        f'entries, but {actions.continuous.size} are known.'
      )
    return np.stack(
      [
        actions.encode_name(values, place, place=f'{self._file}: {name}')
        if place in actions.continuous.categories
        else self._numbers(name, chunk._replace(columns={name: values}))
        for place, (name, values) in enumerate(entries)
      ],
      axis=1,
    )

  def _observation(self, chunk: source.Chunk) -> np.ndarray:
    parts, names = [], []
    for name in self.layout.observations:
      for entry, values in categories_lib.entries(name, chunk.columns[name]):
        names.append(entry)
        parts.append(
          categories_lib.encode(
            values, self._categories[entry], place=f'{self._file}: {entry}'
          )
          if entry in self._categories
          else self._numbers(
            entry,
            chunk._replace(columns={entry: values}),
            hint=f'; if its values are names, say --categorical {entry} '
            '(in Python categorical=...)',
          )
        )
    if self.observation_names and len(names) != len(self.observation_names):
      raise ValueError(
        f'{self._file}, row {chunk.rows[0]}: the observation has '
        f'{len(names)} entries, but it had {len(self.observation_names)} '
        'before.'
      )
    self.observation_names = names
    return np.stack(parts, axis=1)

  def _annotations(self, chunk: source.Chunk, unread: np.ndarray) -> np.ndarray:
    """Reads probabilities; marks rows where one of a target is unread."""
    parts = []
    if self.layout.behaviour_probability is not None:
      parts.append(
        self._numbers(self.layout.behaviour_probability, chunk, otherwise=1.0)
      )
    parts += [
      self._numbers(name, chunk, otherwise=np.nan, unread=unread)
      for name in self._targets
    ]
    parts = [
      _float32(part).reshape(len(chunk.rows), -1)
      for part in parts
      if len(chunk.rows)
    ]
    empty = np.zeros((len(chunk.rows), 0), np.float32)
    result = np.concatenate([empty, *parts], axis=1)
    if len(chunk.rows) and result.shape[1] != len(self.annotations):
      raise ValueError(
        f'{self._file} has {len(self.actions.labels)} actions '
        f'({", ".join(self.actions.labels[:20])}) and not as many target '
        'probabilities. There must be one for each action.'
      )
    return result

  def _in_order_of_actions(self, layout: layout_lib.Layout) -> tuple[str, ...]:
    """Returns columns of target probabilities in the order of actions."""
    names = layout.target_probabilities
    if layout.target_labels is None:
      return names
    by_label = dict(zip(layout.target_labels, names, strict=True))
    if set(by_label) != set(self.actions.labels):
      raise ValueError(
        f'The actions of {self._file} are '
        f'{", ".join(self.actions.labels[:20])}, but there are target '
        f'probabilities of {", ".join(by_label)}. There must be one for '
        'each action, with a name that ends in the action.'
      )
    return tuple(by_label[label] for label in self.actions.labels)

  def _one_number(
    self, name: str, chunk: source.Chunk, **options: Any
  ) -> np.ndarray:
    """Reads a column of one entry a row as `_numbers` does."""
    return labels.one_entry(
      self._numbers(name, chunk, **options), place=f'{self._file}: {name}'
    )

  def _numbers(
    self,
    name: str,
    chunk: source.Chunk,
    *,
    otherwise: float = 0.0,
    unread: np.ndarray | None = None,
    hint: str = '',
  ) -> np.ndarray:
    """Reads a column as float64, nan where a cell is empty.

    Args:
      name: of the column.
      chunk: its rows.
      otherwise: stands for a cell that cannot be read.
      unread: is set where that is so, bool [N].
      hint: what to do if no cell at all is a number.
    """
    values = np.asarray(chunk.columns[name])
    if values.dtype.kind in 'fiub':
      return values.astype(np.float64, copy=False)
    if values.dtype.kind not in 'OUS' or values.ndim != 1:
      raise ValueError(
        f'{self._file}: {name} holds values of type {values.dtype}, but '
        f'numbers are wanted.{_OF_TIME.get(values.dtype.kind, "")}'
      )
    numbers = [_number(cell) for cell in values]
    places = [place for place, each in enumerate(numbers) if each is None]
    if places:
      self._complain(chunk.rows)(
        f'{name} is not a number',
        f'{name} is {_shown(values[places[0]])}, which is not a number'
        + (
          hint
          if all(each is None or np.isnan(each) for each in numbers)
          else ''
        ),
        np.array(places),
      )
      if unread is not None:
        unread[places] = True
    return np.array(
      [otherwise if each is None else each for each in numbers], np.float64
    )

  def _flags(self, name: str, chunk: source.Chunk) -> np.ndarray:
    """Reads a column as 0, 1 or decoded_rows.ABSENT."""
    codes, names = labels.read(
      chunk.columns[name], place=f'{self._file}: {name}'
    )
    wrong = [text.lower() not in _TRUE | _FALSE for text in names]
    places = np.flatnonzero(np.array([*wrong, False])[codes])
    if places.size:
      wanted = 'but it should be true or false, or 1 or 0'
      self._complain(chunk.rows)(
        f'{name} is something else, {wanted}',
        f'{name} is {_shown(names[codes[places[0]]])}, {wanted}',
        places,
      )
    values = [text.lower() in _TRUE for text in names]
    return np.array([*values, decoded_rows.ABSENT], np.int8)[codes]


def _number(cell: Any) -> float | None:
  """Returns a cell as a number, nan if it is empty, None if it is none."""
  if cell is None or cell == '':
    return np.nan
  try:
    return float(cell)
  except (TypeError, ValueError):
    return None
  except OverflowError:
    return np.inf


def _shown(cell: Any) -> str:
  """Returns a cell as a message has it."""
  text = repr(cell)
  return text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'


def _float32(values: np.ndarray) -> np.ndarray:
  """Rounds to float32; what is too large becomes infinite."""
  with np.errstate(over='ignore'):
    return values.astype(np.float32)
