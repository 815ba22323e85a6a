"""CSV files as checked text, and their headers; nothing heavy is loaded.

So a wrong name of a column is refused before pandas is there.
"""

import codecs
from collections.abc import Callable, Iterator
import contextlib
import csv
import gzip
import io
import pathlib
from typing import IO, Any
import zlib

_MOST_HEADER = 2**24
# Bytes that are read at a time where lines are counted.
_BLOCK = 2**20
_MOST_BLANK = 2**20


def header(path: pathlib.Path) -> list[str]:
  """Returns the names in the first row.

  Raises:
    ValueError: there are none, or the file is no text.
  """
  with opened(path) as (stream, _):
    text = io.TextIOWrapper(
      io.BufferedReader(stream), encoding='utf-8-sig', newline=''
    )
    names = next(csv.reader(_lines(text, path.name)), [])
  if not names:
    raise ValueError(
      f'{path.name} is empty; its first row should name the columns.'
    )
  return names


def lines(path: pathlib.Path, *, most: int) -> int:
  """Returns how many lines a file has, or a number that is at least `most`."""
  found, end = 0, b'\n'
  with opened(path) as (stream, _):
    while found < most and (block := stream.read(_BLOCK)):
      found += block.count(b'\n')
      end = block[-1:]
  return found + (end != b'\n')


@contextlib.contextmanager
def opened(path: pathlib.Path) -> Iterator[tuple['Text', Callable[[], int]]]:
  """Opens a file, plain or compressed with gzip.

  Yields:
    Its bytes, and a function that tells how many of the file have been read.

  Raises:
    ValueError: it is no CSV, no text, or not complete.
  """
  with path.open('rb') as file:
    compressed = file.read(2) == b'\x1f\x8b'
    file.seek(0)
    try:
      yield (
        Text(gzip.GzipFile(fileobj=file) if compressed else file, path.name),
        file.tell,
      )
    except csv.Error as error:
      raise ValueError(f'{path.name} is not CSV: {error}.') from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
      raise ValueError(
        f'{path.name} cannot be decompressed: {error}. Is it complete?'
      ) from error


def _lines(text: io.TextIOWrapper, name: str) -> Iterator[str]:
  """Yields the lines of a header, which has its limits."""
  for line in iter(lambda: text.readline(_MOST_HEADER), ''):
    if len(line) == _MOST_HEADER:
      raise ValueError(
        f'{name} has a first row of more than {_MOST_HEADER:,} characters; '
        'it should name the columns.'
      )
    yield line


class Text(io.RawIOBase):
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
        'text in UTF-8. Save it as UTF-8.'
      )
    ends = data.count(b'\n')
    self._blank = self._blank + ends if not data.strip() else 0
    if self._blank > _MOST_BLANK:
      raise ValueError(
        f'{self._name}, row {self._lines}: there are more than '
        f'{_MOST_BLANK:,} empty rows one after another. Is it a log?'
      )
    self._lines += ends
    buffer[: len(data)] = data
    return len(data)
