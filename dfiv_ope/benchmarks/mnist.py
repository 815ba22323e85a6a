"""MNIST, the handwritten digits that the image benchmarks draw from.

    digits = mnist.load('data/mnist')
    generator = np.random.default_rng(0)
    images = mnist.random_images(generator, np.array([3, 1]), digits.train)
    mnist.pixels(images)  # float32 [2, 28, 28] in [0, 1]

The files are taken only when their content is that of the published ones,
so that a number measured on one machine is the number on another.
"""

from collections.abc import Mapping, Sequence
import contextlib
import functools
import gzip
import hashlib
import math
import pathlib
import struct
import sys
import tempfile
from typing import NamedTuple
import zlib

import numpy as np

from dfiv_ope import types

# The four files and the shape of the array that each of them holds.
_SHAPES = {
  'train-images-idx3-ubyte': (60_000, 28, 28),
  'train-labels-idx1-ubyte': (60_000,),
  't10k-images-idx3-ubyte': (10_000, 28, 28),
  't10k-labels-idx1-ubyte': (10_000,),
}
# File -> MD5 of its uncompressed content.
CHECKSUMS: Mapping[str, str] = {
  'train-images-idx3-ubyte': '6bbc9ace898e44ae57da46a324031adb',
  'train-labels-idx1-ubyte': 'a25bea736e30d166cdddb491f175f624',
  't10k-images-idx3-ubyte': '2646ac647ad5339dbf082846283269ea',
  't10k-labels-idx1-ubyte': '27ae3e4e09519cfbb04c329615203637',
}
# The same arrays in the archive that Keras downloads.
_KERAS_ARRAYS = ('x_train', 'y_train', 'x_test', 'y_test')
_KERAS_URL = (
  'https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz'
)
_GZIP_MAGIC = b'\x1f\x8b'
# An idx file begins with 0x08 for unsigned bytes and the number of axes.
_UNSIGNED_BYTE = 0x0800
_CLASSES = 10


class Pool(NamedTuple):
  """Pictures to draw from.

  Attributes:
    images: uint8 [n, 28, 28].
    labels: the digit that each shows, uint8 [n].
  """

  images: np.ndarray
  labels: np.ndarray


class Digits(NamedTuple):
  """MNIST: pictures to train on, and others to test on."""

  train: Pool
  test: Pool


@functools.lru_cache(maxsize=1)
def load(directory: str | None) -> Digits:
  """Returns MNIST; a second call in a process does not read again.

  Args:
    directory: where the four idx files are, or None to download them.

  Raises:
    ConnectionError: they could not be downloaded.
    FileNotFoundError: there is no such directory, or a file is not in it.
    ValueError: a file is not the published one.
  """
  return download() if directory is None else read(directory)


def read(directory: str, checksums: Mapping[str, str] = CHECKSUMS) -> Digits:
  """Reads MNIST from its four idx files, gzipped or not.

  Args:
    directory: where they are. `train-images-idx3-ubyte` may also be called
      `train-images.idx3-ubyte`, each with or without `.gz`.
    checksums: the MD5 of each file's uncompressed content.

  Raises:
    FileNotFoundError: there is no such directory, or a file is not in it.
    ValueError: a file is damaged, or its content is another.
  """
  folder = pathlib.Path(directory)
  if not folder.is_dir():
    raise FileNotFoundError(
      f'{folder} is not a directory. Pass the one that holds the four MNIST '
      f'files ({", ".join(_SHAPES)}, with or without .gz).'
    )
  arrays = []
  for name, shape in _SHAPES.items():
    path = _find(folder, name)
    content = _content(path, 4 + 4 * len(shape) + math.prod(shape))
    arrays.append(_decode(path, content, len(shape)))
    _verify(str(path), content, checksums[name])
  return _digits(arrays)


def download(checksums: Mapping[str, str] = CHECKSUMS) -> Digits:
  """Downloads MNIST through Keras; nothing stays on the disk.

  Keras would keep the archive in the home directory. It is put into a
  temporary one instead: no command writes where it was not told to, and two
  processes cannot read each other's half of a file.

  Args:
    checksums: the MD5 of the idx file of each array.

  Raises:
    ConnectionError: the archive could not be downloaded.
    ValueError: its content is not the published one.
  """
  import tensorflow as tf

  # Keras raises bare `Exception`s, and reports its progress on stdout, where
  # a command prints its answer.
  try:
    with (
      tempfile.TemporaryDirectory() as folder,
      contextlib.redirect_stdout(sys.stderr),
    ):
      path = tf.keras.utils.get_file(
        'mnist.npz', origin=_KERAS_URL, cache_dir=folder, cache_subdir=''
      )
      with np.load(path, allow_pickle=False) as archive:
        arrays = [archive[key] for key in _KERAS_ARRAYS]
  except Exception as error:
    raise ConnectionError(
      f'MNIST could not be downloaded from {_KERAS_URL} ({error}). Pass '
      '--mnist DIR with a directory that holds the four files '
      f'{", ".join(_SHAPES)}, with or without .gz.'
    ) from error
  for name, key, array in zip(_SHAPES, _KERAS_ARRAYS, arrays, strict=True):
    _verify(f'{key!r} of {_KERAS_URL}', _encode(array), checksums[name])
  return _digits(arrays)


def random_images(
  generator: np.random.Generator, digits: np.ndarray, pool: Pool
) -> np.ndarray:
  """Draws a picture of each digit, uniformly among those of its class.

  Args:
    generator: makes the draw.
    digits: integers in 0..9, [n].
    pool: the pictures to draw from, with replacement.

  Returns:
    Pictures uint8 [n, 28, 28].

  Raises:
    ValueError: the pool has no picture of one of the digits.
  """
  counts = np.bincount(pool.labels, minlength=_CLASSES)
  known = np.flatnonzero(counts)
  unknown = ~np.isin(digits, known)
  if unknown.any():
    raise ValueError(
      f'There is no picture of {digits[unknown][0]}; the pool has pictures '
      f'of {", ".join(map(str, known))}.'
    )
  by_class = np.argsort(pool.labels, kind='stable')
  first = np.cumsum(counts) - counts
  chosen = by_class[first[digits] + generator.integers(counts[digits])]
  return pool.images[chosen]


def pixels(images: np.ndarray) -> types.FloatArray:
  """Returns pictures of 0..255 as float32 in [0, 1]."""
  return images.astype(np.float32) / np.float32(255.0)


def _find(folder: pathlib.Path, name: str) -> pathlib.Path:
  names = [
    stem + ending
    for stem in (name, name.replace('-idx', '.idx'))
    for ending in ('', '.gz')
  ]
  for each in names:
    if (folder / each).exists():
      return folder / each
  raise FileNotFoundError(
    f'{folder} has no {name}; looked for {", ".join(names)}. Put all four '
    'files of MNIST there.'
  )


def _content(path: pathlib.Path, size: int) -> bytes:
  """Returns the uncompressed bytes; reads no more than the real file has."""
  with path.open('rb') as file:
    compressed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    file.seek(0)
    try:
      # The byte too many tells a longer file, and makes gzip check its sum.
      content = (gzip.GzipFile(fileobj=file) if compressed else file).read(
        size + 1
      )
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
      raise ValueError(
        f'{path} is a damaged gzip file ({error}). Download it again.'
      ) from error
  if len(content) > size:
    raise ValueError(
      f'{path} holds more than the {size} bytes of the published file. '
      'Download that one.'
    )
  return content


def _decode(path: pathlib.Path, content: bytes, axes: int) -> np.ndarray:
  """Returns the array of an idx file."""
  start = 4 + 4 * axes
  wanted = _UNSIGNED_BYTE + axes
  if len(content) < start:
    raise ValueError(
      f'{path} ends after {len(content)} bytes, within its header. Download '
      'it again.'
    )
  magic, *shape = struct.unpack(f'>{1 + axes}I', content[:start])
  if magic != wanted:
    raise ValueError(
      f'{path} begins with 0x{magic:08x}, but an idx file of unsigned bytes '
      f'with {axes} axes begins with 0x{wanted:08x}. Pass the published '
      'file under its own name.'
    )
  if len(content) != start + math.prod(shape):
    raise ValueError(
      f'{path} has {len(content) - start} bytes for an array of shape '
      f'{tuple(shape)}. Download it again.'
    )
  return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _encode(array: np.ndarray) -> bytes:
  """Returns the idx file of an array."""
  header = struct.pack(
    f'>{1 + array.ndim}I', _UNSIGNED_BYTE + array.ndim, *array.shape
  )
  return header + array.astype(np.uint8, copy=False).tobytes()


def _verify(source: str, content: bytes, wanted: str) -> None:
  checksum = hashlib.md5(content, usedforsecurity=False).hexdigest()
  if checksum != wanted:
    raise ValueError(
      f'{source} is not the file of MNIST: its content has the MD5 '
      f'{checksum}, the published one {wanted}. Download it again.'
    )


def _digits(arrays: Sequence[np.ndarray]) -> Digits:
  # One copy serves every run of the process, so none may write into it.
  for array in arrays:
    array.setflags(write=False)
  return Digits(train=Pool(*arrays[:2]), test=Pool(*arrays[2:]))
