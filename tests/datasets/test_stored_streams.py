"""A dataset's directory is read in parts as it is read into memory."""

import dataclasses
import shutil

import numpy as np
import pytest

from dfiv_ope.datasets import (
  array_files,
  column_notes,
  importing,
  log_copy,
  logs,
  mapped_arrays,
  reading,
  store,
  stored_rows,
  stored_streams,
  streams,
)
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.datasets.formats import in_memory, source
from dfiv_ope.ope import log_notes
from dfiv_ope.policies import identity


def _columns():
  """400 episodes of 1 to 30 steps, every other one cut off."""
  generator = np.random.default_rng(0)
  lengths = generator.integers(1, 31, size=400)
  lengths[7] = 1  # Cut off after its only step, which is dropped.
  count, ends = int(lengths.sum()), np.cumsum(lengths) - 1
  terminated, truncated = np.zeros((2, count), bool)
  terminated[ends[::2]] = truncated[ends[1::2]] = True
  return {
    'episode': np.repeat(np.arange(400), lengths),
    'obs_0': generator.normal(size=count),
    'obs_1': generator.choice(['far', 'near'], size=count),
    'action': generator.integers(3, size=count),
    'reward': generator.normal(size=count),
    'terminated': terminated,
    'truncated': truncated,
    'behaviour_probability': generator.uniform(0.2, 0.4, size=count),
  }


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
  path = tmp_path_factory.mktemp('stored') / 'odds'
  reader = logs.LogReader(
    in_memory.InMemory(_columns()),
    columns=columns_lib.parse({'categorical': 'obs_1', 'actions': 3}),
    format_name='odds',
  )
  importing.build(reader, path, discount=0.9, request={})
  return path


@pytest.fixture
def copied(folder, tmp_path):
  """The same dataset, to be damaged."""
  return shutil.copytree(folder, tmp_path / 'copied')


def _stream(path):
  return stored_streams.StoredStream(path=path)


@pytest.mark.parametrize('batch', [1, 7, 1000, 50_000])
def test_a_survey_says_what_the_log_in_memory_says(folder, batch, monkeypatch):
  log = _stream(folder).in_memory()
  monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
  found = _stream(folder).survey()
  assert found.digest == log.digest == found.sample.digest
  assert found.complete
  assert found.sample.notes == log.notes
  assert (found.transitions, found.episodes) == (len(log), log.num_episodes)
  assert (found.truncated, found.longest) == (log.truncated, log.longest)
  np.testing.assert_array_equal(found.returns, log.returns)
  for name in ('name', 'observation_names', 'categorical', 'metadata'):
    assert getattr(found.sample, name) == getattr(log, name), name
  np.testing.assert_array_equal(
    found.sample.behaviour_probabilities, log.behaviour_probabilities
  )
  for ours, theirs in zip(
    found.sample.transitions, log.transitions, strict=True
  ):
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize('batch', [1, 7, 1000])
def test_parts_and_their_copy_are_the_rows_of_the_log(
  folder, tmp_path, batch, monkeypatch
):
  monkeypatch.setattr(source, 'CHUNK_ROWS', batch)
  stream = _stream(folder)
  log, survey = stream.in_memory(), stream.survey()
  copied = stream.copy(survey, tmp_path / 'copy')
  marks = (37, 38, 1500, 2222, len(log))
  for parts in (stream.parts(survey), log_copy.Parts(tmp_path / 'copy')):
    for part, start, stop in zip(
      parts(marks), marks[:-1], marks[1:], strict=True
    ):
      for ours, theirs in zip(part.transitions, log.transitions, strict=True):
        np.testing.assert_array_equal(ours, theirs[start:stop])
      np.testing.assert_array_equal(part.episodes, log.episodes[start:stop])
      first = np.diff(log.episodes, prepend=-1)[start:stop] > 0
      np.testing.assert_array_equal(
        part.starts, log.transitions.observation[start:stop][first]
      )
  assert copied.copy == tmp_path / 'copy'
  np.testing.assert_array_equal(
    mapped_arrays.opened(copied.copy)['start'], log.initial_observations
  )


def test_a_policy_is_tried_on_the_same_states_and_has_the_same_digest(
  folder, monkeypatch
):
  stream = _stream(folder)
  log = stream.in_memory()
  assert len(log) > 2_000
  monkeypatch.setattr(source, 'CHUNK_ROWS', 100)
  tried = stream.tried
  wanted = identity.sample(log.transitions)
  np.testing.assert_array_equal(tried.transitions.observation, wanted)
  np.testing.assert_array_equal(identity.sample(tried.transitions), wanted)
  places = identity.spread(len(log))
  assert len(places) <= 1_000
  for ours, theirs in zip(tried.transitions, log.transitions, strict=True):
    np.testing.assert_array_equal(ours, theirs[places])


def test_blocks_are_the_same_however_many_episodes_come_at_a_time(folder):
  dataset = reading.open_dataset(folder)
  nothing = np.zeros((len(dataset.steps.action), 0), np.float32)
  ends = np.append(0, np.flatnonzero(dataset.steps.is_last) + 1)

  def sizes(marks):
    joined, found = store.Blocks(), []
    for start, stop in zip(marks[:-1], marks[1:], strict=True):
      steps = steps_lib.Steps(*(each[start:stop] for each in dataset.steps))
      found += joined.add(steps, nothing[start:stop])
    found += joined.rest()
    return [len(steps.action) for steps, _ in found]

  whole = sizes(ends[[0, -1]])
  assert len(whole) > 3 and min(whole[:-1]) >= 1_000
  assert sizes(ends) == sizes(np.append(ends[:-1:9], ends[-1])) == whole


def _cut(path):
  with path.open('r+b') as file:
    file.truncate(path.stat().st_size // 2)


def _change(path):
  content = bytearray(path.read_bytes())
  content[-3] ^= 1
  path.write_bytes(content)


@pytest.mark.parametrize(
  'name, damage, words',
  [
    ('arrays/reward.npy', _cut, 'is damaged: arrays/reward.npy has'),
    ('arrays/observation.npy', _change, 'is damaged: arrays/observation.npy'),
    (
      'checkpoint/log/chunks.tfrecord',
      _cut,
      'is damaged: checkpoint/log/chunks.tfrecord has',
    ),
    ('arrays/is_last.npy', lambda path: path.unlink(), 'is_last.npy is missi'),
  ],
)
def test_what_is_cut_off_or_changed_is_refused_as_in_memory(
  copied, name, damage, words
):
  damage(copied / name)
  found = []
  for read in (
    lambda: _stream(copied).survey(),
    lambda: _stream(copied).tried,
    lambda: _stream(copied).in_memory(),
  ):
    with pytest.raises((ValueError, FileNotFoundError)) as error:
      read()
    found.append(str(error.value))
  assert words in found[0]
  assert len(set(found)) == 1


def _signed(path, **changes):
  """Writes a record that fits the files, whatever they hold."""
  metadata = dataclasses.replace(
    spec_lib.read_metadata(path), files=store.file_record(path), **changes
  )
  (path / spec_lib.METADATA).write_text(metadata.to_json())


def test_content_that_is_not_the_records_is_refused_as_in_memory(copied):
  _signed(copied, digest='0' * 64)
  sentences = []
  for read in (_stream(copied).survey, _stream(copied).in_memory):
    with pytest.raises(ValueError) as error:
      read()
    sentences.append(str(error.value))
  assert sentences[0] == sentences[1]
  assert f'but its record says {"0" * 64}' in sentences[0]
  path = copied / 'arrays' / 'reward.npy'
  short = array_files.load(path, dtype=np.dtype(float), shape=())[:-1]
  path.unlink()
  file = array_files.Appender(path, dtype=np.dtype(float), shape=())
  file.append(short)
  file.close()
  _signed(copied)
  with pytest.raises(ValueError, match='differ in length or are empty'):
    stored_rows.StoredRows(copied, spec_lib.read_metadata(copied))


def test_what_is_no_sum_of_parts_is_not_long(folder, monkeypatch):
  stream = _stream(folder)
  assert not stream.long
  monkeypatch.setattr(streams, 'IN_MEMORY', 1_000)
  assert stream.long
  metadata = stream.metadata
  for changes in (
    {'categorical': {'obs_0': (0.0,), 'obs_1': ('far', 'near')}},
    {
      'spec': dataclasses.replace(
        metadata.spec, mapping={**metadata.spec.mapping, 'transitions': True}
      )
    },
  ):
    other = _stream(folder)
    vars(other)['metadata'] = dataclasses.replace(metadata, **changes)
    assert not other.long


def test_notes_are_the_same_whatever_the_blocks(monkeypatch):
  # With as few rows in the sample, most are not looked at.
  monkeypatch.setattr(column_notes, '_SAMPLE_ROWS', 40)
  generator = np.random.default_rng(0)
  x = generator.normal(size=(1_001, 1))
  x[::50] = 1e6

  def notes(size):
    profile = column_notes.Profile()
    for start in range(0, len(x), size):
      part = x[start : start + size]
      first = np.arange(start, start + len(part)) % 7 == 0
      profile.add(steps_lib.Steps(part, *[first] * 6))
    return profile.notes()

  (whole,) = notes(len(x))
  assert whole.kind == log_notes.OUTLIERS
  for size in (7, 91, 500):
    assert notes(size) == [whole]
