"""Runs the real command in a real process."""

import dataclasses
import hashlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys

import numpy as np
import pytest

from dfiv_ope import agents
from dfiv_ope.ope import importance, neighbours, overlap
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Seconds; only to end a test that hangs.
_LIMIT = 300


def _environment():
  environment = {**os.environ, 'CUDA_VISIBLE_DEVICES': ''}
  environment.pop('DFIV_OPE_DEBUG', None)
  return environment


class CommandLine:
  """Calls `dfiv-ope` as a user does."""

  def __init__(self, folder):
    """Initialises it with a folder for what commands print."""
    self._files = [folder / 'output', folder / 'errors']
    self._server = None

  def popen(self, *arguments, **kwargs):
    """Starts a command and returns its process."""
    return subprocess.Popen(
      [
        sys.executable,
        '-c',
        'from dfiv_ope.launch import main; main.main()',
        *map(str, arguments),
      ],
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      env=_environment(),
      **kwargs,
    )

  def __call__(self, *arguments, cwd='.', **kwargs):
    """Runs a command to its end, in a process that need not load libraries."""
    if kwargs:  # Of a process of its own.
      process = self.popen(*arguments, cwd=cwd, **kwargs)
      output, errors = process.communicate(timeout=_LIMIT)
      return subprocess.CompletedProcess(
        arguments, process.returncode, output, errors
      )
    if self._server is None:
      self._server = subprocess.Popen(
        [sys.executable, pathlib.Path(__file__).with_name('warm_start.py')],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**_environment(), 'OMP_NUM_THREADS': '1'},
      )
    print(
      json.dumps(
        {
          'arguments': [str(each) for each in arguments],
          'folder': str(pathlib.Path(cwd).resolve()),
          'environment': _environment(),
          'files': [str(each) for each in self._files],
        }
      ),
      file=self._server.stdin,
      flush=True,
    )
    if not select.select([self._server.stdout], [], [], _LIMIT)[0]:
      self.end()
      pytest.fail(f'{arguments} took longer than {_LIMIT} s.')
    return subprocess.CompletedProcess(
      arguments,
      int(self._server.stdout.readline()),
      *(each.read_text() for each in self._files),
    )

  def end(self):
    """Ends what commands are run in, and one that hangs."""
    if self._server is not None:
      os.killpg(self._server.pid, signal.SIGKILL)
      self._server.communicate()
      self._server = None

  def refuses(self, *arguments, **kwargs):
    """Expects exit code 2 and one sentence; returns the sentence."""
    result = self(*arguments, **kwargs)
    assert result.returncode == 2, result.stderr
    assert 'Traceback' not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert lines[-1].startswith('Error: '), result.stderr
    return lines[-1]


@pytest.fixture(scope='session')
def command(tmp_path_factory):
  command_line = CommandLine(tmp_path_factory.mktemp('printed'))
  yield command_line
  command_line.end()


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
    'dataset',
    'make',
    'catch',
    '--policy',
    policy,
    '--out',
    path,
    '--transitions',
    '2000',
    '--truth-episodes',
    '1000',
  )
  assert result.returncode == 0, result.stderr
  return path


TRUTHS = {'catch': 0.5, 'mountain_car': -80.0, 'cartpole': 100.0}
# The middle 95 % of these changes are -1.9 to 1.9, their deviation is 1.16.
CHANGES = tuple(np.linspace(-2.0, 2.0, 201).tolist())
VERSIONS = {'dfiv-ope': '0.1.0'}
GOOD_OVERLAP = overlap.Overlap(
  steps=5000,
  agreement=0.6,
  unseen={},
  coverage=neighbours.Coverage(
    share=0.94, near=0.5, queries=2000, references=5000
  ),
  weights=importance.Weights(
    effective_steps=2500.0,
    effective_episodes=20.0,
    largest=4.0,
    largest_share=0.01,
    mean=1.0,
    mean_error=0.01,
    estimated=True,
  ),
)


def make_task_row(
  method='kiv',
  task='catch',
  noise=0.2,
  seed=0,
  *,
  relative=0.01,
  problem=None,
  **fields,
):
  """Returns a row of a simulated task, of a given relative error."""
  dataset = f'{task}-noise-{noise:g}-epsilon-0p2-20000-seed-0'
  truth = TRUTHS[task]
  made = problems.SimulatedTask(
    **{
      'dataset': dataset,
      'digest': hashlib.sha256(dataset.encode()).hexdigest(),
      'discount': 0.99,
      'actions': 3,
      'target': 'a1' * 8,
      'transitions': 20_007,
      'episodes': 2_223,
      'log_return': 1.2 * truth,
      'log_standard_error': 0.01,
      'truth': truth,
      'truth_standard_error': 0.001 * abs(truth),
      'overlap': overlap.Overlap(steps=20_007, agreement=0.87, unseen={}),
      'task': task,
      'action_noise': noise,
      'epsilon': 0.2,
      'target_epsilon': 0.0,
      'size': 20_000,
      **(problem or {}),
    }
  )
  return rows_lib.Row(
    **{
      'problem': made,
      'method': method,
      'config': {'type': 'Config', 'width': 50},
      'seed': seed,
      'version': 1,
      'versions': VERSIONS,
      'metrics': {
        'estimate': truth + relative * abs(truth),
        'error': relative * abs(truth),
        'relative_error': relative,
      },
      'cpu_seconds': 2.0,
      'command': f'dfiv-ope evaluate data/{task} --method {method}',
      **fields,
    }
  )


def make_log_row(
  method='lstd',
  seed=0,
  *,
  estimate=10.0,
  correction=0.0,
  share=0.5,
  scale=1.0,
  metrics=None,
  problem=None,
  **fields,
):
  """Returns a row of a method on a user's log; its interval is known."""
  # The log's own return goes with the estimate, at half of its size.
  changes = tuple(
    (0.5 if method == 'log' else scale) * each for each in CHANGES
  )
  made = problems.UserLog(
    **{
      'dataset': 'shop',
      'digest': 'd' * 64,
      'discount': 0.95,
      'actions': 2,
      'target': 'a1',
      'transitions': 5000,
      'episodes': 400,
      'log_return': 8.0,
      'log_standard_error': 0.25,
      'overlap': GOOD_OVERLAP,
      'policy': 'the Python function offers:generous',
      **(problem or {}),
    }
  )
  return rows_lib.Row(
    **{
      'problem': made,
      'method': method,
      'config': {'type': 'Config'},
      'seed': seed,
      'version': 1,
      'versions': VERSIONS,
      'metrics': {'estimate': estimate}
      if method == 'log'
      else {
        'estimate': estimate,
        'correction': correction,
        'data_error': float(np.std(changes)),
        'effective_share': share,
        'check_lstd': estimate,
        'check_draw': estimate,
        **(metrics or {}),
      },
      'cpu_seconds': 2.0,
      'resamples': changes,
      'command': f'dfiv-ope evaluate data/shop --method {method}',
      **fields,
    }
  )


def make_selection_row(
  asked, tournament=1.0, projected=1.0, chosen=1.0, *, candidates='c0'
):
  """Returns the row of a candidate, made of a row of the problem it is for."""
  return dataclasses.replace(
    asked,
    problem=problems.Selection(
      asked=asked.problem,
      candidates=candidates,
      judge=problems.Judge(version=1, rows=30_000, features=100),
    ),
    metrics={
      'tournament': tournament,
      'projected_bellman_error': projected,
      'chosen': chosen,
    },
    resamples=(),
    outcome='finished',
    reason='',
  )


def make_coverage_row(of, log, covered, *, problem=None):
  """Returns the row of an interval on a new log, by the method of a row."""
  return dataclasses.replace(
    of,
    seed=0,
    resamples=(),
    problem=problems.Coverage(
      **{
        'dataset': 'catch',
        'task': 'catch',
        'action_noise': 0.2,
        'epsilon': 0.2,
        'discount': 0.99,
        'actions': 3,
        'target': 'a1',
        'simulation': 1,
        'first_seed': 1_000_000,
        'log': log,
        'seeds': 3,
        'level': 0.95,
        'truth': 0.5,
        **(problem or {}),
      }
    ),
    metrics={
      'estimate': 0.5,
      'low': 0.4,
      'high': 0.6,
      'data_error': 0.05,
      'covered': float(covered),
    },
  )


@pytest.fixture(scope='session')
def ope_row():
  return make_task_row


@pytest.fixture(scope='session')
def log_row():
  return make_log_row


@pytest.fixture(scope='session')
def selection_row():
  return make_selection_row


@pytest.fixture(scope='session')
def coverage_row():
  return make_coverage_row


@pytest.fixture(scope='session')
def demo():
  """One task, one noise, one run of each method, a quick budget."""
  changes = tuple(np.linspace(-0.1, 0.1, 201).tolist())
  made = [make_task_row('log', relative=0.2, cpu_seconds=0.0)]
  for method, error in (
    ('lstd', 0.01),
    ('dfiv', 0.02),
    ('fqe', -0.04),
    ('deepiv', 0.9),
  ):
    quick = dict(change.split('=') for change in agents.ENTRIES[method].quick)
    row = make_task_row(
      method,
      relative=error,
      resamples=changes,
      custom=bool(quick),
      config={
        'type': 'Config',
        **{name: int(value) for name, value in quick.items()},
      },
    )
    made.append(
      dataclasses.replace(
        row,
        metrics={
          **row.metrics,
          'correction': 0.0,
          **dict.fromkeys(
            ('check_lstd', 'check_draw'), row.metrics['estimate']
          ),
        },
      )
    )
  return made
