"""Logs as folders of Parquet files, which follow each other by name."""

from collections.abc import Iterator, Sequence
import itertools
import pathlib
from typing import Any

import numpy as np

from dfiv_ope.datasets.formats import folders, parquet_file, source


class ParquetFolder(source.Source):
  """Parquet files as one log; their rows are numbered from 1, through all.

  One file is a folder of one. Files are opened one after the other.

  Attributes:
    counts: rows of each file.
  """

  def __init__(
    self,
    path: pathlib.Path,
    *,
    between: tuple[int, int] | None = None,
    counts: Sequence[int] | None = None,
  ):
    """Reads the schema of the first file, and how many rows all of them have.

    Args:
      path: a folder, or one file.
      between: numbers of the first row to be read and of the one after the
        last; None for all.
      counts: rows of each file, if they are known; None to look.
    """
    self._paths = folders.files(path, 'parquet') if path.is_dir() else [path]
    self._between = between
    first = parquet_file.ParquetFile(self._paths[0])
    self.columns, self.actions = first.columns, first.actions
    self.categories, self.continuous = first.categories, first.continuous
    self._kinds = first.kinds
    self.counts = tuple(
      counts
      or (
        first.rows,
        *(parquet_file.ParquetFile(each).rows for each in self._paths[1:]),
      )
    )
    self._marks = [0, *itertools.accumulate(self.counts)]

  @property
  def rows(self) -> int:
    """Rows of all files."""
    return self._marks[-1]

  def place(self, row: int) -> tuple[str, int]:
    """Returns the file that has a row, and its number there, from 1."""
    index = int(np.searchsorted(self._marks, row, side='left')) - 1
    return self._paths[index].name, row - self._marks[index]

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    first, end = self._between or (1, self.rows + 1)
    for path, before, after in zip(
      self._paths, self._marks, self._marks[1:], strict=False
    ):
      if after == before or after < first or before + 1 >= end:
        continue
      file = parquet_file.ParquetFile(path)
      self._check(file, path.name, columns)
      wanted = max(first - before, 1), min(end, after + 1) - before
      for chunk in file.chunks(columns, text=text, between=wanted):
        last = before + int(chunk.rows[-1])
        yield source.Chunk(
          chunk.columns,
          chunk.rows + before,
          (last + 1 - first) / max(end - first, 1),
        )

  def _check(
    self, file: parquet_file.ParquetFile, name: str, columns: Sequence[str]
  ) -> None:
    """Refuses a file whose columns are not those of the first."""
    first = self._paths[0].name
    for column in columns:
      kind: Any = file.kinds.get(column)
      if kind is None:
        raise source.no_column(name, column, first)
      if kind != self._kinds[column]:
        raise ValueError(
          f'{name}, row 1: {column} holds {kind}, but {self._kinds[column]} '
          f'in {first}. All files of a log need the same types.'
        )
