"""Logs as npz files: an array a column, nothing pickled."""

from collections.abc import Iterator, Sequence
import json
import math
import pathlib
from typing import Any
import zipfile
import zlib

import numpy as np
from numpy.lib import format as npy

from dfiv_ope.datasets.formats import source

# Arrays are read whole; more than this is refused before anything is read.
LIMIT_BYTES = 8 * 2**30
# One a column, so thousands are hardly a log.
_MOST_MEMBERS = 20_000
# Where an exported file keeps the labels of its actions.
ACTION_LABELS = 'action_labels'
# And those of its categorical columns, as JSON.
CATEGORIES = 'categories'
# And what actions are that are vectors, as JSON.
CONTINUOUS = 'continuous'


class NpzFile(source.Source):
  """An npz file; its rows are numbered from 1."""

  def __init__(self, path: pathlib.Path):
    """Reads the names and shapes of the arrays."""
    self._path = path
    try:
      with zipfile.ZipFile(path) as archive:
        self._members = {
          each.filename.removesuffix('.npy'): each
          for each in archive.infolist()
          if each.filename.endswith('.npy')
        }
    except (
      zipfile.BadZipFile,
      OSError,
      NotImplementedError,
      UnicodeDecodeError,
    ) as error:
      raise ValueError(f'{path.name} is not an npz file: {error}.') from error
    if not self._members:
      raise ValueError(f'{path.name} holds no array.')
    if len(self._members) > _MOST_MEMBERS:
      raise ValueError(
        f'{path.name} holds {len(self._members):,} arrays, but at most '
        f'{_MOST_MEMBERS:,} columns are read. Put the entries of an '
        'observation into one array.'
      )
    size = sum(each.file_size for each in self._members.values())
    if size > LIMIT_BYTES:
      raise ValueError(
        f'{path.name} would take {size / 2**30:.1f} GiB in memory; at most '
        f'{LIMIT_BYTES / 2**30:g} GiB are read. Save it as Parquet, which is '
        'read in pieces.'
      )
    self.actions = None
    if ACTION_LABELS in self._members:
      self.actions = list(map(str, self._read(ACTION_LABELS)))
    if CATEGORIES in self._members:
      self.categories = json.loads(str(self._read(CATEGORIES)))
    if CONTINUOUS in self._members:
      self.continuous = source.described(
        json.loads(str(self._read(CONTINUOUS)))
      )
    self.columns = [
      name
      for name in self._members
      if name not in (ACTION_LABELS, CATEGORIES, CONTINUOUS)
    ]

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    arrays = {name: self._read(name) for name in columns}
    lengths = {name: array.shape[:1] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1 or () in lengths.values():
      shown = ', '.join(
        f'{name} {array.shape}' for name, array in arrays.items()
      )
      raise ValueError(
        f'{self._path.name}: all arrays must have the same length, got {shown}.'
      )
    (count,) = next(iter(lengths.values()))
    for start in range(0, count, source.CHUNK_ROWS):
      end = min(start + source.CHUNK_ROWS, count)
      yield source.Chunk(
        {name: array[start:end] for name, array in arrays.items()},
        np.arange(start + 1, end + 1),
        end / count,
      )

  def _read(self, name: str) -> np.ndarray:
    """Reads an array whose header agrees with the size of its member."""
    member, place = self._members[name], f'{self._path.name}: {name}'
    try:
      with zipfile.ZipFile(self._path) as archive:
        with archive.open(member) as stream:
          self._check(stream, member.file_size, place)
        with archive.open(member) as stream:
          return npy.read_array(stream, allow_pickle=False)
    except (
      zipfile.BadZipFile,
      EOFError,
      zlib.error,
      OSError,
      RuntimeError,
      NotImplementedError,
    ) as error:
      raise ValueError(f'{place} cannot be read: {error}.') from error

  def _check(self, stream: Any, size: int, place: str) -> None:
    try:
      version = npy.read_magic(stream)
      read_header = (
        npy.read_array_header_1_0
        if version == (1, 0)
        else npy.read_array_header_2_0
      )
      shape, _, dtype = read_header(stream)
    except ValueError as error:
      raise ValueError(f'{place} is not an array: {error}') from error
    if dtype.hasobject:
      raise ValueError(
        f'{place} holds pickled objects, which are never loaded because '
        'they can run any program. Save it as numbers or as text.'
      )
    if math.prod(shape) * dtype.itemsize + stream.tell() != size:
      raise ValueError(
        f'{place} should hold {shape} entries, which is not what the file '
        'has room for.'
      )
