"""Logs handed in from Python: the same content, the same refusals."""

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import importing, logs, reading
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import spec as spec_lib

_ROWS = 60


def _arrays(**changes):
  generator = np.random.default_rng(0)
  made = {
    'observations': generator.normal(size=(_ROWS, 2)),
    'actions': generator.integers(3, size=_ROWS),
    'rewards': generator.normal(size=_ROWS),
    'terminals': np.arange(_ROWS) % 10 == 9,
    'truncations': np.arange(_ROWS) % 20 == 4,
    'discount': 0.9,
  }
  return {**made, **changes}


def _changed(name, row, value):
  """Returns the arrays with one entry changed."""
  made = _arrays()
  made[name] = np.array(made[name], np.float64)
  made[name][row] = value
  return made


def test_arrays_become_whole_episodes():
  made = _arrays()
  log = log_lib.Log.from_arrays(**made)
  # Of each truncated episode the last step is dropped: nothing follows it.
  kept = np.delete(np.arange(_ROWS), [4, 24, 44])
  np.testing.assert_array_equal(
    log.transitions.observation, made['observations'][kept]
  )
  np.testing.assert_array_equal(log.transitions.reward, made['rewards'][kept])
  np.testing.assert_array_equal(
    log.transitions.discount, np.where(kept % 10 == 9, 0.0, 1.0)
  )
  assert log.num_episodes == 9 and log.truncated == 3
  assert [note.sentence for note in log.notes][0].startswith(
    '3 episodes ended without a final observation'
  )
  returns = [
    sum(0.9**step * made['rewards'][start + step] for step in range(length))
    for start, length in ((0, 4), (5, 5), (10, 10))
  ]
  np.testing.assert_allclose(log.returns[:3], returns)
  assert '57 transitions in 9 episodes (3 truncated)' in repr(log)


def test_next_observations_keep_the_last_step_of_a_truncated_episode():
  made = _arrays()
  later = np.roll(made['observations'], -1, axis=0)
  later[4] = [7.0, 8.0]
  log = log_lib.Log.from_arrays(**made, next_observations=later)
  assert len(log) == _ROWS and not log.notes
  assert log.transitions.next_observation[4].tolist() == [7.0, 8.0]
  assert log.transitions.discount[4] == 1.0
  np.testing.assert_array_equal(log.transitions.reward, made['rewards'])
  later[2] += 1.0
  with pytest.raises(
    ValueError,
    match='next observation of step 2 is not the observation of step 3',
  ):
    log_lib.Log.from_arrays(**made, next_observations=later)


def test_actions_count_from_zero_whichever_were_logged():
  made = _arrays(actions=np.full(_ROWS, 1))
  assert log_lib.Log.from_arrays(**made).num_actions == 2
  log = log_lib.Log.from_arrays(**made, num_actions=5)
  assert log.num_actions == 5 and log.action_labels == ()
  assert set(log.transitions.action.tolist()) == {1}
  labels = np.where(np.arange(_ROWS) % 2, 'go', 'stay')
  log = log_lib.Log.from_arrays(**_arrays(actions=labels))
  assert log.action_labels == ('go', 'stay')
  assert log.transitions.action[:3].tolist() == [1, 0, 1]


def test_recorded_probabilities_and_categories_are_kept():
  made = _arrays(truncations=None)
  made['observations'][:, 1] = np.arange(_ROWS) % 4
  log = log_lib.Log.from_arrays(
    **made, behaviour_probabilities=np.full(_ROWS, 0.25), categorical=[1]
  )
  np.testing.assert_allclose(log.behaviour_probabilities, 0.25)
  assert log.categorical == (1,)


def test_a_frame_arrays_and_an_imported_file_are_the_same_log(tmp_path):
  made = _arrays(truncations=None)
  frame = pd.DataFrame(
    {
      'episode': np.arange(_ROWS) // 10,
      'obs_x': made['observations'][:, 0],
      'obs_y': made['observations'][:, 1],
      'action': made['actions'],
      'reward': made['rewards'],
      'terminated': made['terminals'],
    }
  )
  ours = log_lib.Log.from_frame(frame, discount=0.9)
  arrays = log_lib.Log.from_arrays(**made)
  frame.to_csv(tmp_path / 'log.csv', index=False, float_format='%.17g')
  reader = logs.LogReader(tmp_path / 'log.csv', columns=columns_lib.Columns())
  out = tmp_path / 'data'
  metadata = importing.write(
    reader,
    out,
    spec_lib.Log(
      name='mine',
      source='log.csv',
      format='csv',
      mapping=reader.mapping,
      discount=0.9,
    ),
    progress=lambda _: None,
  )
  (out / spec_lib.METADATA).write_text(metadata.to_json())
  opened = log_lib.Log.open(out)
  assert ours.digest == arrays.digest == opened.digest == metadata.digest
  assert (
    ours.observation_names == opened.observation_names == ('obs_x', 'obs_y')
  )
  for one, other in zip(ours.transitions, opened.transitions, strict=True):
    np.testing.assert_array_equal(one, other)
  np.testing.assert_array_equal(
    opened.transitions.observation,
    reading.open_dataset(out).transitions.observation,
  )
  assert opened.average_return.mean == pytest.approx(metadata.behaviour.mean)
  assert log_lib.Log.open(out, discount=0.5).discount == 0.5


def test_the_step_of_an_imported_log_is_kept_from_policies(tmp_path):
  (tmp_path / 'log.csv').write_text(
    'episode,obs,action,reward\n0,5,0,1\n0,6,1,1\n1,7,0,1\n1,8,1,1\n'
  )
  reader = logs.LogReader(
    tmp_path / 'log.csv',
    columns=columns_lib.Columns(ends='truncated', time_feature=True, horizon=2),
  )
  out = tmp_path / 'data'
  metadata = importing.write(
    reader,
    out,
    spec_lib.Log(
      name='mine',
      source='log.csv',
      format='csv',
      mapping=reader.mapping,
      discount=1.0,
    ),
    progress=lambda _: None,
  )
  (out / spec_lib.METADATA).write_text(metadata.to_json())
  assert metadata.observations == ('obs', 'step') and not metadata.truncated
  log = log_lib.Log.open(out)
  assert log.time_feature and log.discount == 1.0
  np.testing.assert_array_equal(
    log.transitions.observation, [[5, 0], [6, 1], [7, 0], [8, 1]]
  )
  told = log.for_policies()['transitions']
  np.testing.assert_array_equal(told.observation, [[5], [6], [7], [8]])
  np.testing.assert_array_equal(
    told.next_observation[:, 0], log.transitions.next_observation[:, 0]
  )
  with pytest.raises(ValueError, match=r'discount must lie in \[0, 1\]'):
    log_lib.Log.open(out, discount=2.0)


def test_columns_of_a_frame_may_have_other_names_and_types():
  made = _arrays()
  frame = pd.DataFrame(
    {
      'patient': np.repeat(list('abcdef'), 10),
      'age': made['rewards'],
      'ward': pd.Categorical(np.where(made['terminals'], 'icu', 'home')),
      'dose': pd.array(made['actions'], dtype='Int64'),
      'gain': pd.array(made['rewards'], dtype='Float64'),
      'died': pd.array(made['terminals'], dtype='boolean'),
    }
  )
  log = log_lib.Log.from_frame(
    frame,
    discount=0.9,
    episode='patient',
    observations=['age', 'ward'],
    action='dose',
    reward='gain',
    terminated='died',
  )
  assert log.observation_names == ('age', 'ward')
  assert log.categorical == (1,)
  assert log.num_episodes == 6
  frame.loc[3, 'gain'] = pd.NA
  with pytest.raises(ValueError, match=r'row 3 \(episode a\): reward is empty'):
    log_lib.Log.from_frame(
      frame,
      discount=0.9,
      episode='patient',
      observations=['age', 'ward'],
      action='dose',
      reward='gain',
      terminated='died',
    )


def test_a_minari_dataset_is_a_log(tmp_path):
  h5py = pytest.importorskip('h5py')
  (tmp_path / 'data').mkdir()
  with h5py.File(tmp_path / 'data/main_data.hdf5', 'w') as file:
    for episode in range(3):
      group = file.create_group(f'episode_{episode}')
      group['observations'] = np.arange(10.0).reshape(5, 2) + episode
      group['actions'] = np.array([0, 1, 0, 1])
      group['rewards'] = np.full(4, float(episode))
      group['terminations'] = np.array([False, False, False, episode < 2])
      group['truncations'] = np.array([False, False, False, episode == 2])
  log = log_lib.Log.from_minari(tmp_path, discount=0.5)
  assert (len(log), log.num_episodes, log.truncated) == (12, 3, 1)
  np.testing.assert_allclose(log.returns, [0.0, 1.875, 3.75])


@pytest.mark.parametrize(
  'arrays, message',
  [
    (
      _arrays(rewards=np.zeros(_ROWS - 1)),
      'differ in length: observation 60, action 60, reward 59',
    ),
    (
      _changed('rewards', 7, np.nan),
      r'row 7 \(episode 1\): reward is empty or nan',
    ),
    (
      _changed('observations', 3, np.inf),
      r'row 3 \(episode 0\): observation\[0\] is empty, nan, infinite',
    ),
    (_changed('actions', 5, np.nan), 'action of step 5 is nan, but actions'),
    (_changed('actions', 5, -1), 'action of step 5 is -1, but actions are'),
    (_changed('terminals', 59, 0), 'The episode of step 59 never ends'),
    (_changed('terminals', 3, 2), 'should be true or false'),
    (
      _arrays(episode_ids=np.arange(_ROWS) // 20, truncations=None),
      r'row 9 \(episode 0\): terminated is set, but the episode goes on',
    ),
    (
      _arrays(episode_ids=np.arange(_ROWS) // 5),
      'The episode of step 14 never ends',
    ),
    (_arrays(discount=1.5), r'discount must lie in \[0, 1\], got 1.5'),
    (_arrays(num_actions=2), 'has action 2, but num_actions is 2'),
    (
      _arrays(actions=np.full(_ROWS, 'a'), num_actions=2),
      'num_actions goes with actions that are numbers',
    ),
    (
      _arrays(actions=np.zeros((_ROWS, 2)), num_actions=2),
      'num_actions cannot go with continuous actions',
    ),
    (_arrays(rewards=['x'] * _ROWS), "reward is 'x', which is not a number"),
    (_arrays(rewards=3.0), 'reward is the single value 3.0'),
    (
      _arrays(observations=[[1.0], [1.0, 2.0]] * 30),
      'observation makes no array',
    ),
    (
      _arrays(behaviour_probabilities=np.zeros(_ROWS)),
      r'behaviour_probability is not in \(0, 1\]',
    ),
    (
      {
        **{
          name: []
          for name in ('observations', 'actions', 'rewards', 'terminals')
        },
        'discount': 0.9,
      },
      'The log is empty',
    ),
    (_arrays(discount=None), 'discount must be a number, got None'),
    (_arrays(discount='0.9'), "discount must be a number, got '0.9'"),
    (
      _arrays(observations=np.zeros((_ROWS, 0))),
      'The observations have no columns.*a column of zeros',
    ),
    (
      _arrays(rewards=np.ma.masked_greater(np.arange(_ROWS), 50)),
      'reward is a masked array in which values are missing',
    ),
    (
      _arrays(behaviour_probabilities=np.full((_ROWS, 3), 1 / 3)),
      r'the shape \[60, 3\], but one number a step is wanted',
    ),
    (
      _arrays(
        episode_ids=np.arange(_ROWS) % 6,
        terminals=np.arange(_ROWS) >= _ROWS - 6,
        truncations=None,
      ),
      'The rows of episode 0 do not follow each other. Sort all arrays',
    ),
    (
      _arrays(observations=np.arange(_ROWS).astype('datetime64[s]')),
      'numbers are wanted. Of a time, subtract the first one',
    ),
    (
      _arrays(observations=np.arange(_ROWS).astype('timedelta64[s]')),
      r"wanted. Divide by np.timedelta64\(1, 'h'\): hours",
    ),
  ],
)
def test_arrays_that_are_no_log_are_refused(arrays, message):
  with pytest.raises(ValueError, match=message) as caught:
    log_lib.Log.from_arrays(**arrays)
  assert '\n' not in str(caught.value)
  assert 'dfiv-ope dataset check' not in str(caught.value)


def test_rows_of_pandas_that_are_labelled_otherwise_are_refused():
  made = _arrays()
  frame = pd.DataFrame(made['observations'])
  same = log_lib.Log.from_arrays(
    **{**made, 'observations': frame, 'rewards': pd.Series(made['rewards'])}
  )
  assert same.digest == log_lib.Log.from_arrays(**made).digest
  made['observations'] = frame.sample(frac=1.0, random_state=0)
  made['rewards'] = pd.Series(made['rewards'])
  with pytest.raises(ValueError, match=r'pass reward.to_numpy\(\) if they'):
    log_lib.Log.from_arrays(**made)
  assert (
    len(log_lib.Log.from_arrays(**{**made, 'rewards': _ROWS * [0.0]})) == 57
  )


def test_episode_and_step_may_be_the_index_of_a_frame():
  frame = pd.DataFrame(
    {
      'visit': [0, 1, 0, 1],
      'episode': [7, 7, 8, 8],
      'obs': [0.5, 0.25, 1.0, 2.0],
      'action': [0, 1, 1, 0],
      'reward': [1.0, 2.0, 3.0, 4.0],
      'terminated': [0, 1, 0, 1],
    }
  )
  plain = log_lib.Log.from_frame(frame, discount=0.9, step='visit')
  indexed = log_lib.Log.from_frame(
    frame.set_index(['episode', 'visit']), discount=0.9, step='visit'
  )
  assert indexed.digest == plain.digest and indexed.num_episodes == 2
  # Another name of the rows is no column of the log.
  named = frame.assign(row=range(4)).set_index('row')
  named.index.name = 'obs_row'
  assert log_lib.Log.from_frame(named, discount=0.9).num_observations == 1


def test_what_is_no_frame_is_refused():
  with pytest.raises(ValueError, match='A data frame is wanted, got dict'):
    log_lib.Log.from_frame({}, discount=0.9)
  twice = pd.DataFrame([[1, 2]], columns=['action', 'action'])
  with pytest.raises(ValueError, match='the column action more than once'):
    log_lib.Log.from_frame(twice, discount=0.9)


def test_a_directory_without_a_dataset_is_refused(tmp_path):
  with pytest.raises(FileNotFoundError):
    log_lib.Log.open(tmp_path)


def test_a_log_of_one_step_episodes_holds_no_copies():
  made = _arrays()
  log = log_lib.Log.bandit(
    made['observations'], made['actions'], made['rewards']
  )
  np.testing.assert_array_equal(
    log.transitions.observation, made['observations']
  )
  np.testing.assert_array_equal(log.initial_observations, made['observations'])
  np.testing.assert_array_equal(log.transitions.action, made['actions'])
  np.testing.assert_array_equal(log.episodes, np.arange(_ROWS))
  assert np.shares_memory(log.initial_observations, log.transitions.observation)
