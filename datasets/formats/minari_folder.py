"""Logs as datasets of Minari, in its HDF5 layout.

A group an episode: T actions, rewards, terminations and truncations, and
T + 1 observations and infos. Datasets of infos are columns by their own names.
"""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import json
import pathlib
import re
from typing import Any

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets.formats import source

MAIN_FILE = 'main_data.hdf5'
METADATA = 'metadata.json'
# Where an exported dataset keeps the labels of its actions.
ACTION_LABELS = 'action_labels'
# And those of its categorical observations.
CATEGORIES = 'categories'
# And what its actions are if they are vectors.
CONTINUOUS = 'continuous'
INFOS = 'infos'

# Our name of a column -> theirs.
THEIRS = {
  source.OBSERVATION: 'observations',
  source.ACTION: 'actions',
  source.REWARD: 'rewards',
  source.TERMINATED: 'terminations',
  source.TRUNCATED: 'truncations',
}


class MinariFolder(source.Source):
  """A Minari dataset; its rows are numbered through all episodes from 1."""

  def __init__(self, path: pathlib.Path):
    """Finds the episodes and their columns."""
    self._name = path.name
    self._file = _main_file(path)
    with self._open() as file:
      self._episodes = sorted(
        (name for name in file if re.fullmatch(r'episode_\d+', name)),
        key=lambda name: int(name.removeprefix('episode_')),
      )
      if not self._episodes:
        raise ValueError(f'{path.name} holds no episode.')
      first = file[self._episodes[0]]
      for theirs in THEIRS.values():
        if theirs not in first:
          raise ValueError(
            f'{path.name}: {first.name} has no {theirs}. Is it a dataset of '
            'Minari?'
          )
      self._places = dict(self._find(first))
    self.columns = [source.EPISODE, *self._places]
    self._labels, self.actions = _actions(self._file.with_name(METADATA))
    self.categories = _categories(self._file.with_name(METADATA))
    self.continuous = _continuous(self._file.with_name(METADATA))

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    wanted = [name for name in columns if name != source.EPISODE]
    with self._open() as file:
      yield from source.in_chunks(
        (self._read(file, name, wanted), (index + 1) / len(self._episodes))
        for index, name in enumerate(self._episodes)
      )

  def _find(self, episode: Any) -> Iterator[tuple[str, str]]:
    """Yields columns and where they are; nested ones joined by slashes."""
    import h5py

    for ours, theirs in {**THEIRS, INFOS: INFOS}.items():
      if theirs in episode and isinstance(episode[theirs], h5py.Group):
        prefix = '' if theirs == INFOS else f'{ours}/'
        places: list[str] = []
        episode[theirs].visit(places.append)
        for place in sorted(places):
          if isinstance(episode[theirs][place], h5py.Dataset):
            yield f'{prefix}{place}', f'{theirs}/{place}'
      elif theirs in episode:
        yield ours, theirs

  def _read(
    self, file: Any, name: str, columns: Sequence[str]
  ) -> Mapping[str, np.ndarray]:
    """Reads the columns of an episode, each with T + 1 rows."""
    episode = file[name]
    length = len(episode[THEIRS[source.REWARD]])
    result = {}
    for column in columns:
      values = episode[self._places[column]][()]
      if values.dtype == object:
        raise ValueError(
          f'{self._name}: {name}/{self._places[column]} holds images or '
          'text, but numbers are wanted.'
        )
      if column == source.ACTION:
        values = self._labelled(values, name)
      full = column.startswith(source.OBSERVATION)
      if len(values) == length and not full:
        values = source.with_empty_end(values)
      if len(values) != length + 1:
        raise ValueError(
          f'{self._name}: {name} has {length} rewards but {len(values)} '
          f'{self._places[column]}.'
        )
      result[column] = values
    return result

  def _labelled(self, actions: np.ndarray, episode: str) -> np.ndarray:
    """Gives actions their labels, if the dataset has any."""
    if actions.shape[1:] == (1,):
      actions = actions[:, 0]
    if self._labels is None:
      named = self.continuous.categories if self.continuous else {}
      if named and actions.ndim == 2:
        actions = actions.astype(object)
        for entry, labels in named.items():
          actions[:, entry] = self._names(
            labels, actions[:, entry].astype(np.int64), episode
          )
      return actions
    return self._names(self._labels, actions, episode)

  def _names(
    self, labels: Sequence[str], actions: np.ndarray, episode: str
  ) -> np.ndarray:
    """Returns the labels at some places."""
    try:
      return np.array(labels, object)[actions]
    except IndexError as error:
      raise ValueError(
        f'{self._name}: {episode} has an action outside 0..{len(labels) - 1}.'
      ) from error

  @contextlib.contextmanager
  def _open(self) -> Iterator[Any]:
    try:
      import h5py
    except ImportError as error:
      raise source.not_installed(error, 'Minari') from error
    try:
      with h5py.File(self._file, 'r') as file:
        yield file
    except (OSError, KeyError, RuntimeError) as error:
      raise ValueError(
        f'{self._name} is not a whole dataset of Minari: {error}.'
      ) from error


def _main_file(path: pathlib.Path) -> pathlib.Path:
  if path.is_file():
    return path
  for file in (path / MAIN_FILE, path / 'data' / MAIN_FILE):
    if file.is_file():
      return file
  raise ValueError(
    f'{path} holds no {MAIN_FILE}, so it is not a dataset of Minari in HDF5.'
  )


def _actions(
  metadata: pathlib.Path,
) -> tuple[list[str] | None, list[str] | None]:
  """Returns the labels of actions, and all that there are, if it is said."""
  try:
    record = json.loads(metadata.read_text(encoding='utf-8'))
    if ACTION_LABELS in record:
      labels = list(map(str, record[ACTION_LABELS]))
      return labels, labels
    space = json.loads(record['action_space'])
    if space['type'] == 'Discrete':
      first, count = int(space['start']), int(space['n'])
      if count > source.MOST_ACTIONS:
        return None, None
      return None, list(map(str, range(first, first + count)))
  except (OSError, ValueError, KeyError, TypeError, RecursionError):
    pass  # Then the actions are looked for in the rows.
  return None, None


def _categories(metadata: pathlib.Path) -> dict[str, list[Any]]:
  """Returns the labels of categorical observations, if an export says so."""
  try:
    return dict(json.loads(metadata.read_text(encoding='utf-8'))[CATEGORIES])
  except (OSError, ValueError, KeyError, TypeError):
    return {}


def _continuous(metadata: pathlib.Path) -> actions_lib.Continuous | None:
  """Returns what actions are that are vectors, None if they are none."""
  try:
    record = json.loads(metadata.read_text(encoding='utf-8'))
    if CONTINUOUS in record:
      return source.described(record[CONTINUOUS])
    space = json.loads(record['action_space'])
    if space['type'] != 'Box':
      return None
    low, high = (
      np.broadcast_to(
        np.asarray(space[name], np.float64), space['shape']
      ).reshape(-1)
      for name in ('low', 'high')
    )
    pairs = [
      (
        None if least == -np.inf else float(least),
        None if most == np.inf else float(most),
      )
      for least, most in zip(low, high, strict=True)
    ]
    return actions_lib.Continuous(
      low=tuple(least for least, _ in pairs),
      high=tuple(most for _, most in pairs),
      names=(source.ACTION,)
      if len(pairs) == 1
      else tuple(f'{source.ACTION}[{place}]' for place in range(len(pairs))),
    )
  except (OSError, ValueError, KeyError, TypeError, RecursionError):
    return None  # Then the rows tell.
