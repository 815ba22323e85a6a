"""`dfiv-ope iv fit`: values, files, the page."""

import json
import pathlib

import numpy as np
import pandas as pd
import pytest

from dfiv_ope import estimators
from dfiv_ope.iv import fit_store
from dfiv_ope.launch.reporting import iv_fit_tables

ROLES = ('--outcome', 'sales', '--treatment', 'price', '--instrument', 'cost')
ALL = (*ROLES, '--covariate', 'age')


def _two_sls(rows):
  """Returns [price, age, constant] of textbook 2SLS, and of OLS."""
  ones = np.ones(len(rows))
  design = np.stack([rows.price, rows.age, ones], axis=1)
  instruments = np.stack([rows.cost, rows.age, ones], axis=1)
  fitted = instruments @ np.linalg.lstsq(instruments, design, rcond=None)[0]
  return [
    np.linalg.lstsq(each, rows.sales, rcond=None)[0]
    for each in (fitted, design)
  ]


def test_two_sls_finds_the_slope_and_least_squares_does_not(
  iv_summary, sales_rows
):
  found = {
    each['name']: each for each in iv_summary('sales.csv', *ALL)['coefficients']
  }
  two_sls, ols = _two_sls(sales_rows())
  for name, ours, plain in zip(
    ('price', 'age', 'intercept'), two_sls, ols, strict=True
  ):
    assert found[name]['value'] == pytest.approx(ours, abs=1e-8)
    assert found[name]['plain'] == pytest.approx(plain, abs=1e-8)
  assert found['price']['value'] == pytest.approx(3.0, abs=0.3)
  assert found['price']['plain'] < 2.0


def test_levels_are_quantiles_and_their_average_outcomes(
  iv_summary, sales_rows
):
  rows = sales_rows()
  summary = iv_summary('sales.csv', *ALL)
  (effects,) = summary['effects']
  (slope_ends,) = (
    each for each in summary['coefficients'] if each['name'] == 'price'
  )
  (slope, age, constant), (plain, *_) = _two_sls(rows)
  median = np.median(rows.price)
  assert effects['base'] == pytest.approx(median)
  assert [each['quantile'] for each in effects['levels']] == [
    0.1,
    0.25,
    0.5,
    0.75,
    0.9,
  ]
  for level in effects['levels']:
    value = np.quantile(rows.price, level['quantile'])
    assert level['value'] == pytest.approx(value)
    assert level['outcome'] == pytest.approx(
      slope * value + age * rows.age.mean() + constant, abs=1e-8
    )
    assert level['effect'] == pytest.approx(slope * (value - median), abs=1e-8)
    assert level['plain_effect'] == pytest.approx(
      plain * (value - median), abs=1e-8
    )
    # The interval of a line's effect is that of its slope.
    found = [slope_ends[name] * (value - median) for name in ('low', 'high')]
    assert [level['low'], level['high']] == pytest.approx(
      sorted(found), abs=1e-8
    )
  assert effects['average_derivative'] == pytest.approx(slope, abs=1e-8)
  assert effects['plain_average_derivative'] == pytest.approx(plain, abs=1e-8)


def test_coefficients_and_tests_are_those_of_the_estimator(
  iv_summary, sales_rows
):
  rows = sales_rows()
  found = iv_summary('sales.csv', *ALL, '--set', 'covariance=HC3')
  model = estimators.TwoSLS(covariance='HC3').fit(
    rows[['sales']], rows[['price']], Z=rows[['cost']], X=rows[['age']]
  )
  table = model.coef_table()
  for each in found['coefficients']:
    for name in ('std_error', 'p_value', 'low', 'high'):
      assert each[name] == pytest.approx(table.loc[each['name'], name])
  assert found['checks'] == model.checks()
  assert [each['name'] for each in found['tests']] == [
    each.name for each in model.inference_.tests
  ]
  assert found['weak_sets'][0]['set'] == model.weak_instrument_set().text()
  curved = iv_summary('sales.csv', *ROLES, '--method', 'sieve')
  assert curved['tests'] == []
  assert curved['intervals'].startswith(
    'Average derivative and 95 % confidence interval: by price 2.9'
  )
  assert curved['checks'][0].startswith('Plain regression of price')
  assert 'is a bound on bias' in curved['checks'][-4]
  assert curved['checks'][-2].startswith('Z and X predict')
  assert 'random splits of the rows differ' in curved['checks'][-1]
  effects = curved['effects'][0]
  model = estimators.SieveIV().fit(rows.sales, rows.price, Z=rows.cost)
  band = model.dose_response_interval(
    [each['value'] for each in effects['band']], uniform=True
  )
  assert [each['low'] for each in effects['band']] == pytest.approx(band.low)
  assert effects['bias_share'] == pytest.approx(np.mean(band.bias_share))


def test_weights_and_clusters_are_those_of_the_estimator(
  iv_summary, iv_run, sales, sales_rows
):
  rows = sales_rows().assign(
    town=[f'town {place % 40}' for place in range(500)],
    people=np.linspace(1.0, 9.0, 500),
  )
  rows.to_csv(sales / 'towns.csv', index=False)
  rows.to_parquet(sales / 'towns.parquet')
  given = ('--weights', 'people', '--clusters', 'town')
  found = iv_summary('towns.csv', *ALL, *given)
  model = estimators.TwoSLS().fit(
    rows.sales,
    rows.price,
    Z=rows.cost,
    X=rows.age,
    sample_weight=rows.people,
    groups=rows.town,
  )
  table = model.coef_table().loc['price']
  (slope,) = (each for each in found['coefficients'] if each['name'] == 'price')
  assert slope['value'] == pytest.approx(table.coefficient, rel=1e-9)
  assert slope['std_error'] == pytest.approx(table.std_error, rel=1e-9)
  assert 'clustered standard errors' in found['intervals']
  # Averages weigh rows as the fit does, and so does plain regression.
  level = found['effects'][0]['levels'][0]
  assert level['outcome'] == pytest.approx(
    np.average(
      model.predict(np.full(500, level['value']), rows.age), weights=rows.people
    )
  )
  root = np.sqrt(rows.people.to_numpy())[:, None]
  design = np.stack([rows.price, rows.age, np.ones(500)], axis=1)
  plain = np.linalg.lstsq(root * design, root[:, 0] * rows.sales, rcond=None)[0]
  assert slope['plain'] == pytest.approx(plain[0], rel=1e-8)
  other = iv_summary('towns.parquet', *ALL, *given)
  assert {**other, 'file': ''} == {**found, 'file': ''}
  # Other clusters are other data; one may be a column of the fit.
  both = iv_summary('towns.csv', *ALL, *given, '--clusters', 'age')
  assert both['digest'] == found['digest']
  assert both['columns']['clusters'] == ['town', 'age']
  assert iv_summary('towns.csv', *ALL, *given[:2])['digest'] != found['digest']
  shown, _ = iv_run('fit', 'towns.csv', *ALL, *given)
  assert 'weights' in shown and 'town' in shown
  curved = iv_summary(
    'towns.csv', *ROLES, '--clusters', 'town', '--method', 'sieve'
  )
  slope = (
    estimators.SieveIV()
    .fit(rows.sales, rows.price, Z=rows.cost)
    .average_derivative(groups=rows.town)
  )
  assert curved['effects'][0]['debiased_average_derivative'] == pytest.approx(
    [slope.estimate[0], slope.low[0], slope.high[0]]
  )


def test_the_first_stage_is_that_of_the_estimator(iv_summary, sales_rows):
  rows = sales_rows()
  (stage,) = iv_summary('sales.csv', *ALL)['first_stage']
  first = (
    estimators.TwoSLS()
    .fit(rows.sales, rows.price, Z=rows.cost, X=rows.age)
    .first_stage_
  )
  assert stage['effective_f'] == pytest.approx(first.effective_f[0], rel=1e-9)
  assert stage['partial_r2'] == pytest.approx(
    first.linear_partial_r2[0], rel=1e-9
  )
  assert stage['critical_value'] == pytest.approx(23.1, abs=0.05)
  assert not stage['weak']


def test_csv_and_parquet_and_another_time_give_the_same(iv_summary):
  first = iv_summary('sales.csv', *ALL)
  for file in ('sales.csv', 'sales.parquet'):
    again = iv_summary(file, *ALL)
    assert {**again, 'file': ''} == {**first, 'file': ''}
  assert iv_summary('sales.csv', *ROLES)['digest'] != first['digest']


def test_a_treatment_of_two_values_has_its_effect_against_the_lower(iv_summary):
  found = iv_summary(
    'sales.csv',
    '--outcome',
    'sales',
    '--treatment',
    'promotion',
    '--instrument',
    'cost',
  )
  (effects,) = found['effects']
  slope = next(
    each['value']
    for each in found['coefficients']
    if each['name'] == 'promotion'
  )
  assert [each['value'] for each in effects['levels']] == [0.0, 1.0]
  assert effects['levels'][1]['effect'] == pytest.approx(slope, abs=1e-8)
  assert effects['average_derivative'] is None


def test_a_curve_is_told_beside_a_plain_curve(iv_summary, sales_rows):
  found = iv_summary(
    'sales.csv',
    *ROLES,
    '--method',
    'sieve',
    '--set',
    'n_splits=2',
    '--seed',
    '3',
  )
  assert found['plain_regression'].endswith('splines and polynomials')
  assert found['coefficients'] == []
  assert found['splits']['count'] == found['settings']['n_splits'] == 2
  rows = sales_rows()
  model = estimators.SieveIV(n_splits=2, random_state=3).fit(
    rows.sales, rows.price, Z=rows.cost
  )
  levels = found['effects'][0]['levels']
  assert [each['outcome'] for each in levels] == pytest.approx(
    model.dose_response([each['value'] for each in levels]), rel=1e-9
  )


def test_the_headline_tells_of_a_turn_and_of_weak_instruments_first():
  level = {
    'quantile': None,
    'effect': 0.0,
    'plain_effect': 0.0,
    'plain_outcome': 2.0,
  }
  found = {
    'columns': {'outcome': 'y'},
    'label': 'KIV',
    'intervals': 'None.',
    'effects': [
      {
        'treatment': 't',
        'change': None,
        'levels': [
          {**level, 'value': value, 'outcome': outcome}
          for value, outcome in ((0.0, 5.0), (1.0, 1.0), (2.0, 5.5))
        ],
      }
    ],
    'first_stage': [{'weak': False, 'verdict': 'Strong.'}],
  }
  assert iv_fit_tables.headline(found) == (
    'Setting t to 2 instead of 0 changes y by 0.5 on average (KIV); plain '
    'regression says 0. In between it turns: the average is least, 1, at 1 '
    'and greatest, 5.5, at 2. Strong. None.'
  )
  found['first_stage'] = [{'weak': True, 'verdict': 'Weak.'}]
  found['effects'][0]['levels'].pop(1)
  assert iv_fit_tables.headline(found) == (
    'Weak. Setting t to 2 instead of 0 changes y by 0.5 on average (KIV); '
    'plain regression says 0. None.'
  )
  for change, words in (([-1.0, 2.0], '-1 to 2'), ([None, None], 'unbounded')):
    found['effects'][0]['change'] = change
    assert f'(KIV, 95 % confidence interval {words});' in (
      iv_fit_tables.headline(found)
    )


def test_warnings_name_options_and_numbers(iv_summary, sales, sales_rows):
  generator = np.random.default_rng(1)
  sales_rows(40).assign(cost=generator.normal(size=40)).to_csv(
    sales / 'weak.csv', index=False
  )
  found = iv_summary('weak.csv', *ROLES)
  (words,) = found['warnings']
  assert 'weak instrument' in words
  assert f'{found["first_stage"][0]["effective_f"]:.1f}' in words
  assert found['first_stage'][0]['weak']


def test_the_directory_has_model_summary_table_and_page(fitted, iv_summary):
  record = json.loads((fitted / 'summary.json').read_text())
  assert {**record, 'kind': 0, 'format': 0, 'files': 0} == {
    **iv_summary('sales.csv', *ALL),
    'kind': 0,
    'format': 0,
    'files': 0,
  }
  assert set(record['files']) >= {
    'effects.csv',
    'index.html',
    'model/estimator.json',
  }
  table = pd.read_csv(fitted / 'effects.csv', float_precision='round_trip')
  levels = record['effects'][0]['levels']
  assert table.average_outcome.tolist() == [each['outcome'] for each in levels]
  assert table.effect.tolist() == [each['effect'] for each in levels]
  page = (fitted / 'index.html').read_text()
  assert page.count('role="img"') == 2  # wide and narrow
  assert page.count('<table') == 8
  assert 'Effect of price on sales' in page
  assert 'The band is the 95 % confidence interval at each value.' in page
  (slope,) = (
    each for each in record['coefficients'] if each['name'] == 'price'
  )
  assert (
    f'Slope and 95 % confidence interval: price {slope["value"]:.4g} '
    f'[{slope["low"]:.4g}, {slope["high"]:.4g}] (HC1' in page
  )
  assert 'argue for them.' in page and 'Anderson-Rubin, HC3' in page
  assert 'src=' not in page
  assert record['digest'] in page


def test_a_stopped_write_leaves_the_older_fit(fitted, monkeypatch):
  model = estimators.load(fitted / 'model')
  before = (fitted / 'summary.json').read_bytes()
  rename = pathlib.Path.rename

  def stop(path, target):
    if path.name.endswith('.new'):
      raise KeyboardInterrupt
    return rename(path, target)

  monkeypatch.setattr(pathlib.Path, 'rename', stop)
  with pytest.raises(KeyboardInterrupt):
    fit_store.write(fitted, model, {'rows': 1}, {})
  assert (fitted / 'summary.json').read_bytes() == before
  assert not list(fitted.parent.glob('.fitted*'))


def test_names_of_columns_are_text_on_the_page(iv_run, sales, sales_rows):
  name = '<script>$x_1$\'"'
  sales_rows(50).rename(columns={'price': name, 'sales': '売上'}).to_csv(
    sales / 'names.csv', index=False
  )
  iv_run(
    'fit',
    'names.csv',
    '--outcome',
    '売上',
    '--treatment',
    name,
    '--instrument',
    'cost',
    '--out',
    'names',
  )
  page = (sales / 'names/index.html').read_text()
  assert '<script>$' not in page
  assert '&lt;script&gt;$x_1$' in page


def test_a_fit_replaces_its_own_directory_only(fitted, iv_run, iv_refuses):
  iv_run('fit', 'sales.csv', *ROLES, '--out', 'fitted')
  record = json.loads((fitted / 'summary.json').read_text())
  assert record['columns']['covariate'] == []
  assert not list(fitted.parent.glob('.fitted*'))
  (fitted / 'mine.txt').write_text('mine')
  assert 'holds mine.txt, which `iv fit` did not write' in iv_refuses(
    'fit', 'sales.csv', *ROLES, '--out', 'fitted'
  )
  (fitted / 'summary.json').unlink()
  assert 'something that is not a fit' in iv_refuses(
    'fit', 'sales.csv', *ROLES, '--out', 'fitted'
  )
