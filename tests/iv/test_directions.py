"""Bandwidths of directions, by gradients."""

import numpy as np

from dfiv_ope.iv import directions, features, landmarks


def test_a_kernel_is_wide_where_a_function_does_not_change():
  unit, bandwidth = np.array([2.0, 1.0]), np.array([2.0, 3.0])
  # It changes with x1 / 2 + x2 alone, and ten times the width is the most.
  gradients = np.array([[0.5, 1.0], [-1.0, -2.0]])
  found = directions.turned(bandwidth, unit, gradients)
  x = np.array([[2.0, 1.0], [2.0, -1.0]])
  along, across = x / unit
  np.testing.assert_allclose(
    directions.scaled(x, found),
    np.stack([along, across / 10.0]) * unit / bandwidth,
  )


def test_a_function_that_changes_alike_everywhere_leaves_bandwidths():
  bandwidth = np.array([2.0, 3.0])
  for gradients in (np.eye(2), np.zeros((2, 2))):
    np.testing.assert_allclose(
      directions.turned(bandwidth, np.ones(2), gradients), np.diag(bandwidth)
    )


def test_features_of_a_matrix_are_those_of_moved_rows():
  x = np.random.default_rng(0).normal(size=(30, 2))
  matrix = np.array([[1.0, 0.5], [-0.3, 2.0]])
  moved = x @ np.linalg.inv(matrix)
  one, other = landmarks.Landmarks(2), landmarks.Landmarks(2)
  one.adapt(x, matrix, 1e-6, 10)
  other.adapt(moved, np.ones(2), 1e-6, 10)
  np.testing.assert_allclose(one(x), other(moved), atol=1e-9)
  np.testing.assert_allclose(
    features.FourierFeatures(matrix, size=6, seed=0)(x),
    features.FourierFeatures(np.ones(2), size=6, seed=0)(moved),
  )


def test_gradients_are_those_of_the_features():
  x = np.random.default_rng(0).normal(size=(30, 2))
  for bandwidth in (np.array([1.0, 2.0]), np.array([[1.0, 0.5], [-0.3, 2.0]])):
    kernel = landmarks.Landmarks(2)
    kernel.adapt(x, bandwidth, 1e-6, 10)
    weights = np.arange(10.0)[:, None]
    found = kernel.gradients(x[:5], weights)
    for column, step in enumerate(1e-5 * np.eye(2)):
      change = (kernel(x[:5] + step) - kernel(x[:5] - step)) @ weights
      np.testing.assert_allclose(
        found[:, column], change[:, 0] / 2e-5, rtol=1e-5, atol=1e-6
      )
