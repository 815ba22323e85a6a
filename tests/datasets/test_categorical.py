"""Categorical observations from the file to the record and back."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from dfiv_ope import typed_json
from dfiv_ope.datasets import (
  categories,
  column_notes,
  columns,
  exporting,
  importing,
  logs,
  reading,
)
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.ope import log_notes

_LOG = """episode,obs_place,obs_x,action,reward,terminated
0,north,0.25,0,1,0
0,south,1.5,1,2,1
1,east,2.5,1,3,0
1,north,3.5,0,4,1
"""


def _import(path, out, **mapping):
  reader = logs.LogReader(path, columns=columns.parse(mapping))
  metadata = importing.write(
    reader,
    out,
    spec_lib.Log(
      name='log', source=path.name, format=reader.format, mapping=reader.mapping
    ),
    progress=lambda _: None,
  )
  (out / spec_lib.METADATA).write_text(metadata.to_json())
  return reading.open_dataset(out)


def _write(tmp_path, text=_LOG):
  path = tmp_path / 'log.csv'
  path.write_text(text)
  return path


def test_text_is_stored_as_its_place_and_the_record_has_the_labels(tmp_path):
  dataset = _import(
    _write(tmp_path), tmp_path / 'data', categorical='obs_place'
  )
  assert dataset.metadata.observations == ('obs_place', 'obs_x')
  assert dataset.metadata.categories == {0: ('east', 'north', 'south')}
  np.testing.assert_array_equal(
    dataset.steps.observation[:, 0], [1.0, 2.0, 2.0, 0.0, 1.0, 1.0]
  )
  assert dataset.steps.observation.dtype == np.float64


def test_whole_numbers_are_stored_as_they_are(tmp_path):
  text = _LOG.replace('north', '70').replace('south', '8').replace('east', '9')
  dataset = _import(
    _write(tmp_path, text), tmp_path / 'data', categorical=['obs_place']
  )
  assert dataset.metadata.categories == {0: (8, 9, 70)}
  np.testing.assert_array_equal(
    dataset.steps.observation[:, 0], [70.0, 8.0, 8.0, 9.0, 70.0, 70.0]
  )


def test_the_digest_covers_the_categories(tmp_path):
  text = _LOG.replace('north', '1').replace('south', '2').replace('east', '0')
  path = _write(tmp_path, text)
  plain = _import(path, tmp_path / 'plain')
  named = _import(path, tmp_path / 'named', categorical='obs_place')
  np.testing.assert_array_equal(
    plain.steps.observation, named.steps.observation
  )
  assert plain.metadata.digest != named.metadata.digest


@pytest.mark.parametrize('format_name', exporting.FORMATS)
def test_an_export_comes_back_with_its_categories(tmp_path, format_name):
  if format_name == 'minari':
    pytest.importorskip('h5py')
  dataset = _import(
    _write(tmp_path), tmp_path / 'data', categorical='obs_place'
  )
  out = tmp_path / (
    'minari' if format_name == 'minari' else f'out.{format_name}'
  )
  exporting.export(dataset, out, format_name=format_name)
  again = _import(
    out,
    tmp_path / 'again',
    **({'observations': 'observation'} if format_name == 'minari' else {}),
    **({'categorical': 'obs_0'} if format_name == 'csv' else {}),
  )
  assert again.metadata.digest == dataset.metadata.digest
  assert again.metadata.categories == dataset.metadata.categories


@pytest.mark.parametrize(
  'name, words',
  [
    ('obs_x', 'obs_x is 0.25 in some row'),
    ('reward', 'is no observation of log.csv'),
    ('nothing', "'nothing' should be categorical"),
  ],
)
def test_what_is_not_categorical_is_refused(tmp_path, name, words):
  with pytest.raises(ValueError, match=words):
    _import(_write(tmp_path), tmp_path / 'data', categorical=name)


def test_too_many_categories_are_refused(tmp_path):
  assert categories.MOST == 20_000
  rows = ''.join(f'0,s{index},0,0,0,0\n' for index in range(100_000))
  with pytest.raises(ValueError, match='more than 20,000 different values'):
    _import(
      _write(tmp_path, _LOG + rows), tmp_path / 'data', categorical='obs_place'
    )


def test_a_column_of_text_that_is_not_declared_gets_an_offer(tmp_path):
  with pytest.raises(
    ValueError,
    match="obs_place is 'north', which is not a "
    'number; if its values are names, say --categorical '
    'obs_place',
  ):
    _import(_write(tmp_path), tmp_path / 'data')
  frame = pd.read_csv(_write(tmp_path))
  with pytest.raises(ValueError, match='say --categorical obs_place'):
    log_lib.Log.from_frame(frame, discount=0.9)
  with pytest.raises(ValueError, match='is not a number; so in|not a number.'):
    log_lib.Log.from_frame(
      frame.assign(obs_place=['1', 'x', '2', '3']), discount=0.9
    )


def _columns(kind):
  place, x = ['north', 'south', 'east', 'north'], [0.25, 1.5, 2.5, 3.5]
  if kind == 'objects':
    return np.array([list(each) for each in zip(place, x, strict=True)], object)
  if kind == 'lists':
    return [list(each) for each in zip(place, x, strict=True)]
  if kind == 'mapping':
    return {'place': place, 'x': x}
  if kind == 'frame':
    return pd.DataFrame({'place': pd.Categorical(place), 'x': x})
  return np.array(
    list(zip(place, x, strict=True)), [('place', 'U9'), ('x', 'f8')]
  )


@pytest.mark.parametrize(
  'kind, column',
  [
    ('objects', 0),
    ('lists', 0),
    ('mapping', 'place'),
    ('frame', 'place'),
    ('structured', 'place'),
    ('structured', 0),
  ],
)
def test_arrays_may_hold_text(tmp_path, kind, column):
  log = log_lib.Log.from_arrays(
    _columns(kind),
    [0, 1, 1, 0],
    [1, 2, 3, 4],
    [0, 1, 0, 1],
    discount=0.9,
    categorical=[column],
  )
  assert log.categorical == (0,)
  np.testing.assert_array_equal(
    log.transitions.observation,
    [[1.0, 0.25], [2.0, 1.5], [0.0, 2.5], [1.0, 3.5]],
  )
  frame = pd.read_csv(_write(tmp_path))
  dataset = _import(
    _write(tmp_path), tmp_path / 'data', categorical='obs_place'
  )
  for framed in (
    log_lib.Log.from_frame(frame, discount=0.9, categorical='obs_place'),
    log_lib.Log.from_frame(
      frame.astype({'obs_place': 'category'}), discount=0.9
    ),
  ):
    assert log.digest == framed.digest == dataset.metadata.digest


def test_one_column_of_text_may_be_the_whole_observation():
  log = log_lib.Log.from_arrays(
    ['b', 'a', 'b'],
    [0, 1, 0],
    [1, 2, 3],
    [0, 0, 1],
    discount=0.9,
    categorical=[0],
  )
  assert log.categorical == (0,)
  np.testing.assert_array_equal(
    log.transitions.observation, [[1.0], [0.0], [1.0]]
  )


@pytest.mark.parametrize(
  'observations, column, words',
  [
    (
      np.zeros((3, 2)),
      2,
      'Column 2 should be categorical, but the '
      'observations have columns 0 to 1',
    ),
    (np.zeros((3, 2)), 'x', 'no names. Give the number of the column'),
    ({'y': [1, 2, 3]}, 'x', 'only the columns y'),
  ],
)
def test_a_column_that_is_not_there_is_refused(observations, column, words):
  with pytest.raises(ValueError, match=words):
    log_lib.Log.from_arrays(
      observations,
      [0, 1, 0],
      [1, 2, 3],
      [0, 0, 1],
      discount=0.9,
      categorical=[column],
    )


def test_an_entry_that_is_not_there_is_refused(tmp_path):
  np.savez(
    tmp_path / 'log.npz',
    episode=[0, 0],
    action=[0, 1],
    reward=[1.0, 2.0],
    terminated=[0, 1],
    obs=np.ones((2, 2)),
  )
  with pytest.raises(
    ValueError,
    match=r"'obs\[7\]' should be categorical, but "
    r'log.npz has only obs\[0\], obs\[1\]',
  ):
    _import(tmp_path / 'log.npz', tmp_path / 'data', categorical='obs[7]')


def test_an_entry_of_an_array_may_be_categorical(tmp_path):
  np.savez(
    tmp_path / 'log.npz',
    episode=[0, 0],
    action=[0, 1],
    reward=[1.0, 2.0],
    terminated=[0, 1],
    obs=np.array([[5.0, 0.5], [9.0, 1.5]]),
  )
  dataset = _import(
    tmp_path / 'log.npz', tmp_path / 'data', categorical='obs[0]'
  )
  assert dataset.metadata.categories == {0: (5, 9)}


def _notes(*columns_, first=None, **options):
  x = np.stack(columns_, axis=1).astype(float)
  nothing = np.zeros(len(x))
  is_first = np.arange(len(x)) % 10 == 0 if first is None else first
  profile = column_notes.Profile(**options)
  profile.add(
    steps_lib.Steps(
      x, nothing, nothing, nothing, is_first, np.roll(is_first, -1), nothing
    )
  )
  return profile.notes()


_GENERATOR = np.random.default_rng(0)


def test_a_constant_column_is_said_and_no_doubt():
  (note,) = _notes(np.full(100, 3.0), names=['time'])
  assert note.sentence == ('Observation time is constant, so it tells nothing.')
  assert not note.doubt


def test_a_column_that_loses_its_digits_is_said():
  (note,) = _notes(1.7e12 + 3.0 * _GENERATOR.normal(size=5_000), names=['t'])
  assert note.doubt
  assert 'mean 1.7e+12 and spread 3: float64 keeps 4 digits' in note.sentence


def test_outliers_that_flatten_a_column_are_counted():
  x = _GENERATOR.normal(size=5_000)
  x[[5, 50, 500]] = 1e12
  (note,) = _notes(x, names=['x'])
  assert note.doubt
  assert note.sentence.startswith('3 of 5,000 values of observation x lie')
  assert note.numbers == {
    'far': 3,
    'rows': 5_000,
    'ranges': 100.0,
    'sampled': 0.0,
  }


def test_notes_are_plain_numbers_that_rows_can_keep():
  x = _GENERATOR.normal(size=5_000)
  x[5] = 1e12
  found = _notes(
    x, 1.7e12 + 3.0 * _GENERATOR.normal(size=5_000), np.full(5_000, 3.0)
  )
  kept = json.loads(json.dumps([dataclasses.asdict(note) for note in found]))
  assert typed_json.build(tuple[log_notes.Note, ...], kept) == tuple(found)
  assert [note.kind for note in found] == [
    log_notes.OUTLIERS,
    log_notes.PRECISION,
    log_notes.CONSTANT,
  ]


def test_states_that_are_numbers_look_categorical():
  # Some states are visited often and others seldom, whatever their number.
  often = _GENERATOR.exponential(size=64)
  x = _GENERATOR.choice(64, size=5_000, p=often / often.sum())
  x = np.concatenate([x, np.repeat(np.arange(64), 10)])
  (note,) = _notes(x, names=['state'])
  assert note.doubt and 'import the log with --categorical state' in (
    note.sentence
  )
  assert not _notes(x, categorical=[0])


def test_few_states_look_categorical_where_their_frequencies_go_up_and_down():
  often = np.array([5.0, 1.0, 4.0, 2.0, 6.0, 1.0, 3.0, 2.0]) / 24.0
  (note,) = _notes(_GENERATOR.choice(8, size=2_000, p=often), names=['state'])
  assert note.kind == log_notes.CATEGORICAL
  assert note.numbers == {'values': 8}
  # One peak, anywhere, is that of a measurement.
  assert not _notes(_GENERATOR.choice(8, size=2_000, p=np.sort(often)))
  assert not _notes(_GENERATOR.binomial(7, 0.4, size=2_000))


@pytest.mark.parametrize(
  'x',
  [
    _GENERATOR.integers(2, size=5_000),  # a pixel
    _GENERATOR.integers(5, size=5_000),  # a dose
    np.arange(5_000) % 10,  # a step counter
    np.repeat(_GENERATOR.integers(20, 90, 500), 10),  # an age
    np.round(_GENERATOR.normal(80.0, 15.0, 5_000)),  # a heart rate
    _GENERATOR.poisson(20.0, 5_000),  # a stock
    _GENERATOR.normal(size=5_000),
  ],
)
def test_measurements_do_not_look_categorical(x):
  assert not _notes(x)
