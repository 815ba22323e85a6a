"""Actions that are vectors, from files and arrays to a dataset and back."""

import dataclasses
import json

import minari
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
import pytest

from dfiv_ope import actions
from dfiv_ope.datasets import (
  bounds,
  card,
  checks,
  columns,
  exporting,
  importing,
  log_check,
  logs,
  reading,
  sampling,
  serving,
  store,
)
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.policies import rollout

_LOG = """episode,obs_x,drug,dose,reward,terminated,behaviour_probability
0,0.25,b,0.5,1,0,1.5
0,1.5,a,2,2,1,0.25
1,2.5,a,10,3,0,3.5
1,3.5,c,0.125,4,0,0.75
1,4.5,,,,,
"""
# Final observations have zeros.
_ACTIONS = [
  [1.0, 0.5],
  [0.0, 2.0],
  [0.0, 0.0],
  [0.0, 10.0],
  [2.0, 0.125],
  [0.0, 0.0],
]


def _write(tmp_path, text=_LOG):
  path = tmp_path / 'log.csv'
  path.write_text(text)
  return path


def _import(path, out, **mapping):
  reader = logs.LogReader(path, columns=columns.parse(mapping))
  metadata = importing.write(
    reader,
    out,
    spec_lib.Log(
      name='log',
      source=path.name,
      format=reader.format,
      mapping=reader.mapping,
      discount=0.9,
    ),
    progress=lambda _: None,
  )
  (out / spec_lib.METADATA).write_text(metadata.to_json())
  return reading.open_dataset(out)


@pytest.fixture
def mixed(tmp_path):
  return _import(
    _write(tmp_path), tmp_path / 'data', action='drug,dose', bounds=':,0:10'
  )


def test_several_columns_are_the_entries_of_an_action(mixed):
  assert mixed.metadata.num_actions == 0
  assert mixed.metadata.continuous == actions.Continuous(
    low=(None, 0.0),
    high=(None, 10.0),
    names=('drug', 'dose'),
    categories={0: ('a', 'b', 'c')},
  )
  assert mixed.steps.action.dtype == np.float64
  np.testing.assert_array_equal(mixed.steps.action, _ACTIONS)
  np.testing.assert_array_equal(
    mixed.annotations['behaviour_probability'], [1.5, 0.25, 0, 3.5, 0.75, 0]
  )
  assert checks.problems(mixed) == []
  assert mixed.metadata.spec.mapping['action'] == ['drug', 'dose']
  assert mixed.metadata.spec.mapping['bounds'] == [[None, None], [0.0, 10.0]]
  again = spec_lib.Metadata.from_json(mixed.metadata.to_json(), source='x')
  assert again == mixed.metadata


def test_a_log_has_them_and_says_so(mixed, tmp_path):
  log = log_lib.Log.open(tmp_path / 'data')
  assert log.continuous == mixed.metadata.continuous
  assert log.num_actions == 0 and log.recorded_targets is None
  assert '1 observation entries, 2 action entries' in repr(log)
  np.testing.assert_array_equal(
    log.transitions.action, np.array(_ACTIONS)[[0, 1, 3, 4]]
  )
  assert log.for_policies()['continuous'] == log.continuous
  np.testing.assert_allclose(
    log.behaviour_probabilities, [1.5, 0.25, 3.5, 0.75]
  )


def test_the_record_of_discrete_actions_says_nothing_of_vectors(tmp_path):
  text = _LOG.replace(',1.5\n', ',1\n').replace(',3.5\n', ',1\n')
  dataset = _import(_write(tmp_path, text), tmp_path / 'data', action='drug')
  record = json.loads(dataset.metadata.to_json())
  assert 'continuous' not in record and record['num_actions'] == 3
  assert record['spec']['mapping']['action'] == 'drug'
  assert not {'continuous', 'bounds', 'categorical_actions'} & set(
    record['spec']['mapping']
  )
  assert 'continuous' not in log_lib.Log.open(tmp_path / 'data').for_policies()


@pytest.mark.parametrize('format_name', exporting.FORMATS)
def test_an_export_comes_back(mixed, tmp_path, format_name):
  out = tmp_path / (
    'minari' if format_name == 'minari' else f'out.{format_name}'
  )
  exporting.export(mixed, out, format_name=format_name)
  again = _import(
    out,
    tmp_path / 'again',
    **(
      {'bounds': ':,0.0:10.0', 'categorical_actions': 'action_0'}
      if format_name == 'csv'
      else {}
    ),
  )
  assert again.metadata.digest == mixed.metadata.digest
  assert dataclasses.replace(
    again.metadata.continuous, names=('drug', 'dose')
  ) == (mixed.metadata.continuous)
  assert exporting.action_options(mixed.metadata.continuous) == (
    '--continuous --bounds :,0.0:10.0 --map categorical_actions=action_0'
  )


def test_minari_itself_reads_what_is_exported(mixed, tmp_path):
  exporting.export(mixed, tmp_path / 'folder', format_name='minari')
  dataset = minari.MinariDataset(tmp_path / 'folder' / 'data')
  assert dataset.action_space.low.tolist() == [0.0, 0.0]
  assert dataset.action_space.high.tolist() == [2.0, 10.0]
  np.testing.assert_array_equal(dataset[1].actions, [[0.0, 10.0], [2.0, 0.125]])


@pytest.mark.parametrize('format_name', ['npz', 'parquet'])
def test_a_column_of_arrays_is_a_vector(tmp_path, format_name):
  path = tmp_path / f'log.{format_name}'
  given = {
    'episode': [0, 0],
    'reward': [1.0, 2.0],
    'terminated': [0, 1],
    'obs': [1.0, 2.0],
  }
  torque = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
  if format_name == 'npz':
    np.savez(path, **given, torque=torque)
  else:
    parquet.write_table(
      pa.table(
        {
          **given,
          'torque': (pa.FixedSizeListArray.from_arrays(torque.ravel(), 3)),
        }
      ),
      path,
    )
  dataset = _import(
    path, tmp_path / 'data', action='torque', categorical_actions='torque[2]'
  )
  assert dataset.metadata.continuous == actions.Continuous(
    low=(None,) * 3,
    high=(None,) * 3,
    categories={2: ('3', '6')},
    names=('torque[0]', 'torque[1]', 'torque[2]'),
  )
  np.testing.assert_array_equal(
    dataset.steps.action[:2], [[1.0, 2.0, 0.0], [4.0, 5.0, 1.0]]
  )


@pytest.mark.parametrize('format_name', exporting.FORMATS)
def test_an_export_of_one_amount_comes_back(tmp_path, format_name):
  dataset = _import(
    _write(tmp_path), tmp_path / 'data', action='dose', continuous='true'
  )
  assert dataset.metadata.continuous.names == ('dose',)
  out = tmp_path / (
    'minari' if format_name == 'minari' else f'out.{format_name}'
  )
  exporting.export(dataset, out, format_name=format_name)
  again = _import(
    out,
    tmp_path / 'again',
    **({'continuous': True} if format_name == 'csv' else {}),
  )
  assert again.metadata.digest == dataset.metadata.digest


def test_the_digest_covers_bounds_and_names_of_entries(tmp_path):
  path = _write(tmp_path)
  found = [
    _import(path, tmp_path / str(number), **asked).metadata.digest
    for number, asked in enumerate(
      (
        {'action': 'dose', 'continuous': True},
        {'action': 'dose', 'bounds': '0:10'},
        {'action': 'dose', 'bounds': '0:11'},
      )
    )
  ]
  assert len(set(found)) == 3


def test_arrays_frames_and_files_are_the_same_log(mixed):
  made = {
    'observations': np.array([[0.25], [1.5], [2.5], [3.5]]),
    'actions': np.array(
      [['b', 0.5], ['a', 2.0], ['a', 10.0], ['c', 0.125]], object
    ),
    'rewards': np.array([1.0, 2.0, 3.0, 4.0]),
    'terminals': np.array([0, 1, 0, 0]),
    'truncations': np.array([0, 0, 0, 1]),
    'next_observations': np.array([[1.5], [1.5], [3.5], [4.5]]),
    'behaviour_probabilities': np.array([1.5, 0.25, 3.5, 0.75]),
    'bounds': [(None, None), (0, 10)],
    'discount': 0.9,
  }
  arrays = log_lib.Log.from_arrays(**made)
  assert arrays.continuous.names == ('action[0]', 'action[1]')
  # numpy makes text of all entries of such a list.
  listed = log_lib.Log.from_arrays(
    **{**made, 'actions': made['actions'].tolist()}
  )
  frame = pd.read_csv(mixed.path.parent / 'log.csv', dtype={'drug': 'category'})
  framed = log_lib.Log.from_frame(
    frame, discount=0.9, action=['drug', 'dose'], bounds=[(None, None), (0, 10)]
  )
  assert (
    arrays.digest == listed.digest == framed.digest == (mixed.metadata.digest)
  )


def _amounts(values, **more):
  count = len(values)
  return {
    'observations': np.arange(count),
    'actions': values,
    'rewards': np.ones(count),
    'terminals': np.ones(count, bool),
    'discount': 0.9,
    **more,
  }


@pytest.mark.parametrize(
  'values, more, expected',
  [
    ([0.5, 2.0], {}, [[0.5], [2.0]]),
    (np.array([[0.5], [2.0]]), {}, [[0.5], [2.0]]),
    ([1, 2], {'continuous': True}, [[1.0], [2.0]]),
    ([1, 2], {'bounds': (0, 5)}, [[1.0], [2.0]]),
    ([[1, 2], [3, 4]], {}, [[1.0, 2.0], [3.0, 4.0]]),
    (
      [[7, 0.5], [3, 4.0]],
      {'categorical_actions': [0]},
      [[1.0, 0.5], [0.0, 4.0]],
    ),
    ([['up', '.5'], ['down', '4']], {}, [[1.0, 0.5], [0.0, 4.0]]),
  ],
)
def test_arrays_tell_vectors(values, more, expected):
  log = log_lib.Log.from_arrays(**_amounts(values, **more))
  np.testing.assert_array_equal(log.transitions.action, expected)
  assert log.transitions.action.dtype == np.float64
  assert log.num_actions == 0


@pytest.mark.parametrize('dtype', ['float64', 'Float64', object])
def test_fractions_in_a_frame_are_amounts(dtype):
  frame = pd.DataFrame(
    {
      'episode': [0, 1],
      'obs': [0.0, 1.0],
      'action': [0.5, 2.0],
      'reward': [1.0, 1.0],
      'terminated': [1, 1],
    }
  ).astype({'action': dtype})
  log = log_lib.Log.from_frame(frame, discount=0.9)
  np.testing.assert_array_equal(log.transitions.action, [[0.5], [2.0]])
  whole = frame.assign(action=[1, 2])
  assert log_lib.Log.from_frame(whole, discount=0.9).continuous is None
  assert (
    log_lib.Log.from_frame(whole, discount=0.9, continuous=True).continuous.size
    == 1
  )


@pytest.mark.parametrize(
  'low, high, expected',
  [
    ([-1.0, 0.0], [1.0, np.inf], ((-1.0, 0.0), (1.0, None))),
    (-1.0, 1.0, ((-1.0, -1.0), (1.0, 1.0))),
  ],
)
def test_a_box_of_minari_has_bounds(tmp_path, low, high, expected):
  h5py = pytest.importorskip('h5py')
  (tmp_path / 'data').mkdir()
  with h5py.File(tmp_path / 'data/main_data.hdf5', 'w') as file:
    group = file.create_group('episode_0')
    group['observations'] = np.arange(3.0)[:, None]
    group['actions'] = np.array([[0.5, 0.25], [-0.5, 0.75]], np.float32)
    group['rewards'] = np.ones(2)
    group['terminations'] = np.array([False, False])
    group['truncations'] = np.array([False, True])
  (tmp_path / 'data/metadata.json').write_text(
    json.dumps(
      {
        'action_space': json.dumps(
          {
            'type': 'Box',
            'dtype': 'float32',
            'shape': [2],
            'low': low,
            'high': high,
          }
        )
      }
    )
  )
  log = log_lib.Log.from_minari(tmp_path, discount=0.5)
  assert (log.continuous.low, log.continuous.high) == expected
  np.testing.assert_array_equal(
    log.transitions.action, [[0.5, 0.25], [-0.5, 0.75]]
  )


def test_a_simulated_log_has_vectors():
  episode = rollout.Episode(
    observations=np.zeros((3, 1)),
    actions=np.array([[0.5, 1.0], [2.0, 3.0]]),
    rewards=np.ones(2),
    discounts=np.array([1.0, 0.0], np.float32),
  )
  known = actions.Continuous(low=(0.0, None), high=(5.0, None))
  log = log_lib.Log.from_episodes(
    [episode], num_actions=0, discount=0.9, continuous=known
  )
  np.testing.assert_array_equal(
    log.steps.action, [[0.5, 1.0], [2.0, 3.0], [0.0, 0.0]]
  )
  assert log.continuous == known
  assert log.digest == reading.digest(log.steps, continuous=known)


def test_a_server_hands_out_vectors(mixed):
  assert serving.same_checkpoint(mixed)
  assert store.tables(1, 2)[0].signature.action.shape.as_list() == [None, 2]
  server = serving.restore(mixed.path, num_observations=1, action_entries=2)
  stream = sampling.Streaming(
    f'localhost:{server.port}', batch_size=4, shuffle_buffer=1
  )
  batch = stream.sample()
  assert sorted(map(tuple, batch.action.numpy().tolist())) == [
    (0.0, 2.0),
    (0.0, 10.0),
    (1.0, 0.5),
    (2.0, 0.125),
  ]
  del stream
  server.stop()


def test_a_probe_restores_vectors(mixed):
  serving.probe(mixed.path, num_observations=1, action_entries=2)


def test_card_and_summary_say_what_actions_are(mixed, tmp_path):
  seen = reading.vectors(mixed.path, mixed.metadata)
  lines = dict(card.rows(mixed.metadata, seen))
  assert lines['action dose'] == '0.125 to 10 (bounds [0, 10])'
  assert lines['action drug'] == ('a: 2 (50.0 %), b: 1 (25.0 %), c: 1 (25.0 %)')
  assert '2 action entries' in lines['log'] and 'actions' not in lines
  lines = dict(checks.summarise(mixed).rows())
  assert lines['action dose'] == '0.125 to 10 (bounds [0, 10])'
  assert lines['behaviour density'] == '0.25 to 3.5'
  reader = logs.LogReader(
    tmp_path / 'log.csv', columns=columns.parse({'action': 'd*'})
  )
  record = log_check.check_log(tmp_path / 'log.csv', reader).record()
  assert record['sound'] and record['summary']['actions'] == {
    'drug': {'a': 2, 'b': 1, 'c': 1},
    'dose': {'least': 0.125, 'most': 10.0, 'bounds': [None, None]},
  }


@pytest.mark.parametrize(
  'asked, pairs',
  [
    ('0:10,-1:1', ((0.0, 10.0), (-1.0, 1.0))),
    ('0:, :,:-2e-3', ((0.0, None), (None, None), (None, -0.002))),
    ([[0, 10], [-1, None]], ((0.0, 10.0), (-1.0, None))),
    ((0, np.float32(1.5)), ((0.0, 1.5),)),
    ([(-np.inf, np.inf)], ((None, None),)),
  ],
)
def test_bounds_are_read(asked, pairs):
  assert bounds.parse(asked) == pairs
  assert bounds.parse(bounds.text(pairs)) == pairs


@pytest.mark.parametrize(
  'asked, words',
  [
    ('0', 'one LOW:HIGH for each entry'),
    ('0:1:2', 'one LOW:HIGH'),
    ('0:x', "A bound of an action is a number, got 'x'"),
    (3, 'one LOW:HIGH'),
    ([[0, 1], 2, 3], 'one LOW:HIGH'),
    ((np.nan, 1.0), 'a number, got nan'),
    ((np.inf, None), 'got inf'),
    ([[True, 1], [0, 1]], 'a number, got True'),
  ],
)
def test_bounds_that_are_none_are_refused(asked, words):
  with pytest.raises(ValueError, match=words):
    bounds.parse(asked)


_TWO = {'action': 'drug,dose'}


@pytest.mark.parametrize(
  'old, new, mapping, words',
  [
    (
      'a,10',
      'a,12',
      {**_TWO, 'bounds': ':,0:10'},
      'row 4 (episode 1): dose is 12, outside its bounds [0, 10]',
    ),
    (
      'a,10',
      'a,-1',
      {**_TWO, 'bounds': ':,0:'},
      'dose is -1, outside its bounds [0, inf)',
    ),
    ('a,10', 'a,nan', _TWO, 'row 4 (episode 1): dose is empty or nan'),
    ('a,10', 'a,inf', _TWO, 'dose is infinite or beyond 1e+70 in size'),
    ('a,10', ',10', _TWO, 'drug is empty or none of its names'),
    ('a,10', ',', _TWO, 'row 4 (episode 1): action is empty'),
    (
      'a,10',
      'a,high',
      _TWO,
      "dose is 'high' in row 4 and the number 0.5 in row 2, but an entry",
    ),
    ('a,10', '3,10', _TWO, "drug is 'b' in row 2 and the number 3 in row 4"),
    (
      '',
      '',
      {**_TWO, 'bounds': '0:10'},
      'The actions of log.csv have 2 entries (drug, dose), but there are '
      'bounds for 1',
    ),
    ('', '', {**_TWO, 'bounds': '0:1,0:10'}, 'drug is a name, which has no'),
    (
      '',
      '',
      {**_TWO, 'bounds': ':,10:0'},
      'Entry dose of the action should have bounds low < high, got 10 and 0',
    ),
    ('', '', {'action': 'dose', 'bounds': '5:5'}, 'low < high, got 5 and 5'),
    (
      '',
      '',
      {**_TWO, 'actions': '3'},
      'actions (the labels or their number) cannot go with continuous actions',
    ),
    (
      '',
      '',
      {'action': 'dose', 'continuous': True, 'actions': 'a,b'},
      'cannot go with continuous actions',
    ),
    (
      '',
      '',
      {**_TWO, 'target_probabilities': 'behaviour_probability'},
      'target_probabilities cannot go with continuous actions',
    ),
    (
      '',
      '',
      {'action': 'drug', 'continuous': True},
      'drug is a name in all rows, so actions are no vectors',
    ),
    (
      '',
      '',
      {**_TWO, 'categorical_actions': 'size'},
      "'size' should be a name, but it is no entry of the actions",
    ),
    (
      '',
      '',
      {**_TWO, 'categorical_actions': 'dose'},
      'dose is 0.125 in some row, but a categorical column',
    ),
    (
      '',
      '',
      {'action': 'dose'},
      'row 2 (episode 0): dose is 0.5, but actions '
      'must be whole numbers or labels; if they are amounts, say --continuous',
    ),
    (
      ',3.5\n',
      ',0\n',
      _TWO,
      'row 4 (episode 1): behaviour_probability is not '
      'a density of float32, positive and finite',
    ),
    (',3.5\n', ',inf\n', _TWO, 'positive and finite'),
    (
      '',
      '',
      {**_TWO, 'continuous': 'perhaps'},
      "continuous should be true or false, got 'perhaps'",
    ),
    ('', '', {'action': 'drug,speed'}, "no column 'speed' for action"),
  ],
)
def test_wrong_vectors_are_refused(tmp_path, refused, old, new, mapping, words):
  path = _write(tmp_path, _LOG.replace(old, new, 1) if old else _LOG)
  sentence = refused(path, tmp_path / 'out', mapping)
  assert words in sentence and '\n' not in sentence


def test_one_name_for_all_rows_is_no_choice(tmp_path, refused):
  text = _LOG.replace(',b,', ',a,').replace(',c,', ',a,')
  assert "drug is 'a' in all rows, so it is no choice" in refused(
    _write(tmp_path, text), tmp_path / 'out', _TWO
  )


@pytest.mark.parametrize(
  'arrays, words',
  [
    (
      _amounts([[0.5, np.nan], [1.0, 2.0]]),
      r'row 0 .*: action\[1\] is empty or',
    ),
    (_amounts([[0.5, np.inf], [1.0, 2.0]]), r'action\[1\] is infinite'),
    (
      _amounts([0.5, 7.0], bounds=(0, 5)),
      r'row 1 .*: action is 7, outside its bounds \[0, 5\]',
    ),
    (_amounts([0.5, 7.0], bounds=[(0, 5)] * 2), 'there are bounds for 2'),
    (_amounts([0.5, 7.0], num_actions=2), 'num_actions cannot go with'),
    (
      _amounts(np.array([['a', 1.0], [2.0, 1.0]], object)),
      r"action\[0\] is 'a' in row 0 and the number 2 in row 1",
    ),
    (_amounts([-1, 2]), 'If they are amounts, pass continuous=True'),
  ],
)
def test_wrong_arrays_are_refused(arrays, words):
  with pytest.raises(ValueError, match=words):
    log_lib.Log.from_arrays(**arrays)


def test_labels_for_an_array_of_vectors_are_refused(tmp_path, refused):
  np.savez(
    tmp_path / 'log.npz',
    episode=[0, 0],
    action=np.ones((2, 2)),
    reward=[1.0, 2.0],
    terminated=[0, 1],
    obs=[[1.0], [2.0]],
  )
  assert 'action has several entries a row, so actions are vectors' in refused(
    tmp_path / 'log.npz', tmp_path / 'out', {'actions': '2'}
  )


def test_a_record_with_both_kinds_of_actions_is_refused(mixed):
  with pytest.raises(ValueError, match='num_actions must be 0 where actions'):
    dataclasses.replace(mixed.metadata, num_actions=2)


def test_a_damaged_action_is_found(mixed):
  action = mixed.steps.action.copy()
  action[3, 1] = 99.0
  broken = dataclasses.replace(mixed, steps=mixed.steps._replace(action=action))
  assert any(
    'The log gives 99 for entry dose of the action in row 2' in each
    for each in checks.problems(broken)
  )


def test_the_columns_of_steps_depend_on_the_actions():
  assert steps_lib.columns(3)['action'] == (np.dtype(np.int32), ())
  assert steps_lib.columns(3, 2)['action'] == (np.dtype(np.float64), (2,))
