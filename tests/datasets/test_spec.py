"""Specs refuse nonsense; records survive JSON and refuse other schemas."""

import dataclasses
import json
import math
import pathlib

import pytest

from dfiv_ope.datasets import record, spec
from dfiv_ope.policies import episode_returns


@pytest.mark.parametrize(
  'field, value',
  [
    ('action_noise', -0.1),
    ('action_noise', 2.0),
    ('epsilon', 1.01),
    ('discount', 1.5),
    ('discount', -0.5),
    ('transitions', 0),
    ('seed', -1),
  ],
)
def test_a_spec_refuses_impossible_values(field, value):
  with pytest.raises(ValueError, match=f'{field} must'):
    spec.Spec(task='catch', **{field: value})


def test_the_id_is_a_file_name_without_dots():
  assert spec.Spec(task='catch', action_noise=0.25, epsilon=0.0).id == (
    'catch-noise-0p25-epsilon-0-discount-0p99-20000-seed-0'
  )


def test_a_record_survives_json(written):
  metadata = spec.read_metadata(written)
  again = spec.Metadata.from_json(metadata.to_json(), source=pathlib.Path('x'))
  assert again == metadata
  assert again.spec == spec.Spec(
    task='corridor', transitions=3_000, discount=0.9, seed=5
  )


def _changed(written, **changes):
  fields = json.loads((written / spec.METADATA).read_text())
  fields.update(changes)
  return json.dumps(fields)


@pytest.mark.parametrize(
  'text, message',
  [
    ('{', 'is not the record of a dataset'),
    ('[]', 'is not the record of a dataset'),
    ('{}', 'is not the record of a dataset'),
    ('{"schema": true}', 'is not the record of a dataset'),
    ('{"schema": 2}', 'misses a field'),
    ('{"schema": NaN}', 'numbers must be finite, got NaN'),
    ('{"schema": 1e999}', 'numbers must be finite and exact, got inf'),
    (f'{{"schema": {10**400}}}', 'numbers must be finite and exact'),
    (f'{{"schema": {"9" * 5000}}}', 'is not the record of a dataset'),
    (f'{{"schema": {"[" * 50}{"]" * 50}}}', 'more than 20 levels deep'),
    (f'{{"schema": {"[" * 200_000}{"]" * 200_000}}}', 'nested too deeply'),
  ],
)
def test_a_broken_record_is_refused(text, message):
  with pytest.raises(ValueError, match=message):
    spec.Metadata.from_json(text, source=pathlib.Path('x'))


def test_a_record_of_another_schema_is_refused(written):
  with pytest.raises(ValueError, match='has schema version 99'):
    spec.Metadata.from_json(
      _changed(written, schema=99), source=pathlib.Path('x')
    )


def test_a_record_with_an_unknown_field_is_refused(written):
  with pytest.raises(ValueError, match='one too many'):
    spec.Metadata.from_json(
      _changed(written, colour='red'), source=pathlib.Path('x')
    )


def test_a_directory_without_a_record_is_no_dataset(tmp_path):
  with pytest.raises(FileNotFoundError, match='no complete dataset'):
    spec.read_metadata(tmp_path)


@pytest.mark.parametrize(
  'place, value',
  [
    (('truth', 'mean'), 7.0),
    (('behaviour', 'mean'), 7.0),
    (('spec', 'discount'), 0.5),
    (('spec', 'seed'), 99),
    (('digest',), '0' * 64),
    (('versions', 'dm-reverb'), '9.9'),
    (('files', 'arrays/reward.npy', 'bytes'), 1),
    (('policy', 'x'), 1),
  ],
)
def test_a_record_that_was_changed_says_so(written, place, value):
  fields = json.loads((written / spec.METADATA).read_text())
  target = fields
  for name in place[:-1]:
    target = target[name]
  target[place[-1]] = value
  with pytest.raises(ValueError, match='was changed after it was written'):
    spec.Metadata.from_json(json.dumps(fields), source=pathlib.Path('x'))


@pytest.mark.parametrize(
  'changes, message',
  [
    ({'transitions': '3'}, "transitions should be of type int, got '3'"),
    ({'transitions': 3.5}, 'transitions should be of type int, got 3.5'),
    ({'transitions': True}, 'transitions should be of type int, got True'),
    ({'transitions': 0}, 'transitions must be at least 1, got 0'),
    ({'num_actions': -1}, 'num_actions must be at least 1'),
    ({'truncated': 10**6}, 'truncated must lie in'),
    ({'digest': None}, 'digest should be of type str'),
    ({'truth': 3}, 'truth should be an object, got 3'),
    ({'truth': {'mean': 1}}, 'truth misses a field'),
    (
      {
        'behaviour': {
          'mean': 'x',
          'standard_error': 1.0,
          'episodes': 2,
          'mean_length': 1.0,
        }
      },
      'behaviour.mean should be of type float',
    ),
    ({'spec': []}, 'spec should be an object'),
    ({'spec': {'task': 'x', 'discount': 7}}, 'discount must lie in'),
    ({'files': []}, 'files should be of type'),
    (
      {'files': {'/etc/passwd': {'bytes': 1, 'sha256': 'x'}}},
      "'/etc/passwd', which lies outside",
    ),
    (
      {'files': {'arrays/../../x': {'bytes': 1, 'sha256': 'x'}}},
      'lies outside of the dataset',
    ),
    ({'files': {'x': {}}}, 'bytes and sha256'),
    ({'files': {'x': {'bytes': '1', 'sha256': 1}}}, 'bytes and sha256'),
    ({'action_labels': ['a']}, 'There are 1 labels for 3 actions'),
    ({'action_labels': 'abc'}, 'action_labels should be of type'),
    ({'annotations': [1]}, r'annotations\[0\] should be of type str'),
    ({'versions': {'x': 1}}, 'versions.x should be of type str'),
  ],
)
def test_a_record_of_other_types_is_refused_in_a_sentence(
  written, changes, message
):
  """Even where whoever wrote it made a digest that fits."""
  fields = json.loads((written / spec.METADATA).read_text())
  del fields[record.DIGEST]
  with pytest.raises(ValueError, match=message) as error:
    spec.Metadata.from_json(
      record.dump({**fields, **changes}), source=pathlib.Path('x')
    )
  assert str(error.value).startswith('x: ')


def test_a_record_of_one_episode_has_no_standard_error(written):
  metadata = spec.read_metadata(written)
  one = dataclasses.replace(
    metadata,
    episodes=1,
    truncated=0,
    behaviour=episode_returns.summarise([1.0], [3]),
  )
  again = spec.Metadata.from_json(one.to_json(), source=pathlib.Path('x'))
  assert 'NaN' not in one.to_json()
  assert math.isnan(again.behaviour.standard_error)


def test_a_record_of_a_gigabyte_is_not_read(tmp_path):
  with (tmp_path / spec.METADATA).open('wb') as file:
    file.truncate(2**30)
  with pytest.raises(ValueError, match='has more than 67,108,864 bytes'):
    spec.read_metadata(tmp_path)


def test_the_id_of_a_log_is_a_file_name():
  log = spec.Log(
    name='Ward 3 (2.5 mg)', source='x.csv', format='csv', mapping={}
  )
  assert log.id == 'Ward-3-2-5-mg'
  with pytest.raises(ValueError, match='discount must'):
    spec.Log(name='x', source='x.csv', format='csv', mapping={}, discount=1.5)
