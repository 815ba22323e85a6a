"""Cosines and sines from a table, against numpy's."""

import numpy as np
import pytest

from dfiv_ope.iv import waves


@pytest.mark.parametrize('size', [1e-9, 1.0, 3e4])
def test_waves_have_all_digits(size):
  angle = size * np.random.default_rng(0).normal(size=(700, 90))
  angle[0, :3] = 0.0, np.pi, -np.pi / 2.0
  expected = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
  # An angle itself is rounded.
  atol = 1e-15 + 2e-16 * np.max(np.abs(angle))
  np.testing.assert_allclose(
    waves.cosines_and_sines(angle), expected, rtol=0.0, atol=atol
  )
  out = np.zeros((700, 181))
  waves.cosines_and_sines(angle, 0.1, out[:, :-1])
  np.testing.assert_allclose(
    out[:, :-1], 0.1 * expected, rtol=0.0, atol=0.1 * atol
  )
  assert not np.any(out[:, -1])


def test_angles_beyond_the_table_are_those_of_numpy():
  angle = np.array([[1e12, np.nan, 2.0]])
  found = waves.cosines_and_sines(angle)
  np.testing.assert_array_equal(
    found, np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
  )
