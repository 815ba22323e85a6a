"""A damaged or foreign file ends with a sentence, whatever its format."""

import gzip
import io
import pickle
import struct
import zipfile

import h5py
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import numpy as np
import pandas as pd
import pytest

from dfiv_ope.datasets import columns, logs
from dfiv_ope.datasets import layout as layout_lib
from dfiv_ope.datasets.formats import npz_file

# The same examples every time: what CI finds, everybody finds.
_HYPOTHESIS = settings(
  max_examples=150,
  deadline=None,
  derandomize=True,
  suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def _arrays(**changes):
  arrays = {
    'episode': np.zeros(2, int),
    'obs': np.ones((2, 3)),
    'action': np.array([0, 1]),
    'reward': np.ones(2),
    'terminated': np.array([0, 1]),
    **changes,
  }
  return {name: array for name, array in arrays.items() if array is not None}


def _npz(**changes):
  stream = io.BytesIO()
  np.savez_compressed(stream, **_arrays(**changes))
  return stream.getvalue()


def _zip(**members):
  stream = io.BytesIO()
  with zipfile.ZipFile(stream, 'w', zipfile.ZIP_DEFLATED) as archive:
    for name, content in members.items():
      archive.writestr(f'{name}.npy', content)
  return stream.getvalue()


def _npy(array, shape=None):
  stream = io.BytesIO()
  np.save(stream, array, allow_pickle=True)
  content = stream.getvalue()
  # A header that promises more than there is.
  return content if shape is None else content.replace(b'(2,)', shape)


def _parquet(**changes):
  frame = {name: list(array) for name, array in _arrays(**changes).items()}
  frame['obs'] = [0.5, 1.5]
  stream = io.BytesIO()
  pd.DataFrame(frame).to_parquet(stream)
  return stream.getvalue()


def _flipped(content):
  data = bytearray(content)
  data[4:40] = bytes(36)
  return bytes(data)


class _Evil:
  """Would leave a trace if it were ever unpickled."""

  def __reduce__(self):
    return pytest.fail, ('unpickled',)


def _pickled():
  members = {name: _npy(array) for name, array in _arrays().items()}
  evil = np.empty(2, object)
  evil[:] = [_Evil(), _Evil()]
  return _zip(**{**members, 'reward': _npy(evil)})


def _hdf5(fill):
  stream = io.BytesIO()
  with h5py.File(stream, 'w') as file:
    fill(file)
  return stream.getvalue()


def _episode(file, *, actions, observations=3):
  group = file.create_group('episode_0')
  group['observations'] = np.ones((observations, 1))
  group['actions'] = actions
  group['rewards'] = np.ones(2)
  group['terminations'] = group['truncations'] = np.zeros(2, bool)


# Name -> file name, content, words of the sentence.
FILES = {
  'npz, pickled': ('log.npz', _pickled, 'reward holds pickled objects'),
  'npz that is a pickle': (
    'log.npz',
    lambda: pickle.dumps(_Evil()),
    'is not an npz file',
  ),
  'npz of other lengths': (
    'log.npz',
    lambda: _npz(reward=np.ones(3)),
    'the same length',
  ),
  'npz without a dimension': (
    'log.npz',
    lambda: _npz(reward=np.ones(())),
    'the same length',
  ),
  'npz without a column': (
    'log.npz',
    lambda: _npz(reward=None),
    "no column 'reward'",
  ),
  'npz of actions in vectors without numbers': (
    'log.npz',
    lambda: _npz(action=np.full((2, 2), np.nan)),
    'holds no action in any row: action[0] is empty',
  ),
  'npz of continuous actions': (
    'log.npz',
    lambda: _npz(action=np.array([0.5, 1.0])),
    'row 1 (episode 0): action is 0.5, but',
  ),
  'npz of rewards in vectors': (
    'log.npz',
    lambda: _npz(reward=np.ones((2, 3))),
    'log.npz: reward has 3 entries a row (shape (2, 3)), but one is',
  ),
  'npz of flags in vectors': (
    'log.npz',
    lambda: _npz(terminated=np.ones((2, 3))),
    'log.npz: terminated has 3 entries a row',
  ),
  'npz of episodes in vectors': (
    'log.npz',
    lambda: _npz(episode=np.ones((2, 3))),
    'log.npz: episode has 3 entries a row',
  ),
  'npz of labels in another encoding': (
    'log.npz',
    lambda: _npz(action=np.array([b'\xff', b'b'])),
    'is not text in UTF-8',
  ),
  'npz of dates as labels': (
    'log.npz',
    lambda: _npz(action=np.zeros(2, 'datetime64[s]')),
    'action has values of type datetime64[s], which cannot be labels',
  ),
  'npz of labels in objects': (
    'log.npz',
    lambda: _zip(
      **{
        **{name: _npy(array) for name, array in _arrays().items()},
        'action': _npy(np.array(['a', 'b'], object)),
      }
    ),
    'action holds pickled objects',
  ),
  'npz of labels that differ by blanks': (
    'log.npz',
    lambda: _npz(action=np.array(['a', 'a '])),
    "row 2 (episode 0): the labels 'a' and 'a ' differ only by blanks",
  ),
  'npz of many arrays': (
    'log.npz',
    lambda: _zip(**dict.fromkeys(map(str, range(20_001)), b'')),
    'holds 20,001 arrays',
  ),
  'npz of complex numbers': (
    'log.npz',
    lambda: _npz(reward=np.ones(2, complex)),
    'reward holds values of type complex128',
  ),
  'npz of dates': (
    'log.npz',
    lambda: _npz(reward=np.zeros(2, 'datetime64[s]')),
    'numbers are wanted',
  ),
  'npz cut off': ('log.npz', lambda: _npz()[:-40], 'is not an npz file'),
  'npz without arrays': ('log.npz', _zip, 'holds no array'),
  'npz that promises too much': (
    'log.npz',
    lambda: _zip(
      **{
        **{name: _npy(array) for name, array in _arrays().items()},
        'reward': _npy(np.ones(2), b'(9,)'),
      }
    ),
    'room for',
  ),
  'npz of something else': (
    'log.npz',
    lambda: _zip(**dict.fromkeys(_arrays(), b'hello')),
    'is not an array',
  ),
  'zip of another kind': ('log.zip', _zip, 'holds no array'),
  'parquet, truncated': (
    'log.parquet',
    lambda: _parquet()[:-100],
    'not a whole Parquet file',
  ),
  'parquet, start lost': (
    'log.parquet',
    lambda: _flipped(_parquet()),
    'log.parquet',
  ),
  'parquet, empty': ('log.parquet', lambda: b'', 'not a whole Parquet file'),
  'parquet of lists': (
    'log.parquet',
    lambda: _parquet(reward=[[1], [2, 3]]),
    'row 2: reward has 2 numbers, but 1 in row 1',
  ),
  'parquet of text': (
    'log.parquet',
    lambda: _parquet(reward=['1', 'two']),
    "row 2 (episode 0): reward is 'two'",
  ),
  'parquet with a gap': (
    'log.parquet',
    lambda: _parquet(reward=[1, None]),
    'row 2 (episode 0): reward is empty',
  ),
  'minari without episodes': (
    'log.hdf5',
    lambda: _hdf5(lambda file: None),
    'holds no episode',
  ),
  'minari without rewards': (
    'log.hdf5',
    lambda: _hdf5(lambda f: f.create_group('episode_0')),
    'has no observations',
  ),
  'minari of continuous actions': (
    'log.hdf5',
    lambda: _hdf5(lambda f: _episode(f, actions=np.array([0.5, 0.7]))),
    'if they are amounts, say --continuous',
  ),
  'minari that misses an observation': (
    'log.hdf5',
    lambda: _hdf5(
      lambda f: _episode(f, actions=np.array([0, 1]), observations=2)
    ),
    'episode_0 has 2 rewards but 2 observations',
  ),
  'minari, truncated': (
    'log.hdf5',
    lambda: _hdf5(lambda file: None)[:50],
    'not a whole dataset of Minari',
  ),
  'tfrecord that is not gzip': (
    'log.tfrecord',
    lambda: struct.pack('<QI', 5, 0) + b'hello',
    'not compressed with gzip',
  ),
  'csv.gz cut off': (
    'log.csv.gz',
    lambda: gzip.compress(b'episode,step\n' * 9)[:-20],
    'cannot be decompressed',
  ),
  'unknown format': ('log.xyz', lambda: b'hello', 'in no format'),
  'no name at all': ('log', lambda: b'{"a": 1}', 'in no format'),
}


@pytest.mark.parametrize('name', FILES)
def test_a_wrong_file_is_refused(name, tmp_path, refused):
  file, content, words = FILES[name]
  (tmp_path / file).write_bytes(content())
  assert words in refused(tmp_path / file, tmp_path / 'out', {})


@pytest.mark.parametrize(
  'changes',
  [
    {'reward': np.ones((2, 1))},
    {'terminated': np.array([[0], [1]])},
    {'episode': np.zeros((2, 1), int)},
    {'action': np.array([[0], [1]])},
    {'action': np.array([b'a', b'b'])},
  ],
)
def test_columns_of_one_entry_and_bytes_are_read(tmp_path, changes):
  (tmp_path / 'log.npz').write_bytes(_npz(**changes))
  (block,) = _import(tmp_path / 'log.npz')
  assert block.steps.reward.tolist() == [1.0, 1.0, 0.0]
  assert block.steps.action.tolist() == [0, 1, 0]
  assert block.steps.is_terminal.tolist() == [False, False, True]


def test_thousands_of_columns_take_no_longer_than_they_should(tmp_path):
  """A quadratic search of 20,000 names would take minutes."""
  names = [f'obs_{index}' for index in range(20_000)]
  layout = layout_lib.resolve(
    columns.Columns(),
    ['episode', 'action', 'reward', 'terminated', *names],
    file='log.csv',
  )
  assert layout.observations == tuple(names)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
  tmp_path, refused, monkeypatch
):
  members = {name: _npy(array) for name, array in _arrays().items()}
  (tmp_path / 'log.npz').write_bytes(
    _zip(**{**members, 'obs': _npy(np.zeros(1_000_000))})
  )
  monkeypatch.setattr(npz_file, 'LIMIT_BYTES', 100_000)
  monkeypatch.setattr(zipfile.ZipFile, 'open', None)  # Nothing is opened.
  assert 'Save it as Parquet' in refused(
    tmp_path / 'log.npz', tmp_path / 'out', {}
  )


def test_a_zip_bomb_is_refused_by_the_real_limit(tmp_path, refused):
  content = bytearray(_npz())
  # The size of the first member in the directory of the archive: 4 GiB - 2.
  for _ in range(3):
    place = content.index(b'PK\1\2', 0)
    content[place : place + 4] = b'PK\1\3'
    struct.pack_into('<I', content, place + 24, 2**32 - 2)
  (tmp_path / 'log.npz').write_bytes(
    bytes(content).replace(b'PK\1\3', b'PK\1\2')
  )
  assert 'GiB in memory' in refused(tmp_path / 'log.npz', tmp_path / 'out', {})


def _import(path):
  reader = logs.LogReader(path, columns=columns.Columns())
  return list(reader.blocks(progress=lambda share: None))


@_HYPOTHESIS
@given(
  content=st.binary(max_size=200),
  name=st.sampled_from(
    [
      'log.csv',
      'log.npz',
      'log.parquet',
      'log.hdf5',
      'log.csv.gz',
      'log.tfrecord',
      'log',
    ]
  ),
)
def test_any_bytes_are_refused_with_a_sentence(tmp_path, content, name):
  (tmp_path / name).write_bytes(content)
  with pytest.raises(ValueError, match=r'log'):
    _import(tmp_path / name)


@_HYPOTHESIS
@given(
  place=st.integers(0, 10_000),
  value=st.integers(0, 255),
  kind=st.sampled_from(['npz', 'parquet']),
)
def test_a_changed_byte_is_read_or_refused_with_a_sentence(
  tmp_path, place, value, kind
):
  content = bytearray(_npz() if kind == 'npz' else _parquet())
  content[place % len(content)] = value
  (tmp_path / f'log.{kind}').write_bytes(content)
  try:
    _import(tmp_path / f'log.{kind}')
  except ValueError as error:
    assert 'log' in str(error)


def test_an_archive_of_a_later_version_is_refused(tmp_path):
  content = bytearray(_npz())
  place = content.index(b'PK\x01\x02') + 6  # version needed to extract
  content[place] = 255
  (tmp_path / 'log.npz').write_bytes(content)
  with pytest.raises(ValueError, match='log.npz is not an npz file'):
    _import(tmp_path / 'log.npz')
