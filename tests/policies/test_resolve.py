"""Policies that users name, and those that are refused, each with a reason."""

import functools
import pathlib
import pickle
import re
import signal
import sys

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions, interrupts
from dfiv_ope.policies import cloning, finite, resolve

pytestmark = pytest.mark.usefixtures('as_on_the_command_line')
_LABELS = ('left', 'right', 'stay')


def _returning(expression):
  return f'def f(observations):\n  return {expression}\n'


def test_uniform_takes_every_action_alike(resolved, asked):
  target = resolved('uniform')
  np.testing.assert_allclose(asked(target), 1.0 / 3.0, rtol=1e-6)
  assert target.description == 'every action with the same probability'
  assert target.digest != resolved('uniform', num_actions=4).digest


def test_the_clone_of_a_log_acts_as_it_does(
  states, log, resolved, asked, monkeypatch
):
  quick = cloning.Config(updates=400, checks=4)
  monkeypatch.setattr(
    cloning, 'clone', functools.partial(cloning.clone, config=quick)
  )
  log = log._replace(action=(states[:, 0] > 0.0).astype(np.int32))
  target = resolved('behaviour-clone', transitions=log)
  found = asked(target)
  assert np.mean(np.argmax(found, axis=1) == log.action) > 0.98
  assert found[:, 2].max() == 0.0
  assert re.search(r'log loss 0\.\d+, by frequencies 0\.69', target.description)
  assert target.digest == resolved('behaviour-clone', transitions=log).digest
  assert (
    target.digest
    != resolved(
      'behaviour-clone', transitions=log, episodes=np.arange(2_500)
    ).digest
  )


@pytest.mark.parametrize(
  'expression',
  [
    '[0 if s < 0 else 1 for s, _ in observations]',
    'observations[:, 0] >= 0',
    '["left" if s < 0 else "right" for s, _ in observations]',
    'np.where(observations[:, 0] < 0, "left", "right").astype(object)',
    'np.eye(3)[(observations[:, 0] >= 0).astype(int)] * 1.00005',
  ],
)
def test_a_function_may_answer_in_several_ways(
  states, resolved, asked, module, expression
):
  target = resolved(
    f'{module(_returning(expression))}:f', action_labels=_LABELS
  )
  expected = np.eye(3)[(states[:, 0] >= 0).astype(int)]
  np.testing.assert_array_equal(asked(target), expected)
  in_graph = tf.function(target.policy.action_probabilities)(states)
  np.testing.assert_array_equal(in_graph, expected)


def test_a_function_gets_its_own_copy_of_float64_observations(
  states, resolved, asked, module
):
  name = module("""
      def f(observations):
        assert observations.dtype == np.float64
        observations[:] = 0.
        return np.full((len(observations), 3), 1. / 3.)
      """)
  before = states.copy()
  asked(resolved(f'{name}:f'))
  np.testing.assert_array_equal(states, before)


def test_the_digest_of_a_function_covers_the_files_that_it_reads(
  resolved, module, tmp_path
):
  name = module("""
      def f(observations):
        return np.tile(np.loadtxt('weights.txt'), (len(observations), 1))

      def g(observations):
        return f(observations)
      """)
  (tmp_path / 'weights.txt').write_text('0.5 0.25 0.25')
  first = resolved(f'{name}:f')
  assert first.description == f'the Python function {name}:f'
  assert first.digest == resolved(f'{name}:f').digest
  assert first.digest != resolved(f'{name}:g').digest
  (tmp_path / 'weights.txt').write_text('0.5 0.3 0.2')
  assert first.digest != resolved(f'{name}:f').digest


@pytest.mark.parametrize(
  'expression, message',
  [
    ('observations', r'of shape \[834, 2\], but probabilities'),
    ('np.ones((len(observations), 4)) / 4', r'of shape \[834, 4\]'),
    ('np.ones((7, 3)) / 3', r'of shape \[7, 3\]'),
    ('None', r'returned NoneType of shape \[\]'),
    ('[[1, 2], [3]]', 'returned list'),
    ('"left"', 'returned str'),
    ('[None] * len(observations)', 'returned list'),
    ('np.zeros((len(observations), 3), complex)', r'of shape \[834, 3\]'),
    ('observations[:, 0]', 'End with astype.int. if these are actions'),
    ('np.full(len(observations), 3)', 'returned the action 3'),
    ('np.full(len(observations), -1)', 'returned the action -1'),
    (
      '["up"] * len(observations)',
      "the action 'up', but the actions of the log are 0, 1, 2",
    ),
    ('np.full((len(observations), 3), np.nan)', 'nan, nan, nan for obs'),
    ('np.full((len(observations), 3), np.inf)', 'inf, inf, inf for obs'),
    ('np.tile([1.5, -0.5, 0.], (len(observations), 1))', 'not negative'),
    ('np.tile([2., 1., 0.], (len(observations), 1))', 'add a softmax'),
    ('np.tile([.4, .3, .2998], (len(observations), 1))', 'sum to 1'),
    ('np.random.randint(3, size=len(observations))', 'instead of drawing one'),
    (
      '(observations[:, 0] > observations.mean() + np.ptp(observations) * '
      '(len(observations) - 800) / 2000).astype(int)',
      'others are left out',
    ),
    ('1 / 0', r'ZeroDivisionError: division by zero \(policies.*, line 3\)'),
    ('int(observations[0] > 0)', r'line 3\). It was given an array \[\d+, '),
    ('exit("bye")', r'failed: SystemExit: bye'),
    (
      '(_ for _ in ()).throw(ValueError)',
      r'failed: ValueError \(policies_.*\.py, line 3\)',
    ),
    (
      '(_ for _ in ()).throw(KeyboardInterrupt)',
      r'failed: KeyboardInterrupt \(policies_.*\.py, line 3\)',
    ),
    ('(_ for _ in ()).throw(GeneratorExit)', 'failed: GeneratorExit'),
    (
      '(_ for _ in ()).throw(type("E", (Exception,), '
      '{"__str__": lambda self: 1 / 0}))',
      r'failed: E \(policies_',
    ),
    (
      'np.full((len(observations), 3), 1 / 3).astype(object)',
      'entries of type object',
    ),
    (
      'np.ma.masked_less(np.full((len(observations), 3), 1 / 3), 1)',
      'a masked array',
    ),
    (
      '__import__("pandas").DataFrame(np.full((len(observations), 3), 1 / 3), '
      'columns=["a", "b", "c"])',
      'the columns a, b, c, but the actions',
    ),
    (
      '__import__("pandas").Series(["0"] * len(observations), '
      'index=range(len(observations))[::-1])',
      'reset_index',
    ),
    (
      'np.linalg.inv(np.zeros((2, 2)))',
      r'LinAlgError: Singular matrix \(policies_.*\.py, line 3\)',
    ),
  ],
)
def test_functions_that_are_refused(resolved, module, expression, message):
  name = f'{module(_returning(expression))}:f'
  with pytest.raises(ValueError, match=message) as caught:
    resolved(name)
  assert str(caught.value).startswith(name)
  assert '\n' not in str(caught.value)


def test_ctrl_c_is_no_failure_of_the_policy(resolved, module):
  body = (
    'from dfiv_ope import interrupts\n\n'
    'def f(observations):\n  raise interrupts.Interrupted\n'
  )
  with pytest.raises(interrupts.Interrupted):
    resolved(f'{module(body)}:f')


def test_in_a_notebook_every_interrupt_passes(fits):
  signal.signal(signal.SIGINT, signal.default_int_handler)

  def policy(observations):
    raise KeyboardInterrupt

  with pytest.raises(KeyboardInterrupt):
    resolve.resolve(policy, **fits)


def test_a_function_and_an_object_are_policies(states, fits, asked):
  def greedy(observations):
    return (observations[:, 0] > 0.0).astype(int)

  class Policy:
    def action_probabilities(self, observation):
      return np.eye(3)[greedy(observation)]

  for policy in (greedy, Policy()):
    target = resolve.resolve(policy, **fits)
    np.testing.assert_array_equal(
      asked(target).argmax(axis=1), states[:, 0] > 0.0
    )
  own = finite.Uniform(num_actions=3)
  assert asked(resolve.resolve(own, **fits))[0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
  'policy, message',
  [
    (lambda s: s, r'returned ndarray of shape \[834, 2\]'),
    (lambda s: np.tile([5.0, 1.0, 0.0], (len(s), 1)), 'add a softmax'),
    (lambda s: s[:, 0], 'End with astype.int. if these are actions'),
    (3, 'A policy is a function of observations, an object with'),
  ],
)
def test_objects_that_are_no_policies_are_refused(fits, policy, message):
  with pytest.raises(ValueError, match=message):
    resolve.resolve(policy, **fits)


def test_a_number_is_refused_where_labels_are_other_numbers(
  resolved, asked, module
):
  name = f'{module(_returning("np.ones(len(observations), int)"))}:f'
  labels = ('1', '2', '5')
  with pytest.raises(ValueError, match='name of an action or its place'):
    resolved(name, action_labels=labels)
  name = f'{module(_returning("[str(5)] * len(observations)"))}:f'
  assert asked(resolved(name, action_labels=labels))[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
  'body, function, message',
  [
    ('import no_such_module', 'f', r'ModuleNotFoundError: .* \(.*, line 3\)'),
    ('raise SystemExit(3)', 'f', 'SystemExit: 3'),
    ('raise KeyboardInterrupt', 'f', r'KeyboardInterrupt \(.*, line 3\)'),
    ('raise GeneratorExit', 'f', r'GeneratorExit \(.*, line 3\)'),
    ('def f(:', 'f', 'SyntaxError: .*line 3'),
    ('f = 3', 'f', 'has no function f'),
    ('f = 3', 'g', 'has no function g'),
  ],
)
def test_modules_that_are_refused(resolved, module, body, function, message):
  name = module('\n' + body)
  with pytest.raises(ValueError, match=message) as caught:
    resolved(f'{name}:{function}')
  assert '\n' not in str(caught.value)


def test_a_function_without_a_source_is_judged_by_its_answer(resolved):
  with pytest.raises(ValueError, match=r'sys:getsizeof returned int of shape'):
    resolved('sys:getsizeof')


def test_a_module_that_is_not_there_says_where_it_was_looked_for(
  resolved, module, tmp_path
):
  with pytest.raises(ValueError, match='no_such_policies cannot be') as caught:
    resolved('no_such_policies:f')
  assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
  'text',
  [
    'nothing/here',
    'policy.onnx',
    'behavior-clone',
    '',
    'a b:c',
    'module:',
    'https://example.org/policy.onnx',
  ],
)
def test_what_does_not_exist_is_answered_with_the_choices(
  resolved, text, tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  with pytest.raises((FileNotFoundError, ValueError)) as caught:
    resolved(text)
  for choice in (
    'SavedModel',
    '.onnx',
    'package.module:function',
    'uniform',
    'behaviour-clone',
  ):
    assert choice in str(caught.value)


@pytest.mark.parametrize(
  'name',
  ['policy.pkl', 'policy.pt', 'policy.joblib', 'policy.npy', 'policy.onnx'],
)
def test_a_pickle_is_never_loaded(resolved, tmp_path, name):
  marker = tmp_path / 'ran'

  class _Bomb:
    def __reduce__(self):
      return (marker.write_text, ('boom',))

  (tmp_path / name).write_bytes(pickle.dumps(_Bomb()))
  with pytest.raises(ValueError, match='pickles are not|cannot be loaded'):
    resolved(tmp_path / name)
  assert not marker.exists()


_DOCUMENT = pathlib.Path(__file__).parents[2] / 'docs' / 'policies.md'


def test_the_examples_of_the_documentation_are_policies(
  log, resolved, asked, tmp_path, monkeypatch
):
  functions, saved_model, _ = re.findall(
    r'```python\n(.*?)```', _DOCUMENT.read_text(), re.DOTALL
  )
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  pathlib.Path('my_policies.py').write_text(functions)
  exec(saved_model, {})
  states = np.random.default_rng(5).normal(size=(50, 3)).astype(np.float32)
  fits = {
    'transitions': log._replace(observation=states),
    'num_observations': 3,
    'num_actions': 2,
  }
  cautious, threshold, saved = (
    asked(resolved(name, **fits), states)
    for name in ('my_policies:cautious', 'my_policies:threshold', 'my_model')
  )
  one = 1.0 / (1.0 + np.exp(-states[:, 0]))
  np.testing.assert_allclose(cautious[:, 1], one, rtol=1e-5)
  np.testing.assert_allclose(saved, cautious, rtol=1e-5)
  np.testing.assert_array_equal(threshold[:, 1], states[:, 0] > 0.5)
  del sys.modules['my_policies']


def test_objects_are_policies_of_their_own_kind_of_actions(
  log, resolved, asked, module
):
  name = module("""
      class Even:
        def action_probabilities(self, observations):
          return np.full((len(observations), 3), 1. / 3.)


      class Density:
        def sample(self, observations, generator):
          return generator.uniform(0., 1., (len(observations), 1))

        def log_prob(self, observations, actions):
          return np.zeros(len(observations))


      even, density = Even(), Density()
      """)
  np.testing.assert_allclose(
    asked(resolved(f'{name}:even')), 1.0 / 3.0, rtol=1e-6
  )
  with pytest.raises(
    ValueError,
    match=(
      f'^{name}:density has sample and log_prob, a density of vectors, but the '
      'actions of the log are finitely many. Give it action_probabilities, '
    ),
  ):
    resolved(f'{name}:density')
  vectors = {
    'num_actions': 0,
    'continuous': actions.Continuous(low=(0.0,), high=(1.0,), names=('dose',)),
    'transitions': log._replace(action=np.full((2_500, 1), 0.5)),
  }
  with pytest.raises(
    ValueError,
    match=(
      f'^{name}:even has action_probabilities, but the actions of the log are '
      'vectors, of which a policy has a density. Give it sample and log_prob'
    ),
  ):
    resolved(f'{name}:even', **vectors)
  assert resolved(f'{name}:density', **vectors).description == (
    f'the Python function {name}:density'
  )
