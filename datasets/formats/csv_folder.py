"""Logs as folders of CSV files, which follow each other by name."""

from collections.abc import Iterator, Sequence
import pathlib

import numpy as np

from dfiv_ope.datasets import csv_text
from dfiv_ope.datasets.formats import csv_file, folders, source


class CSVFolder(source.Source):
  """CSV files as one log; one file is a folder of one.

  Rows are numbered through all files, headers among them.
  """

  def __init__(self, path: pathlib.Path):
    """Reads the header of the first file.

    Args:
      path: a folder, or one file.

    Raises:
      ValueError: the folder has no CSV file.
    """
    self._paths = folders.files(path, 'csv') if path.is_dir() else [path]
    if not self._paths:
      raise ValueError(
        f'{path} is a directory without CSV files. Name a file, or a folder '
        'of files whose names end in .csv or .csv.gz.'
      )
    self.columns = csv_file.CSVFile(self._paths[0]).columns
    self.actions = None
    # Rows before each file, as far as files have been read.
    self._marks = [0]

  def longer(self, rows: int) -> bool:
    """Returns whether there are more rows; reads no further than that."""
    for path in self._paths:
      rows -= csv_text.lines(path, most=rows + 2) - 1
      if rows < 0:
        return True
    return False

  def place(self, row: int) -> tuple[str, int]:
    if len(self._paths) == 1:
      return '', row
    index = int(np.searchsorted(self._marks, row, side='left')) - 1
    return self._paths[index].name, row - self._marks[index]

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    before, count = 0, len(self._paths)
    self._marks = [0]
    for index, path in enumerate(self._paths):
      file = csv_file.CSVFile(path)
      for column in columns:
        if column not in file.columns:
          raise source.no_column(path.name, column, self._paths[0].name)
      last = 1  # The header.
      for chunk in file.chunks(columns, text=text):
        last = int(chunk.rows[-1]) if len(chunk.rows) else last
        yield source.Chunk(
          chunk.columns, chunk.rows + before, (index + chunk.share) / count
        )
      before += last
      self._marks.append(before)
