"""Logs as comma-separated values, plain or compressed with gzip."""

import codecs
from collections.abc import Iterator, Sequence
import contextlib
import csv
import gzip
import io
import pathlib
import re
from typing import IO, Any
import warnings
import zlib

import numpy as np
import pandas as pd

from dfiv_ope.datasets.formats import source

# What stands for an empty cell; 'None' or 'null' may well be an action.
EMPTY = ['', 'NA', 'nan', 'NaN']
_MOST_HEADER = 2**24
_MOST_BLANK = 2**20


class CSVFile(source.Source):
  """A CSV file; its rows are numbered as in an editor, the header is row 1."""

  def __init__(self, path: pathlib.Path):
    """Reads the header."""
    self._path = path
    self.actions = None
    with self._open() as (stream, _):
      text = io.TextIOWrapper(
          io.BufferedReader(stream), encoding='utf-8-sig', newline='')
      self.columns = next(csv.reader(_lines(text, path.name)), [])
    if not self.columns:
      raise ValueError(f'{path.name} is empty; its first row should name the '
                       'columns.')

  def chunks(
      self, columns: Sequence[str], *, text: Sequence[str] = (),
  ) -> Iterator[source.Chunk]:
    # pandas notices rows with too many cells only if it reads all columns.
    several = len(columns) > 1
    size = max(self._path.stat().st_size, 1)
    with self._open() as (stream, position):
      frames = pd.read_csv(
          stream, chunksize=source.CHUNK_ROWS, encoding='utf-8',
          usecols=None if several else list(columns), index_col=False,
          dtype={name: 'category' for name in text}, low_memory=False,
          keep_default_na=False, na_values=EMPTY, skip_blank_lines=False,
          float_precision='round_trip')
      first = 2
      for frame in frames:
        rows = np.arange(first, first + len(frame))
        first += len(frame)
        if several and frame.iloc[:, 0].hasnans:
          written = frame.notna().any(axis=1).to_numpy()
          frame, rows = frame[written], rows[written]
        yield source.Chunk(
            {name: _values(frame[name]) for name in columns}, rows,
            min(position() / size, 1.))

  @contextlib.contextmanager
  def _open(self) -> Iterator[tuple['_Text', Any]]:
    """Opens the file; whatever is wrong with it becomes a sentence."""
    name = self._path.name
    with self._path.open('rb') as file, warnings.catch_warnings():
      # It warns of rows that have more cells than the header.
      warnings.simplefilter('error', pd.errors.ParserWarning)
      compressed = file.read(2) == b'\x1f\x8b'
      file.seek(0)
      try:
        yield _Text(
            gzip.GzipFile(fileobj=file) if compressed else file, name
        ), file.tell
      except pd.errors.ParserWarning as error:
        raise ValueError(
            f'{name}: rows have more cells than the header has names.'
        ) from error
      except pd.errors.ParserError as error:
        words = str(error).strip().removeprefix('Error tokenizing data. ')
        words = re.sub(  # Its rows are numbered from 0.
            r'(?<=at row )\d+', lambda row: str(int(row[0]) + 1), words)
        raise ValueError(
            f'{name} is not CSV: {words.removeprefix("C error: ")}. Every row '
            'needs as many cells as the header, and every quote its end.'
        ) from error
      except csv.Error as error:
        raise ValueError(f'{name} is not CSV: {error}.') from error
      except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f'{name} cannot be decompressed: {error}. Is it complete?'
        ) from error


def _lines(text: io.TextIOWrapper, name: str) -> Iterator[str]:
  """Yields the lines of a header, which has its limits."""
  for line in iter(lambda: text.readline(_MOST_HEADER), ''):
    if len(line) == _MOST_HEADER:
      raise ValueError(
          f'{name} has a first row of more than {_MOST_HEADER:,} characters; '
          'it should name the columns.')
    yield line


def _values(column: pd.Series) -> source.Raw:
  if isinstance(column.dtype, pd.CategoricalDtype):
    return column.array
  return column.to_numpy()


class _Text(io.RawIOBase):
  """Passes bytes on, unless they are not those of a text."""

  def __init__(self, stream: IO[bytes] | gzip.GzipFile, name: str):
    self._stream, self._name, self._lines = stream, name, 1
    self._blank = 0
    self._decoder = codecs.getincrementaldecoder('utf-8')()

  def readable(self) -> bool:
    return True

  def readinto(self, buffer: Any) -> int:
    data = self._stream.read(len(buffer))
    place = data.find(b'\0')
    try:
      self._decoder.decode(data, final=not data)
    except UnicodeDecodeError as error:
      place = max(error.start, 0)
    if place >= 0:
      row = self._lines + data.count(b'\n', 0, place)
      raise ValueError(
          f'{self._name}, row {row}: there is a byte that does not belong to '
          'text in UTF-8. Save it as UTF-8.')
    ends = data.count(b'\n')
    self._blank = self._blank + ends if not data.strip() else 0
    if self._blank > _MOST_BLANK:
      raise ValueError(
          f'{self._name}, row {self._lines}: there are more than '
          f'{_MOST_BLANK:,} empty rows one after another. Is it a log?')
    self._lines += ends
    buffer[:len(data)] = data
    return len(data)
