"""Logs as comma-separated values, plain or compressed with gzip."""

from collections.abc import Iterator, Sequence
import contextlib
import pathlib
import re
import warnings

import numpy as np
import pandas as pd

from dfiv_ope.datasets import csv_text
from dfiv_ope.datasets.formats import source

# What stands for an empty cell; 'None' or 'null' may well be an action.
EMPTY = ['', 'NA', 'nan', 'NaN']


class CSVFile(source.Source):
  """A CSV file; its rows are numbered as in an editor, the header is row 1."""

  def __init__(self, path: pathlib.Path):
    """Reads the header."""
    self._path = path
    self.actions = None
    self.columns = csv_text.header(path)

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    # pandas notices rows with too many cells only if it reads all columns.
    several = len(columns) > 1
    size = max(self._path.stat().st_size, 1)
    with (
      csv_text.opened(self._path) as (stream, position),
      _parsing(self._path.name),
    ):
      frames = pd.read_csv(
        stream,
        chunksize=source.CHUNK_ROWS,
        encoding='utf-8',
        usecols=None if several else list(columns),
        index_col=False,
        dtype={name: 'category' for name in text},
        low_memory=False,
        keep_default_na=False,
        na_values=EMPTY,
        skip_blank_lines=False,
        float_precision='round_trip',
      )
      first = 2
      for frame in frames:
        rows = np.arange(first, first + len(frame))
        first += len(frame)
        if several and frame.iloc[:, 0].hasnans:
          written = frame.notna().any(axis=1).to_numpy()
          frame, rows = frame[written], rows[written]
        yield source.Chunk(
          {name: _values(frame[name]) for name in columns},
          rows,
          min(position() / size, 1.0),
        )


@contextlib.contextmanager
def _parsing(name: str) -> Iterator[None]:
  """Makes a sentence of what pandas finds wrong with the cells of a file."""
  with warnings.catch_warnings():
    # It warns of rows that have more cells than the header.
    warnings.simplefilter('error', pd.errors.ParserWarning)
    try:
      yield
    except pd.errors.ParserWarning as error:
      raise ValueError(
        f'{name}: rows have more cells than the header has names.'
      ) from error
    except pd.errors.ParserError as error:
      words = str(error).strip().removeprefix('Error tokenizing data. ')
      words = re.sub(  # Its rows are numbered from 0.
        r'(?<=at row )\d+', lambda row: str(int(row[0]) + 1), words
      )
      raise ValueError(
        f'{name} is not CSV: {words.removeprefix("C error: ")}. Every row '
        'needs as many cells as the header, and every quote its end.'
      ) from error


def _values(column: pd.Series) -> source.Raw:
  if isinstance(column.dtype, pd.CategoricalDtype):
    return column.array
  return column.to_numpy()
