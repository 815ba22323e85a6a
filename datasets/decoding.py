"""Reads the columns of a chunk as what they mean, in arrays of fixed types."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope.datasets import categories as categories_lib
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import labels
from dfiv_ope.datasets.formats import source

ABSENT = -1
_TRUE = frozenset({'1', 'true', 't', 'yes'})
_FALSE = frozenset({'0', 'false', 'f', 'no'})


class Rows(NamedTuple):
  """Rows of a log.

  Attributes:
    row: their numbers in the file, int64 [N].
    episode: running number of the episode, int64 [N], never falling.
    step: float64 [N], or None where the log has no such column.
    observation: float64 [N, D].
    action: int32 [N]; labels.EMPTY and labels.UNKNOWN where there is none.
    reward: float64 [N]; nan where it is empty.
    terminated: int8 [N], 0, 1 or ABSENT where the cell is empty.
    truncated: as `terminated`.
    annotations: float32 [N, K].
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
      for parts in zip(*rows, strict=True))
  return Rows(*columns)


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
      self, layout: columns_lib.Layout, actions: labels.Actions, *, file: str,
      categories: Mapping[str, categories_lib.Labels] | None = None):
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
    self._spellings = {
        name: labels.Spellings(file) for name in (
            layout.episode, layout.action)}
    targets = range(
        len(actions.labels) if layout.target_probabilities else 0)
    self.annotations = (
        *([columns_lib.BEHAVIOUR_PROBABILITY] if self.has_behaviour else []),
        *(f'{columns_lib.TARGET_PROBABILITY}{index}' for index in targets))
    self._targets = self._in_order_of_actions(layout)

  @property
  def has_behaviour(self) -> bool:
    """Whether the first annotation is the behaviour's probability."""
    return self.layout.behaviour_probability is not None

  def episode_name(self, number: int) -> str:
    """Returns what the file calls an episode."""
    return self._episodes[number]

  def decode(self, chunk: source.Chunk) -> tuple[Rows, np.ndarray, list[int]]:
    """Decodes a chunk.

    Args:
      chunk: the next one of the file.

    Returns:
      The rows that have an episode, the numbers of those that have none, and
      the episodes that were there before and came back.

    Raises:
      ValueError: a cell is not of the kind of its column.
    """
    layout, place = self.layout, chunk.rows
    codes, names = labels.read(
        chunk.columns[layout.episode], rows=place,
        place=f'{self._file}: {layout.episode}',
        spellings=self._spellings[layout.episode])
    known = codes != labels.EMPTY
    nameless = place[~known]
    if nameless.size:
      chunk = source.Chunk(
          {name: x[known] for name, x in chunk.columns.items()}, place[known],
          chunk.share)
      codes, place = codes[known], chunk.rows
    episode, returned = self._number(codes, names)

    def flag(name: str | None) -> np.ndarray:
      if name is None:
        return np.zeros(len(place), np.int8)
      return self._flags(name, chunk)

    return Rows(
        row=place, episode=episode,
        step=None if layout.step is None else self._one_number(
            layout.step, chunk),
        observation=self._observation(chunk),
        action=self.actions.encode(
            chunk.columns[layout.action], rows=place,
            place=f'{self._file}: {layout.action}',
            spellings=self._spellings[layout.action]),
        reward=self._one_number(layout.reward, chunk),
        terminated=flag(layout.terminated), truncated=flag(layout.truncated),
        annotations=self._annotations(chunk)), nameless, returned

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

  def _observation(self, chunk: source.Chunk) -> np.ndarray:
    parts, names = [], []
    for name in self.layout.observations:
      if name not in self._categories:
        chunk = chunk._replace(columns={
            **chunk.columns, name: self._numbers(name, chunk)})
      for entry, values in categories_lib.entries(name, chunk.columns[name]):
        names.append(entry)
        parts.append(
            categories_lib.encode(
                values, self._categories[entry], place=f'{self._file}: {entry}')
            if entry in self._categories else values)
    if self.observation_names and len(names) != len(self.observation_names):
      raise ValueError(
          f'{self._file}, row {chunk.rows[0]}: the observation has '
          f'{len(names)} entries, but it had {len(self.observation_names)} '
          'before.')
    self.observation_names = names
    return np.stack(parts, axis=1)

  def _annotations(self, chunk: source.Chunk) -> np.ndarray:
    names = self._targets
    if self.layout.behaviour_probability is not None:
      names = (self.layout.behaviour_probability, *names)
    parts = [
        _float32(self._numbers(name, chunk)).reshape(len(chunk.rows), -1)
        for name in names if len(chunk.rows)]
    empty = np.zeros((len(chunk.rows), 0), np.float32)
    result = np.concatenate([empty, *parts], axis=1)
    if len(chunk.rows) and result.shape[1] != len(self.annotations):
      raise ValueError(
          f'{self._file} has {len(self.actions.labels)} actions '
          f'({", ".join(self.actions.labels[:20])}) and not as many target '
          'probabilities. There must be one for each action.')
    return result

  def _in_order_of_actions(
      self, layout: columns_lib.Layout) -> tuple[str, ...]:
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
          'each action, with a name that ends in the action.')
    return tuple(by_label[label] for label in self.actions.labels)

  def _one_number(self, name: str, chunk: source.Chunk) -> np.ndarray:
    """Reads a column of one entry a row as `_numbers` does."""
    return labels.one_entry(
        self._numbers(name, chunk), place=f'{self._file}: {name}')

  def _numbers(self, name: str, chunk: source.Chunk) -> np.ndarray:
    """Reads a column as float64, nan where a cell is empty."""
    values = np.asarray(chunk.columns[name])
    if values.dtype.kind in 'fiub':
      return values.astype(np.float64, copy=False)
    if values.dtype.kind in 'OUS' and values.ndim == 1:
      return np.array([
          self._number_of(cell, name, row)
          for cell, row in zip(values, chunk.rows, strict=True)], np.float64)
    raise ValueError(
        f'{self._file}: {name} holds values of type {values.dtype}, but '
        'numbers are wanted.')

  def _number_of(self, cell: Any, name: str, row: int) -> float:
    if cell is None or cell == '':
      return np.nan
    try:
      return float(cell)
    except (TypeError, ValueError) as error:
      raise ValueError(
          f'{self._file}, row {row}: {name} is {cell!r}, which is not a '
          'number.') from error
    except OverflowError:
      return np.inf

  def _flags(self, name: str, chunk: source.Chunk) -> np.ndarray:
    """Reads a column as 0, 1 or ABSENT."""
    codes, names = labels.read(
        chunk.columns[name], place=f'{self._file}: {name}')
    values = []
    for index, text in enumerate(names):
      if text.lower() not in _TRUE | _FALSE:
        row = chunk.rows[np.flatnonzero(codes == index)[0]]
        raise ValueError(
            f'{self._file}, row {row}: {name} is {text!r}, but it should be '
            'true or false, or 1 or 0.')
      values.append(text.lower() in _TRUE)
    return np.array([*values, ABSENT], np.int8)[codes]


def _float32(values: np.ndarray) -> np.ndarray:
  """Rounds to float32; what is too large becomes infinite."""
  with np.errstate(over='ignore'):
    return values.astype(np.float32)
