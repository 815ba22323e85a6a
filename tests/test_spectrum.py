"""The stage-1 operator's spectrum against cases with known answers."""

import numpy as np
import pytest

from dfiv_ope import spectrum


def _analyse(phi, psi, y):
  return spectrum.analyse(phi.T @ phi, phi.T @ psi, psi.T @ psi, phi.T @ y)


def test_values_are_the_canonical_correlations():
  # Column k of psi is rho_k phi_k + sqrt(1 - rho_k^2) noise: exactly so,
  # because the columns are orthonormal; mixing columns changes nothing.
  generator = np.random.default_rng(0)
  basis, _ = np.linalg.qr(generator.standard_normal((50, 6)))
  phi, noise = basis[:, :3], basis[:, 3:]
  rho = np.array([0.9, 0.5, 0.1])
  psi = phi * rho + noise * np.sqrt(1. - rho ** 2)
  mixed = psi @ generator.standard_normal((3, 3))
  found = _analyse(phi @ generator.standard_normal((3, 3)), mixed, phi[:, [1]])
  np.testing.assert_allclose(found.values, rho, atol=1e-10)
  np.testing.assert_allclose(found.alignment, [0., 1., 0.], atol=1e-10)
  assert found.rank == pytest.approx(0.81 + 0.25 + 0.01)


def test_condition_is_the_ratio_of_variances():
  phi = np.diag([3., 1., 0.5])
  found = _analyse(phi, phi, np.ones((3, 1)))
  assert found.condition == pytest.approx(36.)
  np.testing.assert_allclose(found.values, 1.)


def test_directions_without_variance_are_left_out():
  generator = np.random.default_rng(1)
  phi = generator.standard_normal((40, 2))
  found = _analyse(np.concatenate([phi, phi], axis=1), phi, phi[:, :1])
  np.testing.assert_allclose(found.values, [1., 1.])
