"""First-stage diagnostics on instruments of known strength."""

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import features
from dfiv_ope.iv.diagnostics import strength


def halves(strength, rows=2000, seed=0, covariate=True, bend=0.0):
  generator = np.random.default_rng(seed)
  z, x, noise = generator.normal(size=(3, rows, 1))
  treatment = strength * z + x + noise + bend * np.sin(2.0 * x)
  instrument = np.concatenate([z, x], axis=1) if covariate else z
  data = types.IVBatch(
    treatment, instrument, treatment, x if covariate else None
  )
  return [
    types.IVBatch(*(None if each is None else each[part] for each in data))
    for part in (slice(None, rows // 2), slice(rows // 2, None))
  ]


def diagnose(batches, phi=np.asarray, swap=True):
  generator = np.random.default_rng(0)
  return strength.first_stage(
    *(strength.prepare(half, phi, generator=generator) for half in batches),
    swap=swap,
  )


def test_a_strong_instrument_has_the_population_shares():
  result = diagnose(halves(1.0))
  # Var(T) = 3, of which z and x explain 2; of Var(T | x) = 2, z explains 1.
  assert result.r2[0] == pytest.approx(2 / 3, abs=0.03)
  assert result.partial_r2[0] == pytest.approx(1 / 2, abs=0.03)
  assert not result.weak and result.warnings() == []


@pytest.mark.parametrize('covariate', [True, False])
def test_the_index_of_one_instrument_has_about_its_partial_f(covariate):
  ratios = []
  for seed in range(5):
    first, second = halves(0.2, seed=seed, covariate=covariate)
    result = diagnose([first, second])
    z, x, t = (
      np.concatenate([a, b])
      for a, b in (
        (first.instrument[:, :1], second.instrument[:, :1]),
        (first.instrument[:, -1:], second.instrument[:, -1:]),
        (first.treatment, second.treatment),
      )
    )
    controls = np.ones_like(x)
    if covariate:
      controls = np.concatenate([x, controls], axis=1)
    z, t = (
      v - controls @ np.linalg.lstsq(controls, v, rcond=None)[0] for v in (z, t)
    )
    slope = float((z * t).sum() / (z * z).sum())
    ratios.append(
      result.held_out_index_f[0]
      / (slope**2 * float((z * z).sum()) / float(np.var(t - slope * z)))
    )
  # Draws of other instruments make it uncertain by a few per cent.
  assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize('covariate', [True, False])
def test_an_irrelevant_instrument_is_weak(covariate):
  values = [
    diagnose(halves(0.0, seed=seed, covariate=covariate)).held_out_index_f[0]
    for seed in range(10)
  ]
  assert np.median(values) < 4.0
  assert diagnose(halves(0.0, covariate=covariate)).weak


def test_it_is_weak_however_much_covariates_tell_of_the_treatment():
  # Many features of (z, x) that predict the treatment well, by x alone.
  phi = features.FourierFeatures(np.ones(2), size=200, seed=0)
  found = [diagnose(halves(0.0, seed=seed, bend=3.0), phi) for seed in range(5)]
  assert min(each.r2[0] for each in found) > 0.5
  assert max(each.held_out_index_f[0] for each in found) < 8.0
  assert max(each.partial_r2[0] for each in found) < 0.02
  strong = diagnose(halves(1.0, bend=3.0), phi)
  assert strong.held_out_index_f[0] > 300.0


def test_more_covariates_than_rows_leave_something_to_explain():
  generator = np.random.default_rng(4)

  def batches(strength):
    z, noise = generator.normal(size=(2, 400, 1))
    wide = generator.normal(size=(400, 300))
    treatment = strength * z + wide[:, :1] + noise
    rows = treatment, np.concatenate([z, wide], axis=1), treatment, wide
    return [
      types.IVBatch(*(each[part] for each in rows))
      for part in (slice(200), slice(200, None))
    ]

  assert diagnose(batches(0.0)).held_out_index_f[0] < 10.0
  assert diagnose(batches(2.0)).held_out_index_f[0] > 100.0


def test_a_treatment_that_the_instrument_decides_has_r2_one():
  first, second = halves(1.0)
  exact = [
    half._replace(treatment=half.instrument[:, :1]) for half in (first, second)
  ]
  result = diagnose(exact)
  assert result.r2[0] == pytest.approx(1.0, abs=1e-6)
  assert result.partial_r2[0] == pytest.approx(1.0, abs=1e-6)
  assert not result.weak


def test_a_column_that_does_not_vary_is_left_out():
  with_flat = [
    half._replace(
      treatment=np.concatenate(
        [np.full_like(half.treatment, 0.1), half.treatment], axis=1
      )
    )
    for half in halves(1.0)
  ]
  result = diagnose(with_flat)
  assert np.isnan(
    [result.r2[0], result.partial_r2[0], result.held_out_index_f[0]]
  ).all()
  assert result.r2[1] == pytest.approx(2 / 3, abs=0.03)
  assert not result.weak
  weak = result._replace(held_out_index_f=np.array([np.nan, 3.0]))
  assert 'column 1 of the treatment' in str(weak.warnings()[0])


def test_without_a_swap_only_the_second_half_is_held_out():
  first, second = halves(1.0)
  noise = second._replace(
    treatment=np.random.default_rng(9).normal(size=second.treatment.shape)
  )
  assert diagnose([first, noise], swap=False).held_out_index_f[0] < 10.0
  one = diagnose([first, second], swap=False).held_out_index_f[0]
  assert one == pytest.approx(
    diagnose([first, second]).held_out_index_f[0] / 2.0, rel=0.3
  )


def test_t_is_robust_to_rows_that_are_the_same():
  generator = np.random.default_rng(3)
  x = generator.normal(size=500)
  y = 0.2 * x + (1.0 + np.abs(x)) * generator.normal(size=500)
  once = strength.robust_t(y, x)
  slope = np.sum(x * y) / np.sum(x * x)
  assert once == pytest.approx(
    slope / (np.sqrt(np.sum((x * (y - slope * x)) ** 2)) / np.sum(x * x))
  )
  many = [np.repeat(each, 4) for each in (y, x)]
  assert strength.robust_t(*many) == pytest.approx(2.0 * once)
  assert strength.robust_t(
    *many, np.repeat(np.arange(500), 4)
  ) == pytest.approx(once)


def test_warnings_name_the_worst_column_and_what_is_lost():
  shares = np.array([0.5, 0.03])
  weak = strength.FirstStage(shares, shares, np.array([500.0, 4.2]))
  (warning,) = weak.warnings()
  assert isinstance(warning, strength.WeakInstrumentWarning)
  assert 'explains 3 % of column 1 of the treatment' in str(warning)
  one = weak._replace(
    r2=shares[1:], partial_r2=shares[1:], held_out_index_f=np.array([4.2])
  )
  assert 'explains 3 % of the treatment on' in str(one.warnings()[0])
  assert "explains 3 % of the treatment's effect on" in str(
    one._replace(of_effect=True).warnings()[0]
  )
  lost = one._replace(
    held_out_index_f=np.array([500.0]),
    singular_values=np.array([0.9, 0.02]),
    alignment=np.array([0.38, 0.62]),
  )
  (warning,) = lost.warnings()
  assert isinstance(warning, strength.IllPosedWarning)
  assert str(warning).startswith('62 % of what the instruments tell')
  assert lost._replace(alignment=np.array([0.8, 0.2])).warnings() == []
  assert lost._replace(alignment=np.full(2, np.nan)).warnings() == []


def test_the_effective_f_decides_for_2sls_and_the_index_for_others():
  shares = np.array([0.5])
  first = strength.FirstStage(
    shares,
    shares,
    held_out_index_f=np.array([52.0]),
    effective_f=np.array([3.3]),
    critical_values=np.array([[23.1, 12.5, 7.1, 5.3]]),
  )
  assert not first.weak
  linear = first._replace(linear=True)
  assert linear.weak
  assert 'of the treatment is 3.3, below 12.5' in str(linear.warnings()[0])
  assert not linear._replace(effective_f=np.array([12.6])).weak
  few = first._replace(held_out_index_f=np.array([5.0]))
  assert 'F of the held-out first-stage index is 5.0' in str(few.warnings()[0])
  assert not few._replace(effective_f=np.array([50.0]), linear=True).weak


def test_low_values_are_low_for_the_rows_they_are_told_by():
  shares = np.array([0.5])
  first = strength.FirstStage(
    shares,
    shares,
    np.array([500.0]),
    singular_values=np.array([0.9, 0.05]),
    alignment=np.array([0.38, 0.62]),
  )
  assert first.lost_share == pytest.approx(0.62)
  assert first._replace(low_value=0.03).lost_share == 0.0
  assert first._replace(low_value=0.03).warnings() == []
