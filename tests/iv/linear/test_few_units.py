"""Slopes that rest on few rows or clusters, and tests that suppose many."""

import json

import numpy as np
import pytest

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import covariances, fitting, system

_FEW = 'rests on few'


def _rows(seed, count=500, spread=0.0):
  """Returns y, T, Z of a slope of 1; instruments have long tails by spread."""
  generator = np.random.default_rng(seed)
  z, hidden, rest = generator.normal(size=(3, count))
  if spread:
    z = np.exp(spread * z)
    z = (z - z.mean()) / z.std()
  t = z + hidden
  return t + hidden + rest * (1.0 + np.abs(z)), t[:, None], z[:, None]


def _fit(rows, kind='HC1', clusters=None):
  return fitting.fit(
    system.build(*rows, None),
    fitting.Settings(covariance=covariances.Settings(kind=kind)),
    clusters=clusters,
  )


def test_it_is_the_number_of_rows_alike_that_would_tell_as_much():
  # Of a rare binary instrument, hardly more than the rows that have it.
  z = (np.arange(600) < 12).astype(float)
  t = z + 0.3 * np.random.default_rng(0).normal(size=600)
  (found,) = _fit((t, t[:, None], z[:, None])).effective_units
  shares = np.square(z - z.mean()) / np.sum(np.square(z - z.mean()))
  assert found == pytest.approx(1.0 / np.sum(shares**2), rel=1e-9)
  assert found == pytest.approx(12.49, abs=0.01)
  # Each cluster has the same rows of it, then one has half of them.
  for of_cluster, wanted in (
    (np.arange(600) % 6, 6.0),
    (np.where(np.arange(600) < 6, 0, np.arange(600)), 3.5),
  ):
    (found,) = _fit(
      (t, t[:, None], z[:, None]), 'clustered', of_cluster[:, None]
    ).effective_units
    assert found == pytest.approx(wanted, abs=0.1)


def test_two_ways_of_clustering_count_as_the_smaller():
  y, t, z = _rows(0)
  codes = np.stack([np.arange(500) % 50, np.arange(500) % 8], axis=1)
  both, few = (
    _fit((y, t, z), 'clustered', each).effective_units[0]
    for each in (codes, codes[:, 1:])
  )
  assert both == few and 7.0 < few <= 8.0


def test_intervals_hold_less_often_where_the_number_is_small():
  few, many = [], []
  for seed in range(100):
    for spread in (0.0, 1.6):
      found = _fit(_rows(seed, spread=spread))
      interval = found.intervals(0.95)
      (few if found.effective_units[0] < 20.0 else many).append(
        interval.low[0] <= 1.0 <= interval.high[0]
      )
  assert len(few) > 90 and len(many) > 90
  assert np.mean(few) < 0.85 and np.mean(many) > 0.9


@pytest.mark.parametrize(
  'kind, spread, words',
  [
    (
      'HC1',
      1.6,
      'of 500, so that standard errors (HC1) are too small. Fit cov',
    ),
    ('HC3', 1.6, 'of 500, so that standard errors (HC3) are too small. Take l'),
    ('HC1', 0.0, None),
    ('unadjusted', 1.6, None),
  ],
)
def test_checks_say_so(kind, spread, words):
  y, t, z = _rows(0, spread=spread)
  model = estimators.TwoSLS(covariance=kind).fit(y, t, Z=z)
  found = [each for each in model.checks() if _FEW in each]
  assert len(found) == (words is not None)
  if words:
    assert 'The slope of T rests on few rows: effectively on ' in found[0]
    assert words in found[0]
    assert found[0] in model.summary()


def test_checks_count_clusters():
  y, t, z = _rows(0)
  words = '\n'.join(
    estimators.TwoSLS().fit(y, t, Z=z, groups=np.arange(500) % 10).checks()
  )
  assert 'rests on few clusters: effectively on 9.' in words
  assert 'of 10, so that standard errors (clustered) are too small' in words
  words = (
    estimators.TwoSLS().fit(y, t, Z=z, groups=np.arange(500) % 50).checks()
  )
  assert not any(_FEW in each for each in words)


def test_it_is_saved_and_an_older_fit_has_none(tmp_path):
  y, t, z = _rows(0, spread=1.6)
  model = estimators.TwoSLS().fit(y, t, Z=z)
  model.save(tmp_path / 'fit')
  loaded = estimators.load(tmp_path / 'fit')
  assert loaded.inference_.effective_units == model.inference_.effective_units
  path = tmp_path / 'fit' / 'estimator.json'
  record = json.loads(path.read_text())
  del record['inference']['effective_units']
  path.write_text(json.dumps(record))
  old = estimators.load(tmp_path / 'fit')
  assert old.inference_.effective_units == ()
  assert [each for each in model.checks() if _FEW not in each] == old.checks()


def test_instruments_that_clusters_are_too_few_for_are_not_said_to_disagree():
  # Rows of a cluster share their noise, and Sargan's test does not know.
  generator = np.random.default_rng(5)
  cluster = np.arange(300) % 6
  z = generator.normal(size=(6, 8))[cluster] + generator.normal(size=(300, 8))
  shared = 2.0 * generator.normal(size=6)[cluster]
  t = z.sum(axis=1) + generator.normal(size=300)
  model = estimators.TwoSLS().fit(t + shared, t, Z=z, groups=cluster)
  sargan = model.tests().loc[('over-identification', 'Sargan')]
  assert sargan.p_value < 0.01
  words = '\n'.join(model.checks())
  assert 'contradict each other' not in words
  assert 'whether the 8 instruments agree: 6 clusters are too few' in words
  assert ('over-identification', 'Hansen J') not in model.tests().index
  compared = estimators.compare({'2SLS': model})
  assert 'over-identification p' not in compared.facts.index


def test_weak_instruments_are_no_reason_to_report_iv():
  generator = np.random.default_rng(1)
  z, hidden, rest = generator.normal(size=(3, 800))
  t = 0.1 * z + hidden
  with pytest.warns(UserWarning, match='weak instrument'):
    model = estimators.TwoSLS().fit(t + 2.0 * hidden + 0.1 * rest, t, Z=z)
  words = '\n'.join(model.checks())
  assert 'IV differs from ordinary regression' in words
  assert 'invalid. Report a weak-instrument' in words


def test_rows_that_are_too_few_to_compare_are_not_called_exogenous():
  generator = np.random.default_rng(0)
  z, hidden = generator.normal(size=(2, 4))
  x = generator.normal(size=4)
  with pytest.warns(UserWarning):
    model = estimators.TwoSLS().fit(z + 3 * hidden, z + hidden, Z=z, X=x)
  words = '\n'.join(model.checks())
  assert 'Rows are too few to tell whether IV differs from ordinary' in words
  assert 'their own instruments' not in words


def test_instruments_that_rows_are_too_few_for_are_not_said_to_agree():
  # The robust J of 30 rows is below 30, the critical value of 26 is 38.9.
  generator = np.random.default_rng(0)
  z, hidden = generator.normal(size=(30, 27)), generator.normal(size=30)
  t = z[:, 0] + hidden
  with pytest.warns(UserWarning, match='weak instrument'):
    model = estimators.TwoSLS().fit(t + hidden, t, Z=z)
  words = '\n'.join(model.checks())
  assert 'Nothing tells whether the 27 instruments agree: 30 rows are' in words


@pytest.mark.parametrize(
  'clusters, instruments, words',
  [
    (40, 3, 'Read the Anderson-Rubin set instead of the interval.'),
    (6, 8, 'Neither the interval holds nor the Anderson-Rubin set, which'),
  ],
)
def test_a_set_of_independent_rows_is_not_recommended_for_clusters(
  clusters, instruments, words
):
  generator = np.random.default_rng(2)
  z = generator.normal(size=(600, instruments))
  hidden = generator.normal(size=600)
  t = 0.05 * z[:, 0] + hidden
  with pytest.warns(UserWarning, match='weak instrument'):
    model = estimators.TwoSLS().fit(
      t + hidden, t, Z=z, groups=np.arange(600) % clusters
    )
  assert words in model.checks()[0]
