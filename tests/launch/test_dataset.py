"""`dfiv-ope dataset`: each command end to end, and each refusal."""

import json
import pathlib
import resource
import shutil
import signal
import socket
import time

import numpy as np
import pytest

from dfiv_ope.datasets import reading, sampling


@pytest.fixture
def copy(dataset, tmp_path):
  return pathlib.Path(shutil.copytree(dataset, tmp_path / 'copy'))


def test_show_prints_a_card(command, dataset):
  result = command('dataset', 'show', dataset)
  assert result.returncode == 0
  for words in ('catch-noise-0p2-epsilon-0p2-2000-seed-0', 'true value',
                '2,007 transitions in 223 episodes, 0 truncated'):
    assert words in result.stdout


def test_show_prints_the_record_for_machines(command, dataset):
  record = json.loads(command('dataset', 'show', dataset, '--json').stdout)
  assert record['schema'] == 2
  assert record['spec'] == {
      'task': 'catch', 'action_noise': 0.2, 'epsilon': 0.2, 'discount': 0.99,
      'transitions': 2000, 'seed': 0}
  assert record['transitions'] == 2007
  assert record['truth']['episodes'] == 1000
  assert record['truth']['standard_error'] > 0
  assert record['behaviour']['episodes'] == 223
  assert record['policy']['dqn']['transitions'] == 3000
  assert set(record['versions']) >= {'dfiv-ope', 'tensorflow', 'dm-reverb'}


def test_check_says_that_all_is_well(command, dataset):
  result = command('dataset', 'check', dataset)
  assert result.returncode == 0
  assert 'is sound: 2,007 transitions' in result.stdout


def test_the_same_command_gives_the_same_digest(
    command, policy, dataset, tmp_path):
  command('dataset', 'make', 'catch', '--policy', policy,
          '--out', tmp_path / 'again', '--transitions', '2000',
          '--truth-episodes', '1000')
  one, two = (
      json.loads((path / 'metadata.json').read_text())
      for path in (dataset, tmp_path / 'again'))
  assert one['digest'] == two['digest']
  assert one['truth'] == two['truth']


@pytest.mark.slow
def test_a_killed_job_does_not_open_and_goes_on(
    command, quick, tmp_path):
  """Killed after training: the policy is not trained again."""
  out = tmp_path / 'killed'
  make = ('dataset', 'make', 'catch', '--out', out, '--transitions', '2000',
          '--truth-episodes', '1000', *quick)
  process = command.popen(*make)
  while not (out / 'trained' / 'policy.json').exists():
    assert process.poll() is None, process.stderr.read()
    time.sleep(0.01)
  process.send_signal(signal.SIGKILL)
  process.communicate()
  assert 'no complete dataset' in command.refuses('dataset', 'show', out)
  again = command(*make)
  assert again.returncode == 0, again.stderr
  assert 'Training' not in again.stderr
  assert sorted(p.name for p in out.iterdir()) == [
      'checkpoint', 'metadata.json', 'policy']
  assert command('dataset', 'check', out).returncode == 0


def test_a_dataset_is_never_overwritten(command, policy, dataset):
  before = (dataset / 'metadata.json').read_bytes()
  message = command.refuses(
      'dataset', 'make', 'catch', '--policy', policy, '--out', dataset)
  assert 'nothing is ever overwritten' in message
  assert (dataset / 'metadata.json').read_bytes() == before


@pytest.mark.parametrize('arguments, words', [
    (('pong',), 'Unknown task'),
    (('catch', '--action-noise', '-1'), 'action_noise must lie in [0, 1]'),
    (('catch', '--epsilon', '2'), 'epsilon must lie in [0, 1]'),
    (('catch', '--discount', '1'), 'discount must lie in [0, 1)'),
    (('catch', '--transitions', '0'), 'transitions must be at least 1'),
    (('catch', '--policy', 'nowhere'), 'holds no trained policy')])
def test_wrong_arguments_are_refused_and_leave_nothing(
    command, tmp_path, arguments, words):
  out = tmp_path / 'out'
  message = command.refuses('dataset', 'make', *arguments, '--out', out)
  assert words in message
  assert not out.exists()


def test_a_policy_of_another_task_is_refused(command, policy, tmp_path):
  out = tmp_path / 'out'
  message = command.refuses(
      'dataset', 'make', 'cartpole', '--policy', policy, '--out', out)
  assert 'Was it trained for another task?' in message
  assert not out.exists()


def test_a_full_disk_is_said_and_leaves_nothing(command, policy, tmp_path):
  """No file may grow past 20 kB: what a full disk does to a writer."""
  out = tmp_path / 'out'

  def limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

  command.refuses(
      'dataset', 'make', 'catch', '--policy', policy, '--out', out,
      '--transitions', '50000', preexec_fn=limit)
  assert not out.exists()


@pytest.mark.parametrize('name', ['chunks.tfrecord', 'items.tfrecord'])
def test_a_truncated_checkpoint_is_refused(command, copy, name):
  file = copy / 'checkpoint' / 'log' / name
  file.write_bytes(file.read_bytes()[:100])
  assert f'{name} has 100 bytes' in command.refuses('dataset', 'check', copy)


def test_a_missing_checkpoint_is_refused(command, copy):
  shutil.rmtree(copy / 'checkpoint')
  assert 'is missing' in command.refuses('dataset', 'check', copy)


def test_a_record_of_another_schema_is_refused(command, copy):
  record = json.loads((copy / 'metadata.json').read_text())
  (copy / 'metadata.json').write_text(json.dumps({**record, 'schema': 1}))
  assert 'has schema version 1' in command.refuses('dataset', 'show', copy)


def test_a_served_dataset_streams_to_another_process(command, dataset):
  with socket.socket() as probe:
    probe.bind(('localhost', 0))
    port = probe.getsockname()[1]
  process = command.popen('dataset', 'serve', dataset, '--port', str(port))
  sampler = sampling.Streaming(
      f'localhost:{port}', batch_size=256, timeout_seconds=120)
  rewards = sampler.sample().reward
  process.send_signal(signal.SIGINT)
  _, errors = process.communicate(timeout=60)
  assert 'no authentication and listens on all interfaces' in ' '.join(
      errors.split())
  stored = reading.open_dataset(dataset).transitions.reward
  assert set(np.unique(rewards)) <= set(np.unique(stored))
