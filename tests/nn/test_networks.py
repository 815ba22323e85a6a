"""Networks: formulas, shapes, seeds, spectral norms, pictures."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import configs
from dfiv_ope.nn import layers as layers_lib
from dfiv_ope.nn import networks

LAYERS = (
  layers_lib.Dense(8),
  layers_lib.Dropout(0.5),
  layers_lib.BatchNorm('relu'),
  layers_lib.Dense(2, activation=None),
)


def inputs(rows=16, columns=3, seed=0):
  return tf.constant(
    np.random.default_rng(seed).normal(size=(rows, columns)), tf.float32
  )


def test_a_network_of_two_layers_is_the_formula():
  network = networks.Network(
    (layers_lib.Dense(4), layers_lib.Dense(1, None)), input_size=3, seed=0
  )
  b0, w0, b1, w1 = (v.numpy() for v in network.trainable_variables)
  hidden = np.maximum(inputs().numpy() @ w0 + b0, 0.0)
  np.testing.assert_allclose(network(inputs()), hidden @ w1 + b1, rtol=1e-5)
  assert network.output_size == 1


def test_weights_and_biases_start_within_the_fan_in_bound():
  network = networks.Network((layers_lib.Dense(1000),), input_size=4, seed=0)
  for variable in network.trainable_variables:
    assert np.abs(variable).max() <= 0.5
    assert np.std(variable) == pytest.approx(0.5 / np.sqrt(3), rel=0.05)


def test_the_seed_decides_weights_and_dropout_masks():
  first, same, other = (
    networks.Network(LAYERS, input_size=3, seed=s) for s in (1, 1, 2)
  )
  tf.random.set_seed(99)
  outputs = [net(inputs(), is_training=True) for net in (first, same, other)]
  np.testing.assert_array_equal(outputs[0], outputs[1])
  assert np.abs(outputs[0] - outputs[2]).max() > 0.01


def test_dropout_keeps_the_mean_in_training_and_is_off_otherwise():
  network = networks.Network(
    (layers_lib.Dropout(0.25),), input_size=1000, seed=0
  )
  ones = tf.ones([100, 1000])
  dropped = network(ones, is_training=True).numpy()
  assert (dropped == 0.0).mean() == pytest.approx(0.25, abs=0.01)
  assert dropped.mean() == pytest.approx(1.0, abs=0.01)
  np.testing.assert_array_equal(network(ones), ones)


def test_batch_norm_uses_batch_statistics_in_training_only():
  network = networks.Network((layers_lib.BatchNorm(),), input_size=3, seed=0)
  shifted = inputs(rows=200) * 5.0 + 7.0
  trained = network(shifted, is_training=True).numpy()
  np.testing.assert_allclose(trained.mean(0), 0.0, atol=1e-4)
  np.testing.assert_allclose(trained.std(0), 1.0, atol=1e-3)
  one_row = network(shifted[:1]).numpy()
  np.testing.assert_allclose(one_row, network(shifted).numpy()[:1], rtol=1e-4)


def test_a_network_survives_a_checkpoint(tmp_path):
  network = networks.Network(LAYERS, input_size=3, seed=0)
  network(inputs(), is_training=True)
  path = tf.train.Checkpoint(network=network).write(str(tmp_path / 'net'))
  other = networks.Network(LAYERS, input_size=3, seed=5)
  tf.train.Checkpoint(network=other).read(path).assert_consumed()
  np.testing.assert_array_equal(network(inputs()), other(inputs()))
  np.testing.assert_array_equal(
    network(inputs(), is_training=True), other(inputs(), is_training=True)
  )


@pytest.mark.parametrize(
  'make, message',
  [
    (lambda: layers_lib.Dense(0), 'at least 1, got 0'),
    (lambda: layers_lib.Dense(2, 'sigmoid'), "got 'sigmoid'"),
    (lambda: layers_lib.Dropout(1.0), 'got 1.0'),
    (lambda: layers_lib.BatchNorm('swish'), "got 'swish'"),
    (lambda: layers_lib.BatchNorm(decay=1.0), 'got 1.0'),
    (lambda: layers_lib.Conv(4, 0), 'kernel must be at least 1, got 0'),
    (lambda: layers_lib.Image(0, 3), 'height must be at least 1, got 0'),
    (lambda: networks.Network((), input_size=0, seed=0), 'got 0'),
  ],
)
def test_bad_specifications_are_refused(make, message):
  with pytest.raises(ValueError, match=message):
    make()


def singular_values(network):
  return [
    np.linalg.svd(np.reshape(v, [-1, v.shape[-1]]), compute_uv=False)[0]
    for v in network.trainable_variables
    if v.shape.rank > 1
  ]


def test_a_spectral_norm_divides_by_the_largest_singular_value():
  network = networks.Network(
    (layers_lib.Dense(6, None, spectral=True),), input_size=5, seed=0
  )
  b, w = (v.numpy() for v in network.trainable_variables)
  x = inputs(columns=5).numpy()
  (largest,) = singular_values(network)
  np.testing.assert_allclose(network(x), x @ w / largest + b, rtol=1e-3)


def test_a_spectral_norm_follows_the_weights_in_training_only():
  network = networks.Network(
    (layers_lib.Dense(6, None, spectral=True),), input_size=5, seed=0
  )
  b, w = network.trainable_variables
  w.assign(np.random.default_rng(1).normal(size=(5, 6)))
  x = inputs(columns=5)
  for _ in range(30):
    network(x, is_training=True)
  (largest,) = singular_values(network)
  expected = x.numpy() @ w.numpy() / largest + b.numpy()
  np.testing.assert_allclose(network(x), expected, rtol=1e-3, atol=1e-4)
  # Predictions change nothing.
  before = [v.numpy() for v in network.variables]
  network(x)
  for old, variable in zip(before, network.variables, strict=True):
    np.testing.assert_array_equal(old, variable)


def test_the_gradient_of_a_spectral_norm_is_that_of_the_formula():
  network = networks.Network(
    (layers_lib.Dense(3, None, spectral=True),), input_size=4, seed=0
  )
  _, w = network.trainable_variables
  x = inputs(columns=4)
  with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.square(network(x)))
  gradient = tape.gradient(loss, w).numpy()
  weights, bias = w.numpy(), network.trainable_variables[0].numpy()

  def formula(matrix):
    norm = np.linalg.svd(matrix, compute_uv=False)[0]
    return np.sum((x.numpy() @ matrix / norm + bias) ** 2)

  for index in np.ndindex(4, 3):
    step = np.zeros((4, 3))
    step[index] = 1e-4
    numeric = (formula(weights + step) - formula(weights - step)) / 2e-4
    assert gradient[index] == pytest.approx(numeric, rel=2e-2, abs=2e-2)


def test_a_convolution_without_padding_is_the_sum_over_its_window():
  network = networks.Network(
    (layers_lib.Image(3, 4), layers_lib.Conv(2, 2, None)), input_size=12, seed=0
  )
  b, w = (v.numpy() for v in network.trainable_variables)
  x = inputs(rows=5, columns=12)
  picture = x.numpy().reshape(5, 3, 4)
  expected = np.zeros((5, 2, 3, 2))
  for i in range(2):
    for j in range(3):
      window = picture[:, i : i + 2, j : j + 2]
      expected[:, i, j] = np.einsum('bij,ijc->bc', window, w[:, :, 0]) + b
  np.testing.assert_allclose(
    network(x), expected.reshape(5, -1), rtol=1e-4, atol=1e-5
  )
  assert network.output_size == 12


def test_pools_keep_the_largest_and_the_mean():
  x = tf.constant([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]])
  for layer, expected in (
    (layers_lib.MaxPool(2), [6.0, 9.0]),
    (layers_lib.MeanPool(2), [3.5, 5.75]),
  ):
    network = networks.Network(
      (layers_lib.Image(2, 4), layer), input_size=8, seed=0
    )
    np.testing.assert_allclose(network(x), [expected])


def test_a_shift_moves_each_picture_and_repeats_the_border():
  network = networks.Network(
    (layers_lib.Image(2, 3), layers_lib.Shift(1)), input_size=6, seed=0
  )
  x = tf.tile([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], [200, 1])
  moved = network(x, is_training=True).numpy().reshape(-1, 2, 3)
  rows = ([0, 0], [0, 1], [1, 1])
  columns = ([0, 0, 1], [0, 1, 2], [1, 2, 2])
  picture = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
  expected = {
    picture[np.ix_(row, column)].tobytes() for row in rows for column in columns
  }
  assert {each.astype(float).tobytes() for each in moved} == expected
  np.testing.assert_array_equal(network(x), x)


def test_the_papers_extractor_has_9216_inputs_after_its_pool():
  network = networks.Network(
    (
      layers_lib.Image(28, 28),
      layers_lib.Conv(64, 3),
      layers_lib.Conv(64, 3),
      layers_lib.MaxPool(2),
    ),
    input_size=784,
    seed=0,
  )
  assert network.output_size == 9216


def test_a_branch_replaces_the_last_columns():
  network = networks.Network(
    (layers_lib.Branch(2, (layers_lib.Dense(3, None),)),), input_size=5, seed=0
  )
  b, w = (v.numpy() for v in network.trainable_variables)
  x = inputs(columns=5).numpy()
  np.testing.assert_allclose(
    network(x),
    np.concatenate([x[:, :3], x[:, 3:] @ w + b], axis=1),
    rtol=1e-4,
    atol=1e-6,
  )
  assert network.output_size == 6


def test_many_pictures_are_the_same_as_few_at_a_time():
  network = networks.Network(
    (layers_lib.Image(4, 4), layers_lib.Conv(2, 2), layers_lib.Dense(3)),
    input_size=16,
    seed=0,
  )
  x = inputs(rows=1300, columns=16)
  parts = [network(x[start : start + 100]) for start in range(0, 1300, 100)]
  np.testing.assert_allclose(network(x), tf.concat(parts, 0), rtol=1e-5)


def test_nested_layers_survive_json():
  layers = (
    layers_lib.Branch(
      4,
      (
        layers_lib.Image(2, 2),
        layers_lib.Shift(1),
        layers_lib.Conv(3, 2),
        layers_lib.Dropout(0.1),
      ),
    ),
    layers_lib.Dense(5, 'tanh', spectral=True),
    layers_lib.BatchNorm('relu', 0.9),
  )
  assert configs.decode(configs.encode(layers), layers_lib.LAYERS) == layers


@pytest.mark.parametrize(
  'layers, message',
  [
    ((layers_lib.Conv(2, 2),), 'Put Image'),
    ((layers_lib.Shift(1),), 'Put Image'),
    ((layers_lib.MaxPool(2),), 'Put Image'),
    ((layers_lib.Image(3, 3),), 'takes 9 pixels, but gets rows of 16'),
    ((layers_lib.Image(4, 4), layers_lib.Image(4, 4)), 'gets pictures'),
    (
      (layers_lib.Image(4, 4), layers_lib.Conv(1, 5)),
      'larger than its pictures',
    ),
    (
      (layers_lib.Image(4, 4), layers_lib.MeanPool(5)),
      'larger than its pictures',
    ),
    ((layers_lib.Branch(17, ()),), 'gets rows of 16'),
  ],
)
def test_layers_that_do_not_fit_are_refused(layers, message):
  with pytest.raises(ValueError, match=message):
    networks.Network(layers, input_size=16, seed=0)


def test_waves_are_random_fourier_features_whose_directions_are_learned():
  network = networks.Network((layers_lib.Waves(4),), input_size=3, seed=0)
  (directions,) = (v.numpy() for v in network.trainable_variables)
  assert directions.shape == (3, 2)
  angle = inputs().numpy() @ directions
  outputs = network(inputs()).numpy()
  np.testing.assert_allclose(
    outputs, np.c_[np.cos(angle), np.sin(angle)] / np.sqrt(2.0), atol=1e-6
  )
  np.testing.assert_allclose(np.sum(outputs**2, axis=1), 1.0, atol=1e-6)


def test_inner_products_of_many_waves_are_a_gaussian_kernel():
  network = networks.Network((layers_lib.Waves(20_000),), input_size=3, seed=0)
  rows = inputs(4)
  outputs = network(rows).numpy()
  squares = np.sum((rows[:, None] - rows[None]) ** 2, axis=2)
  np.testing.assert_allclose(
    outputs @ outputs.T, np.exp(-squares / 2.0), atol=0.03
  )


@pytest.mark.parametrize('size', [0, 3])
def test_waves_come_in_pairs(size):
  with pytest.raises(ValueError, match=f'even and at least 2, got {size}'):
    layers_lib.Waves(size)
