"""Textbook statistics of the first stage, against formulas and linearmodels."""

import warnings

from linearmodels.datasets import card
from linearmodels.iv import IV2SLS
import numpy as np
import pytest
from scipy import stats

from dfiv_ope.iv import estimators
from dfiv_ope.iv.diagnostics import strength, weak_instruments

_CONTROLS = ['exper', 'expersq', 'black', 'smsa', 'south', 'smsa66'] + [
  f'reg66{region}' for region in range(2, 10)
]
_TENTH = weak_instruments.TAUS.index(0.1)


def _data(rows=300, columns=3, controls=2, treatments=1, seed=0):
  generator = np.random.default_rng(seed)
  z = generator.normal(size=(rows, columns))
  x = generator.normal(size=(rows, controls))
  noise = generator.normal(size=(rows, treatments)) * (1.0 + np.abs(z[:, :1]))
  slopes = generator.normal(size=(columns, treatments)) / 3.0
  return z @ slopes + x.sum(axis=1, keepdims=True) + noise, z, x


def _by_hand(treatment, z, x):
  """Returns robust and effective F from coefficients of raw columns."""
  design = np.concatenate([z, x, np.ones([len(z), 1])], axis=1)
  inverse = np.linalg.inv(design.T @ design)
  slopes = inverse @ design.T @ treatment
  score = design * (treatment - design @ slopes)[:, None]
  freedom = len(z) - design.shape[1]
  covariance = inverse @ (score.T @ score) @ inverse * len(z) / freedom
  count = z.shape[1]
  slopes, covariance = slopes[:count], covariance[:count, :count]
  # Z'Z without what controls explain, the metric of the effective F.
  metric = np.linalg.inv(inverse[:count, :count])
  return (
    slopes @ np.linalg.inv(covariance) @ slopes / count,
    slopes @ metric @ slopes / np.trace(covariance @ metric),
  )


@pytest.mark.parametrize('columns', [1, 3, 20])
def test_both_f_statistics_are_their_formulas(columns):
  treatment, z, x = _data(columns=columns)
  found = weak_instruments.measure(treatment, z, x)
  robust, effective = _by_hand(treatment[:, 0], z, x)
  assert found.robust_f[0] == pytest.approx(robust, rel=1e-9)
  assert found.effective_f[0] == pytest.approx(effective, rel=1e-9)
  assert (robust == pytest.approx(effective)) == (columns == 1)


@pytest.mark.parametrize('instruments', [['nearc4'], ['nearc4', 'nearc2']])
@pytest.mark.parametrize('controls', [_CONTROLS, _CONTROLS[:5]])
def test_card_has_linearmodels_first_stage(instruments, controls):
  table = card.load()
  reference = (
    IV2SLS(
      table['lwage'],
      table[controls].assign(constant=1.0),
      table['educ'],
      table[instruments],
    )
    .fit(cov_type='robust', debiased=True)
    .first_stage.diagnostics
  )
  with warnings.catch_warnings():
    warnings.simplefilter('ignore', strength.WeakInstrumentWarning)
    first = (
      estimators.TwoSLS()
      .fit(
        table['lwage'], table['educ'], Z=table[instruments], X=table[controls]
      )
      .first_stage_
    )
  # linearmodels prints the Wald statistic under this name.
  assert first.robust_f[0] == pytest.approx(
    reference['f.stat'].iloc[0] / len(instruments), rel=1e-6
  )
  assert first.linear_partial_r2[0] == pytest.approx(
    reference['partial.rsquared'].iloc[0], rel=1e-6
  )
  _, effective = _by_hand(
    *(
      table[each].to_numpy(np.float64)
      for each in ('educ', instruments, controls)
    )
  )
  assert first.effective_f[0] == pytest.approx(effective, rel=1e-6)
  if len(instruments) == 1:
    assert first.effective_f[0] == pytest.approx(first.robust_f[0], rel=1e-9)
  else:
    assert first.effective_f[0] < 10.0 < first.held_out_index_f[0]


def test_several_treatments_have_linearmodels_robust_f():
  treatment, z, x = _data(columns=4, treatments=2)
  outcome = treatment.sum(axis=1) + np.arange(300.0) % 7.0
  reference = (
    IV2SLS(
      outcome, np.concatenate([x, np.ones([len(x), 1])], axis=1), treatment, z
    )
    .fit(cov_type='robust', debiased=True)
    .first_stage.diagnostics
  )
  np.testing.assert_allclose(
    weak_instruments.measure(treatment, z, x).robust_f,
    reference['f.stat'].to_numpy() / 4,
    rtol=1e-6,
  )


def test_one_instrument_has_the_published_critical_values():
  # Montiel Olea and Pflueger (2013): tau of 5, 10, 20 and 30 %.
  np.testing.assert_allclose(
    weak_instruments.critical_values(np.eye(1)),
    [37.42, 23.11, 15.06, 12.045],
    atol=6e-3,
  )


@pytest.mark.parametrize('count', [1, 2, 5, 50])
def test_with_equal_noise_the_degrees_of_freedom_are_the_instruments(count):
  # An F of K instruments and concentration K / tau is above it in 5 %.
  values = weak_instruments.critical_values(3.0 * np.eye(count))
  for tau, value in zip(weak_instruments.TAUS, values, strict=True):
    assert stats.ncx2.cdf(count * value, count, count / tau) == (
      pytest.approx(0.95, abs=1e-9)
    )


def test_one_noisy_instrument_among_many_counts_as_one():
  covariance = np.diag([1.0] + [1e-9] * 9)
  np.testing.assert_allclose(
    weak_instruments.critical_values(covariance),
    weak_instruments.critical_values(np.eye(1)),
    rtol=1e-6,
  )


def test_units_and_mixtures_do_not_matter():
  treatment, z, x = _data(columns=3)
  found = weak_instruments.measure(treatment, z, x)
  mixed = z @ np.random.default_rng(1).normal(size=(3, 3))
  other = weak_instruments.measure(
    5.0 - 1e3 * treatment,
    np.concatenate([100.0 * mixed + 7.0, mixed[:, :1], x[:, :1]], axis=1),
    1e-3 * x,
  )
  for one, another in zip(found, other, strict=True):
    np.testing.assert_allclose(one, another, rtol=1e-6)


def test_an_instrument_for_two_treatments_is_weak_though_each_f_is_high():
  generator = np.random.default_rng(0)
  z, noise = generator.normal(size=(2, 2000, 2))
  treatment = z[:, :1] + 0.02 * z[:, 1:] * [[1.0, -1.0]] + noise
  found = weak_instruments.measure(treatment, z)
  assert found.robust_f.min() > 500.0
  assert found.effective_f.max() < 10.0
  assert (found.effective_f < found.critical_values[:, _TENTH]).all()


def test_the_conditional_f_is_that_of_sanderson_and_windmeijer():
  # With equal noise in each row; this is their formula, in numpy.
  generator = np.random.default_rng(2)
  z, noise = generator.normal(size=(2, 200_000, 4))
  treatment = (
    z[:, :2] + 0.1 * z[:, 2:] + noise[:, :2] @ [[1.0, 0.5], [0.0, 1.0]]
  )
  found = weak_instruments.measure(treatment, z)
  centred, own = (each - each.mean(axis=0) for each in (treatment, z))

  def fit(column):
    return own @ np.linalg.lstsq(own, column, rcond=None)[0]

  other = fit(centred[:, 1])
  left = centred[:, 0] - centred[:, 1] * (
    other @ centred[:, 0] / (other @ centred[:, 1])
  )
  explained = fit(left)
  variance = np.sum((left - explained) ** 2) / (len(z) - 5)
  assert found.effective_f[0] == pytest.approx(
    np.sum(explained**2) / 3.0 / variance, rel=0.01
  )


def test_no_more_rows_than_columns_or_fewer_instruments_have_an_f_of_zero():
  treatment, z, x = _data(rows=30, columns=29)
  assert weak_instruments.measure(treatment, z, x).effective_f == [0.0]
  treatment, z, x = _data(columns=1, treatments=2)
  assert weak_instruments.measure(treatment, z, x).effective_f.tolist() == [
    0.0,
    0.0,
  ]


def test_a_treatment_that_controls_decide_has_no_statistics():
  _, z, x = _data()
  found = weak_instruments.measure(np.stack([x[:, 0], z[:, 0]], axis=1), z, x)
  assert np.isnan(found.effective_f[0]) and np.isnan(found.partial_r2[0])
  assert found.effective_f[1] == np.inf and found.partial_r2[1] == (
    pytest.approx(1.0)
  )


def test_fifty_weak_instruments_warn_though_their_index_is_strong():
  generator = np.random.default_rng(0)
  z, noise = generator.normal(size=(2000, 50)), generator.normal(size=2000)
  # A concentration of 100, 2 an instrument: 2SLS keeps 1 / 3 of the bias.
  treatment = z.sum(axis=1) * (100.0 / 2000 / 50) ** 0.5 + noise
  with pytest.warns(strength.WeakInstrumentWarning, match='effective F'):
    model = estimators.TwoSLS().fit(treatment + noise, treatment, Z=z)
  assert model.first_stage_.effective_f[0] == pytest.approx(3.0, abs=0.5)
  assert model.first_stage_.held_out_index_f[0] > 30.0
  (line,) = (
    each.split()
    for each in model.summary().splitlines()
    if each.endswith(' WEAK')
  )
  critical = model.first_stage_.critical_values[0, _TENTH]
  assert line[5:] == ['3.1807', f'{critical:.5g}', 'WEAK']


def test_a_summary_of_several_treatments_has_their_conditional_f():
  treatment, z, x = _data(rows=3000, columns=4, treatments=2)
  model = estimators.TwoSLS().fit(treatment.sum(axis=1), treatment, Z=z, X=x)
  one, other = model.first_stage_.effective_f
  lines = model.summary().splitlines()
  start = lines.index('First stage')
  assert '  conditional F  critical (10 % bias)' in lines[start + 1]
  assert [float(line.split()[5]) for line in lines[start + 3 : start + 5]] == (
    pytest.approx([one, other], rel=1e-4)
  )
