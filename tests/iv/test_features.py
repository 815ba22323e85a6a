"""Fixed features: the kernel they stand for, bandwidths, scales."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.iv import features
from dfiv_ope.nn import scaling


def inputs(rows=16, columns=3, seed=0):
  return tf.constant(
    np.random.default_rng(seed).normal(size=(rows, columns)), tf.float32
  )


def test_fourier_features_approximate_the_gaussian_kernel():
  x = inputs(rows=20).numpy()
  bandwidth = np.array([0.5, 1.0, 2.0])
  waves = features.FourierFeatures(bandwidth, size=20_000, seed=0)(x)
  scaled = x / bandwidth
  distance = ((scaled[:, None] - scaled[None]) ** 2).sum(-1)
  np.testing.assert_allclose(waves @ waves.T, np.exp(-distance / 2), atol=0.04)
  np.testing.assert_allclose(np.sum(waves**2, axis=1), 1.0, rtol=1e-9)


def test_median_bandwidth_is_the_median_distance_between_distinct_values():
  x = np.array([[0.0, 7.0], [1.0, 7.0], [3.0, 7.0], [0.0, 7.0]])
  # Distances of column one: 1, 3, 2, 1, 3 (and one zero).
  np.testing.assert_array_equal(features.median_bandwidth(x), [2.0, 1.0])


def test_median_bandwidth_of_many_rows_is_close_to_the_normal_value():
  x = np.random.default_rng(0).normal(size=(50_000, 1))
  # The median of |N(0, 2)|.
  assert features.median_bandwidth(x)[0] == pytest.approx(0.9539, rel=0.05)


def test_the_typical_distance_is_the_root_of_the_mean_square():
  x = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
  # Of the nine pairs of rows four are 5 apart.
  assert features.typical_distance(x) == pytest.approx(np.sqrt(4 * 25 / 9))
  assert features.typical_distance(np.ones((4, 2))) == 1.0


def test_standardiser_has_unit_moments_and_inverts():
  x = np.random.default_rng(0).normal(5.0, 3.0, (100, 2))
  standardiser = scaling.fit_standardiser(x)
  z = standardiser.apply(x)
  np.testing.assert_allclose(z.mean(0), 0.0, atol=1e-12)
  np.testing.assert_allclose(z.std(0), 1.0, rtol=1e-12)
  np.testing.assert_allclose(standardiser.invert(z), x, rtol=1e-12)


def test_standardiser_only_centres_a_constant_column():
  standardiser = scaling.fit_standardiser(np.full((10, 1), 0.1))
  assert standardiser.scale[0] == 1.0
  np.testing.assert_allclose(standardiser.apply(np.array([[3.1]])), [[3.0]])


def test_standardiser_takes_tensors():
  x = inputs()
  standardiser = scaling.fit_standardiser(x.numpy())
  z = standardiser.apply(x)
  assert z.dtype == tf.float32
  np.testing.assert_allclose(standardiser.invert(z), x, atol=1e-5)


def test_an_odd_number_of_fourier_features_is_refused():
  with pytest.raises(ValueError, match='even'):
    features.FourierFeatures(np.ones(2), size=3, seed=0)


def test_matern_features_have_its_kernel():
  x = np.linspace(-2.0, 2.0, 9)[:, None]
  made = features.MaternFeatures(np.array([0.8]), size=2000, seed=0)(x)
  distance = np.sqrt(3.0) * np.abs(x - x.T) / 0.8
  wanted = (1.0 + distance) * np.exp(-distance)
  np.testing.assert_allclose(made @ made.T, wanted, atol=5e-3)
  # Of two inputs frequencies are drawn.
  both = np.concatenate([x, x[::-1] ** 2], axis=1)
  made = features.MaternFeatures(np.array([0.8, 2.0]), size=20_000, seed=0)(
    both
  )
  scaled = both / [0.8, 2.0]
  distance = np.sqrt(
    3.0 * np.sum(np.square(scaled[:, None] - scaled[None]), axis=-1)
  )
  wanted = (1.0 + distance) * np.exp(-distance)
  np.testing.assert_allclose(made @ made.T, wanted, atol=0.04)
