"""Logs of plain transitions (s, a, r, s', done): rows that may not follow.

Where the next observation of a row is the observation of the row after it, the
two chain; pieces that chain stand for episodes. Each ends with its last next
observation, terminated or truncated there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dfiv_ope.datasets import log_arrays
from dfiv_ope.datasets.formats import source

# What the columns of the next observation are called, before the same name.
NEXT = 'next_'
_TRUE, _FALSE = ('1', '1.0', 'true'), ('0', '0.0', 'false')


def piece_ends(
  observations: Sequence[np.ndarray],
  following: Sequence[np.ndarray],
  terminated: np.ndarray,
) -> np.ndarray:
  """Returns whether a piece of rows that chain ends after each row, [N].

  Args:
    observations: columns of s, [N, ...] each.
    following: the same of s'.
    terminated: whether the row ended its episode, [N].
  """
  ends = np.append(np.asarray(terminated, bool)[:-1], True)
  for now, later in zip(observations, following, strict=True):
    differs = np.asarray(later)[:-1] != np.asarray(now)[1:]
    ends[:-1] |= differs.reshape(len(differs), -1).any(axis=1)
  return ends


def as_episodes(given: Mapping[str, Any]) -> dict[str, Any]:
  """Returns truncations and episode ids of arrays of transitions, [N] each.

  Args:
    given: observations, next_observations, actions and terminals, by the names
      of `source`.

  Raises:
    ValueError: they do not fit each other.
  """
  arrays = log_arrays.gather(given)
  now, later = arrays[source.OBSERVATION], arrays['next_observation']
  if now.shape != later.shape:
    raise ValueError(
      f'next_observations have shape {later.shape}, observations '
      f'{now.shape}. They must be the same.'
    )
  terminated = log_arrays.ends(arrays)
  ends = piece_ends([now], [later], terminated)
  return {
    'truncations': ends & ~terminated,
    'episode_ids': np.cumsum(np.append(False, ends[:-1])),
  }


class Transitions(source.Source):
  """Adds to a log of transitions which rows chain, and where pieces end."""

  def __init__(
    self,
    log: source.Source,
    *,
    terminated: str,
    file: str,
    observations: Sequence[str],
  ):
    """Takes a log whose rows have next observations.

    Args:
      log: has for each observation x the column next_x.
      terminated: says whether a row ended its episode.
      file: what the log is called.
      observations: patterns of the observations.

    Raises:
      ValueError: a column is missing, or there are episodes.
    """
    wanted = [
      name
      for name in log.columns
      if any(
        name == each or each.endswith('*') and name.startswith(each[:-1])
        for each in observations
      )
    ]
    missing = [name for name in wanted if NEXT + name not in log.columns]
    if missing or not wanted:
      first = (missing or list(observations))[0]
      raise ValueError(
        f'{file} has no column {NEXT + first!r}. A log of transitions '
        'has the next observation in columns of the same names with '
        f'{NEXT} before them.'
      )
    if terminated not in log.columns:
      raise ValueError(
        f'{file} has no column {terminated!r}. A log of transitions says '
        'whether each ended its episode; name the column with --map '
        'terminated=COLUMN.'
      )
    if source.EPISODE in log.columns:
      raise ValueError(
        f'{file} has the column {source.EPISODE!r}, so its rows belong to '
        'episodes. Leave out --transitions: intervals are better with them.'
      )
    self._log, self._observations, self._terminated = log, wanted, terminated
    self._file = file
    self._last: np.ndarray | None = None
    hidden = {source.TRUNCATED, *(NEXT + name for name in wanted)}
    self.columns = [
      *(name for name in log.columns if name not in hidden),
      source.EPISODE,
      source.TRUNCATED,
    ]
    self.actions, self.categories = log.actions, log.categories
    self.continuous = log.continuous

  def place(self, row: int) -> tuple[str, int]:
    return self._log.place(row)

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    added = (source.EPISODE, source.TRUNCATED)
    own = [name for name in columns if name not in added]
    kept = [name for name in text if name not in added]
    later = [NEXT + name for name in own if name in self._observations]
    found, rows = self._read(
      [*own, *later], [*kept, *(NEXT + name for name in kept)]
    )
    last, flags = self._ends()
    places = np.flatnonzero(last) + 1
    whole: dict[str, Any] = {}
    for name in own:
      if name in self._observations:
        final = found[NEXT + name][last]
        values = found[name]
      else:
        values = source.with_empty_end(found[name])
        values, final = values[:-1], np.repeat(values[-1:], len(places), axis=0)
      whole[name] = np.insert(values, places, final, axis=0)
    pieces = np.cumsum(np.append(False, last[:-1]))
    whole[source.EPISODE] = np.insert(pieces, places, pieces[last])
    cut = (last & ~flags).astype(float)
    whole[source.TRUNCATED] = np.insert(cut, places, np.nan)
    numbers = np.insert(rows, places, rows[last])
    for start in range(0, len(numbers), source.CHUNK_ROWS):
      part = slice(start, start + source.CHUNK_ROWS)
      yield source.Chunk(
        {name: whole[name][part] for name in columns},
        numbers[part],
        min(1.0, part.stop / len(numbers)),
      )

  def _ends(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns where pieces end, and which rows terminated, [N]."""
    names = [*self._observations, *(NEXT + name for name in self._observations)]
    found, rows = self._read([*names, self._terminated], [self._terminated])
    flags = self._flags(found[self._terminated], rows)
    if self._last is None:
      self._last = piece_ends(
        [found[name] for name in self._observations],
        [found[NEXT + name] for name in self._observations],
        flags,
      )
    return self._last, flags

  def _flags(self, cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    texts = np.char.lower(np.char.strip(cells.astype(str)))
    known = np.isin(texts, (*_TRUE, *_FALSE))
    if not known.all():
      place = int(np.argmin(known))
      raise ValueError(
        f'Row {rows[place]} of {self._file} has {texts[place]!r} in '
        f'{self._terminated}, but 1 or 0, true or false is wanted.'
      )
    return np.isin(texts, _TRUE)

  def _read(
    self, columns: Sequence[str], text: Sequence[str]
  ) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Returns whole columns and the numbers of rows."""
    chunks = list(
      self._log.chunks(columns, text=[name for name in text if name in columns])
    )
    return (
      {
        name: np.concatenate(
          [np.asarray(chunk.columns[name]) for chunk in chunks]
        )
        for name in columns
      }
      if chunks
      else {name: np.zeros(0) for name in columns},
      np.concatenate([chunk.rows for chunk in chunks])
      if chunks
      else np.zeros(0, np.int64),
    )
