"""Writes a dataset into a directory; `reading` reads it back.

    DIR/
      metadata.json    the record; a directory without it is not a dataset
      checkpoint/log/  a Reverb checkpoint with three or four tables
      policy/          the target policy, a SavedModel, if there is one

The tables: `transitions` hands out blocks of whole episodes at random, for
streams; `log` hands out the same blocks once, in order; `initial_observations`
holds the first observation of every episode in one item; `annotations`, only
where a log has any, holds a block of further columns for each block of `log`.
Blocks of a thousand steps are stored because an item for each transition would
cost fifty times as much.
"""

from collections.abc import Iterable, Mapping, Sequence
import hashlib
import pathlib
import shutil
from typing import Any, NamedTuple

import numpy as np
import reverb
import tensorflow as tf

from dfiv_ope import policies, rollout, statistics, types
from dfiv_ope.datasets import steps as steps_lib

TRANSITIONS = 'transitions'
INITIAL_OBSERVATIONS = 'initial_observations'
LOG = 'log'
ANNOTATIONS = 'annotations'
CHECKPOINT = pathlib.PurePath('checkpoint')
POLICY = 'policy'
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
  returns: statistics.MonteCarlo


class Writer:
  """Writes episodes into a directory; complete only after `finish`."""

  def __init__(
      self, path: pathlib.Path, *, num_observations: int, discount: float,
      num_annotations: int = 0,
      categories: Mapping[int, Sequence[object]] | None = None):
    """Starts a Reverb server in this process.

    Args:
      path: directory of the dataset to be; must not hold a checkpoint.
      num_observations: entries of an observation.
      discount: of the average return.
      num_annotations: further columns of the log.
      categories: labels of the categorical columns, for the digest.
    """
    self._root = path / CHECKPOINT
    self._root.mkdir(parents=True)
    self._discount = discount
    self._digest = steps_lib.Digest(categories)
    self._pending: list[tuple[steps_lib.Steps, np.ndarray]] = []
    self._pending_rows = 0
    self._num_annotations = num_annotations
    self._initial: list[np.ndarray] = []
    self._returns: list[float] = []
    self._lengths: list[int] = []
    self._truncated = 0
    self._server = reverb.Server(
        tables(num_observations, num_annotations),
        checkpointer=reverb.checkpointers.DefaultCheckpointer(
            str(self._root)))
    self._client = self._server.localhost_client()

  def append(self, episode: rollout.Episode) -> None:
    """Adds a whole episode."""
    self.extend(steps_lib.from_episode(episode))

  def extend(
      self, rows: steps_lib.Steps, annotations: np.ndarray | None = None,
  ) -> None:
    """Adds whole episodes; the same blocks come of it as if one by one.

    Args:
      rows: the rows of one or more whole episodes.
      annotations: their further columns, float32 [N, K].
    """
    count = len(rows.action)
    if annotations is None:
      annotations = np.zeros((count, 0), np.float32)
    ends = np.flatnonzero(rows.is_last) + 1  # [E]
    lengths = np.diff(ends, prepend=0) - 1
    self._initial.append(rows.observation[rows.is_first])
    self._returns += discounted_returns(rows, self._discount).tolist()
    self._lengths += lengths.tolist()
    self._truncated += int(np.sum(rows.is_last & ~rows.is_terminal))
    start = 0
    while start < count:
      # A block ends with the first episode that fills it.
      index = int(np.searchsorted(
          ends, start + _BLOCK_ROWS - self._pending_rows))
      end = int(ends[min(index, len(ends) - 1)])
      self._pending.append((
          steps_lib.Steps(*(x[start:end] for x in rows)),
          annotations[start:end]))
      self._pending_rows += end - start
      if self._pending_rows >= _BLOCK_ROWS:
        self._flush()
      start = end

  def finish(self) -> Contents:
    """Writes the checkpoint and stops the server.

    Raises:
      OSError: the checkpoint could not be written.
    """
    if not self._returns:
      raise ValueError('A dataset needs at least one episode.')
    self._flush()
    self._insert([INITIAL_OBSERVATIONS], np.concatenate(self._initial))
    try:
      written = pathlib.Path(self._client.checkpoint())
    except RuntimeError as error:
      raise OSError(
          f'Reverb could not write its checkpoint to {self._root}: {error}. '
          'Is the disk full?') from error
    finally:
      self.close()
    # Reverb's own name is a time with colons, which not all disks take.
    written.rename(self._root / LOG)
    return Contents(
        transitions=sum(self._lengths), episodes=len(self._returns),
        truncated=self._truncated, digest=self._digest.hexdigest(),
        returns=statistics.summarise(self._returns, self._lengths))

  def close(self) -> None:
    """Stops the server."""
    self._server.stop()

  def _flush(self) -> None:
    if not self._pending:
      return
    block = steps_lib.concatenate(rows for rows, _ in self._pending)
    annotations = None
    if self._num_annotations:
      annotations = np.concatenate([each for _, each in self._pending])
      self._insert([ANNOTATIONS], annotations)
    self._digest.update(block, annotations)
    self._insert([TRANSITIONS, LOG], block)
    self._pending, self._pending_rows = [], 0

  def _insert(self, tables: Iterable[str], data: Any) -> None:
    # A writer wants rows of one shape, and blocks differ: one writer each.
    with self._client.trajectory_writer(num_keep_alive_refs=1) as writer:
      writer.append(data)
      item = tf.nest.map_structure(lambda x: x[-1], writer.history)
      for table in tables:
        writer.create_item(table, 1., item)


def discounted_returns(
    rows: steps_lib.Steps, discount: float) -> np.ndarray:
  """Returns the sum of discount^t r_t of each episode, [E]."""
  starts = np.flatnonzero(rows.is_first)
  lengths = np.diff(starts, append=len(rows.action))
  time = np.arange(len(rows.action)) - np.repeat(starts, lengths)
  return np.add.reduceat(discount ** time * rows.reward, starts)


def clear(path: pathlib.Path) -> None:
  """Removes what an unfinished job left in a dataset's directory."""
  for part in (CHECKPOINT, POLICY):
    shutil.rmtree(path / part, ignore_errors=True)


def file_record(path: pathlib.Path) -> dict[str, dict[str, Any]]:
  """Returns size and SHA-256 of every data file below a dataset."""
  files = sorted(
      file for part in (CHECKPOINT, POLICY)
      for file in (path / part).rglob('*') if file.is_file())
  return {
      file.relative_to(path).as_posix(): {
          'bytes': file.stat().st_size, 'sha256': sha256(file)}
      for file in files}


def save_policy(
    policy: types.Policy, path: pathlib.Path, *, num_observations: int
) -> None:
  """Writes the target policy into a dataset's directory."""
  policies.save(policy, path / POLICY, num_observations=num_observations)


def tables(
    num_observations: int, num_annotations: int = 0) -> list[reverb.Table]:
  """Returns the empty tables of a dataset."""
  def table(
      name: str, sampler: Any, times: int, signature: Any
  ) -> reverb.Table:
    return reverb.Table(
        name, sampler=sampler, remover=reverb.selectors.Fifo(),
        max_size=2**31 - 1, max_times_sampled=times, signature=signature,
        rate_limiter=reverb.rate_limiters.MinSize(1))

  block = steps_lib.signature(num_observations)
  fifo, uniform = reverb.selectors.Fifo(), reverb.selectors.Uniform()
  result = [
      table(TRANSITIONS, uniform, 0, block),
      table(LOG, fifo, 1, block),
      table(INITIAL_OBSERVATIONS, fifo, 0,
            tf.TensorSpec([None, num_observations], tf.float64)),
  ]
  if num_annotations:
    result.append(table(
        ANNOTATIONS, fifo, 1,
        tf.TensorSpec([None, num_annotations], tf.float32)))
  return result


def sha256(file: pathlib.Path) -> str:
  """Returns the SHA-256 of a file, in hexadecimal."""
  with file.open('rb') as stream:
    return hashlib.file_digest(stream, 'sha256').hexdigest()
