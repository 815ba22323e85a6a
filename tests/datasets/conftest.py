"""A small dataset, written once."""

import importlib.metadata
import json
import pathlib
import shutil

import pytest

from dfiv_ope import testing
from dfiv_ope.datasets import collection, spec, store
from dfiv_ope.launch import importing, log_options, runtime
from dfiv_ope.policies import episode_returns, finite

SPEC = spec.Spec(task='corridor', transitions=3_000, discount=0.9, seed=5)


def make(path: pathlib.Path, a_spec=SPEC, terminates=True) -> spec.Metadata:
  """Writes a dataset of the corridor, as the command does for a task."""
  policy = finite.Uniform(num_actions=3)
  path.mkdir(parents=True)
  writer = store.Writer(path, num_observations=2, discount=a_spec.discount)
  for episode in collection.collect(
    lambda seed: testing.Corridor(seed=seed, terminates=terminates),
    policy,
    a_spec,
  ):
    writer.append(episode)
  contents = writer.finish()
  store.save_policy(policy, path, num_observations=2)
  metadata = spec.Metadata(
    spec=a_spec,
    num_observations=2,
    num_actions=3,
    transitions=contents.transitions,
    episodes=contents.episodes,
    truncated=contents.truncated,
    digest=contents.digest,
    files=store.file_record(path),
    truth=episode_returns.summarise([1.0, 2.0], [1, 1]),
    behaviour=contents.returns,
    policy={},
    versions={'dm-reverb': importlib.metadata.version('dm-reverb')},
  )
  (path / spec.METADATA).write_text(metadata.to_json())
  return metadata


@pytest.fixture(scope='session')
def make_dataset():
  """The function `make`."""
  return make


@pytest.fixture(scope='session')
def written(tmp_path_factory) -> pathlib.Path:
  path = tmp_path_factory.mktemp('datasets') / 'corridor'
  make(path)
  return path


@pytest.fixture
def copy(written, tmp_path) -> pathlib.Path:
  """A copy that a test may damage."""
  return pathlib.Path(shutil.copytree(written, tmp_path / 'copy'))


@pytest.fixture
def refused(monkeypatch):
  """Imports with the command's own function; returns its sentence."""

  def run(path, out, mapping, format_name=None):
    monkeypatch.setattr(runtime, 'start', lambda **_: None)
    file = path.parent / 'mapping.yaml'
    file.write_text(json.dumps(mapping))  # JSON is YAML.
    with pytest.raises((ValueError, OSError)) as error:
      importing.import_log(
        path, out, log_options.OfLog(format_name=format_name, mapping=file)
      )
    assert not out.exists()
    return str(error.value)

  return run
