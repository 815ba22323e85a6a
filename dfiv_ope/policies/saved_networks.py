"""Policies of small networks in SavedModels, run by numpy.

A SavedModel is a graph of operations and a file of variables. Where the policy
is made of the few operations of a multi-layer perceptron, numpy does the same
in the same precision, and nothing has to wait for TensorFlow. Whatever else a
model holds, or how else it is written, is left to TensorFlow itself.

    network = saved_networks.read(path, num_observations=4)
    network(observations)          # float32 [B, A]
"""

from collections.abc import Callable, Mapping
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.policies import saved_models, wire_format

# Called with observations [B, D].
Network = Callable[[types.FloatArray], types.FloatArray]
# Rows at a time: hidden layers of all rows would take more than the log.
_BLOCK = 8_192
_FUNCTION, _GRAPH = 'action_probabilities', '_CHECKPOINTABLE_OBJECT_GRAPH'
# Types of numbers as TensorFlow numbers them.
_TYPES: Mapping[int, Any] = {
  1: np.float32,
  2: np.float64,
  3: np.int32,
  9: np.int64,
  10: np.bool_,
}


class _OtherwiseError(ValueError):
  """The model is more than what is read here."""


def read(path: pathlib.Path, *, num_observations: int) -> Network | None:
  """Returns the policy of a SavedModel; None if TensorFlow has to run it.

  Args:
    path: its directory.
    num_observations: entries of an observation.
  """
  try:
    network = _Network(path)
    network(np.zeros((1, num_observations)))
  except (ValueError, LookupError, TypeError, OSError):
    return None
  return network


class _Network:
  """The function of a SavedModel as steps, which are made once.

  Values have places: the observation the first, then variables, constants and
  what follows from these alone, then what each step gives.
  """

  def __init__(self, path: pathlib.Path):
    """Reads the model.

    Raises:
      ValueError, LookupError: it is more than what is read here.
    """
    content = (path / saved_models.FILE).read_bytes()
    (meta,) = wire_format.Message(content).messages(2)
    library = meta.message(2).message(2).messages(1)
    self._functions = {each.message(1).text(1): each for each in library}
    operations = {
      node.text(2)
      for holder in (meta.message(2).messages(1), *map(_nodes, library))
      for node in holder
    }
    if not operations <= saved_models.KNOWN:
      raise _OtherwiseError('An operation may do more than compute.')
    objects = meta.message(7)
    nodes = objects.messages(1)
    (name,) = nodes[_children(nodes[0])[_FUNCTION]].message(6).texts(1)
    variables = _variables(path / 'variables', nodes)
    self._values: list[Any] = [None]
    self._steps: list[tuple[Callable[..., Any], list[int], int]] = []
    bound = [
      self._put(variables[each]) for each in objects.mapped(2)[name].numbers(2)
    ]
    arguments = self._functions[name].message(1).messages(2)
    self._type = _TYPES[arguments[0].number(3)]
    self._result = self._call(name, [0, *bound])
    del self._functions

  def __call__(self, observation: types.FloatArray) -> types.FloatArray:
    """Returns probabilities, float32 [B, A]."""
    rows = np.asarray(observation)
    return np.concatenate(
      [
        self._ask(rows[start : start + _BLOCK].astype(self._type))
        for start in range(0, max(1, len(rows)), _BLOCK)
      ]
    )

  def _ask(self, observation: types.FloatArray) -> Any:
    values = [observation, *self._values[1:]]
    for function, inputs, place in self._steps:
      values[place] = function(*(values[each] for each in inputs))
    return values[self._result]

  def _put(self, value: Any) -> int:
    """Returns the place of a new value."""
    self._values.append(value)
    return len(self._values) - 1

  def _step(self, function: Callable[..., Any], inputs: list[int]) -> int:
    """Returns the place of what a function makes of other values."""
    if all(self._values[each] is not None for each in inputs):
      return self._put(function(*(self._values[each] for each in inputs)))
    place = self._put(None)
    self._steps.append((function, inputs, place))
    return place

  def _call(self, name: str, arguments: list[int]) -> int:
    """Returns the place of what a function of the model gives."""
    function = self._functions[name]
    names = [each.text(1) for each in function.message(1).messages(2)]
    places = dict(zip(names, arguments, strict=True))
    nodes = {each.text(1): each for each in _nodes(function)}

    def place(reference: str) -> int:
      known = reference.split(':')[0]
      if known not in places:
        places[known] = self._run(
          nodes[known],
          [place(each) for each in nodes[known].texts(3) if each[0] != '^'],
        )
      return places[known]

    (result,) = function.messages(4)
    return place(result.text(2))

  def _run(self, node: wire_format.Message, inputs: list[int]) -> int:
    """Returns the place of what an operation gives."""
    operation, settings = node.text(2), node.mapped(5)
    if operation in ('StatefulPartitionedCall', 'PartitionedCall'):
      return self._call(settings['f'].message(10).text(1), inputs)
    if operation == 'Const':
      return self._put(_constant(settings['value'].message(8)))
    if operation == 'Cast':
      kind = _TYPES[settings['DstT'].number(6)]
      return self._step(lambda value: value.astype(kind), inputs)
    if operation not in _OPERATIONS:
      raise _OtherwiseError(f'{operation} is not among the few.')
    if any(settings[each].number(5) for each in _FLAGS if each in settings):
      raise _OtherwiseError(f'{operation} transposes.')
    return self._step(_OPERATIONS[operation], inputs)


def _nodes(function: wire_format.Message) -> list[wire_format.Message]:
  """Returns the operations of a function."""
  return function.messages(3)


_FLAGS = ('transpose_a', 'transpose_b', 'grad_a', 'grad_b')


def _one_hot(places: Any, size: Any, on: Any, off: Any) -> np.ndarray:
  return np.where(places[..., None] == np.arange(size), on, off)


def _entry(values: Any, start: Any, end: Any, step: Any) -> Any:
  """Returns an entry of a vector, which is all that sizes ask of slices."""
  if np.ndim(values) != 1 or start.shape != (1,) or step[0] != 1:
    raise _OtherwiseError('A slice of more than one entry.')
  if end[0] not in (start[0] + 1, 0):
    raise _OtherwiseError('A slice of more than one entry.')
  return values[start[0]]


def _softmax(values: Any) -> Any:
  powers = np.exp(values - np.max(values, axis=-1, keepdims=True))
  return powers / np.sum(powers, axis=-1, keepdims=True)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
  'Add': np.add,
  'AddV2': np.add,
  'ArgMax': lambda values, axis: np.argmax(values, axis=int(axis)),
  'BiasAdd': np.add,
  'Greater': np.greater,
  'Identity': lambda value: value,
  'MatMul': np.matmul,
  'Maximum': np.maximum,
  'Mul': np.multiply,
  'OneHot': _one_hot,
  'ReadVariableOp': lambda value: value,
  'RealDiv': np.divide,
  'Relu': lambda value: np.maximum(value, value.dtype.type(0)),
  'SelectV2': np.where,
  'Shape': lambda value: np.array(np.shape(value), np.int32),
  'Softmax': _softmax,
  'Sqrt': np.sqrt,
  'StridedSlice': _entry,
  'Sub': np.subtract,
  'Tanh': np.tanh,
}


def _constant(tensor: wire_format.Message) -> np.ndarray:
  """Returns the array of a constant."""
  kind = _TYPES[tensor.number(1)]
  shape = _shape(tensor.message(2))
  if content := tensor.contents(4):
    return np.frombuffer(content[0], kind).reshape(shape)
  if kind in (np.float32, np.float64):
    field = 5 if kind == np.float32 else 6
    values = np.frombuffer(b''.join(tensor.contents(field)), kind)
  else:
    field = {np.int32: 7, np.int64: 10, np.bool_: 11}[kind]
    # Negative numbers are written as what is left of 2^64.
    values = np.array(tensor.numbers(field), np.uint64).astype(np.int64)
  # The last one is repeated.
  size = int(np.prod(shape))
  last = values[-1:] if len(values) else np.zeros(1, kind)
  padded = np.concatenate([values, np.repeat(last, size - len(values))])
  return padded.astype(kind).reshape(shape)


def _shape(message: wire_format.Message) -> tuple[int, ...]:
  return tuple(each.number(1) for each in message.messages(2))


def _children(node: wire_format.Message) -> dict[str, int]:
  """Returns the parts of an object by their names."""
  return {each.text(2): each.number(1) for each in node.messages(1)}


def _variables(
  folder: pathlib.Path, nodes: list[wire_format.Message]
) -> dict[int, np.ndarray]:
  """Returns variables by the numbers of the objects that they are.

  The file of variables has a graph of the same objects, found by their names.
  """
  index = {
    key: wire_format.Message(entry)
    for key, entry in wire_format.table(
      (folder / 'variables.index').read_bytes()
    ).items()
  }
  if index[''].number(1) != 1:
    raise _OtherwiseError('Variables in several files.')
  data = (folder / 'variables.data-00000-of-00001').read_bytes()

  def content(key: str) -> bytes:
    start, size = index[key].number(4), index[key].number(5)
    return data[start : start + size]

  graph = content(_GRAPH)
  length, place = wire_format.varint(graph, 0)
  graph = graph[place + 4 :]  # After its length is a checksum.
  if len(graph) != length:
    raise _OtherwiseError('The graph of variables is cut off.')
  stored = wire_format.Message(graph).messages(1)
  found: dict[int, np.ndarray] = {}
  waiting, seen = [(0, 0)], {0}
  while waiting:
    here, there = waiting.pop()
    for attribute in stored[there].messages(2):
      entry = index[attribute.text(3)]
      if entry.number(1) in _TYPES:
        found[here] = np.frombuffer(
          content(attribute.text(3)), _TYPES[entry.number(1)]
        ).reshape(_shape(entry.message(2)))
    names = _children(stored[there])
    for name, child in _children(nodes[here]).items():
      if name in names and child not in seen:
        seen.add(child)
        waiting.append((child, names[name]))
  return found
