"""A SavedModel that may do more than compute is told without loading it."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

from dfiv_ope.policies import finite, saved_models


class _Policy(tf.Module):
  """Uniform over two actions, after doing something else."""

  def __init__(self, deed):
    super().__init__('policy')
    self.scale = tf.Variable(0.5)
    self.action_probabilities = tf.function(
      lambda x: self._answer(x, deed),
      input_signature=[tf.TensorSpec([None, 2], tf.float32)],
    )

  def _answer(self, x, deed):
    with tf.control_dependencies([tf.group(deed(x))]):
      return tf.ones([tf.shape(x)[0], 2]) * self.scale


def _write(path):
  return lambda x: tf.io.write_file(str(path), 'written')


DEEDS = {
  'ReadFile': lambda x: tf.io.read_file('/etc/hostname'),
  'WriteFile': lambda x: tf.io.write_file('/nowhere/x', 'x'),
  'MatchingFiles': lambda x: tf.io.matching_files('/etc/*'),
  'EagerPyFunc': lambda x: tf.py_function(lambda y: y, [x], tf.float32),
  'PyFunc': lambda x: tf.numpy_function(lambda y: y, [x], tf.float32),
  'PrintV2': lambda x: tf.print('x', output_stream='file:///nowhere/x'),
  'RestoreV2': lambda x: tf.raw_ops.RestoreV2(
    prefix='/nowhere/x',
    tensor_names=['a'],
    shape_and_slices=[''],
    dtypes=[tf.float32],
  ),
  'SaveV2': lambda x: tf.raw_ops.SaveV2(
    prefix='/nowhere/x', tensor_names=['a'], shape_and_slices=[''], tensors=[x]
  ),
  'MergeV2Checkpoints': lambda x: tf.raw_ops.MergeV2Checkpoints(
    checkpoint_prefixes=['/nowhere/x'], destination_prefix='/nowhere/y'
  ),
}


@pytest.mark.parametrize('name', DEEDS)
def test_an_operation_that_touches_files_is_named(tmp_path, name):
  tf.saved_model.save(_Policy(DEEDS[name]), str(tmp_path))
  assert name in saved_models.foreign_operations(tmp_path)
  with pytest.raises(ValueError, match=f'{name}.* say --trust-policy'):
    finite.load(tmp_path, num_observations=2, num_actions=2)


def test_it_is_found_in_a_branch_of_a_called_function(tmp_path):
  inner = tf.function(lambda x: tf.io.read_file('/etc/hostname'))
  tf.saved_model.save(
    _Policy(
      lambda x: tf.cond(
        tf.reduce_sum(x) > 1e9, lambda: inner(x), lambda: tf.constant('')
      )
    ),
    str(tmp_path),
  )
  assert saved_models.foreign_operations(tmp_path) == ['ReadFile']


def test_only_a_trusted_policy_runs_what_it_holds(tmp_path):
  trace = tmp_path / 'trace'
  tf.saved_model.save(_Policy(_write(trace)), str(tmp_path / 'model'))
  with pytest.raises(ValueError, match='WriteFile'):
    finite.load(tmp_path / 'model', num_observations=2, num_actions=2)
  assert not trace.exists()
  loaded = finite.load(
    tmp_path / 'model', num_observations=2, num_actions=2, trusted=True
  )
  np.testing.assert_allclose(
    loaded.action_probabilities(tf.zeros([1, 2])), [[0.5, 0.5]]
  )
  assert trace.read_text() == 'written'


def _changed(path, change):
  """Writes a sound SavedModel with a change in its file."""
  tf.saved_model.save(_Policy(tf.reduce_sum), str(path))
  model = saved_model_pb2.SavedModel.FromString(
    (path / 'saved_model.pb').read_bytes()
  )
  change(model.meta_graphs[0])
  (path / 'saved_model.pb').write_bytes(model.SerializeToString())
  return saved_models.foreign_operations(path)


def test_a_sound_one_holds_nothing_foreign(tmp_path):
  assert _changed(tmp_path, lambda graph: None) == []


def test_the_functions_that_save_may_not_be_called_by_others(tmp_path):
  def expose(graph):
    (name,) = (
      each.signature.name
      for each in graph.graph_def.library.function
      if 'traced_save' in each.signature.name
    )
    graph.object_graph_def.concrete_functions[name].SetInParent()

  assert 'SaveV2' in _changed(tmp_path, expose)


def test_an_initialiser_that_does_something_is_named(tmp_path):
  def initialise(graph):
    (name,) = graph.collection_def['saved_model_main_op'].node_list.value
    (node,) = (each for each in graph.graph_def.node if each.name == name)
    node.op = 'StatefulPartitionedCall'

  assert _changed(tmp_path, initialise) == [
    'StatefulPartitionedCall as initialiser'
  ]


def test_a_graph_of_tensorflow_1_is_not_trusted(tmp_path):
  assert _changed(
    tmp_path, lambda graph: graph.ClearField('object_graph_def')
  ) == ['a graph of TensorFlow 1']


def test_a_file_that_is_none_is_refused(tmp_path):
  (tmp_path / 'saved_model.pb').write_bytes(b'rubbish')
  with pytest.raises(ValueError, match='cannot be loaded as a SavedModel'):
    saved_models.foreign_operations(tmp_path)


def test_models_of_keras_compute_only(tmp_path):
  layers = tf.keras.layers
  net = tf.keras.Sequential(
    [
      layers.Input([2]),
      layers.Normalization(),
      layers.Dense(4, 'relu'),
      layers.BatchNormalization(),
      layers.Dropout(0.1),
      layers.Dense(2, 'softmax'),
    ]
  )
  module = tf.Module()
  module.net = net
  module.action_probabilities = tf.function(
    lambda x: net(x), input_signature=[tf.TensorSpec([None, 2])]
  )
  tf.saved_model.save(module, str(tmp_path))
  loaded = finite.load(tmp_path, num_observations=2, num_actions=2)
  np.testing.assert_allclose(
    loaded.action_probabilities(tf.ones([3, 2])), net(tf.ones([3, 2]))
  )


@pytest.mark.parametrize('name', ['x[1]', 'x*', 'what?', '{a,b}'])
def test_a_path_may_look_like_a_pattern(tmp_path, name):
  tf.saved_model.save(_Policy(tf.reduce_sum), str(tmp_path / name))
  loaded = finite.load(tmp_path / name, num_observations=2, num_actions=2)
  np.testing.assert_allclose(
    loaded.action_probabilities(tf.zeros([1, 2])), [[0.5, 0.5]]
  )


def test_every_operation_of_the_list_exists():
  names = saved_models._COMPUTES | saved_models._SAVES
  assert [each for each in names if op_def_registry.get(each) is None] == []


def test_nothing_on_the_list_takes_a_path_or_an_address():
  """By the documented names of inputs and attributes."""
  words = ('file', 'path', 'address', 'directory', 'output_stream', 'token')
  for name in saved_models._COMPUTES:
    definition = op_def_registry.get(name)
    told = [each.name for each in (*definition.input_arg, *definition.attr)]
    assert not [each for each in told if any(word in each for word in words)], (
      name
    )
