"""Writes a dataset into a directory; `reading` reads it back.

    DIR/
      metadata.json    the record; a directory without it is not a dataset
      arrays/          the rows, a file of numpy for each column
      checkpoint/log/  the same rows as a Reverb checkpoint, for `serve`
      policy/          the target policy, a SavedModel, if there is one

The checkpoint has two tables: `transitions` hands out blocks of whole episodes
at random, for streams; `initial_observations` holds the first observation of
every episode in one item. Blocks of a thousand steps are stored because an
item for each transition would cost fifty times as much.
"""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import hashlib
import pathlib
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfiv_ope import actions, limits, types
from dfiv_ope.datasets import array_files
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.policies import episode_returns, rollout

if TYPE_CHECKING:
  from dfiv_ope.datasets import checkpoint as checkpoint_lib

TRANSITIONS = 'transitions'
INITIAL_OBSERVATIONS = 'initial_observations'
ANNOTATIONS = 'annotations'
ARRAYS = 'arrays'
CHECKPOINT = pathlib.PurePath('checkpoint')
LOG = 'log'
POLICY = 'policy'
_PARTS = (ARRAYS, CHECKPOINT, POLICY)
_BLOCK_ROWS = 1_000


class Contents(NamedTuple):
  """What a writer has written.

  Attributes:
    transitions: number of transitions.
    episodes: number of episodes.
    truncated: number of episodes that did not terminate.
    digest: of the content.
    returns: average discounted return of the episodes.
  """

  transitions: int
  episodes: int
  truncated: int
  digest: str
  returns: episode_returns.MonteCarlo


class Writer:
  """Writes episodes into a directory; complete only after `finish`."""

  def __init__(
    self,
    path: pathlib.Path,
    *,
    num_observations: int,
    discount: float,
    num_annotations: int = 0,
    categories: Mapping[int, Sequence[object]] | None = None,
    continuous: actions.Continuous | None = None,
  ):
    """Begins the files.

    Args:
      path: directory of the dataset to be; must not hold one.
      num_observations: entries of an observation.
      discount: of the average return.
      num_annotations: further columns of the log.
      categories: labels of the categorical columns, for the digest.
      continuous: what the actions are if they are vectors.

    Raises:
      OSError: they could not be written.
    """
    self._discount = discount
    self._digest = steps_lib.Digest(categories, continuous)
    self._blocks = Blocks()
    self._num_annotations = num_annotations
    self._initial: list[np.ndarray] = []
    self._returns: list[float] = []
    self._lengths: list[int] = []
    self._truncated, self._largest = 0, 0.0
    action_entries = continuous.size if continuous else 0
    (path / ARRAYS).mkdir(parents=True)
    self._arrays = {
      name: array_files.Appender(
        array_path(path, name), dtype=column.dtype, shape=column.shape
      )
      for name, column in array_columns(
        num_observations, num_annotations, action_entries
      ).items()
    }
    from dfiv_ope.datasets import checkpoint as checkpoint_lib

    self._checkpoint = checkpoint_lib.Writer(
      path / CHECKPOINT / LOG, tables(num_observations, action_entries)
    )

  def append(self, episode: rollout.Episode) -> None:
    """Adds a whole episode."""
    self.extend(steps_lib.from_episode(episode))

  def extend(
    self, rows: steps_lib.Steps, annotations: np.ndarray | None = None
  ) -> None:
    """Adds whole episodes; the same blocks come of it as if one by one.

    Args:
      rows: the rows of one or more whole episodes.
      annotations: their further columns, float32 [N, K].

    Raises:
      OSError: the files could not be written.
    """
    count = len(rows.action)
    if annotations is None:
      annotations = np.zeros((count, 0), np.float32)
    lengths = np.diff(np.flatnonzero(rows.is_last), prepend=-1) - 1  # [E]
    self._initial.append(rows.observation[rows.is_first])
    self._returns += discounted_returns(rows, self._discount).tolist()
    self._lengths += lengths.tolist()
    self._truncated += int(np.sum(rows.is_last & ~rows.is_terminal))
    self._largest = max(self._largest, float(np.max(rows.discount)))
    for block in self._blocks.add(rows, annotations):
      self._write(*block)

  def finish(self) -> Contents:
    """Completes all files.

    Raises:
      OSError: the files could not be written.
      ValueError: there are no episodes, or not those of the discount.
    """
    if not self._returns:
      raise ValueError('A dataset needs at least one episode.')
    limits.finite_value(
      self._discount, truncated=self._truncated, largest=self._largest
    )
    for block in self._blocks.rest():
      self._write(*block)
    for array in self._arrays.values():
      array.close()
    self._checkpoint.insert(
      [INITIAL_OBSERVATIONS], np.concatenate(self._initial)
    )
    self._checkpoint.finish()
    return Contents(
      transitions=sum(self._lengths),
      episodes=len(self._returns),
      truncated=self._truncated,
      digest=self._digest.hexdigest(),
      returns=episode_returns.summarise(self._returns, self._lengths),
    )

  def close(self) -> None:
    """Closes the files of a dataset that will not be finished."""
    for close in (
      *(each.close for each in self._arrays.values()),
      self._checkpoint.close,
    ):
      with contextlib.suppress(OSError):  # They are of no use any more.
        close()

  def _write(self, block: steps_lib.Steps, annotations: np.ndarray) -> None:
    columns = block._asdict()
    if self._num_annotations:
      columns[ANNOTATIONS] = annotations
    for name, array in columns.items():
      self._arrays[name].append(array)
    self._digest.update(block, columns.get(ANNOTATIONS))
    self._checkpoint.insert([TRANSITIONS], block)


class Blocks:
  """Joins whole episodes to blocks of a thousand rows or more.

  The same blocks come of it however many episodes are added at a time.
  """

  def __init__(self) -> None:
    """Begins with none."""
    self._pending: list[tuple[steps_lib.Steps, np.ndarray]] = []
    self._rows = 0

  def add(
    self, rows: steps_lib.Steps, annotations: np.ndarray
  ) -> Iterator[tuple[steps_lib.Steps, np.ndarray]]:
    """Takes in whole episodes; yields the blocks that they fill.

    Args:
      rows: of one or more whole episodes.
      annotations: their further columns, [N, K].
    """
    for part in cut(rows.is_last, before=self._rows):
      self._pending.append(
        (steps_lib.Steps(*(x[part] for x in rows)), annotations[part])
      )
      self._rows += part.stop - part.start
      if self._rows >= _BLOCK_ROWS:
        yield from self.rest()

  def rest(self) -> Iterator[tuple[steps_lib.Steps, np.ndarray]]:
    """Yields what is left, if anything."""
    if self._pending:
      steps, annotations = zip(*self._pending, strict=True)
      self._pending, self._rows = [], 0
      yield steps_lib.concatenate(steps), np.concatenate(annotations)


def cut(is_last: np.ndarray, *, before: int = 0) -> Iterator[slice]:
  """Yields the places of blocks: whole episodes, a thousand rows or more.

  Args:
    is_last: whether a row is the last of its episode, [N].
    before: rows that the first block has already.
  """
  ends = np.flatnonzero(is_last) + 1  # [E]
  if not is_last[-1]:  # A damaged file; its rows are cut all the same.
    ends = np.append(ends, len(is_last))
  start = 0
  while start < len(is_last):
    # A block ends with the first episode that fills it.
    index = int(np.searchsorted(ends, start + _BLOCK_ROWS - before))
    end = int(ends[min(index, len(ends) - 1)])
    yield slice(start, end)
    start, before = end, 0


def discounted_returns(rows: steps_lib.Steps, discount: float) -> np.ndarray:
  """Returns the sum of each episode's discounted rewards, [E]."""
  starts = np.flatnonzero(rows.is_first)
  # A last row earns nothing, whatever it counts.
  weights = episode_returns.weights_of_all(
    discount,
    np.where(np.append(rows.is_last[1:], True), 1.0, rows.discount),
    starts,
  )
  return np.add.reduceat(weights * rows.reward, starts)


def clear(path: pathlib.Path) -> None:
  """Removes what an unfinished job left in a dataset's directory."""
  for part in _PARTS:
    shutil.rmtree(path / part, ignore_errors=True)


def file_names(path: pathlib.Path) -> list[str]:
  """Returns the names of all data files below a dataset, relative to it."""
  return sorted(
    file.relative_to(path).as_posix()
    for part in _PARTS
    for file in (path / part).rglob('*')
    if file.is_symlink() or not file.is_dir()
  )


def file_record(path: pathlib.Path) -> dict[str, dict[str, Any]]:
  """Returns size and SHA-256 of every data file below a dataset."""
  return {
    name: {'bytes': (path / name).stat().st_size, 'sha256': sha256(path / name)}
    for name in file_names(path)
  }


def save_policy(
  policy: types.Policy | types.ContinuousPolicy,
  path: pathlib.Path,
  *,
  num_observations: int,
  continuous: actions.Continuous | None = None,
) -> None:
  """Writes the target policy into a dataset's directory."""
  from dfiv_ope.policies import acting

  acting.save(
    policy, path / POLICY, num_observations=num_observations, actions=continuous
  )


def array_path(path: pathlib.Path, name: str) -> pathlib.Path:
  """Returns the file of a column of a dataset."""
  return path / ARRAYS / f'{name}{array_files.SUFFIX}'


def array_columns(
  num_observations: int, num_annotations: int = 0, action_entries: int = 0
) -> dict[str, steps_lib.Column]:
  """Returns what the files of arrays hold, by column."""
  result = steps_lib.columns(num_observations, action_entries)
  if num_annotations:
    result[ANNOTATIONS] = steps_lib.Column(
      np.dtype(np.float32), (num_annotations,)
    )
  return result


def tables(
  num_observations: int, action_entries: int = 0
) -> list['checkpoint_lib.Table']:
  """Returns the tables of a dataset."""
  from dfiv_ope.datasets import checkpoint as checkpoint_lib

  block = steps_lib.signature(num_observations, action_entries)
  return [
    checkpoint_lib.Table(TRANSITIONS, block, at_random=True),
    checkpoint_lib.Table(INITIAL_OBSERVATIONS, block.observation),
  ]


def sha256(file: pathlib.Path) -> str:
  """Returns the SHA-256 of a file, in hexadecimal."""
  with file.open('rb') as stream:
    return hashlib.file_digest(stream, 'sha256').hexdigest()
