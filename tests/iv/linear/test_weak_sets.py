"""Weak-instrument-robust sets against ivmodels, closed forms and coverage."""

import math
import warnings

from ivmodels import tests as reference
from linearmodels.datasets import card
import numpy as np
import pytest
from scipy import stats

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import (
  covariances,
  fitting,
  real_sets,
  system,
  weak_sets,
)

_CONTROLS = ['exper', 'expersq', 'black', 'smsa', 'south', 'smsa66']


def _data(rows=300, instruments=4, treatments=1, strength=0.3, seed=0):
  generator = np.random.default_rng(seed)
  z = generator.normal(size=(rows, instruments))
  x = generator.normal(size=(rows, 2))
  noise = generator.normal(size=rows)
  slopes = strength * generator.normal(size=(instruments, treatments))
  t = (
    z @ slopes
    + x[:, :1]
    + generator.normal(size=(rows, treatments))
    + noise[:, None]
  )
  return t.sum(axis=1) + x[:, 1] + noise, t, z, x


def _fit(y, t, z, x, **settings):
  found = system.build(y, t, z, x)
  return fitting.fit(
    found, fitting.Settings(covariance=covariances.Settings(**settings))
  )


def _ends(found):
  return np.array(found.intervals)


_CASES = {
  'strong': {},
  'weak': {'strength': 0.08, 'seed': 3},
  'unbounded': {'strength': 0.01, 'rows': 200, 'seed': 1},
  'just identified': {'instruments': 1, 'strength': 1.0},
  'two treatments': {'treatments': 2, 'instruments': 5},
  'three treatments': {'treatments': 3, 'instruments': 6, 'strength': 0.5},
  'many': {'instruments': 30, 'strength': 0.1},
}


@pytest.mark.parametrize('case', _CASES)
@pytest.mark.parametrize('law', ['chi2', 'f'])
def test_anderson_rubin_sets_are_those_of_ivmodels(case, law):
  y, t, z, x = _data(**_CASES[case])
  ours = _fit(y, t, z, x, kind='unadjusted', debiased=law == 'f')
  for column in range(t.shape[1]):
    wanted = reference.inverse_anderson_rubin_test(
      z,
      t[:, [column]],
      y,
      C=x,
      critical_values=law,
      W=np.delete(t, column, axis=1) if t.shape[1] > 1 else None,
    )
    found = ours.weak_set('anderson-rubin', column, 0.95)
    boundary = np.sort(wanted._boundary().flatten())
    finite = [
      end for each in found.intervals for end in each if math.isfinite(end)
    ]
    np.testing.assert_allclose(finite, boundary, rtol=1e-6)
    for value in (-3.0, 0.0, 0.9, 1.3, 4.0):
      assert (value in found) == (wanted(np.array([[value]])) <= 0.0)


@pytest.mark.parametrize('case', _CASES)
def test_clr_sets_are_those_of_ivmodels(case):
  y, t, z, x = _data(**_CASES[case])
  ours = _fit(y, t, z, x, kind='unadjusted')
  for column in range(t.shape[1]):
    found = ours.weak_set('clr', column, 0.95)
    W = np.delete(t, column, axis=1) if t.shape[1] > 1 else None
    for low, high in found.intervals:
      for end in (low, high):
        if math.isfinite(end):
          # ivmodels searches for ends roughly; its p values are exact.
          _, p_value = reference.conditional_likelihood_ratio_test(
            z,
            t[:, [column]],
            y,
            np.array([end]),
            C=x,
            W=W,
            critical_values='moreira2003conditional',
            tol=1e-10,
          )
          assert p_value == pytest.approx(0.05, abs=1e-6)
    for value in (-3.0, 0.0, 0.9, 1.3, 4.0):
      _, p_value = reference.conditional_likelihood_ratio_test(
        z,
        t[:, [column]],
        y,
        np.array([value]),
        C=x,
        W=W,
        critical_values='moreira2003conditional',
        tol=1e-8,
      )
      assert (value in found) == (p_value > 0.05)


def test_card_has_the_sets_of_ivmodels():
  table = card.load()
  y, t, z, x = (
    table[each].to_numpy(np.float64)
    for each in ('lwage', ['educ'], ['nearc4', 'nearc2'], _CONTROLS)
  )
  ours = _fit(y, t, z, x, kind='unadjusted', debiased=False)
  wanted = reference.inverse_anderson_rubin_test(z, t, y, C=x)
  np.testing.assert_allclose(
    _ends(ours.weak_set('anderson-rubin', 0, 0.95))[0],
    np.sort(wanted._boundary().flatten()),
    rtol=1e-6,
  )
  wanted = reference.inverse_conditional_likelihood_ratio_test(
    z, t, y, C=x, tol=1e-9
  )
  np.testing.assert_allclose(
    _ends(ours.weak_set('clr', 0, 0.95)), wanted.boundaries, rtol=1e-6
  )


def test_p_values_of_a_slope_are_those_of_ivmodels():
  y, t, z, x = _data(treatments=2)
  ours = _fit(y, t, z, x, kind='unadjusted', debiased=False).weak
  statistic, p_value = weak_sets.test(ours, np.array([1.0, 0.5]))
  wanted = reference.anderson_rubin_test(z, t, y, np.array([1.0, 0.5]), C=x)
  assert (statistic, p_value) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize('case', ['strong', 'weak', 'unbounded', 'many'])
@pytest.mark.parametrize('kind', ['HC0', 'HC1', 'HC3'])
def test_a_robust_set_holds_what_its_test_does_not_refuse(case, kind):
  y, t, z, x = _data(**_CASES[case])
  y = y * (1.0 + np.abs(z[:, 0]))
  found = _fit(y, t, z, x, kind=kind)
  inside = found.weak_set('anderson-rubin', 0, 0.9)
  for value in [*np.linspace(-20.0, 20.0, 201), -1e6, 1e6]:
    _, p_value = weak_sets.test(found.weak, np.array([value]))
    assert (value in inside) == (p_value >= 0.1)
  for end in _ends(inside).flatten():
    if math.isfinite(end):
      assert weak_sets.test(found.weak, np.array([end]))[1] == pytest.approx(
        0.1, rel=1e-6
      )


@pytest.mark.parametrize(
  'kind, power', [('HC0', 0.0), ('HC1', 1.0), ('HC3', 1.0)]
)
def test_the_robust_test_is_that_of_a_regression_on_instruments(kind, power):
  # Sets of HC1, the default, take HC3: they hold more often.
  y, t, z, x = _data()
  found = _fit(y, t, z, x, kind=kind)
  # Wald test of Z in a regression of y - 2 T on Z, X and the constant.
  design = np.concatenate([z, x, np.ones((len(y), 1))], axis=1)
  outcome = y - 2.0 * t[:, 0]
  inverse = np.linalg.inv(design.T @ design)
  slopes = inverse @ design.T @ outcome
  leverage = np.sum((design @ inverse) * design, axis=1)
  score = (
    design * ((outcome - design @ slopes) / (1.0 - leverage) ** power)[:, None]
  )
  covariance = inverse @ (score.T @ score) @ inverse
  wald = slopes[:4] @ np.linalg.solve(covariance[:4, :4], slopes[:4])
  statistic, p_value = weak_sets.test(found.weak, np.array([2.0]))
  assert statistic == pytest.approx(wald / 4.0, rel=1e-9)
  assert p_value == pytest.approx(
    stats.f.sf(wald / 4.0, 4, len(y) - design.shape[1]), rel=1e-8
  )


def test_instruments_that_contradict_each_other_leave_an_empty_set():
  generator = np.random.default_rng(0)
  z = generator.normal(size=(2000, 2))
  t = z.sum(axis=1) + generator.normal(size=2000)
  # One instrument moves the outcome by itself.
  y = t + 2.0 * z[:, 0] + generator.normal(size=2000)
  model = estimators.TwoSLS().fit(y, t, Z=z)
  found = model.weak_instrument_set()
  assert found.empty and found.bounded
  assert 'empty: no value fits' in model.summary()


def test_unbounded_sets_are_shown_as_such():
  y, t, z, x = _data(rows=300, instruments=2, strength=0.0, seed=4)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.TwoSLS().fit(y, t, Z=z, X=x)
  found = model.weak_instrument_set('anderson-rubin')
  assert not found.bounded
  assert found.text() in model.summary()
  assert 'inf)' in found.text()


@pytest.mark.parametrize(
  'square, slope, constant, intervals, text',
  [
    (1.0, -3.0, 2.0, ((1.0, 2.0),), '[1, 2]'),
    (
      -1.0,
      3.0,
      -2.0,
      ((-math.inf, 1.0), (2.0, math.inf)),
      '(-inf, 1] or [2, inf)',
    ),
    (1.0, 0.0, 1.0, (), 'empty: no value fits'),
    (
      -1.0,
      0.0,
      -1.0,
      ((-math.inf, math.inf),),
      '(-inf, inf): every value fits',
    ),
    (0.0, 2.0, -4.0, ((-math.inf, 2.0),), '(-inf, 2]'),
    (0.0, -2.0, 4.0, ((2.0, math.inf),), '[2, inf)'),
    (0.0, 0.0, 1.0, (), 'empty: no value fits'),
    (0.0, 0.0, -1.0, ((-math.inf, math.inf),), '(-inf, inf): every value fits'),
  ],
)
def test_a_quadratic_is_not_positive_on_intervals(
  square, slope, constant, intervals, text
):
  found = real_sets.quadratic(square, slope, constant)
  assert found.intervals == intervals
  assert found.text() == text


def test_kinds_and_treatments_that_are_none_are_refused():
  y, t, z, x = _data()
  model = estimators.TwoSLS().fit(y, t, Z=z, X=x)
  with pytest.raises(ValueError, match="kind must be 'anderson-rubin' or 'cl"):
    model.weak_instrument_set('lm')
  with pytest.raises(ValueError, match='There is no treatment 1; the fit had'):
    model.weak_instrument_set(treatment=1)
  with pytest.raises(ValueError, match="There is no treatment 'price'; the f"):
    model.weak_instrument_set(treatment='price')
  with pytest.raises(ValueError, match='level must be between 0 and 1, such'):
    model.weak_instrument_set(level=95)


def test_anderson_rubin_sets_hold_the_truth_at_an_effective_f_of_two():
  generator = np.random.default_rng(7)
  held, wald, samples = 0, 0, 400
  for _ in range(samples):
    z = generator.normal(size=(200, 3))
    noise = generator.normal(size=200)
    # A concentration of 3 makes the mean F 1 + 3 / 3.
    t = z.sum(axis=1) * (3.0 / 3.0 / 200.0) ** 0.5 + (
      0.9 * noise + 0.19**0.5 * generator.normal(size=200)
    )
    found = _fit(t + noise, t[:, None], z, None)
    held += 1.0 in found.weak_set('anderson-rubin', 0, 0.95)
    low, high = (each[0] for each in found.intervals(0.95)[2:])
    wald += low <= 1.0 <= high
  # Four standard errors of a share are 4.4 %.
  assert held / samples == pytest.approx(0.95, abs=0.044)
  assert wald / samples < 0.8
