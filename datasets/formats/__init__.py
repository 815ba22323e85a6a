"""Formats of logs: which one a file has, and how it is opened."""

from collections.abc import Callable
import gzip
import pathlib
from typing import TYPE_CHECKING
import zlib

from dfiv_ope import hints
from dfiv_ope.datasets.formats import folders

if TYPE_CHECKING:
  from dfiv_ope.datasets.formats import source

NAMES = ('csv', 'parquet', 'npz', 'minari', 'rlds', 'rl_unplugged')

_SUFFIXES = {
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.pq': 'parquet',
  '.npz': 'npz',
  '.hdf5': 'minari',
  '.h5': 'minari',
  '.tfrecord': 'rl_unplugged',
}
_MAGIC = {b'PAR1': 'parquet', b'PK': 'npz', b'\x89HDF': 'minari'}
# A TFRecord starts with a length of eight bytes, most of which are zero.
_SMALL_LENGTH = bytes(4)


def detect(path: pathlib.Path) -> str:
  """Tells the format of a log by its name, else by its content.

  Raises:
    FileNotFoundError: there is nothing.
    ValueError: it is in none of the formats.
  """
  if path.is_dir():
    found = of_directory(path)
  elif path.is_file():
    found = of_name(path) or _of_content(path)
  else:
    raise FileNotFoundError(f'There is no log {path}.')
  if found is None:
    raise ValueError(
      f'{path} is in no format that is known by its name or content. Say '
      f'--format with one of {", ".join(NAMES)}.'
    )
  return found


def of_name(path: pathlib.Path) -> str | None:
  """Tells the format of a file by its name, None if it does not say."""
  suffixes = [each for each in path.suffixes[-2:] if each != '.gz']
  return _SUFFIXES.get(suffixes[-1].lower()) if suffixes else None


def open_log(path: pathlib.Path, *, format_name: str) -> 'source.Source':
  """Opens a log.

  Raises:
    FileNotFoundError: there is nothing.
    ValueError: the format is unknown, or the file is not in it.
  """
  if format_name not in NAMES:
    raise ValueError(hints.unknown('format', format_name, NAMES))
  if not path.exists():
    raise FileNotFoundError(f'There is no log {path}.')
  if path.is_dir() and format_name == 'npz':
    raise ValueError(
      f'{path} is a directory, but {format_name} is a file. Name the file.'
    )
  return _maker(format_name)(path)


def _maker(name: str) -> Callable[[pathlib.Path], 'source.Source']:
  """Returns what opens a format; nothing of the others is imported."""
  if name == 'csv':
    from dfiv_ope.datasets.formats import csv_folder

    return csv_folder.CSVFolder
  if name == 'parquet':
    from dfiv_ope.datasets.formats import parquet_folder

    return parquet_folder.ParquetFolder
  if name == 'npz':
    from dfiv_ope.datasets.formats import npz_file

    return npz_file.NpzFile
  if name == 'minari':
    from dfiv_ope.datasets.formats import minari_folder

    return minari_folder.MinariFolder
  if name == 'rlds':
    from dfiv_ope.datasets.formats import rlds_folder

    return rlds_folder.RLDSFolder
  from dfiv_ope.datasets.formats import rl_unplugged

  return rl_unplugged.Transitions


def of_directory(path: pathlib.Path) -> str | None:
  """Tells the format of a directory, None if it is no log."""
  if any(
    (path / place / 'main_data.hdf5').is_file() for place in ('.', 'data')
  ):
    return 'minari'
  if (path / 'features.json').is_file():
    return 'rlds'
  if any(path.glob('*-?????-of-?????')):
    return 'rl_unplugged'
  found = [name for name in folders.PATTERNS if folders.files(path, name)]
  if len(found) > 1:
    raise ValueError(
      f'{path} holds files of several formats: {", ".join(found)}. Keep those '
      'of one log in a folder of their own.'
    )
  return found[0] if found else None


def _of_content(path: pathlib.Path) -> str | None:
  with path.open('rb') as file:
    start = file.read(12)
    if start[:2] == b'\x1f\x8b':
      file.seek(0)
      try:
        start = gzip.GzipFile(fileobj=file).read(12)
      except (OSError, EOFError, zlib.error):
        return None
      return 'rl_unplugged' if start[4:8] == _SMALL_LENGTH else 'csv'
  return next(
    (name for magic, name in _MAGIC.items() if start.startswith(magic)), None
  )
