"""Linear IV against linearmodels on its data sets: relative 1e-8."""

import importlib
import math
from typing import NamedTuple
import warnings

from linearmodels import iv
import numpy as np
import pytest

from dfiv_ope.iv import estimators, linear_estimator

# What the bar of the comparison is.
_CLOSE = 1e-8


class Model(NamedTuple):
  """Columns of a data set."""

  data: str
  outcome: str
  treatment: tuple[str, ...]
  instrument: tuple[str, ...]
  covariate: tuple[str, ...]
  weight: str = ''


_REGIONS = tuple(f'reg66{region}' for region in range(2, 10))
_MEPS = ('totchr', 'age', 'linc', 'blhisp')
_FRINGE = ('exper', 'age', 'educ', 'married', 'union', 'white')
# Eleven specifications.
MODELS = {
  'card': Model(
    'card',
    'lwage',
    ('educ',),
    ('nearc4',),
    ('exper', 'expersq', 'black', 'smsa', 'south', 'smsa66', *_REGIONS),
  ),
  'card, over-identified': Model(
    'card',
    'lwage',
    ('educ',),
    ('nearc4', 'nearc2'),
    ('exper', 'expersq', 'black', 'smsa', 'south'),
  ),
  'card, two treatments': Model(
    'card',
    'lwage',
    ('educ', 'KWW'),
    ('nearc4', 'nearc2', 'fatheduc', 'motheduc'),
    ('black', 'smsa', 'south'),
  ),
  'mroz': Model(
    'mroz', 'lwage', ('educ',), ('motheduc', 'fatheduc'), ('exper', 'expersq')
  ),
  'mroz, many instruments': Model(
    'mroz',
    'lwage',
    ('educ',),
    ('motheduc', 'fatheduc', 'huseduc', 'kidslt6', 'unem'),
    ('exper', 'expersq', 'city'),
  ),
  'wage': Model('wage', 'lwage', ('educ',), ('sibs',), ()),
  'wage, two treatments': Model(
    'wage',
    'lwage',
    ('educ', 'KWW'),
    ('sibs', 'feduc', 'meduc', 'IQ'),
    ('married', 'black'),
  ),
  'meps': Model(
    'meps', 'ldrugexp', ('hi_empunion',), ('ssiratio', 'multlc'), _MEPS
  ),
  'meps, weighted': Model(
    'meps',
    'ldrugexp',
    ('hi_empunion',),
    ('ssiratio', 'lowincome', 'multlc', 'firmsz'),
    _MEPS,
    'income',
  ),
  'birthweight': Model(
    'birthweight',
    'lbwght',
    ('packs',),
    ('cigprice', 'cigtax'),
    ('male', 'parity', 'white'),
  ),
  'fringe': Model(
    'fringe',
    'hrbens',
    ('hrearn',),
    ('exper', 'tenure', 'annhrs'),
    ('age', 'educ', 'married', 'union', 'white'),
  ),
}
# Ours, and theirs.
COVARIANCES = {
  'unadjusted': (
    {'covariance': 'unadjusted'},
    {'cov_type': 'unadjusted', 'debiased': True},
  ),
  'unadjusted, large': (
    {'covariance': 'unadjusted', 'debiased': False},
    {'cov_type': 'unadjusted'},
  ),
  'HC0': ({'covariance': 'HC0', 'debiased': False}, {'cov_type': 'robust'}),
  'HC1': ({}, {'cov_type': 'robust', 'debiased': True}),
  'one-way': ({'debiased': False}, {'cov_type': 'clustered'}),
  'two-way': ({}, {'cov_type': 'clustered', 'debiased': True}),
  'bartlett': (
    {'covariance': 'HAC', 'debiased': False},
    {'cov_type': 'kernel'},
  ),
  'parzen': (
    {'covariance': 'HAC', 'kernel': 'parzen', 'bandwidth': 7},
    {
      'cov_type': 'kernel',
      'kernel': 'parzen',
      'bandwidth': 7,
      'debiased': True,
    },
  ),
  'qs': (
    {'covariance': 'HAC', 'kernel': 'quadratic-spectral'},
    {'cov_type': 'kernel', 'kernel': 'qs', 'debiased': True},
  ),
}


@pytest.fixture(autouse=True)
def _without_held_out_diagnostics(monkeypatch):
  # They are not compared, and slow.
  monkeypatch.setattr(linear_estimator, '_HELD_OUT_ROWS', 0)


def _rows(model):
  """Returns the rows of a specification and weights, clusters for them."""
  table = importlib.import_module(f'linearmodels.datasets.{model.data}').load()
  columns = [*model.treatment, *model.instrument, *model.covariate]
  table = table[[model.outcome, *columns, *filter(None, [model.weight])]]
  table = table.dropna().astype(float)
  weights = None
  if model.weight:
    table = table[table[model.weight] > 0.0]
    weights = table[model.weight]
  # Regions of card are in the order of rows.
  table = table.iloc[:: 1 + len(table) // 2000].reset_index(drop=True)
  generator = np.random.default_rng(0)
  clusters = np.stack(
    [
      generator.integers(0, 60, len(table)),
      generator.integers(0, 45, len(table)),
    ],
    axis=1,
  )
  return (table, None if weights is None else table[model.weight], clusters)


def _arguments(model, table, weights):
  """Returns arguments of linearmodels, and the order of our names."""
  exog = table[[*model.covariate]].assign(intercept=1.0)
  return (
    table[model.outcome],
    exog,
    table[[*model.treatment]],
    table[[*model.instrument]],
  ), ({} if weights is None else {'weights': weights})


def _fit(kind, model, table, weights, groups=None, **parameters):
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    return kind(**parameters).fit(
      table[model.outcome],
      table[[*model.treatment]],
      Z=table[[*model.instrument]],
      X=table[[*model.covariate]] if model.covariate else None,
      sample_weight=weights,
      groups=groups,
    )


def _close(ours, theirs, tolerance=_CLOSE):
  np.testing.assert_allclose(
    np.asarray(ours, float), np.asarray(theirs, float), rtol=tolerance
  )


def _coefficients(ours, reference):
  """Compares coefficients, standard errors, t and intervals."""
  table = ours.coef_table()
  names = list(table.index)
  # Coefficients of about no size are judged by their standard errors.
  np.testing.assert_allclose(
    table['coefficient'],
    reference.params[names],
    rtol=_CLOSE,
    atol=_CLOSE * float(reference.std_errors.min()),
  )
  _close(table['std_error'], reference.std_errors[names])


# On these all covariances are compared.
_SMALL = ('mroz', 'mroz, many instruments', 'fringe')


@pytest.mark.parametrize(
  'name, covariance',
  [
    (name, covariance)
    for name in MODELS
    for covariance in COVARIANCES
    if name in _SMALL or covariance in ('unadjusted', 'HC0', 'two-way')
  ],
)
def test_two_stage_least_squares_has_its_numbers(name, covariance):
  model, (parameters, options) = MODELS[name], COVARIANCES[covariance]
  table, weights, clusters = _rows(model)
  groups = {'one-way': clusters[:, 0], 'two-way': clusters}.get(covariance)
  positional, keywords = _arguments(model, table, weights)
  if groups is not None:
    options = {**options, 'clusters': groups}
  reference = iv.IV2SLS(*positional, **keywords).fit(**options)
  ours = _fit(estimators.TwoSLS, model, table, weights, groups, **parameters)
  _coefficients(ours, reference)
  found = ours.inference_
  _close(found.r2, reference.rsquared)
  _close(found.wald().statistic, reference.f_statistic.stat)
  if groups is None:
    table = ours.coef_table()
    # Tails of large t statistics magnify what differs.
    large = np.abs(table['t']) > 10.0
    _close(
      table['p_value'][~large], reference.pvalues[table.index][~large], 1e-7
    )
    margin = ours.conf_int()['high'] - table['coefficient']
    theirs = (reference.conf_int()['upper'] - reference.params)[table.index]
    _close(margin, theirs, 1e-7)
  first, theirs = found.first_stage, reference.first_stage.diagnostics
  _close([each.partial_r2 for each in first], theirs['partial.rsquared'])
  _close([each.shea_r2 for each in first], theirs['shea.rsquared'])
  _close([each.r2 for each in first], theirs['rsquared'])
  over = 1 if covariance.startswith('unadjusted') else len(model.instrument)
  _close([each.f for each in first], theirs['f.stat'] / over)
  _tests(found, reference)


def _tests(found, reference):
  """Compares every test that linearmodels has."""
  theirs = {
    ('Durbin', 'endogeneity'): reference.durbin(),
    ('Wu-Hausman', 'endogeneity'): reference.wu_hausman(),
    ('Wooldridge score', 'endogeneity'): reference.wooldridge_score,
    ('Wooldridge regression', 'endogeneity'): reference.wooldridge_regression,
    ('Sargan', 'over-identification'): reference.sargan,
    ('Basmann', 'over-identification'): reference.basmann,
    ('Likelihood ratio', 'over-identification'): reference.anderson_rubin,
    ('Basmann F', 'over-identification'): reference.basmann_f,
    ('Wooldridge score', 'over-identification'): reference.wooldridge_overid,
  }
  assert found.tests
  for each in found.tests:
    # test_reset.py has the last two.
    if each.name in ('Hansen J', 'RESET', 'Interactions'):
      continue
    wanted = theirs[each.name, each.about]
    _close(each.statistic, wanted.stat)
    assert each.p_value == pytest.approx(wanted.pval, rel=1e-7, abs=1e-14)
    assert each.freedom == wanted.df
    assert math.isinf(each.denominator) or (each.denominator == wanted.df_denom)


@pytest.mark.parametrize('name', MODELS)
def test_liml_and_fuller_have_its_numbers(name):
  model = MODELS[name]
  table, weights, _ = _rows(model)
  positional, keywords = _arguments(model, table, weights)
  for covariance, fuller in (('unadjusted', 0.0), ('HC1', 1.0), ('HC0', 0.0)):
    parameters, options = COVARIANCES[covariance]
    reference = iv.IVLIML(*positional, fuller=fuller, **keywords).fit(**options)
    ours = _fit(
      estimators.LIML, model, table, weights, fuller=fuller, **parameters
    )
    _coefficients(ours, reference)
    _close(ours.inference_.kappa, reference.kappa)


@pytest.mark.parametrize('name', MODELS)
def test_the_k_class_has_its_numbers(name, kappa=0.5):
  model = MODELS[name]
  table, weights, _ = _rows(model)
  positional, keywords = _arguments(model, table, weights)
  reference = iv.IVLIML(*positional, kappa=kappa, **keywords).fit(
    cov_type='unadjusted', debiased=True
  )
  ours = _fit(
    estimators.KClass,
    model,
    table,
    weights,
    kappa=kappa,
    covariance='unadjusted',
  )
  _coefficients(ours, reference)


@pytest.mark.parametrize('name', MODELS)
@pytest.mark.parametrize('kind', ['unadjusted', 'robust', 'clustered'])
def test_two_step_gmm_has_its_numbers(name, kind):
  model = MODELS[name]
  table, weights, clusters = _rows(model)
  if kind == 'unadjusted':
    # linearmodels takes a mean from weighted residuals that is not theirs.
    weights = None
  positional, keywords = _arguments(model, table, weights)
  more = {'clusters': clusters[:, 0]} if kind == 'clustered' else {}
  reference = iv.IVGMM(*positional, weight_type=kind, **keywords, **more).fit(
    cov_type=kind, **more
  )
  ours = _fit(
    estimators.GMM,
    model,
    table,
    weights,
    more.get('clusters'),
    covariance={'robust': 'HC0'}.get(kind, kind),
    debiased=False,
  )
  _coefficients(ours, reference)
  if len(model.instrument) > len(model.treatment):
    (j,) = (each for each in ours.inference_.tests if each.name == 'Hansen J')
    assert j.statistic == pytest.approx(reference.j_stat.stat, rel=_CLOSE)
    if kind != 'unadjusted':
      # Two-stage least squares tests by the same J.
      other = _fit(
        estimators.TwoSLS,
        model,
        table,
        weights,
        more.get('clusters'),
        covariance={'robust': 'HC0'}.get(kind, kind),
        debiased=False,
      )
      assert other.tests().loc[
        ('over-identification', 'Hansen J'), 'statistic'
      ] == pytest.approx(reference.j_stat.stat, rel=_CLOSE)
