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
import tensorflow as tf

from dfiv_ope.datasets import reading, sampling, serving, store
from dfiv_ope.datasets import record as record_lib
from dfiv_ope.launch import checking, evaluate, importing, runtime
from dfiv_ope.launch import dataset as dataset_lib
from dfiv_ope.results import files


@pytest.fixture
def copy(dataset, tmp_path):
  return pathlib.Path(shutil.copytree(dataset, tmp_path / 'copy'))


def test_show_prints_a_card(command, dataset):
  result = command('dataset', 'show', dataset)
  assert result.returncode == 0
  for words in (
    'catch-noise-0p2-epsilon-0p2-discount-0p99-2000-seed-0',
    'true value',
    '2,007 transitions in 223 episodes, 0 truncated',
  ):
    assert words in result.stdout


def test_show_prints_the_record_for_machines(command, dataset):
  record = json.loads(command('dataset', 'show', dataset, '--json').stdout)
  assert record['schema'] == 2
  assert record['spec'] == {
    'task': 'catch',
    'action_noise': 0.2,
    'epsilon': 0.2,
    'discount': 0.99,
    'transitions': 2000,
    'seed': 0,
  }
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
  command, policy, dataset, tmp_path
):
  command(
    'dataset',
    'make',
    'catch',
    '--policy',
    policy,
    '--out',
    tmp_path / 'again',
    '--transitions',
    '2000',
    '--truth-episodes',
    '1000',
  )
  one, two = (
    json.loads((path / 'metadata.json').read_text())
    for path in (dataset, tmp_path / 'again')
  )
  assert one['digest'] == two['digest']
  assert one['truth'] == two['truth']


@pytest.mark.slow
def test_a_killed_job_does_not_open_and_goes_on(command, quick, tmp_path):
  """Killed after training: the policy is not trained again."""
  out = tmp_path / 'killed'
  make = (
    'dataset',
    'make',
    'catch',
    '--out',
    out,
    '--transitions',
    '2000',
    '--truth-episodes',
    '1000',
    *quick,
  )
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
    'arrays',
    'checkpoint',
    'metadata.json',
    'policy',
  ]
  assert command('dataset', 'check', out).returncode == 0


def test_a_dataset_is_never_overwritten(command, policy, dataset):
  before = (dataset / 'metadata.json').read_bytes()
  message = command.refuses(
    'dataset', 'make', 'catch', '--policy', policy, '--out', dataset
  )
  assert 'nothing is ever overwritten' in message
  assert (dataset / 'metadata.json').read_bytes() == before


@pytest.mark.parametrize(
  'arguments, words',
  [
    (('pong',), "There is no task 'pong'. Choose from catch"),
    (('catch', '--action-noise', '-1'), 'action_noise must lie in [0, 1]'),
    (('catch', '--epsilon', '2'), 'epsilon must lie in [0, 1]'),
    (('catch', '--discount', '1.5'), 'discount must lie in [0, 1]'),
    (('catch', '--transitions', '0'), 'transitions must be at least 1'),
    (('catch', '--policy', 'nowhere'), 'holds no trained policy'),
  ],
)
def test_wrong_arguments_are_refused_and_leave_nothing(
  command, tmp_path, arguments, words
):
  out = tmp_path / 'out'
  message = command.refuses('dataset', 'make', *arguments, '--out', out)
  assert words in message
  assert not out.exists()


def test_a_policy_of_another_task_is_refused(command, policy, tmp_path):
  out = tmp_path / 'out'
  message = command.refuses(
    'dataset', 'make', 'cartpole', '--policy', policy, '--out', out
  )
  assert 'Was it trained for another task?' in message
  assert not out.exists()


def test_a_full_disk_is_said_and_leaves_nothing(command, policy, tmp_path):
  """No file may grow past 20 kB: what a full disk does to a writer."""
  out = tmp_path / 'out'

  def limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

  command.refuses(
    'dataset',
    'make',
    'catch',
    '--policy',
    policy,
    '--out',
    out,
    '--transitions',
    '50000',
    preexec_fn=limit,
  )
  assert not out.exists()


def test_a_truncated_file_is_refused(command, copy):
  """Which files are read is tested in tests/datasets/test_store.py."""
  file = copy / 'arrays' / 'reward.npy'
  file.write_bytes(file.read_bytes()[:100])
  assert 'arrays/reward.npy has 100 bytes' in command.refuses(
    'dataset', 'check', copy
  )


def test_a_record_that_was_changed_is_refused(command, copy):
  text = (copy / 'metadata.json').read_text()
  (copy / 'metadata.json').write_text(
    text.replace('"discount": 0.99', '"discount": 0.5', 1)
  )
  assert 'it was changed after it was written' in command.refuses(
    'dataset', 'show', copy
  )


def test_a_record_of_another_schema_is_refused(command, copy):
  record = json.loads((copy / 'metadata.json').read_text())
  (copy / 'metadata.json').write_text(json.dumps({**record, 'schema': 1}))
  assert 'has schema version 1' in command.refuses('dataset', 'show', copy)


def test_a_served_dataset_streams_to_another_process(command, dataset):
  with socket.socket() as probe:
    probe.bind(('localhost', 0))
    port = probe.getsockname()[1]
  # Shells let what they run in the background ignore Ctrl-C.
  process = command.popen(
    'dataset',
    'serve',
    dataset,
    '--port',
    str(port),
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
  )
  sampler = sampling.Streaming(
    f'localhost:{port}', batch_size=256, timeout_seconds=600
  )
  rewards = sampler.sample().reward
  process.send_signal(signal.SIGINT)
  _, errors = process.communicate(timeout=1200)
  assert 'of this machine only. Reverb has no authentication' in ' '.join(
    errors.split()
  )
  stored = reading.open_dataset(dataset).transitions.reward
  assert set(np.unique(rewards)) <= set(np.unique(stored))


@pytest.fixture
def evil(copy, tmp_path):
  """A dataset whose policy writes a file when it is asked."""
  trace = tmp_path / 'trace'
  module = tf.Module()

  @tf.function(input_signature=[tf.TensorSpec([None, 50], tf.float32)])
  def action_probabilities(observation):
    with tf.control_dependencies([tf.io.write_file(str(trace), 'here')]):
      return tf.fill([tf.shape(observation)[0], 3], 1.0 / 3.0)

  module.action_probabilities = action_probabilities
  shutil.rmtree(copy / 'policy')
  tf.saved_model.save(module, str(copy / 'policy'))
  fields = json.loads((copy / 'metadata.json').read_text())
  del fields[record_lib.DIGEST]
  (copy / 'metadata.json').write_text(
    record_lib.dump({**fields, 'files': store.file_record(copy)})
  )
  return copy, trace


def test_only_a_trusted_policy_of_a_dataset_is_run(evil, tmp_path, monkeypatch):
  path, trace = evil
  monkeypatch.setattr(runtime, 'start', lambda **_: None)
  dataset_lib.show(path)
  checking.check(path)
  checking.check(path, policy='uniform')
  importing.export_log(path, tmp_path / 'log.npz')
  with pytest.raises(ValueError, match='holds WriteFile, .* --trust-policy'):
    evaluate.evaluate(path, tmp_path / 'runs', method=['lstd'], seeds=1)
  assert not trace.exists()
  evaluate.evaluate(
    path, tmp_path / 'runs', method=['lstd'], seeds=1, trust_policy=True
  )
  assert trace.read_text() == 'here'
  row = files.read(tmp_path / 'runs')[-1]  # The first were refused.
  assert '--trust-policy' in row.command


def test_a_dataset_may_have_a_name_that_looks_like_a_pattern(
  command, policy, tmp_path
):
  out = tmp_path / 'x[1]*'
  made = command(
    'dataset',
    'make',
    'catch',
    '--policy',
    policy,
    '--out',
    out,
    '--transitions',
    '100',
    '--truth-episodes',
    '10',
  )
  assert made.returncode == 0, made.stderr
  dataset = reading.open_dataset(out)
  assert dataset.policy.action_probabilities(
    dataset.initial_observations
  ).shape == (dataset.metadata.episodes, 3)
  server = serving.restore(out, num_observations=50)
  sizes = {
    name: each.current_size
    for name, each in server.localhost_client().server_info().items()
  }
  server.stop()
  assert sizes == {'transitions': 1, 'initial_observations': 1}
