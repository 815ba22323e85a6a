"""Linear estimators on arrays: covariances, effects of groups, formulas."""

import warnings

from linearmodels.datasets import card
from linearmodels.iv import IV2SLS
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import (
  absorption,
  fitting,
  inputs,
  jackknife,
  k_class,
  system,
)

_LINEAR = (
  estimators.TwoSLS,
  estimators.LIML,
  estimators.KClass,
  estimators.GMM,
  estimators.CrossFitTwoSLS,
)


def _table(rows=300, seed=0):
  """Sales move by 2 a price; price has the instruments cost and tax."""
  generator = np.random.default_rng(seed)
  cost, tax, age, noise, rest = generator.normal(size=(5, rows))
  firm = generator.integers(0, 20, rows)
  year = generator.integers(0, 6, rows)
  price = cost + 0.5 * tax + noise + 0.3 * age + 0.2 * firm + rest
  sales = 2.0 * price - age + 0.5 * firm - year + (2.0 + tax) * noise
  return pd.DataFrame(
    {
      'sales': sales,
      'price': price,
      'cost': cost,
      'tax': tax,
      'age': age,
      'firm': firm,
      'year': year,
      'size': generator.uniform(0.5, 2.0, rows),
    }
  )


def _fit(kind=estimators.TwoSLS, table=None, parameters=None, **arguments):
  table = _table() if table is None else table
  with warnings.catch_warnings():
    warnings.simplefilter('ignore', UserWarning)
    return kind(**(parameters or {})).fit(
      table['sales'],
      table['price'],
      Z=table[['cost', 'tax']],
      X=table[['age']],
      **arguments,
    )


@pytest.mark.parametrize('kind', ['HC0', 'HC1', 'HC2', 'HC3'])
def test_robust_errors_of_kappa_0_are_those_of_least_squares(kind):
  table = _table()
  ours = _fit(estimators.KClass, table, {'kappa': 0.0, 'covariance': kind})
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
def test_leverages_of_the_second_stage_divide_residuals(kind, power):
  table = _table(rows=60)
  ours = _fit(table=table, parameters={'covariance': kind})
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


def test_the_jackknife_predicts_each_row_by_the_others():
  table = _table(rows=40)
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
    # Noise moves the estimate by its loadings.
    np.testing.assert_allclose(
      found.loadings().T @ y, found.coefficients, rtol=1e-9
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
def test_absorbed_effects_are_those_of_dummies(ways, weighted):
  table = _table()
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
    ours = _fit(
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


def test_effects_that_hardly_connect_are_refused(monkeypatch):
  monkeypatch.setattr(absorption, '_MOST_ROUNDS', 2)
  table = _table()
  with pytest.raises(ValueError, match='do not settle in 2 rounds'):
    _fit(absorb=table[['firm', 'year']])


def test_a_formula_has_the_numbers_of_its_columns():
  table = _table()
  one = _fit(table=table, groups=table['firm'], sample_weight=table['size'])
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


@pytest.mark.parametrize(
  'formula, message',
  [
    (
      'sales ~ age + [price ~ costs]',
      "no column of data for the formula, 'costs': did you mean cost?",
    ),
    ('sale ~ age + [price ~ cost]', "'sale': did you mean sales?"),
    ('sales ~ age', 'is no formula of an IV model. Write it as'),
    ('sales ~ [price ~ cost] + [age ~ tax]', 'is no formula of an IV model'),
    ('sales ~ age + [ ~ cost]', 'lacks a part'),
    ('sales ~ age + [1 ~ cost]', "no treatment in '1'"),
    ('sales + tax ~ age + [price ~ cost]', 'has 2 columns; it must be one'),
    ('sales ~ 0 + age + [price ~ cost]', 'leaves out the constant, which is'),
    ('sales ~ log(age + [price ~ cost]', 'cannot be read as a part of a form'),
    ('sales ~ gap + [price ~ cost]', "'gap' has missing values"),
  ],
)
def test_formulas_that_cannot_be_read_are_refused(formula, message):
  table = _table().assign(gap=np.nan)
  with pytest.raises(ValueError, match=message):
    estimators.TwoSLS().fit_formula(formula, table)
  with pytest.raises(ValueError, match="data for groups, 'firms': did you"):
    estimators.TwoSLS().fit_formula(
      'sales ~ [price ~ cost]', table, groups='firms'
    )


def test_collinear_columns_are_left_out_with_a_sentence():
  table = _table()
  table['toll'] = table['cost'] - 2.0 * table['tax']
  table['months'] = 12.0 * table['age'] + 1.0
  with pytest.warns(system.CollinearWarning) as caught:
    model = estimators.TwoSLS().fit(
      table['sales'],
      table['price'],
      Z=table[['cost', 'tax', 'toll']],
      X=table[['age', 'months']],
    )
  assert {str(each.message) for each in caught} == {
    'Z is collinear: toll is a linear combination of other columns of Z and '
    'of X and was left out of the fit.',
    'X is collinear: months is a linear combination of other columns and was '
    'left out of the fit.',
  }
  found = model.coef_table()
  assert found.loc['months', 'coefficient'] == 0.0
  assert np.isnan(found.loc['months', 'std_error'])
  pd.testing.assert_frame_equal(
    found.drop('months'), _fit(table=table).coef_table()
  )
  assert 'months        left out' in ' '.join(model.summary().split('\n'))


@pytest.mark.parametrize(
  'arguments, message',
  [
    (
      {'sample_weight': np.append(np.ones(299), 0.0)},
      'must be positive, but 1 of 300 are not, the first in row 299: 0. Leave',
    ),
    ({'sample_weight': -np.ones(300)}, '300 of 300 are not, the first in row'),
    ({'sample_weight': np.append(np.ones(299), np.nan)}, 'row 299: nan'),
    ({'sample_weight': np.ones(20)}, 'one number for each of the 300 rows'),
    ({'sample_weight': ['a'] * 300}, 'sample_weight must be numbers'),
    ({'groups': np.zeros(300)}, 'groups has one cluster only'),
    ({'groups': np.arange(10)}, 'a label for each of the 300 rows, got shape'),
    ({'groups': np.zeros((300, 3))}, 'may have one column or two, got 3'),
    ({'groups': [None, *'ab' * 149, 'a']}, 'no label in 1 rows, the first in'),
    (
      {'absorb': np.arange(300)},
      'combination of the columns of X and of the absorbed effects',
    ),
  ],
)
def test_rows_that_cannot_be_used_are_refused(arguments, message):
  with pytest.raises(ValueError, match=message):
    _fit(**arguments)


def test_clusters_that_tell_little_are_warned_of():
  table = _table()
  arguments = {'Z': table[['cost', 'tax']], 'X': table[['age']]}
  with pytest.warns(inputs.ClusterWarning, match='Every row is a cluster of'):
    model = estimators.TwoSLS(debiased=False).fit(
      table['sales'], table['price'], groups=np.arange(300), **arguments
    )
  robust = estimators.TwoSLS(covariance='HC0', debiased=False).fit(
    table['sales'], table['price'], **arguments
  )
  np.testing.assert_allclose(
    model.inference_.covariance, robust.inference_.covariance
  )
  with pytest.warns(
    inputs.ClusterWarning,
    match='3 clusters are too few for 3'
    ' coefficients: their covariance is singular, so joint',
  ):
    estimators.TwoSLS().fit(
      table['sales'], table['price'], groups=np.arange(300) % 3, **arguments
    )


@pytest.mark.parametrize(
  'parameters, message',
  [
    ({'covariance': 'HC4'}, 'covariance must be one of unadjusted, HC0'),
    ({'covariance': 'clustered'}, 'needs the clusters: pass groups to fit'),
    ({'covariance': 'HAC', 'kernel': 'flat'}, 'kernel must be one of bartl'),
    ({'covariance': 'HAC', 'bandwidth': -1}, 'bandwidth must be a number of'),
    ({'bandwidth': 3}, "go with covariance='HAC', got 'HC1'. Leave them out"),
    ({'kernel': 'parzen'}, "kernel and bandwidth go with covariance='HAC'"),
  ],
)
def test_covariances_that_do_not_exist_are_refused(parameters, message):
  with pytest.raises(ValueError, match=message):
    _fit(parameters=parameters)


def test_groups_are_not_ignored():
  with pytest.raises(ValueError, match="groups go with covariance='clustered'"):
    _fit(parameters={'covariance': 'HC1'}, groups=np.arange(300) % 30)


def test_fewer_clusters_than_instruments_have_sets_of_equal_variances():
  model = _fit(groups=np.arange(300) % 2)
  assert not model.inference_.weak.robust
  assert 'Anderson-Rubin, equal variances' in model.summary()
  equal = _fit(parameters={'covariance': 'unadjusted'})
  assert model.weak_instrument_set('clr') == equal.weak_instrument_set('clr')


@pytest.mark.parametrize(
  'kind, parameters, message',
  [
    (estimators.KClass, {'kappa': np.inf}, 'kappa must be a number, got inf'),
    (estimators.KClass, {'kappa': 50.0}, 'kappa=50 is too large for these row'),
    (estimators.LIML, {'fuller': -1.0}, 'fuller must be at least 0'),
    (estimators.GMM, {'steps': 1}, 'steps must be at least 2'),
  ],
)
def test_estimates_that_do_not_exist_are_refused(kind, parameters, message):
  with pytest.raises(ValueError, match=message):
    _fit(kind, parameters=parameters)


def test_gmm_needs_more_clusters_than_moments():
  with pytest.raises(ValueError, match='covariance of the moments is singular'):
    _fit(estimators.GMM, groups=np.arange(300) % 2)


def test_a_row_that_decides_a_coefficient_cannot_be_left_out():
  table = _table().assign(one=np.eye(300)[:, 0])
  with pytest.raises(ValueError, match='Row 0 decides a coefficient of the fi'):
    estimators.CrossFitTwoSLS().fit(
      table['sales'], table['price'], Z=table[['cost', 'tax']], X=table[['one']]
    )
  with pytest.raises(ValueError, match='Cluster 0 decides a coefficient of'):
    estimators.CrossFitTwoSLS().fit(
      table['sales'],
      table['price'],
      Z=table[['cost', 'tax']],
      X=table[['one']],
      groups=np.arange(300) // 10,
    )


def test_a_penalised_fit_has_no_standard_errors():
  model = _fit(parameters={'stage2_penalty': 0.1})
  assert model.inference_ is None
  for call in (
    model.coef_table,
    model.tests,
    model.to_latex,
    model.weak_instrument_set,
  ):
    with pytest.raises(ValueError, match='This fit has no standard errors'):
      call()
  with pytest.raises(ValueError, match='go with the default penalties'):
    _fit(parameters={'stage2_penalty': 0.1}, groups=np.arange(300) % 30)


@pytest.mark.parametrize('kind', _LINEAR)
def test_every_linear_estimator_predicts_by_its_coefficients_and_is_saved(
  kind, tmp_path
):
  table = _table()
  model = _fit(kind, table, groups=table['firm'])
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


def test_summaries_print_the_table_of_card():
  table = card.load()
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.TwoSLS().fit(
      table['lwage'],
      table['educ'],
      Z=table[['nearc4', 'nearc2']],
      X=table[['exper', 'expersq', 'black', 'smsa', 'south']],
    )
  lines = model.summary().splitlines()
  assert lines[:2] == [
    'TwoSLS fitted to 3010 rows',
    'standard errors     robust (HC1)',
  ]
  (educ,) = (
    line.split()
    for line in lines
    if line.startswith('educ')
    and len(line.split()) == 7
    and '.' in line.split()[1]
    and line.split()[3].count('.') == 1
    and lines.index(line) < 12
  )
  found = model.coef_table().loc['educ']
  assert educ[1:] == [
    f'{found.coefficient:.5g}',
    f'{found.std_error:.5g}',
    f'{found.t:.2f}',
    f'{found.p_value:.4f}',
    f'{found.low:.5g}',
    f'{found.high:.5g}',
  ]
  latex = model.to_latex()
  assert latex.count(r'\begin{tabular}') == 4
  assert f'educ & {found.coefficient:.5g} & ' in latex
  assert r'95 \% low' in latex
  web = model.to_html()
  assert web.count('<table>') == 4
  assert f'<td>educ</td><td>{found.coefficient:.5g}</td>' in web


def test_names_are_escaped_in_tables():
  table = _table().rename(columns={'price': 'a_b & <c>'})
  model = estimators.TwoSLS().fit(
    table['sales'], table[['a_b & <c>']], Z=table['cost']
  )
  assert r'a\_b \& <c> & ' in model.to_latex()
  assert '<td>a_b &amp; &lt;c&gt;</td>' in model.to_html()


def test_a_treatment_that_is_its_own_instrument_is_least_squares():
  table = _table()
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
  assert model.inference_.tests == ()
  low, high = model.weak_instrument_set('anderson-rubin').intervals[0]
  # With one instrument of full strength it is the usual interval, by HC3.
  wide = sm.OLS(table['sales'], sm.add_constant(table[['price', 'age']])).fit(
    cov_type='HC3', use_t=True
  )
  np.testing.assert_allclose(
    [low, high], wide.conf_int().loc['price'], rtol=1e-9
  )


def test_large_tables_have_no_held_out_diagnostics(monkeypatch):
  from dfiv_ope.iv import linear_estimator

  whole = _fit()
  monkeypatch.setattr(linear_estimator, '_HELD_OUT_ROWS', 100)
  monkeypatch.setattr(linear_estimator, '_IDENTIFIED_ROWS', 50)
  model = _fit()
  assert np.isnan(model.first_stage_.held_out_index_f).all()
  assert 'held out' in whole.summary() and 'held out' not in model.summary()
  pd.testing.assert_frame_equal(model.coef_table(), whole.coef_table())
  with pytest.raises(ValueError, match='order condition'):
    table = _table()
    estimators.TwoSLS().fit(
      table['sales'], table[['price', 'age']], Z=table['cost']
    )


def test_an_exact_model_is_fitted_without_noise():
  table = _table()
  model = estimators.LIML().fit(
    3.0 * table['price'] - table['age'],
    table['price'],
    Z=table[['cost', 'tax']],
    X=table['age'],
  )
  np.testing.assert_allclose(model.coef_, [3.0, -1.0], rtol=1e-9)
  assert model.inference_.kappa == pytest.approx(1.0)


def test_parts_of_the_rows_add_up():
  table = _table()
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


def test_intervals_of_effects_are_those_of_their_coefficients():
  model = _fit()
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
  table = _table()
  table['age'] -= table['age'].mean()
  centred = _fit(table=table).coef_table().loc['intercept']
  found = model.dose_response_interval([0.0, 1.0, 2.0])
  assert [found.low[0], found.high[0]] == pytest.approx(
    [centred.low, centred.high]
  )
  np.testing.assert_allclose(
    found.estimate, model.dose_response([0.0, 1.0, 2.0])
  )
  with pytest.raises(ValueError, match='Levels have no interval where effects'):
    _fit(absorb=table['firm']).dose_response_interval([0.0])


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


@pytest.mark.parametrize(
  'changes, words',
  [
    (
      {},
      [
        'The instruments are strong enough for price: effective F ',
        'The instruments agree (Hansen J ',
        'IV differs from ordinary regression (Wooldridge regression ',
      ],
    ),
    ({'Z': 'cost'}, ['strong enough', 'as many instruments as treatments']),
    ({'Z': 'price'}, ['own instruments: this is ordinary regression.']),
    (
      {'shift': 3.0},
      [
        'The instruments contradict each other (Hansen J ',
        'Drop instruments that may',
      ],
    ),
    (
      {'Z': 'size'},
      [
        'The instruments are weak for price: effective F ',
        'Read the Anderson-Rubin set',
        'IV does not differ from ordinary regression by more',
      ],
    ),
  ],
)
def test_checks_say_what_the_tests_mean_and_what_to_do(changes, words):
  table = _table(rows=2000)
  table['sales'] += changes.get('shift', 0.0) * table['tax']
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.TwoSLS().fit(
      table['sales'],
      table['price'],
      X=table[['age', 'firm', 'year']],
      Z=table[changes.get('Z', ['cost', 'tax'])],
    )
  text = '\n'.join(model.checks())
  for each in words:
    assert each in text
  assert text in model.summary()
