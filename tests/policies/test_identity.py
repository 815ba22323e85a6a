"""Policies told apart without TensorFlow, and refused before a log is read."""

import functools
import hashlib
import subprocess
import sys

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.policies import cloning, finite, identity, naming, resolve

_STATE = np.arange(60.0).reshape(30, 2)
_LOG = {
  'num_actions': 3,
  'episodes': np.arange(30) // 10,
  'categorical': (1,),
  'transitions': types.Transition(
    _STATE,
    (np.arange(30) % 3).astype(np.int32),
    _STATE[:, 0],
    np.ones(30, np.float32),
    _STATE,
  ),
  'recorded': (_STATE, np.tile([0.2, 0.3, 0.5], (30, 1)).astype(np.float32)),
}
_SOURCE = """import numpy as np


def cautious(observations):
  return np.tile([0.5, 0.25, 0.25], (len(observations), 1))
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
  """A current directory with a module of a user."""
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  (tmp_path / 'golden_offers.py').write_text(_SOURCE)
  yield tmp_path
  sys.modules.pop('golden_offers', None)


# Rows of earlier versions have these in their keys.
@pytest.mark.parametrize(
  'policy, digest, description',
  [
    (
      'uniform',
      '88743e1e4155a34d1275daf4621dd9d149f5d132cce9dcea1eef1280bb54c458',
      'every action with the same probability',
    ),
    (
      'behaviour-clone',
      'f44cd2b3c53013189e235b98268585215dec88e2867f78c0f42b877d20dc3885',
      None,
    ),
    (
      'columns',
      '6238e205e67ca27a8d1ac076b15da5c6b6c67d6ee4d5bd4470daa03661584a8f',
      'the policy whose probabilities are columns of the log',
    ),
    (
      'golden_offers:cautious',
      '8387b2f2f9783c3a3ddd2f872657c5f6da5060b6b40c9db0f7a2c469fcce5335',
      'the Python function golden_offers:cautious',
    ),
  ],
)
def test_a_policy_keeps_its_digest(monkeypatch, policy, digest, description):
  found = identity.identify(policy, **_LOG)
  assert found == (digest, description)
  monkeypatch.setattr(
    cloning,
    'clone',
    functools.partial(
      cloning.clone, config=cloning.Config(updates=2, checks=1)
    ),
  )
  target = resolve.resolve(policy, num_observations=2, **_LOG)
  assert target.digest == digest
  assert target.description == description or description is None


def test_a_saved_model_is_told_by_its_files(here):
  finite.save(finite.Uniform(num_actions=3), here / 'model', num_observations=2)
  found = identity.identify('model', **_LOG)
  target = resolve.resolve('model', num_observations=2, **_LOG)
  assert found == (target.digest, 'the SavedModel in model')
  assert target.description == found.description
  (here / 'model' / 'more').touch()
  assert identity.identify('model', **_LOG).digest != found.digest


def test_an_onnx_model_is_told_by_its_content(here):
  (here / 'policy.onnx').write_bytes(b'abc')
  assert identity.identify('policy.onnx', **_LOG) == (
    hashlib.sha256(b'3 abc').hexdigest(),
    'the ONNX model policy.onnx',
  )


def test_other_answers_are_another_policy(here):
  before = identity.identify('golden_offers:cautious', **_LOG).digest
  other = {
    **_LOG,
    'transitions': types.Transition(
      *(each[:7] for each in _LOG['transitions'])
    ),
  }
  assert identity.identify('golden_offers:cautious', **other).digest != before


def test_columns_that_were_not_recorded_are_refused():
  with pytest.raises(ValueError, match='no columns with the probabilities'):
    identity.identify('columns', **{**_LOG, 'recorded': None})


def test_a_function_that_does_not_fit_is_refused():
  with pytest.raises(ValueError, match=r'cautious returned .* shape \[30, 3\]'):
    identity.identify('golden_offers:cautious', **{**_LOG, 'num_actions': 4})


@pytest.mark.parametrize(
  'policy', ['uniform', 'behaviour-clone', 'columns', 'golden_offers:cautious']
)
def test_what_may_be_a_policy_passes(policy):
  naming.check(policy)


@pytest.mark.parametrize(
  'policy, error, message',
  [
    ('', ValueError, 'The policy has no name. Name a directory'),
    (
      'unifrom',
      FileNotFoundError,
      "There is no policy 'unifrom': did you mean uniform? Name a directory",
    ),
    (
      'behavior-clone',
      FileNotFoundError,
      "There is no policy 'behavior-clone': did you mean behaviour-clone?",
    ),
    (
      'nothing/here',
      FileNotFoundError,
      "There is no file or directory 'nothing/here'. Name a directory",
    ),
    ('policy.onnx', FileNotFoundError, 'no file or directory'),
    (
      'policy.pkl',
      ValueError,
      'policy.pkl is neither a SavedModel nor an ONNX model; pickles are not',
    ),
    ('empty', FileNotFoundError, 'empty holds no policy (no saved_model.pb)'),
    ('half', FileNotFoundError, 'half/saved_model holds no policy'),
    (
      'no_such_offers:f',
      ValueError,
      'no_such_offers cannot be imported: ModuleNotFoundError',
    ),
    (
      'golden_offers:cautius',
      ValueError,
      'golden_offers has no function cautius. Did you mean '
      'golden_offers:cautious? Name',
    ),
    (
      'golden_offers:np',
      ValueError,
      'golden_offers has no function np. Name a directory',
    ),
    (
      'broken_offers:f',
      ValueError,
      'broken_offers cannot be imported: ZeroDivisionError: division by zero '
      '(broken_offers.py, line 1)',
    ),
  ],
)
def test_what_cannot_be_a_policy_is_refused(here, policy, error, message):
  (here / 'policy.pkl').touch()
  (here / 'broken_offers.py').write_text('1 / 0\n')
  (here / 'empty').mkdir()
  (here / 'half').mkdir()
  (here / 'half' / 'policy.json').touch()
  with pytest.raises(error) as caught:
    naming.check(policy)
  assert message in str(caught.value)


def test_neither_checks_nor_digests_load_tensorflow():
  program = (
    'import sys; import numpy as np\n'
    'from dfiv_ope import types\n'
    'from dfiv_ope.policies import identity, naming\n'
    'rows = types.Transition(*[np.ones((4, 1))] * 5)\n'
    'for name in ("golden_offers:cautious", "behaviour-clone"):\n'
    '  naming.check(name)\n'
    '  identity.identify(name, num_actions=3, transitions=rows,\n'
    '                    episodes=np.arange(4))\n'
    'assert "tensorflow" not in sys.modules'
  )
  ended = subprocess.run(
    [sys.executable, '-c', program], capture_output=True, text=True
  )
  assert ended.returncode == 0, ended.stderr
