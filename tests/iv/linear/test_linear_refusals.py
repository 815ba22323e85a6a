"""What linear estimators refuse, leave out or warn of."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dfiv_ope.iv import estimators
from dfiv_ope.iv.linear import absorption, inputs, system


def test_effects_that_hardly_connect_are_refused(
  sales_table, fit_sales, monkeypatch
):
  monkeypatch.setattr(absorption, '_MOST_ROUNDS', 2)
  table = sales_table()
  with pytest.raises(ValueError, match='do not settle in 2 rounds'):
    fit_sales(absorb=table[['firm', 'year']])


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
def test_formulas_that_cannot_be_read_are_refused(
  sales_table, formula, message
):
  table = sales_table().assign(gap=np.nan)
  with pytest.raises(ValueError, match=message):
    estimators.TwoSLS().fit_formula(formula, table)
  with pytest.raises(ValueError, match="data for groups, 'firms': did you"):
    estimators.TwoSLS().fit_formula(
      'sales ~ [price ~ cost]', table, groups='firms'
    )


def test_collinear_columns_are_left_out_with_a_sentence(sales_table, fit_sales):
  table = sales_table()
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
    found.drop('months'), fit_sales(table=table).coef_table()
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
def test_rows_that_cannot_be_used_are_refused(fit_sales, arguments, message):
  with pytest.raises(ValueError, match=message):
    fit_sales(**arguments)


def test_clusters_that_tell_little_are_warned_of(sales_table):
  table = sales_table()
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
def test_covariances_that_do_not_exist_are_refused(
  fit_sales, parameters, message
):
  with pytest.raises(ValueError, match=message):
    fit_sales(parameters=parameters)


@pytest.mark.parametrize(
  'kind, parameters, message',
  [
    (estimators.KClass, {'kappa': np.inf}, 'kappa must be a number, got inf'),
    (estimators.KClass, {'kappa': 50.0}, 'kappa=50 is too large for these row'),
    (estimators.LIML, {'fuller': -1.0}, 'fuller must be at least 0'),
    (estimators.GMM, {'steps': 1}, 'steps must be at least 2'),
  ],
)
def test_estimates_that_do_not_exist_are_refused(
  fit_sales, kind, parameters, message
):
  with pytest.raises(ValueError, match=message):
    fit_sales(kind, parameters=parameters)


def test_gmm_needs_more_clusters_than_moments(fit_sales):
  with pytest.raises(ValueError, match='covariance of the moments is singular'):
    fit_sales(estimators.GMM, groups=np.arange(300) % 2)


def test_a_row_that_decides_a_coefficient_cannot_be_left_out(sales_table):
  table = sales_table().assign(one=np.eye(300)[:, 0])
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


def test_a_penalised_fit_has_no_standard_errors(fit_sales):
  model = fit_sales(parameters={'stage2_penalty': 0.1})
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
    fit_sales(parameters={'stage2_penalty': 0.1}, groups=np.arange(300) % 30)


@pytest.mark.parametrize('count', [1, 2])
def test_an_exact_fit_says_so(count):
  generator = np.random.default_rng(0)
  z, hidden = generator.normal(size=(100, 2)), generator.normal(size=100)
  t = z[:, 0] + hidden
  with warnings.catch_warnings():
    warnings.simplefilter('error', RuntimeWarning)
    model = estimators.TwoSLS().fit(2.0 * t + 1.0, t, Z=z[:, :count])
    words = model.summary()
  np.testing.assert_allclose(
    model.inference_.coefficients, [2.0, 1.0], rtol=1e-12
  )
  assert 'Y is an exact linear function of T and X' in words
  assert model.checks()[1:] == [words.split('\n')[_line(words, 'Y is an')]]
  (low, high), *more = model.weak_instrument_set().intervals
  # Its ends are a double root, known to the root of rounding.
  assert not more and low <= high
  np.testing.assert_allclose([low, high], 2.0, atol=1e-6)


def _line(words, start):
  """Returns the number of the line that begins so."""
  (found,) = (
    place
    for place, line in enumerate(words.split('\n'))
    if line.startswith(start)
  )
  return found


def test_an_outcome_that_groups_decide_is_refused(fit_sales, sales_table):
  table = sales_table()
  table['sales'] = 3.0 * table['firm']
  with pytest.raises(ValueError, match='constant within the absorbed groups'):
    fit_sales(table=table, absorb=table['firm'])


def test_more_instruments_than_rows_are_refused():
  Y, T = np.random.default_rng(0).normal(size=(2, 12))
  Z = np.random.default_rng(1).normal(size=(12, 20))
  words = 'Z and X have 21 columns with the constant, but there are only 12'
  with pytest.raises(ValueError, match=words):
    estimators.TwoSLS().fit(Y, T, Z=Z)
