"""Specs refuse nonsense; records survive JSON and refuse other schemas."""

import json
import pathlib

import pytest

from dfiv_ope.datasets import spec


@pytest.mark.parametrize('field, value', [
    ('action_noise', -0.1), ('action_noise', 2.), ('epsilon', 1.01),
    ('discount', 1.), ('discount', -0.5), ('transitions', 0), ('seed', -1)])
def test_a_spec_refuses_impossible_values(field, value):
  with pytest.raises(ValueError, match=f'{field} must'):
    spec.Spec(task='catch', **{field: value})


def test_the_id_is_a_file_name_without_dots():
  assert spec.Spec(task='catch', action_noise=0.25, epsilon=0.).id == (
      'catch-noise-0p25-epsilon-0-20000-seed-0')


def test_a_record_survives_json(written):
  metadata = spec.read_metadata(written)
  again = spec.Metadata.from_json(
      metadata.to_json(), source=pathlib.Path('x'))
  assert again == metadata
  assert again.spec == spec.Spec(task='corridor', transitions=3_000, seed=5)


def _changed(written, **changes):
  fields = json.loads((written / spec.METADATA).read_text())
  fields.update(changes)
  return json.dumps(fields)


@pytest.mark.parametrize('text, message', [
    ('{', 'is not the record of a dataset'),
    ('[]', 'is not the record of a dataset'),
    ('{}', 'is not the record of a dataset'),
    ('{"schema": 2}', 'misses a field')])
def test_a_broken_record_is_refused(text, message):
  with pytest.raises(ValueError, match=message):
    spec.Metadata.from_json(text, source=pathlib.Path('x'))


def test_a_record_of_another_schema_is_refused(written):
  with pytest.raises(ValueError, match='has schema version 99'):
    spec.Metadata.from_json(
        _changed(written, schema=99), source=pathlib.Path('x'))


def test_a_record_with_an_unknown_field_is_refused(written):
  with pytest.raises(ValueError, match='one too many'):
    spec.Metadata.from_json(
        _changed(written, colour='red'), source=pathlib.Path('x'))


def test_a_directory_without_a_record_is_no_dataset(tmp_path):
  with pytest.raises(FileNotFoundError, match='no complete dataset'):
    spec.read_metadata(tmp_path)


def test_a_record_from_before_logs_could_be_imported_is_read(written):
  fields = json.loads((written / spec.METADATA).read_text())
  for name in ('action_labels', 'annotations'):
    del fields[name]
  again = spec.Metadata.from_json(
      json.dumps(fields), source=pathlib.Path('x'))
  assert again == spec.read_metadata(written)


def test_the_id_of_a_log_is_a_file_name():
  log = spec.Log(name='Ward 3 (2.5 mg)', source='x.csv', format='csv',
                 mapping={})
  assert log.id == 'Ward-3-2-5-mg'
  with pytest.raises(ValueError, match='discount must'):
    spec.Log(name='x', source='x.csv', format='csv', mapping={}, discount=1.)
