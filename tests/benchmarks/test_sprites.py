"""Pictures of dSprites against real ones, and the reading of the archive."""

import io
import pathlib
import pickle
import warnings
import zipfile

import numpy as np
import pytest

from dfiv_ope.benchmarks import sprites

_REAL = (
  pathlib.Path(__file__).parents[2].parent
  / 'shared/data/dsprites/real_frames.npz'
)

# (latent classes, top row, left column) -> the lit part of the real picture.
_PICTURES = {
  ((sprites.HEART, 0, 0, 0, 0), 11, 11): (
    '..#....#..',
    '.########.',
    '##########',
    '##########',
    '.########.',
    '.########.',
    '..######..',
    '...####...',
    '....##....',
  ),
  ((sprites.HEART, 5, 10, 0, 0), 7, 6): (
    '...######..........',
    '..#########........',
    '.###########.......',
    '.############......',
    '##############.....',
    '.##############....',
    '.###############...',
    '..###############..',
    '...################',
    '....##############.',
    '..###############..',
    '..##############...',
    '.##############....',
    '.#############.....',
    '.############......',
    '.###########.......',
    '..#########........',
    '...#######.........',
    '....####...........',
  ),
  ((sprites.ELLIPSE, 5, 3, 0, 0), 7, 4): (
    '...............####.....',
    '...........###########..',
    '.........##############.',
    '.......################.',
    '......##################',
    '....####################',
    '...#####################',
    '..#####################.',
    '..#####################.',
    '.#####################..',
    '.#####################..',
    '#####################...',
    '####################....',
    '##################......',
    '.################.......',
    '.##############.........',
    '..###########...........',
    '.....####...............',
  ),
  ((sprites.SQUARE, 0, 0, 0, 0), 11, 11): ('#' * 10,) * 10,
}

# A small archive: 3 shapes, 2 scales, 3 orientations, 2 x 2 positions.
_SIZES = (3, 2, 3, 2, 2)
_COUNT = 72


def _inside_heart(scale, orientation, pos_x, pos_y):
  """The heart, pixel by pixel: v lies between the curve's two branches."""
  size = 0.5 + 0.1 * scale
  angle = 2 * np.pi * orientation / 39
  centres = np.arange(64) + 0.5
  x = centres[None, :] - (16 + 32 * pos_x / 31)
  y = centres[:, None] - (16 + 32 * pos_y / 31)
  u = np.abs(np.cos(angle) * x - np.sin(angle) * y) / size
  v = (np.sin(angle) * x + np.cos(angle) * y) / size
  cosine = np.sqrt(np.maximum(1 - np.cbrt(u / 9.5941) ** 2, 0))

  def branch(c):
    return (
      -10.595
      / 16
      * (
        13 * c
        - 5 * (2 * c**2 - 1)
        - 2 * (4 * c**3 - 3 * c)
        - (8 * c**4 - 8 * c**2 + 1)
      )
      - 1.43666
    )

  return (u < 9.5941) & (v > branch(cosine)) & (v < branch(-cosine))


def _random_classes(n, seed):
  generator = np.random.default_rng(seed)
  return [generator.integers(size, size=n) for size in sprites.SIZES]


@pytest.mark.parametrize('place', _PICTURES)
def test_drawn_pictures_are_the_real_ones(place):
  classes, top, left = place
  lines = _PICTURES[place]
  lit = np.array([[pixel == '#' for pixel in line] for line in lines])
  expected = np.zeros((64, 64), np.uint8)
  expected[top : top + lit.shape[0], left : left + lit.shape[1]] = lit
  drawn = sprites.Rendered().images(*classes)
  assert (drawn.shape, drawn.dtype) == ((1, 64, 64), np.uint8)
  np.testing.assert_array_equal(drawn[0], expected)


@pytest.mark.skipif(not _REAL.exists(), reason='no real pictures here')
@pytest.mark.parametrize(
  'shape, wrong',
  [(sprites.HEART, 2), (sprites.ELLIPSE, 0), (sprites.SQUARE, 0)],
)
def test_all_real_pictures_but_two_pixels_are_reproduced(shape, wrong):
  with np.load(_REAL, allow_pickle=False) as file:
    images, classes = file['imgs'], file['latents_classes']
  rows = classes[:, 0] == shape
  drawn = sprites.Rendered().images(*classes[rows].T)
  assert rows.sum() >= 45
  assert np.count_nonzero(drawn != images[rows]) <= wrong


def test_hearts_are_the_pixels_inside_the_curve_at_any_place():
  _, *classes = _random_classes(300, seed=0)
  drawn = sprites.Rendered().images(sprites.HEART, *classes)
  expected = np.stack(
    [_inside_heart(*each) for each in zip(*classes, strict=True)]
  )
  np.testing.assert_array_equal(drawn, expected)


def test_a_whole_turn_is_no_turn_and_opposite_ellipses_are_mirrored():
  pictures = sprites.Rendered()
  for shape in range(3):
    np.testing.assert_array_equal(
      pictures.images(shape, range(6), 0, 7, 9),
      pictures.images(shape, range(6), 39, 7, 9),
    )
  # Half a turn lies between the classes 19 and 20.
  first, second = pictures.images(sprites.ELLIPSE, 5, [19, 20], 0, 0)
  np.testing.assert_array_equal(first[:32], second[:32][::-1])


def test_shapes_mix_in_one_call_and_none_is_a_batch_too():
  classes = _random_classes(50, seed=1)
  pictures = sprites.Rendered()
  together = pictures.images(*classes)
  for row in (0, 17, 49):
    np.testing.assert_array_equal(
      together[row], pictures.images(*(each[row] for each in classes))[0]
    )
  empty = np.zeros(0, np.int64)
  assert pictures.images(2, empty, empty, 0, 0).shape == (0, 64, 64)


@pytest.mark.parametrize(
  'classes, message',
  [
    ((3, 0, 0, 0, 0), 'shape has the classes 0 to 2, got 3'),
    ((2, [0, 6], 0, 0, 0), 'scale has the classes 0 to 5, got 6'),
    ((2, 0, -1, 0, 0), 'orientation has the classes 0 to 39, got -1'),
    ((2, 0, 0, 32, 0), 'pos_x has the classes 0 to 31, got 32'),
    ((2, 0, 0, 0, 99), 'pos_y has the classes 0 to 31, got 99'),
    ((2, 0.5, 0, 0, 0), 'scale must be integer classes, .* got float64'),
    ((2, [[0]], 0, 0, 0), r'one or \[n\], got int64 of shape \(1, 1\)'),
    ((2, [0, 1], [0, 1, 2], 0, 0), 'must have the same length'),
  ],
)
def test_classes_that_do_not_exist_are_refused(classes, message):
  with pytest.raises(ValueError, match=message):
    sprites.Rendered().images(*classes)


class _Alarm:
  """Unpickling it fails the test."""

  def __reduce__(self):
    return (pytest.fail, ('the pickled member was read',))


def _images():
  return sprites.Rendered().images(*np.unravel_index(np.arange(_COUNT), _SIZES))


def _npy(array, header=None):
  buffer = io.BytesIO()
  np.save(buffer, array)
  if header is None:
    return buffer.getvalue()
  head = header.encode('latin1') + b'\n'
  return (
    b'\x93NUMPY\x01\x00'
    + len(head).to_bytes(2, 'little')
    + head
    + array.tobytes()
  )


def _write(path, imgs=None, latents_classes=None, **others):
  """Writes an archive; members are arrays or the bytes of a npy file."""
  members = {
    'imgs': _images() if imgs is None else imgs,
    'latents_classes': (
      np.zeros((_COUNT, 6), np.int64)
      if latents_classes is None
      else latents_classes
    ),
    **others,
  }
  with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as file:
    for name, value in members.items():
      file.writestr(
        f'{name}.npy', value if isinstance(value, bytes) else _npy(value)
      )
  return path


def test_the_archive_returns_the_pictures_of_the_classes(tmp_path):
  alarm = np.empty((), object)
  alarm[()] = _Alarm()
  path = _write(tmp_path / 'a.npz', metadata=alarm)
  with pytest.raises(BaseException, match='pickled member was read'):
    pickle.loads(pickle.dumps(_Alarm()))
  archive = sprites.Archive(path, _SIZES)
  index = np.random.default_rng(0).permutation(_COUNT)
  classes = np.unravel_index(index, _SIZES)
  images = archive.images(*classes)
  assert images.dtype == np.uint8
  np.testing.assert_array_equal(images, _images()[index])
  np.testing.assert_array_equal(images, sprites.Rendered().images(*classes))
  with pytest.raises(ValueError, match='orientation has the classes 0 to 2'):
    archive.images(2, 0, 3, 0, 0)


def test_the_archive_keeps_a_shape_it_has_read(tmp_path):
  path = _write(tmp_path / 'a.npz')
  archive = sprites.Archive(path, _SIZES)
  first = archive.images(sprites.HEART, 1, 2, 0, 1)
  path.unlink()
  np.testing.assert_array_equal(
    archive.images(sprites.HEART, 1, 2, 0, 1), first
  )
  with pytest.raises(ValueError, match='not a whole npz file'):
    archive.images(sprites.SQUARE, 1, 2, 0, 1)


def test_the_rows_of_the_official_file_are_in_the_known_order():
  bases = [245760, 40960, 1024, 32, 1]
  assert np.ravel_multi_index((2, 5, 39, 31, 31), sprites.SIZES) == 737279
  for latent, base in enumerate(bases):
    one = [int(each == latent) for each in range(5)]
    assert np.ravel_multi_index(one, sprites.SIZES) == base


def test_headers_written_by_python_2_are_read(tmp_path):
  header = (
    "{'descr': '|u1', 'fortran_order': False, "
    f"'shape': ({_COUNT}L, 64L, 64L), }}"
  )
  path = _write(tmp_path / 'a.npz', imgs=_npy(_images(), header))
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    images = sprites.Archive(path, _SIZES).images(1, 1, 1, 1, 1)
  np.testing.assert_array_equal(
    images, sprites.Rendered().images(1, 1, 1, 1, 1)
  )


def test_a_file_that_is_not_there_is_named(tmp_path):
  with pytest.raises(FileNotFoundError, match='no file .*a.npz. Pass the path'):
    sprites.Archive(tmp_path / 'a.npz')


def test_a_file_without_the_arrays_says_what_it_has(tmp_path):
  path = tmp_path / 'a.npz'
  np.savez(path, images=np.zeros(3), labels=np.zeros(3))
  with pytest.raises(
    ValueError,
    match=(r"\['images', 'labels'\], but imgs and latents_classes were wanted"),
  ):
    sprites.Archive(path)


@pytest.mark.parametrize(
  'members, message',
  [
    ({'imgs': np.array([None, {}])}, 'imgs in .* holds pickled'),
    ({'latents_classes': np.array([None])}, 'latents_classes in .* pickled'),
    (
      {'imgs': np.zeros((70, 64, 64), np.uint8)},
      r'uint8 of shape \(70, 64, 64\), but uint8 of shape \(72, 64, 64\)',
    ),
    ({'imgs': np.zeros((72, 64, 64), np.float32)}, 'float32 of shape .* but'),
    ({'imgs': np.zeros((64, 64, 72), np.uint8).T}, 'in Fortran order, but'),
    (
      {'latents_classes': np.zeros((72, 5), np.int64)},
      r'shape \(72, 5\), but integers of shape \(72, 6\)',
    ),
    ({'latents_classes': np.zeros((72, 6))}, 'float64 of shape .* integers'),
    ({'imgs': b'no array'}, 'imgs in .* is not a numpy array'),
    ({'imgs': b'\x93NUMPY\x03\x00'}, r'npy version \(3, 0\)'),
    ({'imgs': _npy(np.zeros(9), "{'shape': (9L, ")}, 'is not a numpy array'),
  ],
)
def test_another_archive_is_refused(tmp_path, members, message):
  path = _write(tmp_path / 'a.npz', **members)
  with pytest.raises(ValueError, match=message):
    sprites.Archive(path, _SIZES)


def test_grey_pixels_are_refused(tmp_path):
  archive = sprites.Archive(
    _write(tmp_path / 'a.npz', imgs=255 * _images()), _SIZES
  )
  with pytest.raises(ValueError, match='has pixels of 255; dSprites has 0 and'):
    archive.images(2, 0, 0, 0, 0)


def test_a_damaged_file_is_refused(tmp_path):
  path = tmp_path / 'a.npz'
  path.write_text('a web page')
  with pytest.raises(ValueError, match='a.npz is not a whole npz file'):
    sprites.Archive(path, _SIZES)
  whole = _write(path).read_bytes()
  path.write_bytes(whole[: len(whole) // 2])
  with pytest.raises(ValueError, match='cut off or of another kind'):
    sprites.Archive(path, _SIZES)


def test_pictures_that_end_early_or_fail_the_checksum_are_refused(tmp_path):
  header = (
    f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({_COUNT}, 64, 64), }}"
  )
  path = _write(tmp_path / 'a.npz', imgs=_npy(_images()[:60], header))
  with pytest.raises(ValueError, match='the pictures end in row 48 or after'):
    sprites.Archive(path, _SIZES).images(2, 0, 0, 0, 0)
  np.savez(path, imgs=_images(), latents_classes=np.zeros((_COUNT, 6), int))
  content = bytearray(path.read_bytes())
  # The squares come first; one pixel of them is turned.
  content[1000] ^= 1
  path.write_bytes(content)
  with pytest.raises(ValueError, match='Bad CRC-32'):
    sprites.Archive(path, _SIZES).images(2, 0, 0, 0, 0)
