"""The file of rows of a run directory: JSON lines, appended whole."""

import fcntl
import json
import os
import pathlib
from typing import Any

from dfiv_ope.results import rows as rows_lib

NAME = 'rows.jsonl'


def append(directory: pathlib.Path, row: rows_lib.Row) -> None:
  """Adds a row to a run directory, which is made if it is missing.

  Raises:
    ValueError: it is not a sound row.
  """
  line = (json.dumps(rows_lib.encode(row)) + '\n').encode()
  directory.mkdir(parents=True, exist_ok=True)
  with (directory / NAME).open('ab+') as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    _drop_torn_line(file)
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


def read(directory: pathlib.Path) -> list[rows_lib.Row]:
  """Returns the rows of a run directory, in the order they were written.

  A last line without an end was cut off by a kill and is not a row.

  Raises:
    FileNotFoundError: there are no rows.
    ValueError: a line is not a sound row of this version.
  """
  path = directory / NAME
  if not path.is_file():
    raise FileNotFoundError(
      f'{directory} has no result rows ({NAME}). Name the --out of a '
      'finished run.'
    )
  found = []
  for number, line in enumerate(path.read_bytes().split(b'\n')[:-1], start=1):
    try:
      found.append(_row(line))
    except _OtherFormatError as error:
      raise ValueError(
        f'Line {number} of {path} was written by another version of dfiv-ope '
        f'({error}). Read it with that version, or name a new directory and '
        'run again.'
      ) from error
    except (TypeError, ValueError, RecursionError) as error:
      raise ValueError(
        f'Line {number} of {path} is not a result row of this version '
        f'({error}). Remove the line to go on without it.'
      ) from error
  return found


def known(directory: pathlib.Path) -> list[rows_lib.Row]:
  """Returns the rows of a directory as `read` does, none if it has none."""
  return read(directory) if (directory / NAME).is_file() else []


class _OtherFormatError(ValueError):
  """A row of an older or a newer version."""


def _row(line: bytes) -> rows_lib.Row:
  data = json.loads(line)
  if isinstance(data, dict):
    written = data.get('format', 1)
    if type(written) is int and written != rows_lib.FORMAT:
      age = 'an older' if written < rows_lib.FORMAT else 'a newer'
      raise _OtherFormatError(
        f'{age} one: format {written} instead of {rows_lib.FORMAT}'
      )
  return rows_lib.decode(data)


def _drop_torn_line(file: Any) -> None:
  """Cuts off a last line that a kill left without an end."""
  if not file.seek(0, os.SEEK_END):
    return
  file.seek(-1, os.SEEK_END)
  if file.read(1) != b'\n':
    file.seek(0)
    file.truncate(file.read().rfind(b'\n') + 1)
