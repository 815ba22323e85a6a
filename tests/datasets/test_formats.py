"""Datasets that other programs wrote come in as they are meant."""

import gzip
import pathlib

import gymnasium as gym
import minari
from minari.data_collector import EpisodeBuffer
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from tensorflow_datasets.core.utils import gcs_utils

from dfiv_ope.datasets import columns, formats, logs, steps

# Minari would like to know the author of every dataset.
pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')


def read(path, **mapping):
  reader = logs.LogReader(path, columns=columns.parse(mapping))
  blocks = list(reader.blocks(progress=lambda share: None))
  return reader, steps.concatenate(block.steps for block in blocks)


@pytest.fixture
def of_minari(tmp_path, monkeypatch):
  """A dataset that Minari itself writes."""
  monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path))
  buffers = [
    EpisodeBuffer(
      observations=np.arange(6, dtype=np.float32).reshape(3, 2),
      actions=np.array([3, 1]),
      rewards=[1.0, 2.0],
      terminations=[False, True],
      truncations=[False, False],
    ),
    EpisodeBuffer(
      observations=np.arange(4, dtype=np.float32).reshape(2, 2),
      actions=np.array([2]),
      rewards=[3.0],
      terminations=[False],
      truncations=[True],
    ),
  ]
  minari.create_dataset_from_buffers(
    'test/log-v0',
    buffers,
    action_space=gym.spaces.Discrete(4, start=1),
    observation_space=gym.spaces.Box(-9, 9, (2,), np.float32),
  )
  return tmp_path / 'test' / 'log-v0'


def test_a_dataset_of_minari_comes_in(of_minari):
  reader, rows = read(of_minari)
  assert reader.format == 'minari'
  np.testing.assert_array_equal(
    rows.observation, [[0, 1], [2, 3], [4, 5], [0, 1], [2, 3]]
  )
  # The space has the actions 1 to 4, which become labels.
  assert reader.find_actions(None).recorded == ('1', '2', '3', '4')
  np.testing.assert_array_equal(rows.action, [2, 0, 0, 1, 0])
  np.testing.assert_array_equal(rows.reward, [1, 2, 0, 3, 0])
  np.testing.assert_array_equal(rows.discount, [1, 0, 0, 1, 0])
  np.testing.assert_array_equal(rows.is_terminal, [0, 0, 1, 0, 0])


def test_the_file_or_the_directory_of_minari_may_be_named(of_minari):
  for path in (of_minari / 'data', of_minari / 'data' / 'main_data.hdf5'):
    assert len(read(path)[1].action) == 5
  (of_minari / 'empty').mkdir()
  with pytest.raises(ValueError, match='holds no main_data.hdf5'):
    formats.open_log(of_minari / 'empty', format_name='minari')


class Rlds(tfds.core.GeneratorBasedBuilder):
  """Two episodes: one terminates, one is cut off."""

  VERSION = tfds.core.Version('1.0.0')
  pkg_dir_path = pathlib.Path(__file__).parent  # Else it looks for a package.
  __module__ = 'rlds_test'
  ACTION = np.int32

  def _info(self):
    step = {
      'observation': {
        'position': tfds.features.Tensor(shape=(2,), dtype=np.float32),
        'speed': np.float32,
      },
      'action': self.ACTION,
      'reward': np.float32,
      'discount': np.float32,
      'is_first': np.bool_,
      'is_last': np.bool_,
      'is_terminal': np.bool_,
    }
    return self.dataset_info_from_configs(
      features=tfds.features.FeaturesDict(
        {'steps': tfds.features.Dataset(step)}
      )
    )

  def _split_generators(self, dl_manager):
    return {'train': self._generate_examples()}

  def _generate_examples(self):
    for key, (length, terminal) in enumerate([(3, True), (2, False)]):
      yield (
        key,
        {
          'steps': [
            {
              'observation': {'position': [10 * key + t, 1.0], 'speed': 0.5},
              'action': self._action(t + 1 - key),
              'reward': 1.0 + t,
              'discount': 1.0,
              'is_first': t == 0,
              'is_last': t == length - 1,
              'is_terminal': terminal and t == length - 1,
            }
            for t in range(length)
          ]
        },
      )

  def _action(self, number):
    return number


class Torques(Rlds):
  """The same with actions that are vectors."""

  __module__ = 'rlds_test'
  ACTION = {
    'arm': tfds.features.Tensor(shape=(2,), dtype=np.float32),
    'leg': np.float32,
  }

  def _action(self, number):
    return {'arm': [number, 0.5 * number], 'leg': -1.0}


def _built(builder_class, folder):
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(gcs_utils, '_is_gcs_disabled', True)  # No network.
    builder = builder_class(data_dir=folder)
    builder.download_and_prepare()
  return pathlib.Path(builder.data_path)


@pytest.fixture(scope='module')
def of_tfds(tmp_path_factory):
  return _built(Rlds, tmp_path_factory.mktemp('tfds'))


def test_an_rlds_dataset_of_vectors_comes_in(tmp_path):
  reader, rows = read(_built(Torques, tmp_path), action='action/*')
  assert reader.find_actions(None).continuous.names == (
    'action/arm[0]',
    'action/arm[1]',
    'action/leg',
  )
  order = np.argsort(rows.observation[:, 0])
  np.testing.assert_array_equal(
    rows.action[order],
    [
      [1.0, 0.5, -1.0],
      [2.0, 1.0, -1.0],
      [0.0, 0.0, 0.0],
      [0.0, 0.0, -1.0],
      [0.0, 0.0, 0.0],
    ],
  )


def test_an_rlds_dataset_comes_in(of_tfds):
  reader, rows = read(of_tfds)
  assert reader.format == 'rlds'
  assert reader.mapping['observations'] == [
    'observation/position',
    'observation/speed',
  ]
  order = np.argsort(rows.observation[:, 0])  # TFDS shuffles the episodes.
  np.testing.assert_array_equal(
    rows.observation[order],
    [[0, 1, 0.5], [1, 1, 0.5], [2, 1, 0.5], [10, 1, 0.5], [11, 1, 0.5]],
  )
  # The action and reward of a last step mean nothing.
  np.testing.assert_array_equal(rows.action[order], [1, 2, 0, 0, 0])
  np.testing.assert_array_equal(rows.reward[order], [1, 2, 0, 1, 0])
  np.testing.assert_array_equal(rows.discount[order], [1, 0, 0, 1, 0])
  np.testing.assert_array_equal(rows.is_terminal[order], [0, 0, 1, 0, 0])


def test_an_rlds_dataset_without_its_files_is_refused(of_tfds, tmp_path):
  (tmp_path / 'features.json').write_text('{}')
  with pytest.raises(ValueError, match='is not an RLDS dataset'):
    read(tmp_path)


def _records(path, records, compression='GZIP'):
  with tf.io.TFRecordWriter(str(path), compression) as writer:
    for values in records:
      features = {}
      for name, value in values.items():
        whole = name in ('action', 'step_type')
        features[name] = (
          tf.train.Feature(int64_list=tf.train.Int64List(value=value))
          if whole
          else (tf.train.Feature(float_list=tf.train.FloatList(value=value)))
        )
      writer.write(
        tf.train.Example(
          features=tf.train.Features(feature=features)
        ).SerializeToString()
      )


def _record(start, *, discount=1.0, last=False, **changes):
  return {
    'observation': [start, start + 0.5, start + 1.0, start + 1.5],
    'action': [int(start) % 2, 0],
    'reward': [start, 99.0],
    'discount': [discount, 99.0],
    'step_type': [1, 2 if last else 1],
    **changes,
  }


def test_records_of_rl_unplugged_are_single_transitions(tmp_path):
  _records(
    tmp_path / 'full-00000-of-00002', [_record(1.0), _record(2.0, discount=0.0)]
  )
  _records(tmp_path / 'full-00001-of-00002', [_record(3.0, last=True)])
  reader, rows = read(tmp_path)
  assert reader.format == 'rl_unplugged'
  np.testing.assert_array_equal(
    rows.observation,
    [[1, 1.5], [2, 2.5], [2, 2.5], [3, 3.5], [3, 3.5], [4, 4.5]],
  )
  np.testing.assert_array_equal(rows.action, [1, 0, 0, 0, 1, 0])
  np.testing.assert_array_equal(rows.reward, [1, 0, 2, 0, 3, 0])
  np.testing.assert_array_equal(rows.discount, [1, 0, 0, 0, 0, 0])
  np.testing.assert_array_equal(rows.is_last, [0, 1, 0, 1, 0, 1])
  np.testing.assert_array_equal(rows.is_terminal, [0, 0, 0, 1, 0, 1])
  assert formats.detect(tmp_path / 'full-00000-of-00002') == 'rl_unplugged'


@pytest.mark.parametrize(
  'records, words',
  [
    ([], 'holds no record'),
    ([_record(1.0, discount=0.5)], 'record 1: the discount is 0.5'),
    (
      [_record(1.0), _record(1.0, observation=[1.0, 2.0])],
      'is not like the first',
    ),
    ([_record(1.0, action=[1])], "1 entries of 'action'"),
    ([{'observation': [1.0, 2.0]}], "0 entries of 'reward'"),
  ],
)
def test_other_records_are_refused(tmp_path, records, words):
  _records(tmp_path / 'log.tfrecord', records)
  with pytest.raises(ValueError, match=words):
    read(tmp_path / 'log.tfrecord')


def test_damaged_records_are_refused(tmp_path):
  path = tmp_path / 'log.tfrecord'
  _records(path, [_record(1.0)])
  path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-9]))
  with pytest.raises(ValueError, match='not a whole TFRecord file'):
    read(path)
  path.write_bytes(gzip.compress(b'hello' * 10))
  with pytest.raises(ValueError, match='not a whole TFRecord file'):
    read(path)
  path.write_bytes(gzip.compress(b'hello'))
  with pytest.raises(ValueError, match='holds no record'):
    read(path)


def test_a_format_that_needs_a_package_says_how_to_install_it(
  tmp_path, monkeypatch
):
  (tmp_path / 'log.parquet').write_bytes(b'PAR1')
  monkeypatch.setitem(__import__('sys').modules, 'pyarrow', None)
  with pytest.raises(ValueError, match=r'pip install "dfiv-ope\[formats\]"'):
    formats.open_log(tmp_path / 'log.parquet', format_name='parquet')
