"""A log that is wrong ends with a sentence that names the place.

The command turns ValueError and OSError into one sentence and exit code 2, and
anything else would be a bug; so that is what is asked for here, and that
nothing is left in the output directory.
"""

import io
import json
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
from dfiv_ope.datasets.formats import npz_file
from dfiv_ope.launch import importing, runtime

HEADER = 'episode,step,obs_0,obs_1,action,reward,terminated,truncated'
GOOD = ('0,0,.1,.2,1,1.5,0,0', '0,1,.3,.4,0,2.5,1,0', '1,0,.5,.6,1,3.5,0,0')
PROBABLE = f'{HEADER},behaviour_probability,target_probability_0,'\
           'target_probability_1'


def rows(*lines, header=HEADER):
  return '\n'.join([header, *lines, '']).encode()


def probable(behaviour, left, right):
  return rows(f'0,0,.1,.2,1,1.5,0,0,{behaviour},{left},{right}',
              '0,1,.1,.2,0,1.5,1,0,1,1,0', header=PROBABLE)


# Name -> content of the CSV, options, words that the sentence must have.
CSV = {
    'empty file': (b'', {}, 'log.csv is empty'),
    'header only': (rows(), {}, 'no action'),
    'wrong delimiter': (
        rows(*GOOD).replace(b',', b';'), {}, 'separated by commas'),
    'missing action': (
        rows(*GOOD).replace(b'action', b'act'), {},
        "no column 'action' for action. Its columns are: 'episode', 'step'"),
    'missing reward': (
        rows(*GOOD).replace(b'reward', b'r'), {}, "no column 'reward'"),
    'missing episode': (
        rows(*GOOD).replace(b'episode', b'id'), {}, "no column 'episode'"),
    'missing observations': (
        rows(*GOOD).replace(b'obs', b'x'), {}, "no column 'obs*'"),
    'missing column asked for': (
        rows(*GOOD), {'step': 'time'}, "no column 'time' for step"),
    'column twice': (
        rows(*GOOD).replace(b'obs_1', b'obs_0'), {}, "'obs_0' occurs twice"),
    'column for two things': (
        rows(*GOOD), {'reward': 'action'}, "'action' occurs twice"),
    'nobody says how episodes end': (
        rows(*GOOD).replace(b'terminated', b'x'), {}, 'Say --ends'),
    'said twice how episodes end': (
        rows(*GOOD), {'ends': 'truncated'}, 'Leave it out'),
    'ends otherwise': (rows(*GOOD), {'ends': 'badly'}, "got 'badly'"),
    'unknown name in the mapping': (
        rows(*GOOD), {'colour': 'red'}, 'A mapping has no colour. Its names'),
    'mapping of another kind': (
        rows(*GOOD), {'action': 3}, 'action should be the name of a column'),
    'one label': (rows(*GOOD), {'actions': 'left'}, 'at least two labels'),
    'labels twice': (rows(*GOOD), {'actions': '0,1,1'}, "'1' occurs twice"),
    'mixed types': (
        rows(*GOOD, '1,1,abc,.6,1,1,1,0'), {},
        "log.csv, row 5: obs_0 is 'abc', which is not a number"),
    'words for a reward': (
        rows('0,0,.1,.2,1,high,1,0'), {}, "row 2: reward is 'high'"),
    'a flag that is none': (
        rows('0,0,.1,.2,1,1,maybe,0'), {}, "row 2: terminated is 'maybe'"),
    'a flag that is a number': (
        rows('0,0,.1,.2,1,1,2,0'), {}, "row 2: terminated is '2'"),
    'duplicate step': (
        rows(*GOOD, '1,0,.1,.2,1,1,1,0'), {},
        'row 5 (episode 1): the same step is there twice'),
    'gap in steps': (
        rows(*GOOD, '1,5,.1,.2,1,1,1,0'), {},
        'row 5 (episode 1): step 5 follows step 0'),
    'steps go down': (
        rows('0,5,.1,.2,1,1,0,0', '0,4,.1,.2,0,1,1,0'), {},
        'row 3 (episode 0): step 4 follows step 5'),
    'half a step': (
        rows('0,0.5,.1,.2,1,1,1,0'), {}, 'step is not a whole number'),
    'an episode comes back': (
        rows(*GOOD, '0,2,.1,.2,1,1,1,0'), {},
        'row 5 (episode 0): the episode was there before'),
    'no episode': (
        rows(*GOOD, ',2,.1,.2,1,1,1,0'), {}, 'row 5: episode is empty'),
    'empty in the middle': (
        rows('0,0,.1,.2,,,,', '0,1,.1,.2,1,1,1,0'), {},
        'row 2 (episode 0): action and reward are empty'),
    'action without reward': (
        rows('0,0,.1,.2,1,,1,0'), {}, 'row 2 (episode 0): reward is empty'),
    'reward without action': (
        rows(*GOOD, '2,0,.1,.2,,1,1,0'), {},
        'row 5 (episode 2): action is empty'),
    'only one-step episodes': (
        rows('0,0,.1,.2,1,1,0,0', '1,0,.1,.2,1,1,0,1'), {},
        '2 episodes had no transition left'),
    'only final observations': (
        rows('0,0,.1,.2,,,,', '1,0,.1,.2,,,,'), {'actions': 2},
        'holds no transition'),
    'goes on after termination': (
        rows('0,0,.1,.2,1,1,1,0', '0,1,.1,.2,1,1,1,0'), {},
        'row 2 (episode 0): terminated is set, but the episode goes on'),
    'goes on after truncation': (
        rows('0,0,.1,.2,1,1,0,1', '0,1,.1,.2,1,1,1,0'), {},
        'truncated is set, but the episode goes on'),
    'flag beside the final observation': (
        rows('0,0,.1,.2,1,1,0,0', '0,1,.1,.2,,,1,'), {},
        'row 3 (episode 0): terminated is set in a row without an action'),
    'too few cells': (
        rows(*GOOD, '1,1,.1,.2,1,1'), {}, 'row 5 (episode 1): terminated is'),
    'too many cells': (
        rows(*GOOD, '1,1,.1,.2,1,1,1,0,9'), {},
        'Expected 8 fields in line 5, saw 9'),
    'too many cells everywhere': (
        rows('0,0,.1,.2,1,1,1,0,9'), {}, 'more cells than the header'),
    'unclosed quote': (
        rows(*GOOD, '1,1,"0.1,.2,1,1,1,0'), {}, 'at row 5'),
    'NUL bytes': (
        rows(*GOOD, '1,1,.\0001,.2,1,1,1,0'), {},
        'row 5: there is a byte that does not belong'),
    'not UTF-8': (
        rows('\u00e9,0,.1,.2,1,1,1,0').decode().encode('latin-1'), {},
        'row 2: there is a byte that does not belong to text in UTF-8'),
    'UTF-16': (rows(*GOOD).decode().encode('utf-16'), {}, 'UTF-8'),
    'number beyond float64': (
        rows('0,0,1e400,.2,1,1,1,0'), {}, 'row 2 (episode 0): obs_0 is'),
    'number beyond float32': (
        rows('0,0,1e39,.2,1,1,1,0'), {}, 'too large for float32'),
    'whole number beyond int64': (
        rows(f'0,0,.1,.2,1,{10**50},1,0'), {}, 'reward is infinite or too'),
    'reward nan': (rows('0,0,.1,.2,1,nan,1,0'), {}, 'reward is empty or nan'),
    'reward inf': (rows('0,0,.1,.2,1,-inf,1,0'), {}, 'reward is infinite'),
    'observation inf': (
        rows(*GOOD, '1,1,.1,inf,1,1,1,0'), {},
        'row 5 (episode 1): obs_1 is empty, nan, infinite'),
    'observation empty': (rows('0,0,.1,,1,1,1,0'), {}, 'obs_1 is empty'),
    'continuous actions': (
        rows(*GOOD, '1,1,.1,.2,0.37,1,1,0'), {},
        'row 5: action is 0.37, but actions must be whole numbers'),
    'an action that is not said': (
        rows(*GOOD), {'actions': '1,2'}, 'action is not one of 1, 2'),
    'probability 0 of a taken action': (
        probable(0, .5, .5), {}, 'row 2 (episode 0): behaviour_probability is '
        'not in (0, 1]'),
    'negative probability': (
        probable(-.1, .5, .5), {}, 'behaviour_probability is not in'),
    'probability above one': (
        probable(1.5, .5, .5), {}, 'behaviour_probability is not in'),
    'probability empty': (
        probable('', .5, .5), {}, 'behaviour_probability is not in'),
    'negative target probability': (
        probable(.5, -.5, 1.5), {}, 'target probability is empty or not in'),
    'target probabilities that do not sum to one': (
        probable(.5, .5, .3), {}, 'target probabilities sum to 0.8, not'),
    'too few target probabilities': (
        probable(.5, .5, .5), {'actions': 3},
        'There must be one for each action'),
    'too few target probabilities by name': (
        probable(.5, .5, .5),
        {'target_probabilities': 'target_probability_0'},
        'There must be one for each action'),
}


def refused(path, out, monkeypatch, mapping, format_name=None):
  """Imports with the command's own function; returns its sentence."""
  monkeypatch.setattr(runtime, 'start', lambda: None)
  file = path.parent / 'mapping.yaml'
  file.write_text(json.dumps(mapping))  # JSON is YAML.
  with pytest.raises((ValueError, OSError)) as error:
    importing.import_log(
        path, out, format_name=format_name, mapping=file)
  assert not out.exists()
  return str(error.value)


@pytest.mark.parametrize('name', CSV)
def test_a_wrong_csv_is_refused(name, tmp_path, monkeypatch):
  content, mapping, words = CSV[name]
  (tmp_path / 'log.csv').write_bytes(content)
  assert words in refused(
      tmp_path / 'log.csv', tmp_path / 'out', monkeypatch, mapping)


def _arrays(**changes):
  arrays = {
      'episode': np.zeros(2, int), 'obs': np.ones((2, 3)),
      'action': np.array([0, 1]), 'reward': np.ones(2),
      'terminated': np.array([0, 1]), **changes}
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
        'log.npz', lambda: pickle.dumps(_Evil()), 'is not an npz file'),
    'npz of other lengths': (
        'log.npz', lambda: _npz(reward=np.ones(3)), 'the same length'),
    'npz without a dimension': (
        'log.npz', lambda: _npz(reward=np.ones(())), 'the same length'),
    'npz without a column': (
        'log.npz', lambda: _npz(reward=None), "no column 'reward'"),
    'npz of actions in vectors': (
        'log.npz', lambda: _npz(action=np.ones((2, 2))), 'one whole number'),
    'npz of continuous actions': (
        'log.npz', lambda: _npz(action=np.array([.5, 1.])), 'row 1: action is'),
    'npz of complex numbers': (
        'log.npz', lambda: _npz(reward=np.ones(2, complex)),
        'reward holds values of type complex128'),
    'npz of dates': (
        'log.npz', lambda: _npz(reward=np.zeros(2, 'datetime64[s]')),
        'numbers are wanted'),
    'npz cut off': ('log.npz', lambda: _npz()[:-40], 'is not an npz file'),
    'npz without arrays': ('log.npz', _zip, 'holds no array'),
    'npz that promises too much': (
        'log.npz', lambda: _zip(**{
            **{name: _npy(array) for name, array in _arrays().items()},
            'reward': _npy(np.ones(2), b'(9,)')}), 'room for'),
    'npz of something else': (
        'log.npz', lambda: _zip(**dict.fromkeys(_arrays(), b'hello')),
        'is not an array'),
    'zip of another kind': ('log.zip', _zip, 'holds no array'),
    'parquet, truncated': (
        'log.parquet', lambda: _parquet()[:-100], 'not a whole Parquet file'),
    'parquet, start lost': (
        'log.parquet', lambda: _flipped(_parquet()), 'log.parquet'),
    'parquet, empty': ('log.parquet', lambda: b'', 'not a whole Parquet file'),
    'parquet of lists': (
        'log.parquet', lambda: _parquet(reward=[[1], [2, 3]]),
        'reward holds values of type list'),
    'parquet of text': (
        'log.parquet', lambda: _parquet(reward=['1', 'two']),
        "row 2: reward is 'two'"),
    'parquet with a gap': (
        'log.parquet', lambda: _parquet(reward=[1, None]),
        'row 2 (episode 0): reward is empty'),
    'minari without episodes': (
        'log.hdf5', lambda: _hdf5(lambda file: None), 'holds no episode'),
    'minari without rewards': (
        'log.hdf5', lambda: _hdf5(lambda f: f.create_group('episode_0')),
        'has no observations'),
    'minari of continuous actions': (
        'log.hdf5', lambda: _hdf5(
            lambda f: _episode(f, actions=np.array([.5, .7]))),
        'continuous actions'),
    'minari that misses an observation': (
        'log.hdf5', lambda: _hdf5(lambda f: _episode(
            f, actions=np.array([0, 1]), observations=2)),
        'episode_0 has 2 rewards but 2 observations'),
    'minari, truncated': (
        'log.hdf5', lambda: _hdf5(lambda file: None)[:50],
        'not a whole dataset of Minari'),
    'tfrecord that is not gzip': (
        'log.tfrecord', lambda: struct.pack('<QI', 5, 0) + b'hello',
        'not compressed with gzip'),
    'csv.gz cut off': (
        'log.csv.gz', lambda: __import__('gzip').compress(
            rows(*GOOD))[:-20], 'cannot be decompressed'),
    'unknown format': ('log.xyz', lambda: b'hello', 'in no format'),
    'no name at all': ('log', lambda: b'{"a": 1}', 'in no format'),
}


@pytest.mark.parametrize('name', FILES)
def test_a_wrong_file_is_refused(name, tmp_path, monkeypatch):
  file, content, words = FILES[name]
  (tmp_path / file).write_bytes(content())
  assert words in refused(
      tmp_path / file, tmp_path / 'out', monkeypatch, {})


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
  members = {name: _npy(array) for name, array in _arrays().items()}
  (tmp_path / 'log.npz').write_bytes(
      _zip(**{**members, 'obs': _npy(np.zeros(1_000_000))}))
  monkeypatch.setattr(npz_file, 'LIMIT_BYTES', 100_000)
  monkeypatch.setattr(zipfile.ZipFile, 'open', None)  # Nothing is opened.
  assert 'Save it as Parquet' in refused(
      tmp_path / 'log.npz', tmp_path / 'out', monkeypatch, {})


def test_a_zip_bomb_is_refused_by_the_real_limit(tmp_path, monkeypatch):
  content = bytearray(_npz())
  # The size of the first member in the directory of the archive: 4 GiB - 2.
  for _ in range(3):
    place = content.index(b'PK\1\2', 0)
    content[place:place + 4] = b'PK\1\3'
    struct.pack_into('<I', content, place + 24, 2**32 - 2)
  (tmp_path / 'log.npz').write_bytes(
      bytes(content).replace(b'PK\1\3', b'PK\1\2'))
  assert 'GiB in memory' in refused(
      tmp_path / 'log.npz', tmp_path / 'out', monkeypatch, {})


def test_a_directory_is_no_file(tmp_path, monkeypatch):
  (tmp_path / 'log.csv').mkdir()
  assert 'in no format' in refused(
      tmp_path / 'log.csv', tmp_path / 'out', monkeypatch, {})
  assert 'is a directory, but csv is a file' in refused(
      tmp_path / 'log.csv', tmp_path / 'out', monkeypatch, {}, 'csv')


def test_a_format_that_does_not_exist_is_refused(tmp_path, monkeypatch):
  (tmp_path / 'log.csv').write_bytes(rows(*GOOD))
  assert "no format 'xls'" in refused(
      tmp_path / 'log.csv', tmp_path / 'out', monkeypatch, {}, 'xls')


def test_a_missing_file_is_said(tmp_path, monkeypatch):
  assert 'There is no log' in refused(
      tmp_path / 'log.csv', tmp_path / 'out', monkeypatch, {})


def _import(path):
  reader = logs.LogReader(path, columns=columns.Columns())
  return list(reader.blocks(progress=lambda share: None))


_CELLS = st.one_of(
    st.sampled_from(['', '0', '1', '-1', '2.5', 'nan', 'inf', '1e400', 'x',
                     '"', '\n', ',', 'True', '\u00e9']),
    st.text(max_size=3))
# The same examples every time: what CI finds, everybody finds.
_HYPOTHESIS = settings(
    max_examples=150, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture])


@_HYPOTHESIS
@given(table=st.lists(st.lists(_CELLS, min_size=6, max_size=9), max_size=6))
def test_any_cells_are_read_or_refused_with_a_sentence(tmp_path, table):
  path = tmp_path / 'log.csv'
  lines = [','.join(line) for line in table]
  path.write_text('\n'.join([HEADER, *lines]), encoding='utf-8', newline='')
  try:
    blocks = _import(path)
  except ValueError as error:
    assert 'log.csv' in str(error)
  else:
    for block in blocks:
      assert np.isfinite(block.steps.observation).all()
      assert np.isfinite(block.steps.reward).all()


@_HYPOTHESIS
@given(content=st.binary(max_size=200), name=st.sampled_from(
    ['log.csv', 'log.npz', 'log.parquet', 'log.hdf5', 'log.csv.gz',
     'log.tfrecord', 'log']))
def test_any_bytes_are_refused_with_a_sentence(tmp_path, content, name):
  (tmp_path / name).write_bytes(content)
  with pytest.raises(ValueError, match=r'log'):
    _import(tmp_path / name)


@_HYPOTHESIS
@given(place=st.integers(0, 10_000), value=st.integers(0, 255),
       kind=st.sampled_from(['npz', 'parquet']))
def test_a_changed_byte_is_read_or_refused_with_a_sentence(
    tmp_path, place, value, kind):
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
