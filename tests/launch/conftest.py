"""Runs the real command in a real process."""

import os
import subprocess
import sys

import pytest

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
