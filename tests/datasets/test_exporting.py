"""What is exported and imported again is the same dataset."""

import dataclasses

import minari
import numpy as np
import pytest

from dfiv_ope.datasets import (
  checks,
  columns,
  exporting,
  importing,
  logs,
  reading,
  spec,
)

FILES = {
  'csv': 'log.csv',
  'csv.gz': 'log.csv.gz',
  'parquet': 'log.parquet',
  'npz': 'log.npz',
  'minari': 'folder',
}


def _import(log, out, **mapping):
  """Imports a log, as the command does."""
  out.mkdir()
  reader = logs.LogReader(log, columns=columns.parse(mapping))
  record = spec.Log(
    name='Some log',
    source=reader.file,
    format=reader.format,
    mapping=reader.mapping,
    discount=0.9,
  )
  metadata = importing.write(reader, out, record, progress=lambda share: None)
  (out / spec.METADATA).write_text(metadata.to_json())
  return reading.open_dataset(out)


def _log(path, *, labels, annotated):
  """Writes a log of many ends of episodes, in numbers that are not round."""
  generator = np.random.default_rng(3)
  lines = [
    'episode,x,y,action,reward,terminated'
    + (
      ',behaviour_probability,'
      + ','.join(f'target_probability_{label}' for label in labels)
      if annotated
      else ''
    )
  ]
  for episode in range(200):
    length = generator.integers(2, 30)
    for step in range(length):
      x, y, reward = generator.normal(size=3) * 10.0 ** generator.integers(
        -6, 6, size=3
      )
      cells = [
        episode,
        x,
        y,
        generator.choice(labels),
        reward,
        int(step == length - 1 and episode % 3 == 0),
      ]
      if annotated:
        target = generator.dirichlet(np.ones(len(labels)))
        cells += [generator.uniform(0.01, 1.0), *target]
      lines.append(','.join(map(str, cells)))
  path.write_text('\n'.join(lines))


@pytest.fixture(scope='module', params=['numbers', 'labels', 'annotated'])
def imported(request, tmp_path_factory):
  path = tmp_path_factory.mktemp('imported')
  _log(
    path / 'log.csv',
    annotated=request.param == 'annotated',
    labels=['0', '1', '2']
    if request.param == 'numbers'
    else ['left', 'a, "b"' if request.param == 'labels' else 'b', '-7'],
  )
  # A comma in a label has to be quoted.
  text = (path / 'log.csv').read_text().replace('a, "b"', '"a, ""b"""')
  (path / 'log.csv').write_text(text)
  return _import(path / 'log.csv', path / 'dataset', observations='x,y')


@pytest.mark.parametrize('kind', FILES)
def test_a_round_trip_loses_nothing(imported, tmp_path, kind):
  log = tmp_path / FILES[kind]
  exporting.export(imported, log, format_name=kind.removesuffix('.gz'))
  again = _import(log, tmp_path / 'again')
  one, other = imported.metadata, again.metadata
  assert other.digest == one.digest
  assert other.action_labels == one.action_labels
  assert other.num_actions == one.num_actions
  assert other.annotations == one.annotations
  assert (other.transitions, other.episodes, other.truncated) == (
    one.transitions,
    one.episodes,
    one.truncated,
  )
  assert other.behaviour == one.behaviour
  np.testing.assert_array_equal(
    again.initial_observations, imported.initial_observations
  )
  for name in one.annotations:
    np.testing.assert_array_equal(
      again.annotations[name], imported.annotations[name]
    )
  assert [
    file.name for file in tmp_path.iterdir() if file.name.startswith('.')
  ] == []


def test_an_imported_dataset_is_sound_and_has_no_policy(imported):
  assert checks.problems(imported) == []
  assert imported.policy is None
  assert imported.metadata.truth is None
  assert imported.metadata.spec.id == 'Some-log'
  assert imported.metadata.truncated == 133
  again = spec.Metadata.from_json(imported.metadata.to_json(), source='x')
  assert again == imported.metadata


def test_annotations_lie_beside_the_steps(imported):
  last, terminal = imported.steps.is_last, imported.steps.is_terminal
  for name, values in imported.annotations.items():
    assert values.shape == last.shape and values.dtype == np.float32
    behaviour = name == 'behaviour_probability'
    np.testing.assert_array_equal(
      values == 0.0, last if behaviour else terminal
    )


def test_a_dataset_of_a_task_goes_out_and_in(written, tmp_path):
  made = reading.open_dataset(written)
  exporting.export(made, tmp_path / 'log.parquet', format_name='parquet')
  again = _import(tmp_path / 'log.parquet', tmp_path / 'again')
  assert again.metadata.digest == made.metadata.digest


def test_minari_itself_reads_what_is_exported(imported, tmp_path):
  exporting.export(imported, tmp_path / 'folder', format_name='minari')
  dataset = minari.MinariDataset(tmp_path / 'folder' / 'data')
  assert dataset.total_episodes == imported.metadata.episodes
  assert dataset.total_steps == imported.metadata.transitions
  assert dataset.action_space.n == 3
  ends = np.flatnonzero(imported.steps.is_last)
  episode = dataset[1]
  rows = slice(ends[0] + 1, ends[1])
  np.testing.assert_array_equal(
    episode.observations, imported.steps.observation[ends[0] + 1 : ends[1] + 1]
  )
  np.testing.assert_array_equal(episode.actions, imported.steps.action[rows])
  np.testing.assert_array_equal(episode.rewards, imported.steps.reward[rows])
  assert episode.terminations[-1] == imported.steps.is_terminal[ends[1]]
  assert episode.truncations[-1] != episode.terminations[-1]
  for name in ('behaviour_probability', 'target_probability_b'):
    if imported.annotations:
      assert len(episode.infos[name]) == len(episode.observations)


def test_actions_that_the_rows_do_not_tell_are_noticed(imported, tmp_path):
  assert exporting.inferred(imported)
  more = dataclasses.replace(
    imported,
    annotations={},
    metadata=dataclasses.replace(
      imported.metadata, num_actions=4, action_labels=()
    ),
  )
  assert not exporting.inferred(more)


def test_nothing_is_overwritten(imported, tmp_path):
  (tmp_path / 'log.npz').touch()
  with pytest.raises(FileExistsError, match='nothing is ever overwritten'):
    exporting.export(imported, tmp_path / 'log.npz', format_name='npz')


def test_other_formats_are_refused(imported, tmp_path):
  with pytest.raises(ValueError, match="no export to 'rlds'"):
    exporting.export(imported, tmp_path / 'log', format_name='rlds')


@pytest.mark.parametrize('format_name', FILES)
def test_discounts_of_steps_come_back(tmp_path, format_name):
  generator = np.random.default_rng(0)
  lines = ['episode,obs,action,reward,terminated,step_discount'] + [
    f'{episode},{generator.normal()},{step % 2},1,{int(step == 2)},'
    f'{0.0 if step == 2 else generator.uniform()}'
    for episode in range(5)
    for step in range(3)
  ]
  (tmp_path / 'log.csv').write_text('\n'.join(lines))
  first = _import(tmp_path / 'log.csv', tmp_path / 'first')
  assert not checks.problems(first)
  out = tmp_path / 'out' / FILES[format_name]
  exporting.export(first, out, format_name=format_name.split('.')[0])
  again = _import(out, tmp_path / 'again')
  assert again.metadata.digest == first.metadata.digest
  np.testing.assert_array_equal(again.steps.discount, first.steps.discount)
  assert 0.0 < first.steps.discount[0] < 1.0
