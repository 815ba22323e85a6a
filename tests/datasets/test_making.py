"""A policy and a dataset made from Python, without a command."""

import contextlib

import numpy as np
import pytest

from dfiv_ope import testing
from dfiv_ope.agents import dqn, training
from dfiv_ope.agents.entries import trainers
from dfiv_ope.datasets import making, reading
from dfiv_ope.datasets import spec as spec_lib

_CONFIG = dqn.Config(
  hidden=(4,),
  n_step=1,
  transitions=200,
  episodes_per_round=8,
  warmup_rounds=2,
  block=8,
  blocks_per_batch=2,
  uses=4,
  window=5.0,
  trial_episodes=8,
)


def _make(seed):
  return testing.Corridor(seed=seed)


@pytest.fixture(scope='module')
def policy(tmp_path_factory):
  path = tmp_path_factory.mktemp('policy')
  record = training.write(
    path,
    trainers.Training(
      task='corridor', action_noise=0.0, seed=0, config=_CONFIG
    ),
    make_environment=_make,
  )
  assert record['dqn']['transitions'] == 200
  assert sorted(each.name for each in path.iterdir()) == [
    'policy.json',
    'saved_model',
  ]
  return path


def test_a_dataset_is_made_and_its_stages_are_told(policy, tmp_path):
  told = []

  @contextlib.contextmanager
  def progress(title, total):
    yield lambda done, note='': told.append((title, total, done))

  spec = spec_lib.Spec(task='corridor', transitions=300)
  left_over = tmp_path / 'trained'
  left_over.mkdir()
  made = making.make(
    tmp_path,
    spec=spec,
    make_environment=_make,
    policy_path=policy,
    truth_episodes=1000,
    intermediate=left_over,
    progress=progress,
  )
  assert not left_over.exists()
  opened = reading.open_dataset(tmp_path)
  assert opened.metadata == made.metadata
  assert made.metadata.transitions >= 300 and made.cpu_seconds > 0.0
  assert made.metadata.truth.episodes == 1000
  assert list(dict.fromkeys(title for title, _, _ in told)) == [
    'Collecting',
    'Simulating the true value',
  ]
  collected = [done for title, _, done in told if title == 'Collecting']
  assert collected[-1] == made.metadata.transitions
  assert np.all(np.diff(collected) > 0)


def test_the_policy_of_another_task_is_refused(policy, tmp_path):
  with pytest.raises(ValueError, match='trained on corridor, but catch was'):
    making.make(
      tmp_path,
      spec=spec_lib.Spec(task='catch'),
      make_environment=_make,
      policy_path=policy,
      truth_episodes=2,
    )
  assert not list(tmp_path.iterdir())
