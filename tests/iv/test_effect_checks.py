"""Checks of a fitted curve: what they say, and that they can fail."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.iv import bases, estimators
from dfiv_ope.iv.diagnostics import curve_words
from dfiv_ope.iv.functionals import residuals

_SMALL = {
  'treatment_bases': (bases.Hermite(3),),
  'covariate_bases': (bases.Hermite(1),),
}


def _fit(direct=0.0, confounding=1.0, rows=600, splits=1):
  """Two instruments, the second of which may move the outcome itself."""
  generator = np.random.default_rng(0)
  z = generator.uniform(-2.0, 2.0, (rows, 2))
  noise, own, rest = generator.normal(size=(3, rows))
  t = z.sum(axis=1) + noise + 0.3 * own
  y = np.sin(t) + confounding * noise + direct * z[:, 1] + 0.3 * rest
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    return estimators.SieveIV(n_splits=splits, **_SMALL).fit(
      y, pd.DataFrame({'dose': t}), Z=z
    )


def test_instruments_that_move_the_outcome_themselves_are_found():
  assert _fit().over_identification().t < 1.0
  wrong = _fit(direct=0.5)
  found = wrong.over_identification()
  assert found.t > 4.0 and 0.02 < found.share < 0.5
  (words,) = [each for each in wrong.checks() if each.startswith('Z and X')]
  assert 'moves the outcome by another way' in words
  clusters = wrong.over_identification(groups=np.arange(600) // 2)
  assert clusters.share == pytest.approx(found.share, rel=0.5)
  assert clusters.t > 3.0


def test_a_curve_is_checked_in_six_sentences():
  relevance, agreement, endogeneity, bias, overlap, stability = _fit(
    confounding=2.5, splits=2
  ).checks()
  assert relevance.startswith('The instruments are strong enough for dose: F')
  assert 'the instruments agree on one curve' in agreement
  assert endogeneity.startswith('Plain regression of dose leaves the 95 % band')
  assert 'of the variance of the band of dose is a bound on bias' in bias
  assert overlap.endswith(' % of the rows or more.') or 'Only ' in overlap
  assert stability.startswith('2 random splits of the rows differ by 0.')


def test_without_confounding_plain_regression_stays_within_the_band():
  words = '\n'.join(_fit(confounding=0.0).checks())
  assert 'Plain regression of dose stays within the 95 % band' in words
  assert 'n_splits=5 tells how far others differ' in words


def test_a_loaded_fit_says_what_needs_no_rows(tmp_path):
  _fit().save(tmp_path / 'fit')
  relevance, stability = estimators.load(tmp_path / 'fit').checks()
  assert relevance.startswith('The instruments are strong enough for dose')
  assert stability.startswith('One random split')


def test_splits_that_differ_are_not_called_stable():
  assert 'by 0.5 of the standard deviation of Y' in curve_words.stability(
    4, 0.5
  )
  assert 'Raise n_splits' in curve_words.stability(4, 0.5)
  assert 'decides little' in curve_words.stability(4, 0.1)


def test_residuals_of_nothing_are_not_explained():
  one = np.ones((50, 1))
  assert residuals.explained(one, np.zeros(50), np.arange(50) % 5, None) == (
    0.0,
    0.0,
  )


def test_clusters_that_share_noise_are_no_sign_of_invalid_instruments():
  generator = np.random.default_rng(1)
  cluster = np.repeat(np.arange(60), 15)
  z = generator.normal(size=(60, 2))[cluster]
  shared = generator.normal(size=60)[cluster]
  noise, rest = generator.normal(size=(2, 900))
  t = z.sum(axis=1) + noise
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.SieveIV(n_splits=1, **_SMALL).fit(
      t + noise + 2.0 * shared + 0.1 * rest, t, Z=z
    )
  alone, together = (
    '\n'.join(model.checks(groups=groups)) for groups in (None, cluster)
  )
  assert model.over_identification().t > 10.0
  assert 'an instrument moves the outcome by another way' in alone
  assert model.over_identification(groups=cluster).t < 1.96
  assert 'the instruments agree on one curve' in together


def test_a_fit_that_its_penalties_moved_is_said_to_leave_its_band():
  model = _fit(rows=1000)
  assert not any('leaves its own band' in each for each in model.checks())
  # All levels but those of a straight line are shrunk away.
  model.predict = lambda T, X=None: 0.1 * np.ravel(T)
  found = [each for each in model.checks() if 'leaves its own band' in each]
  assert len(found) == 1 and 'Trust the band' in found[0]
