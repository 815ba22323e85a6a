"""The pictures of dSprites (Matthey et al., 2017), drawn or from the archive.

A picture is 64 x 64 pixels of 0 and 1 and is decided by five latent classes.
`Rendered` draws it and needs no file; `Archive` reads it from the official
npz file. Both answer to the same call:

    pictures = sprites.Rendered()
    pictures.images(sprites.HEART, scale, orientation, pos_x, pos_y)
"""

from collections.abc import Iterable, Iterator
import contextlib
import pathlib
import tokenize
from typing import IO, Any, Protocol
import warnings
import zipfile
import zlib

import numpy as np

from dfiv_ope.benchmarks import sprite_outlines

SQUARE = sprite_outlines.SQUARE
ELLIPSE = sprite_outlines.ELLIPSE
HEART = sprite_outlines.HEART
# Number of classes of shape, scale, orientation, posX and posY.
SIZES = (3, 6, 40, 32, 32)
WIDTH = sprite_outlines.WIDTH

_NAMES = ('shape', 'scale', 'orientation', 'pos_x', 'pos_y')
# Pictures drawn or read at a time.
_BLOCK = 1024


class Pictures(Protocol):
  """Where pictures come from."""

  def images(
    self, shape: Any, scale: Any, orientation: Any, pos_x: Any, pos_y: Any
  ) -> np.ndarray:
    """Returns the pictures of the given latent classes.

    Args:
      shape: SQUARE, ELLIPSE or HEART; like the others an integer or [n].
      scale: 0 to 5, small to large.
      orientation: 0 to 39, counter-clockwise.
      pos_x: 0 to 31, left to right.
      pos_y: 0 to 31, top to bottom.

    Returns:
      uint8 [n, 64, 64], rows from top to bottom, of 0 and 1.

    Raises:
      ValueError: a class is not an integer or out of range.
    """


class Rendered:
  """Draws the pictures: a pixel is lit if its centre is inside the outline.

  All but 2 of the 1 056 768 pixels of 258 pictures of the archive come out as
  they are there.
  """

  def images(
    self, shape: Any, scale: Any, orientation: Any, pos_x: Any, pos_y: Any
  ) -> np.ndarray:
    kinds, *latents = _classes(SIZES, (shape, scale, orientation, pos_x, pos_y))
    masks = np.empty((len(kinds), WIDTH), '<u8')
    for kind in np.unique(kinds):
      rows = np.flatnonzero(kinds == kind)
      for part in np.split(rows, range(_BLOCK, len(rows), _BLOCK)):
        masks[part] = sprite_outlines.row_masks(
          int(kind), *(each[part] for each in latents)
        )
    return np.unpackbits(masks.view(np.uint8), bitorder='little').reshape(
      -1, WIDTH, WIDTH
    )


class Archive:
  """Reads the pictures of `dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz`.

  The headers are checked on creation. A shape's pictures are read when they
  are first asked for and kept as bits, 126 MB a shape. The pickled part of
  the file is never opened.

  Attributes:
    path: the file.
    sizes: number of classes of each latent.
  """

  def __init__(
    self, path: str | pathlib.Path, sizes: tuple[int, ...] = SIZES
  ) -> None:
    """Checks the file.

    Args:
      path: the file.
      sizes: number of classes of each latent, outermost first.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: it is not the archive; the message says why.
    """
    self.path = pathlib.Path(path)
    self.sizes = sizes
    self._packed: dict[int, np.ndarray] = {}
    if not self.path.is_file():
      raise FileNotFoundError(
        f'There is no file {self.path}. Pass the path of the dSprites npz '
        'file, or none to have the pictures drawn.'
      )
    count = int(np.prod(sizes))
    with self._member('latents_classes') as file:
      self._check_header(file, 'latents_classes', (count, 6), 'iu')
    with self._member('imgs') as file:
      self._check_header(file, 'imgs', (count, WIDTH, WIDTH), 'u')

  def images(
    self, shape: Any, scale: Any, orientation: Any, pos_x: Any, pos_y: Any
  ) -> np.ndarray:
    kinds, *latents = _classes(
      self.sizes, (shape, scale, orientation, pos_x, pos_y)
    )
    wanted = [int(kind) for kind in np.unique(kinds)]
    self._read([kind for kind in wanted if kind not in self._packed])
    index = np.ravel_multi_index(latents, self.sizes[1:])
    bits = np.empty((len(kinds), WIDTH * WIDTH // 8), np.uint8)
    for kind in wanted:
      bits[kinds == kind] = self._packed[kind][index[kinds == kind]]
    return np.unpackbits(bits).reshape(-1, WIDTH, WIDTH)

  def _read(self, shapes: list[int]) -> None:
    """Reads the pictures of the given shapes, to the end: the zip's checksum.

    The member is streamed, it has 3 GB.
    """
    if not shapes:
      return
    each = int(np.prod(self.sizes[1:]))
    packed = {
      shape: np.empty((each, WIDTH * WIDTH // 8), np.uint8) for shape in shapes
    }
    with self._member('imgs') as file:
      _header(file)
      for shape in range(self.sizes[0]):
        for start in range(0, each, _BLOCK):
          rows = min(_BLOCK, each - start)
          data = file.read(rows * WIDTH * WIDTH)
          if len(data) < rows * WIDTH * WIDTH:
            raise EOFError(
              f'the pictures end in row {shape * each + start} or after'
            )
          if shape in packed:
            pixels = np.frombuffer(data, np.uint8).reshape(rows, -1)
            if pixels.max() > 1:
              raise ValueError(
                f'imgs in {self.path} has pixels of {pixels.max()}; dSprites '
                'has 0 and 1 only. Pass the original file.'
              )
            packed[shape][start : start + rows] = np.packbits(pixels, axis=1)
      file.read(1)
    self._packed.update(packed)

  @contextlib.contextmanager
  def _member(self, key: str) -> Iterator[IO[bytes]]:
    """Opens an array of the file; damage becomes a ValueError."""
    try:
      with zipfile.ZipFile(self.path) as archive:
        keys = {
          name.removesuffix('.npy')
          for name in archive.namelist()
          if name.endswith('.npy')
        }
        if key not in keys:
          raise ValueError(
            f'{self.path} holds the arrays {sorted(keys)}, but imgs and '
            'latents_classes were wanted. Pass the dSprites npz file.'
          )
        with archive.open(f'{key}.npy') as file:
          yield file
    except PermissionError:
      raise
    except (
      zipfile.BadZipFile,
      zlib.error,
      EOFError,
      NotImplementedError,
      RuntimeError,
      OSError,
    ) as error:
      raise ValueError(
        f'{self.path} is not a whole npz file ({error}). It may be cut off '
        'or of another kind: download the dSprites npz file again.'
      ) from error

  def _check_header(
    self, file: IO[bytes], key: str, shape: tuple[int, ...], kinds: str
  ) -> None:
    """Raises ValueError unless an array has the wanted shape and dtype."""
    try:
      found, fortran, dtype = _header(file)
    except (ValueError, tokenize.TokenError) as error:
      raise ValueError(
        f'{key} in {self.path} is not a numpy array ({error}). Download the '
        'dSprites npz file again.'
      ) from error
    if dtype.hasobject:
      raise ValueError(
        f'{key} in {self.path} holds pickled Python objects, which can run '
        'code when read and are refused. Numbers were wanted: download the '
        'original file.'
      )
    right_dtype = dtype.kind in kinds and (key != 'imgs' or dtype == np.uint8)
    if found != shape or fortran or not right_dtype:
      wanted = 'uint8' if key == 'imgs' else 'integers'
      raise ValueError(
        f'{key} in {self.path} is {dtype} of shape {found}'
        f'{" in Fortran order" if fortran else ""}, but {wanted} of shape '
        f'{shape} was wanted. Pass the file with all three shapes.'
      )


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
  """Reads a npy header: shape, whether in Fortran order, dtype."""
  version = np.lib.format.read_magic(file)
  if version not in ((1, 0), (2, 0)):
    raise ValueError(f'npy version {version}, 1.0 or 2.0 was wanted')
  read = (
    np.lib.format.read_array_header_1_0
    if version == (1, 0)
    else np.lib.format.read_array_header_2_0
  )
  with warnings.catch_warnings():
    # Headers written by Python 2 are parsed with a warning.
    warnings.simplefilter('ignore', UserWarning)
    return read(file)


def _classes(sizes: tuple[int, ...], given: Iterable[Any]) -> list[np.ndarray]:
  """Returns latent classes as integers of one shape [n], after a check."""
  arrays = [np.asarray(values) for values in given]
  for name, size, values in zip(_NAMES, sizes, arrays, strict=True):
    if values.dtype.kind not in 'iu' or values.ndim > 1:
      raise ValueError(
        f'{name} must be integer classes, one or [n], got {values.dtype} of '
        f'shape {values.shape}. Pass classes, not latent values.'
      )
    broken = (values < 0) | (values >= size)
    if broken.any():
      raise ValueError(
        f'{name} has the classes 0 to {size - 1}, got {values[broken].flat[0]}.'
      )
  try:
    return [
      np.atleast_1d(each).astype(np.int64)
      for each in np.broadcast_arrays(*arrays)
    ]
  except ValueError as error:
    lengths = {
      name: each.shape for name, each in zip(_NAMES, arrays, strict=True)
    }
    raise ValueError(
      f'All latents must have the same length or be single classes, got '
      f'{lengths}.'
    ) from error
