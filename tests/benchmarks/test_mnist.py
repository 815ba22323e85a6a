"""MNIST: files that are read, files that are refused, draws of a digit."""

import gzip
import hashlib
import pathlib
import struct
import sys
import types

import numpy as np
import pytest

from dfiv_ope.benchmarks import mnist

_REAL = pathlib.Path(__file__).parents[3] / 'shared/data/mnist'
_IMAGES, _LABELS = 'train-images-idx3-ubyte', 'train-labels-idx1-ubyte'

real_files = pytest.mark.skipif(
  not _REAL.is_dir(), reason='the MNIST files are not on this machine'
)


def _idx(array):
  return (
    struct.pack(f'>{1 + array.ndim}I', 0x0800 + array.ndim, *array.shape)
    + array.tobytes()
  )


def _arrays():
  """Two pictures a digit to train on, one to test on."""
  generator = np.random.default_rng(0)
  draw = lambda n: generator.integers(  # noqa: E731
    256, size=(n, 28, 28), dtype=np.uint8
  )
  labels = np.arange(10, dtype=np.uint8)
  return {
    _IMAGES: draw(20),
    _LABELS: np.tile(labels, 2),
    't10k-images-idx3-ubyte': draw(10),
    't10k-labels-idx1-ubyte': labels,
  }


def _checksums():
  return {
    name: hashlib.md5(_idx(array)).hexdigest()
    for name, array in _arrays().items()
  }


@pytest.fixture(name='folder')
def _folder(tmp_path):
  for name, array in _arrays().items():
    (tmp_path / name).write_bytes(_idx(array))
  return tmp_path


def _assert_read(digits):
  arrays = list(_arrays().values())
  for got, wanted in zip((*digits.train, *digits.test), arrays, strict=True):
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == np.uint8


def test_idx_files_are_read_as_they_are(folder):
  _assert_read(mnist.read(str(folder), _checksums()))


def test_gzipped_files_and_names_with_a_dot_are_read(folder):
  for name in _arrays():
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    dotted = name.replace('-idx', '.idx') if 'labels' in name else name
    (folder / f'{dotted}.gz').write_bytes(gzip.compress(content))
  _assert_read(mnist.read(str(folder), _checksums()))


def test_a_file_that_a_browser_unpacked_under_its_gz_name_is_read(folder):
  (folder / _IMAGES).rename(folder / f'{_IMAGES}.gz')
  _assert_read(mnist.read(str(folder), _checksums()))


def test_other_content_is_refused_by_its_checksum(folder):
  array = _arrays()[_IMAGES]
  array[0, 0, 0] ^= 1
  (folder / _IMAGES).write_bytes(_idx(array))
  with pytest.raises(ValueError, match='is not the file of MNIST.*MD5'):
    mnist.read(str(folder), _checksums())


def test_small_files_are_not_mnist(folder):
  with pytest.raises(ValueError, match='6bbc9ace898e44ae57da46a324031adb'):
    mnist.read(str(folder))


def test_what_is_no_directory_is_refused(folder):
  for path in (folder / 'nothing', folder / _IMAGES):
    with pytest.raises(FileNotFoundError, match='is not a directory'):
      mnist.read(str(path))


def test_a_missing_file_is_named(folder):
  (folder / _LABELS).unlink()
  with pytest.raises(FileNotFoundError, match=f'has no {_LABELS}; looked for'):
    mnist.read(str(folder), _checksums())


def test_swapped_files_are_told_by_their_first_bytes(folder):
  (folder / _LABELS).write_bytes((folder / _IMAGES).read_bytes()[:100])
  with pytest.raises(
    ValueError, match='begins with 0x00000803.*begins with 0x00000801'
  ):
    mnist.read(str(folder), _checksums())


@pytest.mark.parametrize(
  'size, message',
  [
    (5, 'ends after 5 bytes, within its header'),
    (100, r'has 84 bytes for an array of shape \(20, 28, 28\)'),
  ],
)
def test_a_shortened_file_is_refused(folder, size, message):
  path = folder / _IMAGES
  path.write_bytes(path.read_bytes()[:size])
  with pytest.raises(ValueError, match=message):
    mnist.read(str(folder), _checksums())


@pytest.mark.parametrize(
  'damage',
  [
    lambda content: content[: len(content) // 2],
    lambda content: content[:-8] + b'\0' * 8,
    lambda content: content[:50] + b'\xff' * 50 + content[100:],
    lambda content: content + b'more',
  ],
)
def test_a_damaged_gzip_file_is_refused(folder, damage):
  path = folder / _IMAGES
  path.write_bytes(damage(gzip.compress(path.read_bytes())))
  with pytest.raises(ValueError, match='is a damaged gzip file'):
    mnist.read(str(folder), _checksums())


@pytest.mark.parametrize('compress', [gzip.compress, bytes])
def test_no_more_is_read_than_the_real_file_has(folder, compress):
  # Label files have 60 008 bytes; 30 MB of zeros are 30 kB of gzip.
  (folder / _LABELS).write_bytes(compress(bytes(30_000_000)))
  with pytest.raises(ValueError, match='more than the 60008 bytes'):
    mnist.read(str(folder), _checksums())


def _fake_keras(monkeypatch, get_file):
  keras = types.SimpleNamespace(utils=types.SimpleNamespace(get_file=get_file))
  monkeypatch.setitem(
    sys.modules, 'tensorflow', types.SimpleNamespace(keras=keras)
  )


def _archive(arrays):
  """Returns a `get_file` that finds these arrays, and where it put them."""
  folders = []

  def get_file(name, *, origin, cache_dir, cache_subdir):
    print('Downloading', origin)
    folders.append(pathlib.Path(cache_dir))
    path = pathlib.Path(cache_dir) / cache_subdir / name
    np.savez(
      path,
      **dict(
        zip(('x_train', 'y_train', 'x_test', 'y_test'), arrays, strict=True)
      ),
    )
    return str(path)

  return get_file, folders


def test_the_archive_of_keras_is_taken_and_leaves_nothing(monkeypatch, capsys):
  get_file, folders = _archive(_arrays().values())
  _fake_keras(monkeypatch, get_file)
  _assert_read(mnist.download(_checksums()))
  assert [folder.exists() for folder in folders] == [False]
  printed = capsys.readouterr()
  assert printed.out == ''
  assert 'Downloading https://' in printed.err


def test_an_archive_with_other_content_is_refused(monkeypatch):
  _fake_keras(monkeypatch, _archive(_arrays().values())[0])
  with pytest.raises(ValueError, match="'x_train' of https.* is not the file"):
    mnist.download()


def test_without_a_network_the_directory_is_asked_for(monkeypatch):
  def get_file(*args, **kwargs):
    raise Exception('URL fetch failure: no route to host')  # As Keras does.

  _fake_keras(monkeypatch, get_file)
  mnist.load.cache_clear()
  with pytest.raises(
    ConnectionError, match=r'no route to host.*Pass --mnist DIR'
  ):
    mnist.load(None)


def test_random_images_show_their_digits_uniformly():
  labels = np.array([3, 0, 3, 1, 3], np.uint8)
  # The picture number i is filled with i.
  images = np.full((28, 28, 5), np.arange(5), np.uint8).transpose(2, 0, 1)
  asked = np.tile([3, 0, 1], 3000)
  drawn = mnist.random_images(
    np.random.default_rng(0), asked, mnist.Pool(images, labels)
  )
  assert drawn.shape == (9000, 28, 28)
  number = drawn[:, 0, 0]
  np.testing.assert_array_equal(labels[number], asked)
  np.testing.assert_allclose(
    np.bincount(number)[[0, 2, 4]], 1000, atol=4 * np.sqrt(1000 * 2 / 3)
  )


def test_random_images_are_decided_by_their_generator():
  pool = mnist.Pool(*list(_arrays().values())[:2])
  asked = np.arange(10)
  first, same, other = (
    mnist.random_images(np.random.default_rng(seed), asked, pool)
    for seed in (0, 0, 1)
  )
  np.testing.assert_array_equal(first, same)
  assert np.any(first != other)


@pytest.mark.parametrize('digit', [-1, 2, 10])
def test_a_digit_without_pictures_is_refused(digit):
  pool = mnist.Pool(np.zeros((2, 28, 28), np.uint8), np.array([0, 1], np.uint8))
  with pytest.raises(
    ValueError, match=f'no picture of {digit}; .* pictures of 0, 1'
  ):
    mnist.random_images(np.random.default_rng(0), np.array([0, digit]), pool)


def test_pixels_lie_between_zero_and_one():
  values = mnist.pixels(np.array([0, 51, 255], np.uint8))
  assert values.dtype == np.float32
  np.testing.assert_allclose(values, [0.0, 0.2, 1.0])


@real_files
def test_the_real_files_are_read_once_and_cannot_be_written():
  mnist.load.cache_clear()
  digits = mnist.load(str(_REAL))
  assert mnist.load(str(_REAL)) is digits
  assert digits.train.images.shape == (60_000, 28, 28)
  assert digits.test.images.shape == (10_000, 28, 28)
  assert digits.train.labels[:5].tolist() == [5, 0, 4, 1, 9]
  assert digits.test.labels[:5].tolist() == [7, 2, 1, 0, 4]
  # The mean brightness that everyone normalises MNIST with.
  assert mnist.pixels(digits.train.images).mean() == pytest.approx(
    0.1307, abs=1e-4
  )
  with pytest.raises(ValueError, match='read-only'):
    digits.train.images[0] = 0
