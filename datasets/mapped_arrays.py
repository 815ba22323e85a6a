"""Arrays in a folder on disk: written block by block, mapped into memory.

    with mapped_arrays.Writer(folder) as writer:
      for block in blocks:
        writer.add({'reward': block.reward})
    mapped_arrays.opened(folder)['reward'][places]

What is mapped takes the memory of what is looked at, and the system takes that
back when it is short.
"""

from collections.abc import Mapping
import pathlib
from typing import Self

import numpy as np

from dfiv_ope import whole_files
from dfiv_ope.datasets import array_files


class Writer:
  """Writes arrays that grow; the folder is there once they are whole."""

  def __init__(self, folder: pathlib.Path):
    """Begins; what the folder held is removed.

    Args:
      folder: where they will lie.
    """
    self._folder = folder
    self._partial = folder.with_name(f'{folder.name}.partial')
    self._files: dict[str, array_files.Appender] = {}

  def __enter__(self) -> Self:
    for each in (self._folder, self._partial):
      whole_files.remove(each)
    self._partial.mkdir(parents=True)
    return self

  def add(self, arrays: Mapping[str, np.ndarray]) -> None:
    """Adds rows to arrays by their names.

    Raises:
      OSError: they could not be written.
      ValueError: they are of another type or shape than before.
    """
    for name, rows in arrays.items():
      if name not in self._files:
        self._files[name] = array_files.Appender(
          self._partial / f'{name}{array_files.SUFFIX}',
          dtype=rows.dtype,
          shape=rows.shape[1:],
        )
      self._files[name].append(rows)

  def __exit__(self, kind: object, *unused: object) -> None:
    for file in self._files.values():
      file.close()
    if kind is None:
      self._partial.rename(self._folder)
    else:
      whole_files.remove(self._partial)


def opened(folder: pathlib.Path) -> dict[str, np.memmap]:
  """Returns the arrays that a `Writer` wrote, by name.

  Raises:
    FileNotFoundError: they are not there.
  """
  if not folder.is_dir():
    raise FileNotFoundError(
      f'There is no copy of the log in {folder}. Where several machines read '
      'it, --out must lie where all of them see it.'
    )
  return {
    # What a policy writes into its observations stays in memory.
    path.stem: np.load(path, mmap_mode='c', allow_pickle=False)
    for path in sorted(folder.glob(f'*{array_files.SUFFIX}'))
  }
