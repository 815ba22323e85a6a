"""What is written comes back; what is damaged is refused with a sentence."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import policies, testing
from dfiv_ope.datasets import checks, collection, reading, spec, steps, store


def test_everything_written_comes_back_in_order(written):
  dataset = reading.open_dataset(written)
  episodes = list(collection.collect(
      lambda seed: testing.Corridor(seed=seed),
      policies.Uniform(num_actions=3), dataset.metadata.spec))
  expected = steps.concatenate(steps.from_episode(e) for e in episodes)
  for name in steps.Steps._fields:
    got = getattr(dataset.steps, name)
    np.testing.assert_array_equal(got, getattr(expected, name), name)
    assert got.dtype == getattr(expected, name).dtype
  np.testing.assert_array_equal(
      dataset.initial_observations, [e.observations[0] for e in episodes])
  assert dataset.transitions.action.shape == (dataset.metadata.transitions,)
  assert dataset.metadata.transitions >= 3_000
  assert len(episodes) == dataset.metadata.episodes
  np.testing.assert_allclose(
      dataset.metadata.behaviour.mean,
      np.mean([e.discounted_return(0.9) for e in episodes]))


def test_the_policy_comes_back(written):
  policy = reading.open_dataset(written).policy
  np.testing.assert_allclose(
      policy.action_probabilities(tf.zeros([1, 2])), [[1 / 3] * 3])


def test_same_seed_same_digest_and_another_seed_another(
    written, make_dataset, tmp_path):
  original = spec.read_metadata(written)
  again = make_dataset(tmp_path / 'again')
  other = make_dataset(
      tmp_path / 'other',
      spec.Spec(task='corridor', transitions=3_000, seed=6))
  assert again.digest == original.digest
  assert other.digest != original.digest


def test_a_truncated_episode_is_stored_as_such(make_dataset, tmp_path):
  metadata = make_dataset(
      tmp_path / 'cut', spec.Spec(task='corridor', transitions=50),
      terminates=False)
  dataset = reading.open_dataset(tmp_path / 'cut')
  assert metadata.truncated == metadata.episodes
  assert not dataset.steps.is_terminal.any()
  assert np.all(dataset.transitions.discount == 1.)
  assert checks.problems(dataset) == []


def test_a_sound_dataset_has_no_problems(written):
  assert checks.problems(reading.open_dataset(written)) == []


@pytest.mark.parametrize('field, row, value, message', [
    ('observation', 3, np.nan, 'observation is not finite in 1 rows, first in '
     'row 3'),
    ('reward', 0, np.inf, 'reward is not finite'),
    ('action', 0, 3, 'outside 0..2'),
    ('discount', 0, 2., r'outside \[0, 1\]'),
    ('is_first', 0, False, 'do not follow each other'),
    ('is_last', -1, False, 'do not follow each other'),
    ('is_terminal', 0, True, 'not the last of its episode'),
    ('is_terminal', -1, False, 'does not follow a discount of zero')])
def test_checks_name_what_is_wrong(written, field, row, value, message):
  dataset = reading.open_dataset(written)
  array = getattr(dataset.steps, field).copy()
  array[row] = value
  broken = dataset._replace(steps=dataset.steps._replace(**{field: array}))
  with pytest.raises(AssertionError, match=message):
    assert not checks.problems(broken), ' '.join(checks.problems(broken))


def _files(path):
  return sorted(
      file for file in (path / 'checkpoint').rglob('*.tfrecord'))


@pytest.mark.parametrize('index', [0, 1, 2])
def test_a_missing_file_is_named(copy, index):
  file = _files(copy)[index]
  file.unlink()
  with pytest.raises(FileNotFoundError, match=f'{file.name} is missing'):
    reading.open_dataset(copy)


@pytest.mark.parametrize('index', [0, 1, 2])
def test_a_truncated_file_is_named(copy, index):
  file = _files(copy)[index]
  file.write_bytes(file.read_bytes()[:-10])
  with pytest.raises(ValueError, match=f'{file.name} has'):
    reading.open_dataset(copy)


def test_a_changed_byte_is_noticed(copy):
  file = _files(copy)[0]
  content = bytearray(file.read_bytes())
  content[len(content) // 2] ^= 1
  file.write_bytes(bytes(content))
  with pytest.raises(ValueError, match='is damaged'):
    reading.open_dataset(copy)


def test_content_that_is_not_the_records_is_noticed(copy):
  record = json.loads((copy / spec.METADATA).read_text())
  record['digest'] = '0' * 64
  (copy / spec.METADATA).write_text(json.dumps(record))
  with pytest.raises(ValueError, match='its record says 0000'):
    reading.open_dataset(copy)


def test_a_checkpoint_that_reverb_cannot_read_is_refused(copy):
  """Past the check of files, as if the record were wrong too."""
  _files(copy)[1].write_bytes(b'rubbish')
  with pytest.raises(ValueError, match='Reverb cannot restore'):
    reading.restore(copy, num_observations=2)
  with pytest.raises(ValueError, match='Reverb cannot restore'):
    reading.probe(copy, num_observations=2)


def test_a_checkpoint_that_hangs_is_given_up(copy):
  """A named pipe that nobody writes to blocks whoever reads it."""
  file = _files(copy)[0]
  file.unlink()
  os.mkfifo(file)
  with pytest.raises(TimeoutError, match='within 20 s'):
    reading.probe(copy, num_observations=2, seconds=20.)


def test_a_checkpoint_of_another_reverb_is_tried_in_another_process(copy):
  record = json.loads((copy / spec.METADATA).read_text())
  record['versions']['dm-reverb'] = '0.0.1'
  (copy / spec.METADATA).write_text(json.dumps(record))
  dataset = reading.open_dataset(copy)
  assert dataset.metadata.digest == record['digest']
  with pytest.raises(TimeoutError, match='within 0.01 s'):
    reading.open_dataset(copy, restore_seconds=0.01)


def test_a_writer_without_episodes_is_refused(tmp_path):
  writer = store.Writer(tmp_path, num_observations=2, discount=0.9)
  with pytest.raises(ValueError, match='at least one episode'):
    writer.finish()
  writer.close()


def test_what_was_not_finished_does_not_open(tmp_path):
  writer = store.Writer(tmp_path, num_observations=2, discount=0.9)
  for episode in collection.collect(
      lambda seed: testing.Corridor(seed=seed),
      policies.Uniform(num_actions=3),
      spec.Spec(task='corridor', transitions=50)):
    writer.append(episode)
  writer.close()
  with pytest.raises(FileNotFoundError, match='no complete dataset'):
    reading.open_dataset(tmp_path)
