"""Quasi-random numbers: mirrored, even, and the same for the same seed."""

import numpy as np
import pytest

from dfiv_ope.policies import quasi_random


def test_every_second_draw_mirrors_the_one_before():
  found = quasi_random.uniforms(5, 8, 3, seed=0)
  assert found.shape == (5, 8, 3) and found.dtype == np.float32
  assert found.min() > 0.0 and found.max() < 1.0
  np.testing.assert_allclose(found[:, ::2] + found[:, 1::2], 1.0, atol=1e-6)
  np.testing.assert_allclose(found.mean(axis=1), 0.5, atol=1e-6)


def test_one_draw_is_the_middle():
  np.testing.assert_array_equal(
    quasi_random.uniforms(2, 1, 3, seed=0), np.full((2, 1, 3), 0.5)
  )


def test_a_mean_of_squares_is_nearer_than_by_random_numbers():
  """The integral of u^2 is 1/3; 16 random numbers are off by 0.075."""
  found = np.mean(quasi_random.uniforms(500, 16, 1, seed=1) ** 2, axis=(1, 2))
  assert np.sqrt(np.mean((found - 1.0 / 3.0) ** 2)) < 0.015


def test_the_same_seed_gives_the_same_numbers():
  first, again, other = (
    quasi_random.uniforms(2, 4, 2, seed=seed) for seed in (0, 0, 1)
  )
  np.testing.assert_array_equal(first, again)
  assert np.abs(first - other).max() > 0.01


@pytest.mark.parametrize('draws', [0, 3, -2])
def test_an_odd_number_of_draws_is_refused(draws):
  with pytest.raises(ValueError, match='draws must be 1 or even'):
    quasi_random.uniforms(1, draws, 1, seed=0)
