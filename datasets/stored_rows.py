"""The rows of a dataset's directory, read in parts and never held as a whole.

rows = stored_rows.StoredRows(path, metadata)
for block in rows.blocks(1, 50_001): ...
"""

from collections.abc import Iterator, Sequence
import pathlib

import numpy as np

from dfiv_ope.datasets import array_files, assembly, reading, store
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import source


class StoredRows:
  """Files of arrays that agree with their record; rows are numbered from 1.

  They are mapped for each reading anew: what stays mapped counts as memory.
  """

  def __init__(self, path: pathlib.Path, metadata: spec_lib.Metadata):
    """Compares all files with the record.

    Args:
      path: directory of the dataset.
      metadata: its record.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: a file is not what the record says.
    """
    self._path, self._metadata = path, metadata
    reading.verify_files(path, metadata)
    self._columns = store.array_columns(
      metadata.num_observations,
      len(metadata.annotations),
      metadata.action_entries,
    )
    lengths = {len(self._mapped(name)) for name in self._columns}
    reading.require_alike(path, lengths)
    (self.count,) = lengths

  def take(self, name: str, rows: slice | Sequence[int]) -> np.ndarray:
    """Returns rows of a column, numbered from 0."""
    return np.array(self._mapped(name)[rows])

  def blocks(
    self, first: int = 1, end: int | None = None
  ) -> Iterator[assembly.Block]:
    """Yields whole episodes.

    Args:
      first: number of a row that an episode starts with.
      end: number of the row after the last; None for all.
    """
    start, stop = first - 1, self.count if end is None else end - 1
    while start < stop:
      after = self._episode_end(min(start + source.CHUNK_ROWS, stop) - 1, stop)
      place = slice(start, after)
      columns = {name: self.take(name, place) for name in self._columns}
      annotations = columns.pop(store.ANNOTATIONS, None)
      yield assembly.Block(
        steps_lib.Steps(**columns),
        np.zeros((after - start, 0), np.float32)
        if annotations is None
        else annotations,
        start + 1,
      )
      start = after

  def verified(self) -> Iterator[assembly.Block]:
    """Yields all episodes, and compares them with the digest of the record.

    Raises:
      ValueError: they are others.
    """
    metadata, joined = self._metadata, store.Blocks()
    digest = steps_lib.Digest(metadata.categories, metadata.continuous)

    def take(blocks: Iterator[tuple[steps_lib.Steps, np.ndarray]]) -> None:
      for steps, annotations in blocks:
        digest.update(steps, annotations if metadata.annotations else None)

    for block in self.blocks():
      take(joined.add(block.steps, block.annotations))
      yield block
    take(joined.rest())
    reading.require_digest(self._path, digest.hexdigest(), metadata)

  def transitions(self, wanted: Sequence[int]) -> list[int]:
    """Returns the rows of transitions, numbered from 0, by their numbers.

    Args:
      wanted: numbers of transitions from 0, rising.
    """
    numbers, found, before = np.asarray(wanted), [], 0
    for start in range(0, self.count, source.CHUNK_ROWS):
      last = self.take('is_last', slice(start, start + source.CHUNK_ROWS))
      moves = start + np.flatnonzero(~last)
      after = before + len(moves)
      here = numbers[(numbers >= before) & (numbers < after)]
      found += moves[here - before].tolist()
      before = after
    return found

  def _episode_end(self, row: int, stop: int) -> int:
    """Returns the row after the first last row from one on, both from 0."""
    while row < stop:
      last = np.flatnonzero(
        self.take('is_last', slice(row, min(row + source.CHUNK_ROWS, stop)))
      )
      if len(last):
        return row + int(last[0]) + 1
      row += source.CHUNK_ROWS
    return stop

  def _mapped(self, name: str) -> np.ndarray:
    column = self._columns[name]
    return array_files.mapped(
      store.array_path(self._path, name), dtype=column.dtype, shape=column.shape
    )
