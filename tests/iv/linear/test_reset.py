"""Tests of one line for all rows: their numbers, size, and what they see."""

import importlib

import numpy as np
import pytest
from scipy import stats
from statsmodels import api as sm

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import covariances, fitting, reset, system


def _test(*arrays, kind='HC0', name='RESET', clusters=None, **keywords):
  """Returns a test of rows y, T, Z, X; None if there is none."""
  settings = fitting.Settings(
    covariance=covariances.Settings(kind=kind, debiased=False)
  )
  found = fitting.fit(
    system.build(*arrays, **keywords), settings, clusters=clusters
  )
  tests = [each for each in found.tests if each.name == name]
  assert all(each.about == reset.LINEARITY for each in tests)
  return tests[0] if tests else None


def _design(seed, curve=0.0, count=500, slope=0.0):
  """Returns y, T, Z, X of a line, or one that bends or turns with X."""
  generator = np.random.default_rng(seed)
  z = generator.normal(size=(count, 2))
  x = generator.normal(size=(count, 1))
  hidden = generator.normal(size=count)
  treatment = z @ [1.0, 0.5] + 0.5 * x[:, 0] + hidden
  noise = hidden + generator.normal(size=count) * (1.0 + np.abs(z[:, 0]))
  outcome = treatment + curve * treatment**2 + x[:, 0] + noise
  outcome = outcome + slope * x[:, 0] * treatment
  return outcome, treatment[:, None], z, x


def _by_hand(y, T, Z, X, weights, robust, products=False):
  """Returns the score statistic of powers or products, by dense matrices."""
  root = np.sqrt(weights / weights.mean())[:, None]
  controls = np.column_stack([np.ones(len(y)), X])
  exogenous = np.column_stack([controls, Z])
  fit = exogenous @ np.linalg.lstsq(exogenous * root, T * root, rcond=None)[0]
  fit = (fit - fit.mean(axis=0)) / fit.std(axis=0)
  powers = np.column_stack([fit**2, fit**3]) * root
  if products:
    moved = (
      fit
      - controls @ np.linalg.lstsq(controls * root, fit * root, rcond=None)[0]
    )
    powers = np.column_stack([X[:, [j]] * moved for j in range(X.shape[1])])
    powers = powers * root
  design, y = np.column_stack([T, controls]) * root, y * root
  predicted = (
    exogenous * root @ np.linalg.lstsq(exogenous * root, design, rcond=None)[0]
  )
  left = y - design @ np.linalg.solve(predicted.T @ design, predicted.T @ y)
  scores = powers - predicted @ np.linalg.solve(
    predicted.T @ design, design.T @ powers
  )
  spread = (
    (scores * left).T @ (scores * left)
    if robust
    else scores.T @ scores * np.mean(left**2)
  )
  total = powers.T @ left[:, 0]
  return total @ np.linalg.solve(spread, total), powers.shape[1]


@pytest.mark.parametrize('kind', ['HC0', 'unadjusted'])
@pytest.mark.parametrize(
  'data, outcome, treatment, instrument, covariate, weight',
  [
    ('mroz', 'lwage', ['educ'], ['motheduc', 'fatheduc'], ['exper'], None),
    ('wage', 'lwage', ['educ', 'KWW'], ['sibs', 'feduc', 'IQ'], [], None),
    ('mroz', 'lwage', ['educ'], ['fatheduc'], ['exper'], 'age'),
  ],
)
def test_it_is_the_score_of_powers_beside_the_model(
  data, outcome, treatment, instrument, covariate, weight, kind
):
  table = importlib.import_module(f'linearmodels.datasets.{data}').load()
  names = [outcome, *treatment, *instrument, *covariate]
  table = table[[*names, *([weight] if weight else [])]].dropna().astype(float)
  weights = table[weight].to_numpy() if weight else np.ones(len(table))
  y, T, Z, X = (
    table[columns].to_numpy()
    for columns in ([outcome], treatment, instrument, covariate)
  )
  for name in ('RESET', 'Interactions')[: 1 + len(covariate)]:
    wanted, freedom = _by_hand(
      y, T, Z, X, weights, kind == 'HC0', name == 'Interactions'
    )
    found = _test(y[:, 0], T, Z, X, kind=kind, weights=weights, name=name)
    assert found.statistic == pytest.approx(wanted, rel=1e-6)
    assert found.freedom == freedom
    assert found.p_value == pytest.approx(
      stats.chi2.sf(wanted, freedom), rel=1e-6
    )
    assert found.robust == (kind == 'HC0')


def test_of_ordinary_regression_it_is_the_auxiliary_regression():
  outcome, treatment, _, _ = _design(0, curve=0.05)
  found = _test(outcome, treatment, treatment, None, kind='unadjusted')
  plain = sm.OLS(outcome, sm.add_constant(treatment)).fit()
  powers = np.column_stack([treatment**power for power in (1, 2, 3)])
  again = sm.OLS(plain.resid, sm.add_constant(powers)).fit()
  assert found.statistic == pytest.approx(
    len(outcome) * again.rsquared, rel=1e-6
  )


@pytest.mark.parametrize('name', ['RESET', 'Interactions'])
def test_a_line_is_refused_as_often_as_it_says(name):
  refused = [
    _test(*_design(seed), name=name).p_value < 0.05 for seed in range(400)
  ]
  # Two standard errors of a share of 400.
  assert np.mean(refused) == pytest.approx(0.05, abs=0.025)


def test_a_curve_is_seen():
  assert all(
    _test(*_design(seed, 0.3, 1000)).p_value < 0.01 for seed in range(10)
  )


def test_a_slope_that_differs_with_a_covariate_is_seen():
  for seed in range(10):
    rows = _design(seed, count=1000, slope=0.4)
    assert _test(*rows, name='Interactions').p_value < 0.01
  # Another unit or sign of the covariate is the same question.
  y, T, Z, X = rows
  one, other = (
    _test(y, T, Z, each, name='Interactions') for each in (X, 5.0 - 3.0 * X)
  )
  assert one.statistic == pytest.approx(other.statistic, rel=1e-8)


def test_a_binary_treatment_may_differ_with_covariates():
  outcome, treatment, z, x = _design(0, slope=1.0)
  binary = (treatment > 0.0).astype(float)
  outcome = outcome - treatment[:, 0] + binary[:, 0] * (1.0 + 2.0 * x[:, 0])
  assert _test(outcome, binary, z, x, name='Interactions').p_value < 0.01


def test_few_rows_or_clusters_have_no_test_of_interactions():
  y, T, Z, X = _design(0)
  clusters = np.arange(500)[:, None] % 19
  robust = {'kind': 'clustered', 'name': 'Interactions'}
  assert _test(y, T, Z, X, clusters=clusters, **robust) is None
  clusters = np.arange(500)[:, None] % 20
  assert _test(y, T, Z, X, clusters=clusters, **robust).freedom == 1
  assert _test(y, T, Z, None, name='Interactions') is None
  groups = np.arange(500)[:, None] % 7
  assert _test(y, T, Z, X, absorb=groups, name='Interactions') is None


def test_what_only_takes_two_values_is_not_tested():
  outcome, treatment, z, x = _design(0, curve=0.3)
  binary = (treatment > 0.0).astype(float)
  assert _test(outcome, binary, z, x) is None
  assert _test(outcome, treatment, (z[:, :1] > 0.0).astype(float), None) is None
  # Three values of an instrument tell of one power.
  three = np.sign(np.round(z[:, :1]))
  assert _test(outcome, treatment, three, None).freedom == 1
  groups = np.arange(len(outcome))[:, None] % 7
  assert _test(outcome, treatment, z, x, absorb=groups) is None


@pytest.mark.parametrize(
  'curve, words', [(0.3, 'A line does not fit'), (0.0, 'against a line')]
)
def test_checks_say_what_it_means(curve, words):
  outcome, treatment, z, x = _design(1, curve)
  model = estimators.TwoSLS().fit(outcome, treatment, Z=z, X=x)
  assert any(words in each for each in model.checks())
  assert words in model.summary()
  assert ('linearity', 'RESET') in model.tests().index


@pytest.mark.parametrize(
  'slope, words',
  [
    (0.5, 'The effect differs with covariates (Interactions '),
    (0.0, 'The effect does not differ with covariates by more than chance'),
  ],
)
def test_checks_say_whether_the_effect_differs(slope, words):
  outcome, treatment, z, x = _design(0, slope=slope)
  model = estimators.TwoSLS().fit(outcome, treatment, Z=z, X=x)
  assert any(each.startswith(words) for each in model.checks())


@pytest.mark.parametrize('kind', ['unadjusted', 'HC1', 'HC3'])
def test_many_covariates_do_not_make_a_line_a_curve(kind):
  refused = []
  settings = fitting.Settings(covariance=covariances.Settings(kind=kind))
  for seed in range(100):
    generator = np.random.default_rng(seed)
    z, hidden, noise = generator.normal(size=(3, 120))
    x = generator.normal(size=(120, 60))
    treatment = z + 0.3 * x[:, 0] + hidden
    outcome = treatment + x[:, 0] + hidden + noise
    found = fitting.fit(
      system.build(outcome, treatment[:, None], z[:, None], x), settings
    )
    (test,) = [each for each in found.tests if each.name == 'RESET']
    refused.append(test.p_value < 0.05)
  # By equal variances without the correction, 22 % were.
  assert np.mean(refused) < 0.1
