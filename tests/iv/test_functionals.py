"""Debiased functionals: balance, cross-fitting, intervals, refusals."""

import warnings

import numpy as np
import pytest

from dfiv_ope.iv import bases, estimators
from dfiv_ope.iv.functionals import debiased, inference

# A small, fast sieve.
_SMALL = {'treatment_bases': (bases.Hermite(3),),
          'covariate_bases': (bases.Hermite(1),), 'n_splits': 1}


def _data(rows=400, seed=0, covariate=False):
  """f = sin(t) + x; ordinary regression adds half of the confounder."""
  generator = np.random.default_rng(seed)
  z = generator.uniform(-3., 3., rows)
  noise, x, rest = generator.normal(size=(3, rows))
  t = z + 0.7 * noise + 0.5 * covariate * x
  y = np.sin(t) + covariate * x + noise + 0.3 * rest
  return y, t, z, (x if covariate else None)


def _inference(kind=estimators.SieveIV, groups=None, parameters=None, **data):
  y, t, z, x = _data(**data)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = kind(**(_SMALL if parameters is None else parameters)).fit(
        y, t, Z=z, X=x)
  return inference.Inference(model, y, t, Z=z, X=x, groups=groups)


def test_without_penalties_the_estimate_is_that_of_just_identified_iv():
  # Where a balances D exactly, only noise times a is left of the residual.
  generator = np.random.default_rng(1)
  z = generator.normal(size=(5000, 1))
  noise = generator.normal(size=5000)
  t = z[:, 0] + noise
  rows = debiased.Rows(
      design=np.stack([t, np.ones(5000)], axis=1),
      instruments=np.concatenate([z, np.ones((5000, 1))], axis=1),
      outcome=2. * t + noise)
  found = debiased.Stages(rows, np.arange(5000) % 5).estimate(
      [lambda: np.array([[1., 0.]]), lambda: np.array([[3., 1.]])])
  slope = np.cov(z[:, 0], rows.outcome)[0, 1] / np.cov(z[:, 0], t)[0, 1]
  level = rows.outcome.mean() - slope * t.mean()
  # Folds change it by little of its standard error.
  error = np.std(found.influence, axis=0) / 5000 ** 0.5
  assert np.all(np.abs(
      found.estimate - [slope, 3. * slope + level]) < 0.25 * error)
  # The influence of a row is that of two-stage least squares.
  z = z[:, 0] - z.mean()
  wanted = z * (rows.outcome - level - slope * t) / np.mean(z * t)
  assert np.corrcoef(found.influence[:, 0], wanted)[0, 1] > 0.99
  assert found.influence.mean(axis=0) == pytest.approx([0., 0.], abs=1e-12)
  assert np.std(found.influence[:, 0]) == pytest.approx(
      np.std(wanted), rel=0.02)


@pytest.mark.parametrize('covariate', [False, True])
def test_effects_are_near_the_truth_within_their_intervals(covariate):
  found = _inference(rows=1500, covariate=covariate)
  ate = found.ate_interval(-1., 1.)
  assert abs(ate.estimate[0] - 2. * np.sin(1.)) < 3. * ate.std_error[0]
  assert ate.low[0] < ate.estimate[0] < ate.high[0]
  np.testing.assert_allclose(
      ate.high - ate.low, 2. * 1.959964 * ate.std_error, rtol=1e-6)
  narrow = found.ate_interval(-1., 1., level=0.5)
  assert narrow.high[0] - narrow.low[0] < ate.high[0] - ate.low[0]
  slope = found.average_derivative()
  # E[cos(t)], t uniform with normal noise.
  truth = np.mean(np.cos(_data(rows=100_000, covariate=covariate)[1]))
  assert abs(slope.estimate[0] - truth) < 3. * slope.std_error[0]


def test_a_uniform_band_is_wider_than_intervals_and_has_the_same_middle():
  found = _inference()
  grid = np.linspace(-2., 2., 5)
  each, band = (found.dose_response_interval(grid, uniform=uniform)
                for uniform in (False, True))
  np.testing.assert_array_equal(each.estimate, band.estimate)
  widths = (band.high - band.low) / (each.high - each.low)
  assert np.all(widths > 1.05) and np.ptp(widths) < 1e-9
  # Effects are differences of levels.
  ate = found.ate_interval(grid[1], grid[3])
  assert ate.plug_in[0] == pytest.approx(
      band.plug_in[3] - band.plug_in[1], abs=1e-9)


def test_units_and_seeds_of_the_data_are_kept():
  y, t, z, _ = _data()
  one = _inference().ate_interval(-1., 1.)
  again = _inference().ate_interval(-1., 1.)
  np.testing.assert_array_equal(one, again)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.SieveIV(**_SMALL).fit(10. * y + 3., t, Z=z)
  scaled = inference.Inference(model, 10. * y + 3., t, Z=z)
  np.testing.assert_allclose(
      scaled.ate_interval(-1., 1.), 10. * np.array(one), rtol=1e-5)


def test_clusters_of_copies_have_the_errors_of_their_rows():
  y, t, z, _ = _data(rows=300)
  twice = [np.repeat(each, 2) for each in (y, t, z)]
  groups = np.repeat(np.arange(300), 2)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.SieveIV(**_SMALL).fit(y, t, Z=z)
  alone = inference.Inference(model, y, t, Z=z).average_derivative()
  both = inference.Inference(
      model, twice[0], twice[1], Z=twice[2], groups=groups,
  ).average_derivative()
  # Copies tell nothing new; as rows of their own they would make it 0.71.
  assert both.std_error[0] == pytest.approx(alone.std_error[0], rel=0.2)


def test_kernel_methods_have_intervals_too():
  found = _inference(estimators.KIV, parameters={'n_splits': 1}, rows=600)
  ate = found.ate_interval(-1., 1.)
  assert abs(ate.estimate[0] - 2. * np.sin(1.)) < 3. * ate.std_error[0]


def test_what_has_no_intervals_is_refused():
  y, t, z, _ = _data(rows=60)
  with pytest.raises(ValueError, match='is not fitted'):
    inference.Inference(estimators.KIV(), y, t, Z=z)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.KIV(n_splits=1, random_features=10).fit(y, t, Z=z)
    trained = estimators.DFIV(iterations=2, checks=1).fit(y, t, Z=z)
  with pytest.raises(ValueError, match='DFIV has no intervals yet: its feat'):
    inference.Inference(trained, y, t, Z=z)
  with pytest.raises(ValueError, match='at least 50 rows, got 20'):
    inference.Inference(model, y[:20], t[:20], Z=z[:20])
  with pytest.raises(ValueError, match='at least 5 clusters, got 3'):
    inference.Inference(model, y, t, Z=z, groups=np.arange(60) % 3)
  found = inference.Inference(model, y, t, Z=z)
  with pytest.raises(ValueError, match='no treatment 1; the fit had 1'):
    found.average_derivative(1)
  with pytest.raises(ValueError, match='level must be between 0 and 1'):
    found.ate_interval(0., 1., level=95)
