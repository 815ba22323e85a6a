"""SavedModels that numpy runs, against TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.nn import layers, networks
from dfiv_ope.policies import finite, greedy, saved_networks


class _Scaled(tf.Module):
  """A network of standardised observations, as training saves them."""

  def __init__(self):
    super().__init__()
    self._mean = tf.Variable([3.0, -1.0], dtype=tf.float64)
    self._network = networks.Network(
      (layers.Dense(16), layers.Dense(3, None)), input_size=2, seed=0
    )

  def __call__(self, observation):
    return self._network(observation - tf.cast(self._mean, tf.float32))


class _Soft(tf.Module):
  """Takes actions by the softmax of the same network."""

  def __init__(self):
    super().__init__()
    self._network = _Scaled()

  def action_probabilities(self, observation):
    return tf.nn.softmax(tf.tanh(self._network(observation)))


class _Written(tf.Module):
  """Does what numpy is not asked to do."""

  def action_probabilities(self, observation):
    return tf.nn.softmax(tf.math.lgamma(1.0 + tf.abs(observation)))


@pytest.fixture(name='observations')
def _observations():
  return np.random.default_rng(0).normal([3.0, -1.0], 2.0, (10_000, 2))


def _greedy():
  return greedy.Greedy(_Scaled(), num_observations=2)


@pytest.mark.parametrize('make', [_greedy, _Soft])
def test_numpy_gives_the_probabilities_of_tensorflow(
  tmp_path, observations, make
):
  policy = make()
  finite.save(policy, tmp_path / 'model', num_observations=2)
  network = saved_networks.read(tmp_path / 'model', num_observations=2)
  assert network is not None
  found = network(observations)
  assert found.dtype == np.float32
  np.testing.assert_allclose(
    found,
    policy.action_probabilities(tf.constant(observations, tf.float32)),
    atol=1e-6,
  )


def test_a_policy_that_was_loaded_and_saved_again_is_the_same(
  tmp_path, observations
):
  finite.save(_greedy(), tmp_path / 'first', num_observations=2)
  sizes = {'num_observations': 2, 'num_actions': 3}
  first = finite.load(tmp_path / 'first', **sizes)
  finite.save(
    finite.Explore(first, epsilon=0.0), tmp_path / 'again', num_observations=2
  )
  again = finite.load(tmp_path / 'again', **sizes)
  found = again.action_probabilities(observations)
  assert isinstance(found, np.ndarray)
  np.testing.assert_array_equal(found, first.action_probabilities(observations))
  tensor = tf.constant(observations)
  np.testing.assert_array_equal(found, again.action_probabilities(tensor))


def test_whatever_else_a_model_does_is_left_to_tensorflow(
  tmp_path, observations
):
  finite.save(_Written(), tmp_path / 'model', num_observations=2)
  assert saved_networks.read(tmp_path / 'model', num_observations=2) is None
  policy = finite.load(tmp_path / 'model', num_observations=2, num_actions=2)
  np.testing.assert_allclose(
    policy.action_probabilities(observations).sum(axis=1), 1.0, rtol=1e-6
  )


@pytest.mark.parametrize('cut', [b'', b'\x0a\xff', b'no model at all'])
def test_a_file_that_is_no_model_is_left_to_tensorflow(tmp_path, cut):
  (tmp_path / 'saved_model.pb').write_bytes(cut)
  assert saved_networks.read(tmp_path, num_observations=2) is None


def test_observations_of_another_size_are_left_to_tensorflow(tmp_path):
  finite.save(_greedy(), tmp_path / 'model', num_observations=2)
  assert saved_networks.read(tmp_path / 'model', num_observations=5) is None
