"""Models side by side."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import exceptions

from dfiv_ope.iv import estimators


@pytest.fixture(name='models', scope='module')
def _models():
  generator = np.random.default_rng(0)
  z, other, age, hidden, rest = generator.normal(size=(5, 300))
  price = z + 0.5 * other + hidden + 0.3 * age
  rows = pd.DataFrame(
    {'price': price, 'z': z, 'other': other, 'age': age}
  ).assign(sales=2.0 * price - age - 2.0 * hidden + 0.3 * rest)
  arguments = {'Z': rows[['z', 'other']], 'X': rows[['age']]}
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    return {
      name: kind.fit(rows.sales, rows.price, **arguments)
      for name, kind in (
        ('OLS', estimators.KClass(kappa=0.0)),
        ('2SLS_HC3', estimators.TwoSLS(covariance='HC3')),
        ('KIV', estimators.KIV(n_splits=1)),
      )
    }


def test_numbers_are_those_of_each_model(models):
  found = estimators.compare(models, level=0.9)
  frame = found.to_frame()
  assert list(frame.index) == ['price', 'age', 'intercept']
  for name in ('OLS', '2SLS_HC3'):
    pd.testing.assert_frame_equal(
      frame[name],
      models[name].coef_table(0.9)[list(frame[name])],
      check_names=False,
    )
  derivative = models['KIV'].average_derivative(level=0.9)
  assert frame['KIV', 'coefficient']['price'] == derivative.estimate[0]
  assert frame['KIV', 'low']['price'] == derivative.low[0]
  assert np.isnan(frame['KIV', 'coefficient']['age'])
  line = models['2SLS_HC3'].inference_
  facts = found.facts['2SLS_HC3']
  assert facts['rows'] == 300 and facts['standard errors'] == 'HC3'
  assert facts['first-stage F'] == line.first_stage[0].effective_f
  (hansen,) = (each for each in line.tests if each.name == 'Hansen J')
  assert facts['over-identification p'] == hansen.p_value


def test_tables_have_coefficients_over_standard_errors(models):
  found = estimators.compare(models, keep=['price'])
  lines = str(found).splitlines()
  assert lines[0] == 'Coefficients (standard errors)'
  assert lines[1].split() == ['OLS', '2SLS_HC3', 'KIV']
  table = models['OLS'].coef_table().loc['price']
  assert lines[3].split()[:2] == ['price', f'{table.coefficient:.5g}']
  assert lines[4].split()[0] == f'({table.std_error:.3g})'
  assert not any('age' in each.split()[:1] for each in lines)
  assert '2SLS\\_HC3' in found.to_latex() and '\\toprule' in found.to_latex()
  assert '<td>price</td>' in found.to_html()


def test_what_cannot_be_compared_is_refused(models):
  with pytest.raises(ValueError, match='at least one fitted model, got none'):
    estimators.compare({})
  with pytest.raises(ValueError, match="no coefficient|coefficient 'tax'"):
    estimators.compare(models, keep=['tax'])
  with pytest.raises(ValueError, match='level must be between 0 and 1'):
    estimators.compare(models, level=95)
  with pytest.raises(ValueError, match='has no standard errors'):
    generator = np.random.default_rng(0)
    z, t = generator.normal(size=(2, 50))
    shrunk = estimators.TwoSLS(stage2_penalty=1.0).fit(t, t + z, Z=z)
    estimators.compare({'ridge': shrunk})
  with pytest.raises(TypeError, match='by name, such as .* got a list'):
    estimators.compare([models['OLS']])
  with pytest.raises(exceptions.NotFittedError, match='This KIV is not fitted'):
    estimators.compare({'KIV': estimators.KIV()})


def test_a_loaded_curve_has_no_standard_errors_and_says_so(models, tmp_path):
  models['KIV'].save(tmp_path / 'fit')
  loaded = estimators.load(tmp_path / 'fit')
  with pytest.raises(ValueError, match='again cannot be compared: it was load'):
    estimators.compare({'again': loaded})


def test_names_may_be_numbers_and_one_coefficient_may_be_kept(models):
  found = estimators.compare({1: models['OLS']}, keep='price')
  assert list(found.to_frame().index) == ['price']
  assert str(found).splitlines()[1].split() == ['1']


def test_a_curve_of_a_binary_treatment_has_its_change_per_unit():
  generator = np.random.default_rng(0)
  z, hidden, rest = generator.normal(size=(3, 400))
  treated = 3.0 * (z + hidden > 0.0)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    model = estimators.KIV(n_splits=1).fit(
      treated + hidden + rest, treated, Z=z
    )
  change = model.ate_interval(0.0, 3.0)
  found = estimators.compare({'KIV': model}).to_frame()['KIV'].loc['T']
  assert found.coefficient == pytest.approx(change.estimate[0] / 3.0)
  assert found.std_error == pytest.approx(change.std_error[0] / 3.0)
  assert found.low < 1.0 < found.high
  # A derivative at the two values is of what lies around them.
  assert model.average_derivative().estimate[0] != found.coefficient


def test_arrays_have_the_same_names_in_lines_and_curves():
  generator = np.random.default_rng(0)
  z, hidden = generator.normal(size=(2, 200))
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    found = estimators.compare(
      {
        'line': estimators.TwoSLS().fit(z + hidden, z - hidden, Z=z),
        'curve': estimators.AGMM(n_splits=1).fit(z + hidden, z - hidden, Z=z),
      }
    )
  assert list(found.to_frame().index) == ['T', 'intercept']
