"""Arrays that grow on disk row by row, in numpy's own format."""

import pathlib

import numpy as np
from numpy.lib import format as npy

SUFFIX = '.npy'


class Appender:
  """Writes an array whose number of rows is known only at the end."""

  def __init__(
    self, path: pathlib.Path, *, dtype: np.dtype, shape: tuple[int, ...]
  ):
    """Begins a file.

    Args:
      path: a new file.
      dtype: of the array.
      shape: of a row.
    """
    self._rows, self._dtype, self._shape = 0, np.dtype(dtype), shape
    self._stream = path.open('xb')
    self._write_header()
    self._start = self._stream.tell()

  def append(self, rows: np.ndarray) -> None:
    """Adds rows.

    Raises:
      OSError: they could not be written.
      ValueError: they are of another type or shape.
    """
    if rows.dtype != self._dtype or rows.shape[1:] != self._shape:
      raise ValueError(
        f'Rows are {rows.dtype} of shape {rows.shape[1:]}, but they were '
        f'{self._dtype} of shape {self._shape} before.'
      )
    self._stream.write(np.ascontiguousarray(rows).data)
    self._rows += len(rows)

  def close(self) -> None:
    """Writes the number of rows into the header.

    Raises:
      OSError: the file could not be written.
    """
    if self._stream.closed:
      return
    with self._stream:
      self._stream.seek(0)
      self._write_header()
      # numpy leaves room for the first axis to grow.
      assert self._stream.tell() == self._start

  def _write_header(self) -> None:
    npy.write_array_header_1_0(
      self._stream,
      {
        'descr': npy.dtype_to_descr(self._dtype),
        'fortran_order': False,
        'shape': (self._rows, *self._shape),
      },
    )


def load(
  path: pathlib.Path, *, dtype: np.dtype, shape: tuple[int, ...]
) -> np.ndarray:
  """Reads what an `Appender` wrote, as `mapped` does, into memory."""
  return np.array(mapped(path, dtype=dtype, shape=shape))


def mapped(
  path: pathlib.Path, *, dtype: np.dtype, shape: tuple[int, ...]
) -> np.ndarray:
  """Maps what an `Appender` wrote; nothing in it is ever unpickled.

  Args:
    path: the file.
    dtype: what it should hold.
    shape: of a row.

  Raises:
    ValueError: it holds something else.
  """
  try:
    array = np.load(path, mmap_mode='r', allow_pickle=False)
  except (OSError, ValueError, EOFError, TypeError) as error:
    raise ValueError(
      f'{path} cannot be read as an array: {error}. Make the dataset again.'
    ) from error
  if array.dtype != dtype or array.shape[1:] != shape or not array.ndim:
    raise ValueError(
      f'{path} holds {array.dtype} of shape {array.shape}, but the record '
      f'wants {np.dtype(dtype)} with rows of shape {shape}. Make the dataset '
      'again.'
    )
  return array
