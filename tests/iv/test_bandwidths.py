"""Bandwidths by held-out losses, and outcomes of heavy tails."""

import warnings

import numpy as np
import pytest

from dfiv_ope import types
from dfiv_ope.iv import (
  bandwidths,
  estimators,
  heavy_tails,
  kernels,
  many_columns,
)
from dfiv_ope.iv.methods.entries import kernel_rules


def rows(n=400, covariates=0):
  generator = np.random.default_rng(0)
  z, noise = generator.normal(size=(2, n, 1))
  return types.IVBatch(
    z + noise,
    z,
    z + 2.0 * noise,
    generator.normal(size=(n, covariates)) if covariates else None,
  )


def test_without_a_clear_gain_the_median_stays():
  data = rows(covariates=2)
  found = bandwidths.choose(data, lambda each: 1.0)
  for name, median in bandwidths.medians(data).items():
    np.testing.assert_array_equal(found[name], median)
  # A quarter of a standard error is 0.25 sqrt(2 / 400) = 1.8 %.
  median = bandwidths.medians(data)['treatment'][0]
  for gain, factor in ((0.01, 1.0), (0.03, 3.0)):
    found = bandwidths.choose(
      data,
      lambda each, gain=gain: (
        1.0 - gain * (each['treatment'][0] == 3.0 * median)
      ),
    )
    assert found['treatment'][0] == factor * median


def test_the_search_goes_on_from_what_it_found():
  data = rows(covariates=2)
  medians = bandwidths.medians(data)

  def loss(each):
    wide = each['covariate'][0] > 2.0 * medians['covariate'][0]
    # A wider treatment helps only once the covariates are wide.
    return (
      1.0
      - 0.1 * wide
      - 0.1 * wide * (each['treatment'][0] > medians['treatment'][0])
    )

  found = bandwidths.choose(data, loss)
  np.testing.assert_allclose(
    found['covariate'], medians['covariate'] * 4.0 * np.sqrt(2.0)
  )
  assert found['treatment'][0] == 3.0 * medians['treatment'][0]


def test_all_of_20000_rows_choose_bandwidths(monkeypatch):
  looked_at = []

  def searched(config, rows):
    looked_at.append(len(rows.outcome))
    return {'treatment': np.ones(1), 'instrument': np.ones(1)}

  monkeypatch.setattr(kernels, '_searched', searched)
  monkeypatch.setattr(kernels, '_FOUND', {})
  for n in (300, 20_000, 20_010):
    kernels.chosen_bandwidths(kernel_rules.Kernels(), rows(n=n))
  assert looked_at == [300, 20_000, 20_000]


def test_few_covariates_may_differ_and_indicators_go_together():
  data = rows(covariates=4)
  data.covariate[:, 1:3] = data.covariate[:, 1:3] > 0.0
  medians = bandwidths.medians(data)['covariate']
  wanted = 2.0 * medians * [0.4, 3.0, 3.0, 0.4]

  def loss(each):
    return 1.0 + np.mean(np.square(np.log(each['covariate'] / wanted)))

  np.testing.assert_allclose(bandwidths.choose(data, loss)['covariate'], wanted)
  # Five that are no indicators stay alike.
  many = rows(covariates=5)
  ratios = (
    bandwidths.choose(
      many, lambda each: 1.0 + np.square(np.log(each['covariate'][0]))
    )['covariate']
    / bandwidths.medians(many)['covariate']
  )
  assert np.ptp(ratios) == pytest.approx(0.0)


def test_columns_that_explain_nothing_may_be_made_wide():
  data = rows(1000, covariates=9)
  tried = []
  bandwidths.choose(data, lambda each: tried.append(each) or 1.0)
  ratios = [
    each['covariate'] / bandwidths.medians(data)['covariate'] for each in tried
  ]
  assert max(each.max() for each in ratios) == pytest.approx(30.0)


def test_twenty_irrelevant_covariates_cost_little():
  generator = np.random.default_rng(100)
  hidden, z = generator.normal(size=(2, 1500))
  treatment = 1.5 * z + hidden
  outcome = treatment + hidden + 0.1 * generator.normal(size=1500)
  X = generator.normal(size=(1500, 20))
  with pytest.warns(
    many_columns.ManyColumnsWarning, match='21 columns of numbers'
  ):
    model = estimators.AGMM().fit(outcome, treatment, Z=z, X=X)
  assert model.ate(-1.0, 1.0) == pytest.approx(2.0, rel=0.2)


@pytest.mark.parametrize('name', ['sieve', 'deepiv', 'deepgmm'])
def test_many_columns_are_said_before_anything_is_fitted(name):
  y, t, z, *x = np.random.default_rng(0).normal(size=(23, 100))
  with warnings.catch_warnings():
    warnings.simplefilter('error', many_columns.ManyColumnsWarning)
    with pytest.raises(many_columns.ManyColumnsWarning, match='networks'):
      estimators.ESTIMATORS[name]().fit(y, t, Z=z, X=np.stack(x, axis=1))


def test_pixels_are_no_columns_that_may_not_matter():
  x = np.random.default_rng(0).normal(size=(50, 100))
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    many_columns.warn_of_many(x, pictures=True)
  with pytest.warns(many_columns.ManyColumnsWarning, match='100 columns'):
    many_columns.warn_of_many(x)


def test_heavy_tails_are_clipped_and_said():
  outcome = np.random.default_rng(0).normal(size=(500, 1))
  outcome[:5] = 1000.0
  with pytest.warns(heavy_tails.HeavyTailsWarning, match='1 % of the rows'):
    clipped = heavy_tails.clip(outcome, 4.0)
  middle = np.median(outcome)
  bound = 4.0 * 1.4826 * np.median(np.abs(outcome - middle))
  assert clipped.max() == pytest.approx(middle + bound)
  np.testing.assert_array_equal(clipped[5:], outcome[5:])


def test_large_outcomes_that_the_treatment_explains_are_kept():
  generator = np.random.default_rng(0)
  treatment, noise = generator.normal(size=(2, 400, 1))
  outcome = np.log1p(np.exp(4.0 * treatment - 4.0)) + 0.1 * noise
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    np.testing.assert_array_equal(
      heavy_tails.clip(outcome, 4.0, treatment), outcome
    )
  with pytest.warns(heavy_tails.HeavyTailsWarning):  # No treatment is known.
    assert heavy_tails.clip(outcome, 4.0).max() < 0.5 * outcome.max()
  wrong = outcome.copy()
  wrong[:4] += 500.0
  with pytest.warns(heavy_tails.HeavyTailsWarning, match='make 100 % of'):
    clipped = heavy_tails.clip(wrong, 4.0, treatment)
  np.testing.assert_allclose(clipped[:4], outcome[:4], atol=5.0)


@pytest.mark.parametrize(
  'outcome, width',
  [
    (np.random.default_rng(0).normal(size=(500, 1)), 3.0),  # ordinary tails
    (np.eye(100)[:1].T * 1e6, 4.0),  # no spread around the median
    (np.append(np.zeros((50, 1)), np.full((50, 1), 1e9), axis=0), 0.0),
  ],
)
def test_other_outcomes_stay_as_they_are(outcome, width):
  with warnings.catch_warnings():
    warnings.simplefilter('error')
    np.testing.assert_array_equal(heavy_tails.clip(outcome, width), outcome)
