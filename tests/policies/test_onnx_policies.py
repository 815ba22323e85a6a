"""ONNX models as policies, and those that are refused."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions


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


def _logits(states):
  """What the models multiply states by."""
  return states @ np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])


def _softmax(states):
  logits = np.exp(_logits(states))
  return logits / logits.sum(axis=1, keepdims=True)


def test_an_onnx_model_of_probabilities(states, resolved, asked, tmp_path):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(_onnx('Softmax'))
  target = resolved(path)
  np.testing.assert_allclose(asked(target), _softmax(states), atol=1e-6)
  in_graph = tf.function(target.policy.action_probabilities)(states)
  np.testing.assert_array_equal(in_graph, asked(target))
  digest = target.digest
  path.write_bytes(_onnx('Softmax', weights=((1.0, 0.0, 0.0), (0.0, 3.0, 0.0))))
  assert resolved(path).digest != digest


def test_an_onnx_model_of_actions(states, resolved, asked, tmp_path):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(_onnx('ArgMax', output=(_INT64, 'n')))
  np.testing.assert_array_equal(
    asked(resolved(path)), np.eye(3)[np.argmax(_logits(states), axis=1)]
  )


_SECOND = _field(12, _value('y0', _FLOAT, 'n', 3))


def test_of_several_outputs_that_of_probabilities_is_taken(
  states, resolved, asked, tmp_path
):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(_onnx('Softmax', name='probabilities', second=_SECOND))
  np.testing.assert_allclose(asked(resolved(path)), _softmax(states), atol=1e-6)


def test_an_onnx_model_without_its_runtime_says_what_to_install(
  resolved, tmp_path, monkeypatch
):
  monkeypatch.setitem(sys.modules, 'onnxruntime', None)
  (tmp_path / 'policy.onnx').write_bytes(_onnx('Softmax'))
  with pytest.raises(ValueError, match=r'pip install "dfiv-ope\[formats\]"'):
    resolved(tmp_path / 'policy.onnx')


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
def test_onnx_models_that_are_refused(resolved, tmp_path, content, message):
  path = tmp_path / 'policy.onnx'
  path.write_bytes(content)
  with pytest.raises(ValueError, match=message) as caught:
    resolved(path)
  assert str(path) in str(caught.value)
  assert '\n' not in str(caught.value)


def test_an_onnx_model_gives_vectors_where_the_log_has_them(
  states, log, resolved, tmp_path
):
  weights = np.array([[0.1, 0.0], [0.5, 1.0]])
  path = tmp_path / 'vectors.onnx'
  path.write_bytes(_onnx(output=(_FLOAT, 'n', 2), weights=weights))
  space = actions.Continuous(low=(None, None), high=(None, None))
  target = resolved(
    path,
    num_actions=0,
    continuous=space,
    transitions=log._replace(action=states.astype(float)),
  )
  assert target.description == f'the ONNX model {path}'
  assert target.policy.deterministic
  drawn = target.policy.draw(tf.constant(states), np.full((2_500, 1, 2), 0.5))
  np.testing.assert_allclose(drawn[:, 0], states @ weights, atol=1e-5)
