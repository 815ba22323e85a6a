"""Policies that users name, and those that are refused, each with a reason."""

import functools
import pathlib
import pickle
import re
import signal
import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions, interrupts, types
from dfiv_ope.policies import cloning, finite, resolve

_STATE = np.random.default_rng(0).normal(size=(2_500, 2)).astype(np.float32)
_ACTIONS = (np.arange(2_500) % 3).astype(np.int32)
_ZEROS = np.zeros(2_500, np.float32)
_LOG = types.Transition(_STATE, _ACTIONS, _ZEROS, _ZEROS, _STATE)
_LABELS = ('left', 'right', 'stay')


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


@pytest.fixture(autouse=True)
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


def _returning(expression):
  return f'def f(observations):\n  return {expression}\n'


# Messages of ONNX by the numbers of their fields.
def _field(number, value):
  if isinstance(value, int):
    return _varint(number << 3) + _varint(value)
  value = value.encode() if isinstance(value, str) else value
  return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value):
  result = b''
  while value > 127:
    result, value = result + bytes([value & 127 | 128]), value >> 7
  return result + bytes([value])


def _value(name, kind, *sizes):
  dims = b''.join(
    _field(1, _field(2 if isinstance(size, str) else 1, size)) for size in sizes
  )
  tensor = _field(1, kind) + _field(2, dims)
  return _field(1, name) + _field(2, _field(1, tensor))


_FLOAT, _INT64 = 1, 7


def _onnx(
  *operators,
  output=(_FLOAT, 'n', 3),
  size=2,
  rows='n',
  name='y',
  also=b'',
  second=b'',
  weights=((2.0, 0.0, 0.0), (0.0, 3.0, 0.0)),
):
  """Returns the bytes of x W, then the operators."""
  weights = np.asarray(weights, np.float32)
  names = [f'y{index}' for index in range(len(operators))] + [name]
  nodes = _field(
    1,
    _field(1, 'x') + _field(1, 'w') + _field(2, names[0]) + _field(4, 'MatMul'),
  )
  for operator, before, after in zip(
    operators, names[:-1], names[1:], strict=True
  ):
    attributes = b''
    if operator == 'ArgMax':
      for key, number in (('axis', 1), ('keepdims', 0)):
        attributes += _field(
          5, _field(1, key) + _field(3, number) + _field(20, 2)
        )
    nodes += _field(
      1, _field(1, before) + _field(2, after) + _field(4, operator) + attributes
    )
  initial = (
    b''.join(_field(1, each) for each in weights.shape)
    + _field(2, _FLOAT)
    + _field(8, 'w')
    + _field(9, weights.tobytes())
    + also
  )
  graph = (
    nodes
    + _field(2, 'policy')
    + _field(5, initial)
    + _field(11, _value('x', _FLOAT, rows, size))
    + second
    + _field(12, _value(name, *output))
  )
  return _field(1, 8) + _field(8, _field(2, 13)) + _field(7, graph)


_LOGITS = _STATE @ np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
_SOFTMAX = np.exp(_LOGITS) / np.exp(_LOGITS).sum(axis=1, keepdims=True)


def test_uniform_takes_every_action_alike():
  target = _resolve('uniform')
  np.testing.assert_allclose(_ask(target), 1.0 / 3.0, rtol=1e-6)
  assert target.description == 'every action with the same probability'
  assert target.digest != _resolve('uniform', num_actions=4).digest


def test_the_clone_of_a_log_acts_as_it_does(monkeypatch):
  quick = cloning.Config(updates=400, checks=4)
  monkeypatch.setattr(
    cloning, 'clone', functools.partial(cloning.clone, config=quick)
  )
  log = _LOG._replace(action=(_STATE[:, 0] > 0.0).astype(np.int32))
  target = _resolve('behaviour-clone', transitions=log)
  found = _ask(target)
  assert np.mean(np.argmax(found, axis=1) == log.action) > 0.98
  assert found[:, 2].max() == 0.0
  assert re.search(r'log loss 0\.\d+, by frequencies 0\.69', target.description)
  assert target.digest == _resolve('behaviour-clone', transitions=log).digest
  assert (
    target.digest
    != _resolve(
      'behaviour-clone', transitions=log, episodes=np.arange(2_500)
    ).digest
  )


class _Fixed(tf.Module):
  def __init__(self, *numbers):
    super().__init__()
    self._numbers = tf.constant([numbers])

  def action_probabilities(self, observation):
    return tf.tile(self._numbers, [tf.shape(observation)[0], 1])


def _save(path, *numbers):
  finite.save(_Fixed(*numbers), path, num_observations=2)
  return path


def test_a_saved_model_is_loaded_and_normalised(tmp_path):
  target = _resolve(_save(tmp_path / 'policy', 0.2, 0.3, 0.50005))
  np.testing.assert_allclose(
    _ask(target)[0], np.array([0.2, 0.3, 0.50005]) / 1.00005, rtol=1e-6
  )
  assert _ask(target).sum(axis=1) == pytest.approx(1.0, abs=1e-6)
  other = _resolve(_save(tmp_path / 'other', 0.2, 0.2, 0.6))
  assert len(target.digest) == 64
  assert target.digest != other.digest


def test_the_directory_of_a_trained_policy_works_too(tmp_path):
  _save(tmp_path / 'trained' / 'saved_model', 0.5, 0.25, 0.25)
  (tmp_path / 'trained' / 'policy.json').write_text('{"schema": 1}')
  np.testing.assert_allclose(
    _ask(_resolve(tmp_path / 'trained'))[0], [0.5, 0.25, 0.25]
  )


def test_an_onnx_model_of_probabilities(tmp_path):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(_onnx('Softmax'))
  target = _resolve(path)
  np.testing.assert_allclose(_ask(target), _SOFTMAX, atol=1e-6)
  in_graph = tf.function(target.policy.action_probabilities)(_STATE)
  np.testing.assert_array_equal(in_graph, _ask(target))
  digest = target.digest
  path.write_bytes(_onnx('Softmax', weights=((1.0, 0.0, 0.0), (0.0, 3.0, 0.0))))
  assert _resolve(path).digest != digest


def test_an_onnx_model_of_actions(tmp_path):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(_onnx('ArgMax', output=(_INT64, 'n')))
  np.testing.assert_array_equal(
    _ask(_resolve(path)), np.eye(3)[np.argmax(_LOGITS, axis=1)]
  )


_SECOND = _field(12, _value('y0', _FLOAT, 'n', 3))


def test_of_several_outputs_that_of_probabilities_is_taken(tmp_path):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(_onnx('Softmax', name='probabilities', second=_SECOND))
  np.testing.assert_allclose(_ask(_resolve(path)), _SOFTMAX, atol=1e-6)


def test_an_onnx_model_without_its_runtime_says_what_to_install(
  tmp_path, monkeypatch
):
  monkeypatch.setitem(sys.modules, 'onnxruntime', None)
  (tmp_path / 'policy.onnx').write_bytes(_onnx('Softmax'))
  with pytest.raises(ValueError, match=r'pip install "dfiv-ope\[formats\]"'):
    _resolve(tmp_path / 'policy.onnx')


@pytest.mark.parametrize(
  'content, message',
  [
    (_onnx('Softmax', second=_SECOND), 'returns y0, y. Export'),
    (b'no model', 'cannot be loaded as an ONNX model'),
    (b'', 'cannot be loaded as an ONNX model'),
    (_onnx(), 'If these are logits, add a softmax'),
    (_onnx('Softmax', size=5, weights=np.ones((5, 3))), r'shape \[N, 2\]'),
    (_onnx('Softmax', rows=1, output=(_FLOAT, 1, 3)), 'dynamic first axis'),
    (
      _onnx('Softmax', weights=np.ones((2, 4)), output=(_FLOAT, 'n', 4)),
      r'of shape \[834, 4\], but probabilities \[834, 3\]',
    ),
    (
      _onnx(
        'Softmax',
        also=_field(13, _field(1, 'location') + _field(2, 'weights.bin')),
      ),
      'weights in another file',
    ),
  ],
)
def test_onnx_models_that_are_refused(tmp_path, content, message):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(content)
  with pytest.raises(ValueError, match=message) as caught:
    _resolve(path)
  assert str(path) in str(caught.value)
  assert '\n' not in str(caught.value)


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
def test_a_function_may_answer_in_several_ways(module, expression):
  target = _resolve(
    f'{module(_returning(expression))}:f', action_labels=_LABELS
  )
  expected = np.eye(3)[(_STATE[:, 0] >= 0).astype(int)]
  np.testing.assert_array_equal(_ask(target), expected)
  in_graph = tf.function(target.policy.action_probabilities)(_STATE)
  np.testing.assert_array_equal(in_graph, expected)


def test_a_function_gets_its_own_copy_of_float64_observations(module):
  name = module("""
      def f(observations):
        assert observations.dtype == np.float64
        observations[:] = 0.
        return np.full((len(observations), 3), 1. / 3.)
      """)
  before = _STATE.copy()
  _ask(_resolve(f'{name}:f'))
  np.testing.assert_array_equal(_STATE, before)


def test_the_digest_of_a_function_covers_the_files_that_it_reads(
  module, tmp_path
):
  name = module("""
      def f(observations):
        return np.tile(np.loadtxt('weights.txt'), (len(observations), 1))

      def g(observations):
        return f(observations)
      """)
  (tmp_path / 'weights.txt').write_text('0.5 0.25 0.25')
  first = _resolve(f'{name}:f')
  assert first.description == f'the Python function {name}:f'
  assert first.digest == _resolve(f'{name}:f').digest
  assert first.digest != _resolve(f'{name}:g').digest
  (tmp_path / 'weights.txt').write_text('0.5 0.3 0.2')
  assert first.digest != _resolve(f'{name}:f').digest


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
    ('observations[:, 0]', 'the actions of the log are no numbers'),
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
def test_functions_that_are_refused(module, expression, message):
  name = f'{module(_returning(expression))}:f'
  with pytest.raises(ValueError, match=message) as caught:
    _resolve(name)
  assert str(caught.value).startswith(name)
  assert '\n' not in str(caught.value)


def test_ctrl_c_is_no_failure_of_the_policy(module):
  body = (
    'from dfiv_ope import interrupts\n\n'
    'def f(observations):\n  raise interrupts.Interrupted\n'
  )
  with pytest.raises(interrupts.Interrupted):
    _resolve(f'{module(body)}:f')


def test_in_a_notebook_every_interrupt_passes():
  signal.signal(signal.SIGINT, signal.default_int_handler)

  def policy(observations):
    raise KeyboardInterrupt

  with pytest.raises(KeyboardInterrupt):
    resolve.resolve(policy, **_WHAT_FITS)


def test_a_function_and_an_object_are_policies():
  def greedy(observations):
    return (observations[:, 0] > 0.0).astype(int)

  class Policy:
    def action_probabilities(self, observation):
      return np.eye(3)[greedy(observation)]

  for policy in (greedy, Policy()):
    target = resolve.resolve(policy, **_WHAT_FITS)
    np.testing.assert_array_equal(
      _ask(target).argmax(axis=1), _STATE[:, 0] > 0.0
    )
  own = finite.Uniform(num_actions=3)
  assert _ask(resolve.resolve(own, **_WHAT_FITS))[0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
  'policy, message',
  [
    (lambda s: s, r'returned ndarray of shape \[834, 2\]'),
    (lambda s: np.tile([5.0, 1.0, 0.0], (len(s), 1)), 'add a softmax'),
    (lambda s: s[:, 0], 'the actions of the log are no numbers'),
    (3, 'A policy is a function of observations, an object with'),
  ],
)
def test_objects_that_are_no_policies_are_refused(policy, message):
  with pytest.raises(ValueError, match=message):
    resolve.resolve(policy, **_WHAT_FITS)


def test_a_number_is_refused_where_labels_are_other_numbers(module):
  name = f'{module(_returning("np.ones(len(observations), int)"))}:f'
  labels = ('1', '2', '5')
  with pytest.raises(ValueError, match='name of an action or its place'):
    _resolve(name, action_labels=labels)
  name = f'{module(_returning("[str(5)] * len(observations)"))}:f'
  assert _ask(_resolve(name, action_labels=labels))[0].tolist() == [0, 0, 1]


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
def test_modules_that_are_refused(module, body, function, message):
  name = module('\n' + body)
  with pytest.raises(ValueError, match=message) as caught:
    _resolve(f'{name}:{function}')
  assert '\n' not in str(caught.value)


def test_a_function_without_a_source_is_judged_by_its_answer():
  with pytest.raises(ValueError, match=r'sys:getsizeof returned int of shape'):
    _resolve('sys:getsizeof')


def test_a_module_that_is_not_there_says_where_it_was_looked_for(
  module, tmp_path
):
  with pytest.raises(ValueError, match='no_such_policies cannot be') as caught:
    _resolve('no_such_policies:f')
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
  text, tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  with pytest.raises((FileNotFoundError, ValueError)) as caught:
    _resolve(text)
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
def test_a_pickle_is_never_loaded(tmp_path, name):
  marker = tmp_path / 'ran'

  class _Bomb:
    def __reduce__(self):
      return (marker.write_text, ('boom',))

  (tmp_path / name).write_bytes(pickle.dumps(_Bomb()))
  with pytest.raises(ValueError, match='pickles are not|cannot be loaded'):
    _resolve(tmp_path / name)
  assert not marker.exists()


def test_saved_models_that_are_refused(tmp_path):
  with pytest.raises(FileNotFoundError, match='holds no policy'):
    _resolve(tmp_path)
  with pytest.raises(ValueError, match='add a softmax'):
    _resolve(_save(tmp_path / 'logits', 1.0, 2.0, 3.0))
  with pytest.raises(ValueError, match='chooses between 2 actions'):
    _resolve(_save(tmp_path / 'two', 0.5, 0.5))
  with pytest.raises(ValueError, match='does not accept 4'):
    _resolve(_save(tmp_path / 'other', 0.5, 0.3, 0.2), num_observations=4)


_DOCUMENT = pathlib.Path(__file__).parents[2] / 'docs' / 'policies.md'


def test_the_examples_of_the_documentation_are_policies(tmp_path, monkeypatch):
  functions, saved_model, _ = re.findall(
    r'```python\n(.*?)```', _DOCUMENT.read_text(), re.DOTALL
  )
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(sys, 'path', list(sys.path))
  pathlib.Path('my_policies.py').write_text(functions)
  exec(saved_model, {})
  states = np.random.default_rng(5).normal(size=(50, 3)).astype(np.float32)
  fits = {
    'transitions': _LOG._replace(observation=states),
    'num_observations': 3,
    'num_actions': 2,
  }
  cautious, threshold, saved = (
    _ask(_resolve(name, **fits), states)
    for name in ('my_policies:cautious', 'my_policies:threshold', 'my_model')
  )
  one = 1.0 / (1.0 + np.exp(-states[:, 0]))
  np.testing.assert_allclose(cautious[:, 1], one, rtol=1e-5)
  np.testing.assert_allclose(saved, cautious, rtol=1e-5)
  np.testing.assert_array_equal(threshold[:, 1], states[:, 0] > 0.5)
  del sys.modules['my_policies']


def test_an_onnx_model_gives_vectors_where_the_log_has_them(tmp_path):
  weights = np.array([[0.1, 0.0], [0.5, 1.0]])
  path = tmp_path / 'vectors.onnx'
  path.write_bytes(_onnx(output=(_FLOAT, 'n', 2), weights=weights))
  space = actions.Continuous(low=(None, None), high=(None, None))
  target = _resolve(
    path,
    num_actions=0,
    continuous=space,
    transitions=_LOG._replace(action=_STATE.astype(float)),
  )
  assert target.description == f'the ONNX model {path}'
  assert target.policy.deterministic
  drawn = target.policy.draw(tf.constant(_STATE), np.full((2_500, 1, 2), 0.5))
  np.testing.assert_allclose(drawn[:, 0], _STATE @ weights, atol=1e-5)


def test_objects_are_policies_of_their_own_kind_of_actions(module):
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
    _ask(_resolve(f'{name}:even')), 1.0 / 3.0, rtol=1e-6
  )
  with pytest.raises(
    ValueError,
    match=(
      f'^{name}:density has sample and log_prob, a density of vectors, but the '
      'actions of the log are finitely many. Give it action_probabilities, '
    ),
  ):
    _resolve(f'{name}:density')
  vectors = {
    'num_actions': 0,
    'continuous': actions.Continuous(low=(0.0,), high=(1.0,), names=('dose',)),
    'transitions': _LOG._replace(action=np.full((2_500, 1), 0.5)),
  }
  with pytest.raises(
    ValueError,
    match=(
      f'^{name}:even has action_probabilities, but the actions of the log are '
      'vectors, of which a policy has a density. Give it sample and log_prob'
    ),
  ):
    _resolve(f'{name}:even', **vectors)
  assert _resolve(f'{name}:density', **vectors).description == (
    f'the Python function {name}:density'
  )
