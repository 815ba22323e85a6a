"""Runs the real command in a real process."""

import hashlib
import os
import subprocess
import sys

import pytest

from dfiv_ope import results

# Seconds; only to end a test that hangs.
_LIMIT = 300


class CommandLine:
  """Calls `dfiv-ope` as a user does."""

  def popen(self, *arguments, **kwargs):
    """Starts a command and returns its process."""
    environment = {**os.environ, 'CUDA_VISIBLE_DEVICES': ''}
    environment.pop('DFIV_OPE_DEBUG', None)
    return subprocess.Popen(
        [sys.executable, '-c',
         'from dfiv_ope.launch import main; main.main()',
         *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, **kwargs)

  def __call__(self, *arguments, **kwargs):
    """Runs a command to its end."""
    process = self.popen(*arguments, **kwargs)
    output, errors = process.communicate(timeout=_LIMIT)
    return subprocess.CompletedProcess(
        arguments, process.returncode, output, errors)

  def refuses(self, *arguments, **kwargs):
    """Expects exit code 2 and one sentence; returns the sentence."""
    result = self(*arguments, **kwargs)
    assert result.returncode == 2, result.stderr
    assert 'Traceback' not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert lines[-1].startswith('Error: '), result.stderr
    return lines[-1]


@pytest.fixture(scope='session')
def command():
  return CommandLine()


# A training run of a few seconds.
QUICK = ('--set', 'transitions=3000', '--set', 'trial_episodes=4')


@pytest.fixture(scope='session')
def quick():
  return QUICK


@pytest.fixture(scope='session')
def policy(command, tmp_path_factory):
  """A hastily trained policy for catch."""
  path = tmp_path_factory.mktemp('policies') / 'catch'
  result = command('policy', 'train', 'catch', '--out', path, *QUICK)
  assert result.returncode == 0, result.stderr
  return path


@pytest.fixture(scope='session')
def dataset(command, policy, tmp_path_factory):
  """A small dataset of that policy."""
  path = tmp_path_factory.mktemp('datasets') / 'catch'
  result = command(
      'dataset', 'make', 'catch', '--policy', policy, '--out', path,
      '--transitions', '2000', '--truth-episodes', '1000')
  assert result.returncode == 0, result.stderr
  return path


TRUTHS = {'catch': 0.5, 'mountain_car': -80., 'cartpole': 100.}


@pytest.fixture(scope='session')
def ope_row():
  """Makes a row of off-policy evaluation of a given relative error."""

  def make(
      method='kiv', task='catch', noise=0.2, seed=0, *, relative=0.01,
      target_epsilon=0., problem=None, **fields):
    dataset = f'{task}-noise-{noise:g}-epsilon-0p2-20000-seed-0'
    truth = TRUTHS[task]
    estimate = truth + relative * abs(truth)
    return results.ResultRow(**{
        'problem': {
            'name': 'ope', 'dataset': dataset,
            'digest': hashlib.sha256(dataset.encode()).hexdigest(),
            'task': task, 'action_noise': noise, 'epsilon': 0.2,
            'target_epsilon': target_epsilon, 'discount': 0.99,
            'transitions': 20_007, 'episodes': 2_223, 'truth': truth,
            'truth_standard_error': 0.001 * abs(truth),
            'log_return': 1.2 * truth, 'log_standard_error': 0.01,
            'overlap': 0.87, **(problem or {})},
        'method': method, 'config': {'type': 'Config', 'width': 50},
        'seed': seed, 'metrics': {
            'estimate': estimate, 'error': relative * abs(truth),
            'relative_error': relative},
        'curves': {}, 'cpu_seconds': 2., 'versions': {'dfiv-ope': '0.1.0'},
        'command': f'dfiv-ope evaluate data/{task} --method {method}',
        **fields})

  return make
