"""What is written comes back; what is damaged is refused with a sentence."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest
import reverb
import tensorflow as tf

from dfiv_ope import testing
from dfiv_ope.datasets import (
  checks,
  collection,
  reading,
  record,
  serving,
  spec,
  steps,
  store,
)
from dfiv_ope.policies import finite


def test_everything_written_comes_back_in_order(written):
  dataset = reading.open_dataset(written)
  assert store.file_names(written)[:3] == [
    'arrays/action.npy',
    'arrays/discount.npy',
    'arrays/is_first.npy',
  ]
  episodes = list(
    collection.collect(
      lambda seed: testing.Corridor(seed=seed),
      finite.Uniform(num_actions=3),
      dataset.metadata.spec,
    )
  )
  expected = steps.concatenate(steps.from_episode(e) for e in episodes)
  for name in steps.Steps._fields:
    got = getattr(dataset.steps, name)
    np.testing.assert_array_equal(got, getattr(expected, name), name)
    assert got.dtype == getattr(expected, name).dtype
  np.testing.assert_array_equal(
    dataset.initial_observations, [e.observations[0] for e in episodes]
  )
  assert dataset.transitions.action.shape == (dataset.metadata.transitions,)
  assert dataset.metadata.transitions >= 3_000
  assert len(episodes) == dataset.metadata.episodes
  np.testing.assert_allclose(
    dataset.metadata.behaviour.mean,
    np.mean([e.discounted_return(0.9) for e in episodes]),
  )


def test_the_policy_comes_back(written):
  policy = reading.open_dataset(written).policy
  np.testing.assert_allclose(
    policy.action_probabilities(tf.zeros([1, 2])), [[1 / 3] * 3]
  )


def test_same_seed_same_digest_and_another_seed_another(
  written, make_dataset, tmp_path
):
  original = spec.read_metadata(written)
  again = make_dataset(tmp_path / 'again')
  other = make_dataset(
    tmp_path / 'other', spec.Spec(task='corridor', transitions=3_000, seed=6)
  )
  assert again.digest == original.digest
  assert other.digest != original.digest


def test_a_truncated_episode_is_stored_as_such(make_dataset, tmp_path):
  metadata = make_dataset(
    tmp_path / 'cut',
    spec.Spec(task='corridor', transitions=50),
    terminates=False,
  )
  dataset = reading.open_dataset(tmp_path / 'cut')
  assert metadata.truncated == metadata.episodes
  assert not dataset.steps.is_terminal.any()
  assert np.all(dataset.transitions.discount == 1.0)
  assert checks.problems(dataset) == []


def test_a_dataset_of_discount_1_has_no_truncated_episode(
  make_dataset, tmp_path
):
  wanted = spec.Spec(task='corridor', transitions=50, discount=1.0)
  metadata = make_dataset(tmp_path / 'whole', wanted)
  rewards = reading.open_dataset(tmp_path / 'whole').steps.reward
  assert metadata.behaviour.mean == pytest.approx(
    rewards.sum() / metadata.episodes
  )
  with pytest.raises(ValueError, match=r'but \d+ episodes were truncated'):
    make_dataset(tmp_path / 'cut', wanted, terminates=False)


def test_a_sound_dataset_has_no_problems(written):
  assert checks.problems(reading.open_dataset(written)) == []


@pytest.mark.parametrize(
  'field, row, value, message',
  [
    (
      'observation',
      3,
      np.nan,
      'observation is not finite in 1 rows, first in row 3',
    ),
    ('reward', 0, np.inf, 'reward is not finite'),
    ('action', 0, 3, 'outside 0..2'),
    ('discount', 0, 2.0, r'outside \[0, 1\]'),
    ('is_first', 0, False, 'do not follow each other'),
    ('is_last', -1, False, 'do not follow each other'),
    ('is_terminal', 0, True, 'not the last of its episode'),
    ('is_terminal', -1, False, 'There are 1 truncated, the record says 0'),
    ('discount', -2, 1.0, 'does not follow a discount of zero'),
  ],
)
def test_checks_name_what_is_wrong(written, field, row, value, message):
  dataset = reading.open_dataset(written)
  array = getattr(dataset.steps, field).copy()
  array[row] = value
  broken = dataclasses.replace(
    dataset, steps=dataset.steps._replace(**{field: array})
  )
  with pytest.raises(AssertionError, match=message):
    assert not checks.problems(broken), ' '.join(checks.problems(broken))


def _change(path, **changes):
  """Changes a record as somebody would who also makes its digest anew."""
  fields = json.loads((path / spec.METADATA).read_text())
  del fields[record.DIGEST]
  (path / spec.METADATA).write_text(record.dump({**fields, **changes}))


_FILES = (
  'arrays/reward.npy',
  'arrays/observation.npy',
  'arrays/is_last.npy',
  'checkpoint/log/chunks.tfrecord',
  'checkpoint/log/items.tfrecord',
  'checkpoint/log/tables.tfrecord',
  'policy/saved_model.pb',
)


@pytest.mark.parametrize('name', _FILES)
def test_a_missing_file_is_named(copy, name):
  (copy / name).unlink()
  with pytest.raises(FileNotFoundError, match=f'{name} is missing'):
    reading.open_dataset(copy)


@pytest.mark.parametrize('name', _FILES)
def test_a_truncated_file_is_named(copy, name):
  file = copy / name
  file.write_bytes(file.read_bytes()[:-10])
  with pytest.raises(ValueError, match=f'{name} has'):
    reading.open_dataset(copy)


@pytest.mark.parametrize('name', _FILES)
def test_a_changed_byte_is_noticed(copy, name):
  content = bytearray((copy / name).read_bytes())
  content[len(content) // 2] ^= 1
  (copy / name).write_bytes(bytes(content))
  with pytest.raises(ValueError, match='is damaged'):
    reading.open_dataset(copy)


@pytest.mark.parametrize(
  'name', ['arrays/more.npy', 'checkpoint/zzz/DONE', 'policy/saved_model.pbtxt']
)
def test_a_file_that_nobody_wrote_is_refused(copy, name):
  """Reverb restores the last of several checkpoints."""
  (copy / name).parent.mkdir(exist_ok=True)
  (copy / name).touch()
  with pytest.raises(ValueError, match=f'holds {name}, which its record does'):
    reading.open_dataset(copy)


def test_a_link_to_another_checkpoint_is_refused(copy, tmp_path):
  (copy / 'checkpoint' / 'zzz').symlink_to(tmp_path)
  with pytest.raises(ValueError, match='holds checkpoint/zzz'):
    reading.open_dataset(copy)


def test_a_file_outside_of_the_dataset_is_not_read(copy, tmp_path):
  file = copy / 'arrays' / 'reward.npy'
  file.rename(tmp_path / 'elsewhere.npy')
  file.symlink_to(tmp_path / 'elsewhere.npy')
  with pytest.raises(ValueError, match='which lies outside of it'):
    reading.open_dataset(copy)


def test_content_that_is_not_the_records_is_noticed(copy):
  _change(copy, digest='0' * 64)
  with pytest.raises(ValueError, match='its record says 0000'):
    reading.open_dataset(copy)


@pytest.mark.parametrize(
  'array, message',
  [
    (np.zeros(3), 'wants'),
    (np.zeros((), np.float32), 'wants'),
    (np.zeros((1, 2), np.float32), 'wants'),
    (np.zeros(3, np.float32), 'differ in length'),
    (np.array([{}]), 'cannot be read as an array'),
  ],
)
def test_arrays_of_another_kind_are_refused(copy, array, message):
  """Whoever changed them made all digests anew."""
  np.save(copy / 'arrays' / 'discount.npy', array, allow_pickle=True)
  _change(copy, files=store.file_record(copy))
  with pytest.raises(ValueError, match=message):
    reading.open_dataset(copy)


@pytest.mark.parametrize(
  'name, value, message',
  [
    (
      'behaviour',
      {'mean': 9.0, 'standard_error': 0.1, 'episodes': 9, 'mean_length': 3.0},
      'has a mean of .* the record says 9 ',
    ),
    ('transitions', 7, 'the record says 7'),
    ('episodes', 10_000, 'the record says 10000'),
    ('truncated', 1, 'the record says 1'),
    ('policy', None, 'cannot come of a simulation'),
    ('spec', {'task': 'corridor', 'discount': 0.5}, 'discount 0.5'),
  ],
)
def test_check_computes_the_record_anew(copy, name, value, message):
  """Whoever changed it made its digest anew."""
  _change(copy, **{name: value})
  with pytest.raises(AssertionError, match=message):
    assert not checks.problems(reading.open_dataset(copy)), ' '.join(
      checks.problems(reading.open_dataset(copy))
    )


def test_check_compares_the_checkpoint_with_the_arrays(
  copy, make_dataset, tmp_path
):
  make_dataset(
    tmp_path / 'other', spec.Spec(task='corridor', transitions=3_000, seed=6)
  )
  shutil.rmtree(copy / 'checkpoint')
  shutil.copytree(tmp_path / 'other' / 'checkpoint', copy / 'checkpoint')
  _change(copy, files=store.file_record(copy))
  assert checks.problems(reading.open_dataset(copy)) == [
    'The Reverb checkpoint does not hold the rows of the arrays.'
  ]


def test_a_checkpoint_that_reverb_cannot_read_is_refused(copy):
  """Past the check of files, as if the record were wrong too."""
  (copy / 'checkpoint' / 'log' / 'items.tfrecord').write_bytes(b'rubbish')
  with pytest.raises(ValueError, match='Reverb cannot restore'):
    serving.restore(copy, num_observations=2)
  with pytest.raises(ValueError, match='Reverb cannot restore'):
    serving.probe(copy, num_observations=2)
  _change(copy, files=store.file_record(copy))
  with pytest.raises(ValueError, match='is not one that was written here'):
    checks.problems(reading.open_dataset(copy))


def test_a_checkpoint_that_hangs_is_given_up(copy):
  """A named pipe that nobody writes to blocks whoever reads it."""
  file = copy / 'checkpoint' / 'log' / 'chunks.tfrecord'
  file.unlink()
  os.mkfifo(file)
  with pytest.raises(TimeoutError, match='within 20 s'):
    serving.probe(copy, num_observations=2, seconds=20.0)


def test_rows_without_a_last_one_end_all_the_same(copy):
  """Whoever changed them made the digests of files anew."""
  np.save(
    copy / 'arrays' / 'is_last.npy',
    np.zeros_like(np.load(copy / 'arrays' / 'is_last.npy')),
  )
  _change(copy, files=store.file_record(copy))
  with pytest.raises(ValueError, match='has digest'):
    reading.open_dataset(copy)


def test_reading_starts_no_server_and_loads_no_policy(written, monkeypatch):
  def fail(*args, **kwargs):
    pytest.fail('it was called')

  monkeypatch.setattr(reverb, 'Server', fail)
  monkeypatch.setattr(tf.saved_model, 'load', fail)
  dataset = reading.open_dataset(written)
  assert checks.problems(dataset) == []


def test_a_writer_without_episodes_is_refused(tmp_path):
  writer = store.Writer(tmp_path, num_observations=2, discount=0.9)
  with pytest.raises(ValueError, match='at least one episode'):
    writer.finish()
  writer.close()


def test_what_was_not_finished_does_not_open(tmp_path):
  writer = store.Writer(tmp_path, num_observations=2, discount=0.9)
  for episode in collection.collect(
    lambda seed: testing.Corridor(seed=seed),
    finite.Uniform(num_actions=3),
    spec.Spec(task='corridor', transitions=50),
  ):
    writer.append(episode)
  writer.close()
  with pytest.raises(FileNotFoundError, match='no complete dataset'):
    reading.open_dataset(tmp_path)
