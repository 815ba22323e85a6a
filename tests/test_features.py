"""Feature maps: shapes, seeds, the kernel they stand for."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import features

LAYERS = (features.Dense(8), features.Dropout(0.5),
          features.BatchNorm('relu'), features.Dense(2, activation=None))


def inputs(rows=16, columns=3, seed=0):
  return tf.constant(
      np.random.default_rng(seed).normal(size=(rows, columns)), tf.float32)


def test_a_network_of_two_layers_is_the_formula():
  network = features.Network(
      (features.Dense(4), features.Dense(1, None)), input_size=3, seed=0)
  b0, w0, b1, w1 = (v.numpy() for v in network.trainable_variables)
  hidden = np.maximum(inputs().numpy() @ w0 + b0, 0.)
  np.testing.assert_allclose(network(inputs()), hidden @ w1 + b1, rtol=1e-5)
  assert network.output_size == 1


def test_weights_and_biases_start_within_the_fan_in_bound():
  network = features.Network((features.Dense(1000),), input_size=4, seed=0)
  for variable in network.trainable_variables:
    assert np.abs(variable).max() <= 0.5
    assert np.std(variable) == pytest.approx(0.5 / np.sqrt(3), rel=0.05)


def test_the_seed_decides_weights_and_dropout_masks():
  first, same, other = (
      features.Network(LAYERS, input_size=3, seed=s) for s in (1, 1, 2))
  tf.random.set_seed(99)
  outputs = [net(inputs(), is_training=True) for net in (first, same, other)]
  np.testing.assert_array_equal(outputs[0], outputs[1])
  assert np.abs(outputs[0] - outputs[2]).max() > 0.01


def test_dropout_keeps_the_mean_in_training_and_is_off_otherwise():
  network = features.Network(
      (features.Dropout(0.25),), input_size=1000, seed=0)
  ones = tf.ones([100, 1000])
  dropped = network(ones, is_training=True).numpy()
  assert (dropped == 0.).mean() == pytest.approx(0.25, abs=0.01)
  assert dropped.mean() == pytest.approx(1., abs=0.01)
  np.testing.assert_array_equal(network(ones), ones)


def test_batch_norm_uses_batch_statistics_in_training_only():
  network = features.Network((features.BatchNorm(),), input_size=3, seed=0)
  shifted = inputs(rows=200) * 5. + 7.
  trained = network(shifted, is_training=True).numpy()
  np.testing.assert_allclose(trained.mean(0), 0., atol=1e-4)
  np.testing.assert_allclose(trained.std(0), 1., atol=1e-3)
  one_row = network(shifted[:1]).numpy()
  np.testing.assert_allclose(one_row, network(shifted).numpy()[:1], rtol=1e-4)


def test_a_network_survives_a_checkpoint(tmp_path):
  network = features.Network(LAYERS, input_size=3, seed=0)
  network(inputs(), is_training=True)
  path = tf.train.Checkpoint(network=network).write(str(tmp_path / 'net'))
  other = features.Network(LAYERS, input_size=3, seed=5)
  tf.train.Checkpoint(network=other).read(path).assert_consumed()
  np.testing.assert_array_equal(network(inputs()), other(inputs()))
  np.testing.assert_array_equal(
      network(inputs(), is_training=True), other(inputs(), is_training=True))


@pytest.mark.parametrize('make, message', [
    (lambda: features.Dense(0), 'at least 1, got 0'),
    (lambda: features.Dense(2, 'sigmoid'), "got 'sigmoid'"),
    (lambda: features.Dropout(1.), 'got 1.0'),
    (lambda: features.BatchNorm('swish'), "got 'swish'"),
    (lambda: features.Network((), input_size=0, seed=0), 'got 0'),
    (lambda: features.FourierFeatures(np.ones(2), size=3, seed=0), 'even'),
])
def test_bad_specifications_are_refused(make, message):
  with pytest.raises(ValueError, match=message):
    make()


def test_fourier_features_approximate_the_gaussian_kernel():
  x = inputs(rows=20).numpy()
  bandwidth = np.array([0.5, 1., 2.])
  waves = features.FourierFeatures(bandwidth, size=20_000, seed=0)(x).numpy()
  scaled = x / bandwidth
  distance = ((scaled[:, None] - scaled[None]) ** 2).sum(-1)
  np.testing.assert_allclose(
      waves @ waves.T, np.exp(-distance / 2), atol=0.04)
  np.testing.assert_allclose(np.sum(waves ** 2, axis=1), 1., rtol=1e-9)


def test_median_bandwidth_is_the_median_distance_between_distinct_values():
  x = np.array([[0., 7.], [1., 7.], [3., 7.], [0., 7.]])
  # Distances of column one: 1, 3, 2, 1, 3 (and one zero).
  np.testing.assert_array_equal(features.median_bandwidth(x), [2., 1.])


def test_median_bandwidth_of_many_rows_is_close_to_the_normal_value():
  x = np.random.default_rng(0).normal(size=(50_000, 1))
  # The median of |N(0, 2)|.
  assert features.median_bandwidth(x)[0] == pytest.approx(0.9539, rel=0.05)


def test_standardiser_has_unit_moments_and_inverts():
  x = np.random.default_rng(0).normal(5., 3., (100, 2))
  standardiser = features.fit_standardiser(x)
  z = standardiser.apply(x)
  np.testing.assert_allclose(z.mean(0), 0., atol=1e-12)
  np.testing.assert_allclose(z.std(0), 1., rtol=1e-12)
  np.testing.assert_allclose(standardiser.invert(z), x, rtol=1e-12)


def test_standardiser_only_centres_a_constant_column():
  standardiser = features.fit_standardiser(np.full((10, 1), 0.1))
  assert standardiser.scale[0] == 1.
  np.testing.assert_allclose(standardiser.apply(np.array([[3.1]])), [[3.]])


def test_standardiser_takes_tensors():
  x = inputs()
  standardiser = features.fit_standardiser(x.numpy())
  z = standardiser.apply(x)
  assert z.dtype == tf.float32
  np.testing.assert_allclose(standardiser.invert(z), x, atol=1e-5)
