"""A log on which policies are tried, and modules that hold some."""

import signal
import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import interrupts, types
from dfiv_ope.policies import resolve

_STATE = np.random.default_rng(0).normal(size=(2_500, 2)).astype(np.float32)
_ACTIONS = (np.arange(2_500) % 3).astype(np.int32)
_ZEROS = np.zeros(2_500, np.float32)
_LOG = types.Transition(_STATE, _ACTIONS, _ZEROS, _ZEROS, _STATE)


_WHAT_FITS = {
  'num_observations': 2,
  'num_actions': 3,
  'transitions': _LOG,
  'episodes': np.arange(2_500) // 10,
}


def _resolve(text, **changes):
  return resolve.resolve(str(text), **{**_WHAT_FITS, **changes})


def _ask(target, observations=_STATE):
  return target.policy.action_probabilities(tf.constant(observations)).numpy()


@pytest.fixture
def states():
  """The states of the log, [N, 2]."""
  return _STATE


@pytest.fixture
def log():
  """Its transitions, of three actions."""
  return _LOG


@pytest.fixture
def fits():
  """What `resolve` is told of it."""
  return _WHAT_FITS


@pytest.fixture
def resolved():
  """Finds a policy for it."""
  return _resolve


@pytest.fixture
def asked():
  """Returns the probabilities that a policy has in its states, or in others."""
  return _ask


@pytest.fixture
def as_on_the_command_line():
  """Ctrl-C is told apart, as every command does."""
  before = signal.signal(signal.SIGINT, signal.default_int_handler)
  interrupts.tell_apart()
  yield
  signal.signal(signal.SIGINT, before)


@pytest.fixture
def module(tmp_path, monkeypatch):
  """Writes a module into the current directory; returns its name."""
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  made = []

  def make(body):
    made.append(f'policies_{len(made)}_{abs(hash(tmp_path))}')
    path = tmp_path / f'{made[-1]}.py'
    path.write_text('import numpy as np\n' + textwrap.dedent(body))
    return made[-1]

  yield make
  for name in made:
    sys.modules.pop(name, None)
