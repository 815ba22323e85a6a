"""The stage-1 operator's spectrum against cases with known answers."""

import warnings

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import estimators
from dfiv_ope.iv.diagnostics import spectrum


def _moments(phi, psi, y):
  return spectrum.Moments(
    instrument=phi.T @ phi,
    cross=phi.T @ psi,
    treatment=psi.T @ psi,
    outcome=(phi.T @ y)[:, 0],
    square=float(np.sum(y**2)),
    rows=float(len(y)),
  )


def _halves(phi, psi, y, controls=None):
  half = len(y) // 2
  return [
    types.IVBatch(
      *(
        None if each is None else each[rows] for each in (psi, phi, y, controls)
      )
    )
    for rows in (slice(half), slice(half, None))
  ]


def _hermite(x):
  """Polynomials that are orthonormal for a standard normal x."""
  return np.concatenate(
    [x, (x**2 - 1.0) / 2.0**0.5, (x**3 - 3.0 * x) / 6.0**0.5], axis=1
  )


def _gaussian(rows, rho, seed=0):
  generator = np.random.default_rng(seed)
  z, noise = generator.standard_normal((2, rows, 1))
  return z, rho * z + (1.0 - rho**2) ** 0.5 * noise, generator


def test_values_are_the_canonical_correlations():
  # Column k of psi is rho_k phi_k + sqrt(1 - rho_k^2) noise: exactly so,
  # because the columns are orthonormal; mixing columns changes nothing. Both
  # halves are the same rows here.
  generator = np.random.default_rng(0)
  basis, _ = np.linalg.qr(generator.standard_normal((2000, 6)))
  phi, noise = basis[:, :3], basis[:, 3:]
  rho = np.array([0.9, 0.5, 0.08])
  psi = phi * rho + noise * np.sqrt(1.0 - rho**2)
  mixed = psi @ generator.standard_normal((3, 3))
  y = 2.0 * phi[:, [1]] + phi[:, [2]]
  moments = _moments(phi @ generator.standard_normal((3, 3)), mixed, y)
  found = spectrum.from_moments(moments, moments, penalty=1e-12)
  np.testing.assert_allclose(found.values, rho, atol=1e-6)
  np.testing.assert_allclose(found.alignment, [0.0, 0.8, 0.2], atol=1e-6)
  assert found.rank == pytest.approx(0.81 + 0.25 + 0.0064, abs=1e-6)
  assert found.lost_share == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize('rho', [0.2, 0.7, 1.0])
def test_a_gaussian_pair_has_its_correlation(rho):
  z, x, _ = _gaussian(4000, rho)
  found = spectrum.from_rows(*_halves(z, x, x))
  assert found.values == pytest.approx([rho], abs=0.02)
  assert found.alignment == pytest.approx([1.0])


def test_polynomials_of_a_gaussian_pair_have_powers_of_its_correlation():
  z, x, _ = _gaussian(100_000, 0.7)
  found = spectrum.from_rows(*_halves(_hermite(z), _hermite(x), x))
  np.testing.assert_allclose(found.values, [0.7, 0.49, 0.343], atol=0.02)
  # E[x | z] = 0.7 z lies along the first pair alone.
  np.testing.assert_allclose(found.alignment, [1.0, 0.0, 0.0], atol=0.02)


def test_an_independent_instrument_has_no_values_however_many_features():
  generator = np.random.default_rng(1)
  phi = generator.standard_normal((2000, 150))
  psi = generator.standard_normal((2000, 40))
  found = spectrum.from_rows(*_halves(phi, psi, psi[:, :1]))
  # In the rows themselves the largest would be above sqrt(150 / 1000) = 0.39.
  assert found.values.max() < 0.12
  assert np.mean(found.values) < 0.02
  assert np.isnan(found.alignment).all() and np.isnan(found.lost_share)


def test_what_covariates_tell_is_not_the_instruments():
  z, x, generator = _gaussian(4000, 0.6)
  o = generator.standard_normal((4000, 1))
  phi, psi = np.concatenate([z, o], axis=1), np.concatenate([x + o, o], axis=1)
  found = spectrum.from_rows(*_halves(phi, psi, x + o, o))
  assert found.values == pytest.approx([0.6], abs=0.03)
  unrelated = np.concatenate([generator.permutation(z), o], axis=1)
  found = spectrum.from_rows(*_halves(unrelated, psi, x + o, o))
  assert found.values == pytest.approx([0.0], abs=0.05)


def test_the_outcome_may_lie_where_stage_1_keeps_nothing():
  generator = np.random.default_rng(2)
  z, noise = generator.standard_normal((2, 40_000, 2))
  x = np.array([0.8, 0.05]) * z + np.array([0.6, 1.0]) * noise
  # Both columns move the outcome as much as the other: 1 and 20 x 0.05.
  y = x[:, :1] / 0.8 + 20.0 * x[:, 1:] - 20.0 * noise[:, 1:]
  found = spectrum.from_rows(*_halves(z, x, y))
  np.testing.assert_allclose(found.values, [0.8, 0.05], atol=0.01)
  assert found.lost_share == pytest.approx(0.5, abs=0.02)


def test_without_a_swap_directions_are_those_of_the_first_half():
  # The first half knows of a pair that the second does not have.
  z, x, generator = _gaussian(4000, 0.9)
  z[2000:] = generator.permutation(z[2000:])
  found = spectrum.from_rows(*_halves(z, x, x), swap=False)
  assert found.values == pytest.approx([0.0], abs=0.05)


def test_the_largest_value_can_come_first_with_its_alignment():
  found = spectrum.Spectrum(
    np.array([0.6, 0.9, 0.6, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
  )
  first = found.descending()
  assert first.values.tolist() == [0.9, 0.6, 0.6, 0.1]
  assert first.alignment.tolist() == [0.2, 0.1, 0.3, 0.4]
  assert first.rank == pytest.approx(found.rank)


def test_condition_is_the_ratio_of_variances():
  phi = np.diag([3.0, 1.0, 0.5])
  assert spectrum.condition(phi.T @ phi) == pytest.approx(36.0)


def test_directions_without_variance_are_left_out():
  generator = np.random.default_rng(1)
  phi = generator.standard_normal((40, 2))
  twice = np.concatenate([phi, phi], axis=1)
  assert spectrum.condition(twice.T @ twice) == pytest.approx(
    spectrum.condition(phi.T @ phi)
  )
  moments = _moments(twice, phi, phi[:, :1])
  found = spectrum.from_moments(moments, moments, penalty=1e-12)
  np.testing.assert_allclose(found.values, [1.0, 1.0], atol=1e-6)


def test_what_two_rows_of_one_half_decide_is_judged_by_the_other():
  # Two of 1,000 treatments are 200 and 700 standard deviations away, so that
  # directions of the half that has them do not vary in the other.
  generator = np.random.default_rng([12, 663])
  z = generator.standard_t(2, size=1000)
  hidden = generator.normal(size=1000)
  treatment = z + 0.8 * hidden
  assert np.sort(np.abs(treatment))[-2] > 200.0
  with warnings.catch_warnings():
    warnings.simplefilter('error', RuntimeWarning)
    model = estimators.KIV(n_splits=1).fit(
      2.0 * np.tanh(treatment)
      + 0.8 * hidden
      + 0.4 * generator.normal(size=1000),
      treatment,
      Z=z,
    )
  found = model.first_stage_
  assert np.all((found.singular_values >= 0.0) & (found.singular_values <= 1.0))
  assert np.isfinite(found.alignment).all()
