"""Linear estimators on arrays: covariances, effects of groups, formulas."""

import warnings

from linearmodels.iv import IV2SLS
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import absorption, fitting, jackknife, k_class, system

_LINEAR = (
  estimators.TwoSLS,
  estimators.LIML,
  estimators.KClass,
  estimators.GMM,
  estimators.CrossFitTwoSLS,
)


@pytest.mark.parametrize('kind', ['HC0', 'HC1', 'HC2', 'HC3'])
def test_robust_errors_of_kappa_0_are_those_of_least_squares(
  sales_table, fit_sales, kind
):
  table = sales_table()
  ours = fit_sales(estimators.KClass, table, {'kappa': 0.0, 'covariance': kind})
  reference = sm.OLS(
    table['sales'], sm.add_constant(table[['price', 'age']])
  ).fit(cov_type=kind, use_t=True)
  found = ours.coef_table()
  names = ['price', 'age', 'const']
  np.testing.assert_allclose(
    found['coefficient'], reference.params[names], rtol=1e-9
  )
  if kind in ('HC0', 'HC1'):  # Leverages are those of the second stage.
    np.testing.assert_allclose(
      found['std_error'], reference.bse[names], rtol=1e-9
    )
    np.testing.assert_allclose(
      found['p_value'], reference.pvalues[names], rtol=1e-6
    )


@pytest.mark.parametrize('kind, power', [('HC2', 1.0), ('HC3', 2.0)])
def test_leverages_of_the_second_stage_divide_residuals(
  sales_table, fit_sales, kind, power
):
  table = sales_table(rows=60)
  ours = fit_sales(table=table, parameters={'covariance': kind})
  design = np.stack([table['price'], table['age'], np.ones(60)], axis=1)
  z = np.stack([table['cost'], table['tax'], table['age'], np.ones(60)], axis=1)
  fitted = z @ np.linalg.lstsq(z, design, rcond=None)[0]
  inverse = np.linalg.inv(fitted.T @ fitted)
  slopes = inverse @ fitted.T @ table['sales'].to_numpy()
  residual = table['sales'].to_numpy() - design @ slopes
  leverage = np.einsum('ni,ij,nj->n', fitted, inverse, fitted)
  meat = (fitted * (residual**2 / (1.0 - leverage) ** power)[:, None]).T @ (
    fitted
  )
  np.testing.assert_allclose(
    ours.inference_.covariance, inverse @ meat @ inverse, rtol=1e-8
  )


def test_the_jackknife_predicts_each_row_by_the_others(sales_table):
  table = sales_table(rows=40)
  y, t = table['sales'].to_numpy(), table['price'].to_numpy()
  x = np.stack([table['age'], np.ones(40)], axis=1)
  z = np.concatenate([x, table[['cost', 'tax']].to_numpy()], axis=1)

  def left_out(columns, folds):
    made = np.zeros(40)
    for fold in np.unique(folds):
      own = folds == fold
      slopes = np.linalg.lstsq(columns[~own], t[~own], rcond=None)[0]
      made[own] = columns[own] @ slopes
    return made

  rows = system.build(y, t[:, None], z[:, 2:], x[:, :1])
  for folds in (np.arange(40), np.arange(40) % 8):
    predicted = left_out(z, folds) - left_out(x, folds)
    predicted -= x @ np.linalg.lstsq(x, predicted, rcond=None)[0]
    wanted = (predicted @ y) / (predicted @ t)
    found = jackknife.solve(rows, folds)
    assert found.coefficients[0] == pytest.approx(wanted, rel=1e-9)
    # Noise moves the estimate by its loadings; columns are counted from their
    # means.
    np.testing.assert_allclose(
      found.loadings().T @ y,
      found.coefficients + [0.0, y.mean(), 0.0],
      rtol=1e-9,
    )
  assert jackknife.solve(rows).coefficients[0] == pytest.approx(
    jackknife.solve(rows, np.arange(40)).coefficients[0], rel=1e-10
  )


def test_the_jackknife_has_no_bias_of_many_instruments():
  generator = np.random.default_rng(0)
  slopes = []
  for _ in range(20):
    z = generator.normal(size=(400, 60))
    noise = generator.normal(size=400)
    t = 0.1 * z.sum(axis=1) + noise
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')
      slopes.append(
        [
          kind().fit(t + noise, t, Z=z).coef_[0]
          for kind in (estimators.TwoSLS, estimators.CrossFitTwoSLS)
        ]
      )
  # 2SLS leans towards least squares by about 60 / (400 .6 + 60).
  two_stage, crossed = np.mean(slopes, axis=0)
  assert two_stage - 1.0 > 0.12
  assert crossed == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize('ways', [['firm'], ['firm', 'year']])
@pytest.mark.parametrize('weighted', [False, True])
def test_absorbed_effects_are_those_of_dummies(
  sales_table, fit_sales, ways, weighted
):
  table = sales_table()
  weights = table['size'] if weighted else None
  dummies = pd.get_dummies(
    table[ways], columns=ways, drop_first=True, dtype=float
  )
  reference = IV2SLS(
    table['sales'],
    pd.concat([table[['age']], dummies], axis=1).assign(one=1.0),
    table['price'],
    table[['cost', 'tax']],
    weights=weights,
  )
  for covariance, options in (
    ('unadjusted', {'cov_type': 'unadjusted'}),
    ('HC1', {'cov_type': 'robust'}),
  ):
    wanted = reference.fit(debiased=True, **options)
    ours = fit_sales(
      table=table,
      parameters={'covariance': covariance},
      absorb=table[ways],
      sample_weight=weights,
    )
    found = ours.coef_table()
    assert list(found.index) == ['price', 'age']
    np.testing.assert_allclose(
      found['coefficient'], wanted.params[found.index], rtol=1e-8
    )
    np.testing.assert_allclose(
      found['std_error'], wanted.std_errors[found.index], rtol=1e-8
    )
    assert ours.inference_.absorbed == dummies.shape[1] + 1
    assert ours.inference_.tests[0].statistic == pytest.approx(
      wanted.sargan.stat, rel=1e-8
    )
  # Predictions have the mean of the effects.
  mean = np.average(table['sales'], weights=weights)
  assert np.average(
    ours.predict(table['price'], table[['age']]), weights=weights
  ) == (pytest.approx(mean, rel=1e-9))
  assert 'absorbed effects' in ours.summary()
  assert 'intercept' not in ours.summary()


def test_groups_that_are_apart_have_effects_of_their_own():
  # Two islands of firms and years: a dummy each is one too many.
  codes = np.array(
    [[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 3], [3, 2], [3, 3]]
  )
  _, count = absorption.remove(
    np.random.default_rng(0).normal(size=(8, 1)), codes, np.ones(8)
  )
  assert count == 6
  dummies = np.concatenate(
    [np.eye(4)[codes[:, 0]], np.eye(4)[codes[:, 1]]], axis=1
  )
  assert np.linalg.matrix_rank(dummies) == 6


def test_a_formula_has_the_numbers_of_its_columns(sales_table, fit_sales):
  table = sales_table()
  one = fit_sales(
    table=table, groups=table['firm'], sample_weight=table['size']
  )
  other = estimators.TwoSLS().fit_formula(
    'sales ~ age + [price ~ cost + tax]',
    table,
    groups='firm',
    sample_weight='size',
  )
  pd.testing.assert_frame_equal(one.coef_table(), other.coef_table())
  full = estimators.TwoSLS().fit_formula(
    'sales ~ age + C(year) + {age**2} + [price ~ cost * tax]',
    table,
    absorb='firm',
  )
  assert list(full.coef_table().index) == [
    'price',
    'age',
    *(f'C(year)[T.{year}]' for year in range(1, 6)),
    'age ** 2',
  ]
  assert full.names_.instrument == ('cost', 'tax', 'cost:tax')
  first = estimators.TwoSLS().fit_formula(
    'sales ~ [price ~ cost + tax] + age',
    table,
    groups='firm',
    sample_weight='size',
  )
  pd.testing.assert_frame_equal(one.coef_table(), first.coef_table())
  two = estimators.TwoSLS().fit_formula(
    'sales ~ [price ~ cost]', table, groups=['firm', 'year']
  )
  assert list(two.coef_table().index) == ['price', 'intercept']
  assert two.inference_.clusters == 6


def test_groups_are_not_ignored(fit_sales):
  with pytest.raises(ValueError, match="groups go with covariance='clustered'"):
    fit_sales(parameters={'covariance': 'HC1'}, groups=np.arange(300) % 30)


def test_fewer_clusters_than_instruments_have_sets_of_equal_variances(
  fit_sales,
):
  model = fit_sales(groups=np.arange(300) % 2)
  assert not model.inference_.weak.robust
  assert 'Anderson-Rubin, equal variances' in model.summary()
  equal = fit_sales(parameters={'covariance': 'unadjusted'})
  assert model.weak_instrument_set('clr') == equal.weak_instrument_set('clr')


@pytest.mark.parametrize('kind', _LINEAR)
def test_every_linear_estimator_predicts_by_its_coefficients_and_is_saved(
  sales_table, fit_sales, kind, tmp_path
):
  table = sales_table()
  model = fit_sales(kind, table, groups=table['firm'])
  slope, age, constant = model.coef_table()['coefficient']
  np.testing.assert_allclose(
    model.predict(table['price'], table[['age']]),
    slope * table['price'] + age * table['age'] + constant,
    rtol=1e-9,
  )
  assert slope == pytest.approx(2.0, abs=0.7)
  assert model.ate(1.0, 3.0) == pytest.approx(2.0 * slope)
  model.save(tmp_path / 'saved')
  again = estimators.load(tmp_path / 'saved')
  assert type(again) is kind and again.get_params() == model.get_params()
  assert again.summary() == model.summary()
  assert again.to_html() == model.to_html()
  pd.testing.assert_frame_equal(again.tests(), model.tests())


def test_a_treatment_that_is_its_own_instrument_is_least_squares(sales_table):
  table = sales_table()
  model = estimators.TwoSLS().fit(
    table['sales'], table['price'], Z=table['price'], X=table['age']
  )
  reference = sm.OLS(
    table['sales'], sm.add_constant(table[['price', 'age']])
  ).fit(cov_type='HC1', use_t=True)
  np.testing.assert_allclose(
    model.coef_table()['std_error'],
    reference.bse[['price', 'age', 'const']],
    rtol=1e-9,
  )
  assert [each.name for each in model.inference_.tests] == [
    'RESET',
    'Interactions',
  ]
  low, high = model.weak_instrument_set('anderson-rubin').intervals[0]
  # With one instrument of full strength it is the usual interval, by HC3.
  wide = sm.OLS(table['sales'], sm.add_constant(table[['price', 'age']])).fit(
    cov_type='HC3', use_t=True
  )
  np.testing.assert_allclose(
    [low, high], wide.conf_int().loc['price'], rtol=1e-9
  )


def test_large_tables_have_no_held_out_diagnostics(
  sales_table, fit_sales, monkeypatch
):
  from dfiv_ope.iv import linear_estimator

  whole = fit_sales()
  monkeypatch.setattr(linear_estimator, '_HELD_OUT_ROWS', 100)
  monkeypatch.setattr(linear_estimator, '_IDENTIFIED_ROWS', 50)
  model = fit_sales()
  assert np.isnan(model.first_stage_.held_out_index_f).all()
  assert 'held out' in whole.summary() and 'held out' not in model.summary()
  pd.testing.assert_frame_equal(model.coef_table(), whole.coef_table())
  with pytest.raises(ValueError, match='order condition'):
    table = sales_table()
    estimators.TwoSLS().fit(
      table['sales'], table[['price', 'age']], Z=table['cost']
    )


def test_an_exact_model_is_fitted_without_noise(sales_table):
  table = sales_table()
  model = estimators.LIML().fit(
    3.0 * table['price'] - table['age'],
    table['price'],
    Z=table[['cost', 'tax']],
    X=table['age'],
  )
  np.testing.assert_allclose(model.coef_, [3.0, -1.0], rtol=1e-9)
  assert model.inference_.kappa == pytest.approx(1.0)


def test_parts_of_the_rows_add_up(sales_table):
  table = sales_table()
  rows = system.build(
    table['sales'].to_numpy(),
    table[['price']].to_numpy(),
    table[['cost', 'tax']].to_numpy(),
    None,
  )
  parts = k_class.parts(rows)
  both = table[['sales', 'price']] - table[['sales', 'price']].mean()
  np.testing.assert_allclose(
    parts.explained + parts.left, both.T @ both, rtol=1e-10
  )
  assert fitting.fit(rows, fitting.Settings()).weak.parts.left.shape == (2, 2)


def test_intervals_of_effects_are_those_of_their_coefficients(
  sales_table, fit_sales
):
  model = fit_sales()
  low, high = model.conf_int().loc['price']
  slope = model.coef_[0]
  for found, factor in (
    (model.ate_interval(1.0, 3.0), 2.0),
    (model.average_derivative(), 1.0),
    (model.effect_interval(T0=[0.0], T1=[4.0]), 4.0),
  ):
    np.testing.assert_allclose(
      [found.estimate[0], found.low[0], found.high[0]],
      factor * np.array([slope, low, high]),
    )
  with pytest.raises(ValueError, match='no treatment 1; the fit had 1'):
    model.average_derivative(1)
  # The level at a covariate's mean is the constant of a centred fit.
  table = sales_table()
  table['age'] -= table['age'].mean()
  centred = fit_sales(table=table).coef_table().loc['intercept']
  found = model.dose_response_interval([0.0, 1.0, 2.0])
  assert [found.low[0], found.high[0]] == pytest.approx(
    [centred.low, centred.high]
  )
  np.testing.assert_allclose(
    found.estimate, model.dose_response([0.0, 1.0, 2.0])
  )
  with pytest.raises(ValueError, match='Levels have no interval where effects'):
    fit_sales(absorb=table['firm']).dose_response_interval([0.0])


def test_a_uniform_band_is_wider_and_holds_all_points_together():
  generator = np.random.default_rng(3)
  grid = np.linspace(-2.0, 2.0, 9)
  held, samples = np.zeros(2), 300
  for _ in range(samples):
    z, noise = generator.normal(size=(2, 150))
    t = z + noise
    rows = system.build(t + noise, t[:, None], z[:, None], None)
    model = estimators.TwoSLS()
    model.inference_ = fitting.fit(rows, fitting.Settings())
    model.covariate_, model.model_ = None, None
    model.names_ = model.scales_ = None
    model._points = lambda name, values: np.asarray(values)[:, None]
    for place, uniform in enumerate((False, True)):
      found = model.dose_response_interval(grid, uniform=uniform)
      held[place] += np.all((found.low <= grid) & (grid <= found.high))
  # Four standard errors of a share are 5 %.
  assert held[1] / samples == pytest.approx(0.95, abs=0.05)
  assert held[0] < held[1]
