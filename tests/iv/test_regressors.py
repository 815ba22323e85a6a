"""Estimators in pipelines, searches and cross-validation of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import base, exceptions, model_selection, pipeline, preprocessing
from sklearn.utils import estimator_checks

from dfiv_ope.iv import estimators, regressors


def data(rows=600, seed=0):
  """A treatment of slope 3 beside a covariate of slope -1; OLS has 1.6."""
  generator = np.random.default_rng(seed)
  z, noise, x, rest = generator.normal(size=(4, rows))
  treatment = z + noise + 0.5 * x + 0.1 * rest
  outcome = 3.0 * treatment - x - 3.0 * noise
  return np.stack([x, treatment], axis=1), outcome, z


@pytest.fixture(name='routed')
def routed_fixture():
  with sklearn.config_context(enable_metadata_routing=True):
    yield


def regressor(**parameters):
  return (
    regressors.IVRegressor(estimators.TwoSLS(**parameters), treatment=1)
    .set_fit_request(Z=True)
    .set_score_request(Z=True)
  )


# What check_estimator asks and is refused, with the reason.
_EXPECTED = {
  'check_sample_weight_equivalence_on_dense_data': (
    'a weight of zero is refused with a sentence, not left out silently'
  ),
  'check_all_zero_sample_weights_error': (
    'they are refused, but the sentence is another one'
  ),
}


class SelfInstrumented(regressors.IVRegressor):
  """Every column its own instrument: scikit-learn's checks have no other."""

  def fit(self, X, y, *, Z=None, sample_weight=None):
    return super().fit(
      X, y, Z=X if Z is None else Z, sample_weight=sample_weight
    )

  def score(self, X, y, sample_weight=None, *, Z=None):
    return super().score(X, y, sample_weight, Z=X if Z is None else Z)


@pytest.mark.filterwarnings('ignore')
def test_the_regressor_passes_the_checks_of_scikit_learn():
  found = estimator_checks.check_estimator(
    SelfInstrumented(),
    on_fail=None,
    on_skip=None,
    expected_failed_checks=_EXPECTED,
  )
  assert len(found) > 40
  failed = {
    each['check_name']
    for each in found
    if each['status'] not in ('passed', 'skipped')
  }
  assert failed == set(_EXPECTED)
  # The array API is checked where SciPy is told to support it.
  assert {
    each['check_name'] for each in found if each['status'] == 'skipped'
  } <= {'check_array_api_input'}


def test_columns_of_the_treatment_are_named_or_numbered():
  X, y, Z = data()
  model = regressors.IVRegressor(treatment=[1]).fit(X, y, Z=Z)
  reference = estimators.TwoSLS().fit(y, X[:, 1], Z=Z, X=X[:, 0])
  # In the order of X, not of treatment before covariates.
  np.testing.assert_allclose(model.coef_, reference.coef_[::-1])
  np.testing.assert_allclose(model.coef_, [-1.0, 3.0], atol=0.3)
  np.testing.assert_array_equal(
    model.predict(X), reference.predict(X[:, 1], X[:, 0])
  )
  frame = pd.DataFrame(X, columns=['age', 'price'])
  for treatment in ('price', ['price'], -1, np.int64(1)):
    other = regressors.IVRegressor(treatment=treatment).fit(frame, y, Z=Z)
    np.testing.assert_array_equal(other.predict(frame), model.predict(X))
  assert list(other.feature_names_in_) == ['age', 'price']
  assert other.n_features_in_ == 2
  with pytest.raises(ValueError, match='same order as they were in fit'):
    other.predict(frame[['price', 'age']])


def test_all_columns_are_treatments_unless_some_are_named():
  X, y, Z = data()
  model = regressors.IVRegressor().fit(X, y, Z=np.stack([Z, X[:, 0]], axis=1))
  np.testing.assert_allclose(model.coef_, [-1.0, 3.0], atol=0.3)
  with pytest.raises(ValueError, match='T has 2 columns, but Z only 1'):
    regressors.IVRegressor().fit(X, y, Z=Z)


@pytest.mark.parametrize(
  'treatment, message',
  [
    ('price', "names 'price', but X has no names"),
    (2, 'index 2, but X has 2 columns'),
    ([], 'at least one'),
    ([1, -1], 'different columns'),
  ],
)
def test_columns_that_are_not_there_are_refused(treatment, message):
  X, y, Z = data(rows=20)
  with pytest.raises(ValueError, match=message):
    regressors.IVRegressor(treatment=treatment).fit(X, y, Z=Z)


def test_without_instruments_there_is_no_fit_and_no_score():
  X, y, Z = data(rows=50)
  model = regressors.IVRegressor(treatment=1)
  with pytest.raises(TypeError, match=r'needs the instruments.*set_fit_reque'):
    model.fit(X, y)
  with pytest.raises(TypeError, match=r'score\(X, y, Z=Z\) needs the instru'):
    model.fit(X, y, Z=Z).score(X, y)
  with pytest.raises(ValueError, match='inconsistent numbers of samples'):
    model.score(X, y, Z=np.tile(Z, 2))


def test_rows_of_other_labels_are_refused():
  X, y, Z = data(rows=50)
  with pytest.raises(ValueError, match='Z and X have the same labels in anot'):
    regressors.IVRegressor(treatment=1).fit(
      pd.DataFrame(X), y, Z=pd.Series(Z).iloc[::-1]
    )


def test_parameters_reach_the_estimator_and_clones_are_equal(routed):
  model = regressor(stage2_penalty=0.5)
  assert model.get_params()['estimator__stage2_penalty'] == 0.5
  model.set_params(estimator__stage2_penalty=2.0, treatment=[0])
  assert model.estimator.stage2_penalty == 2.0
  clone = base.clone(model)
  assert clone.get_params()['treatment'] == [0]
  assert clone.estimator is not model.estimator


def test_a_pipeline_gives_the_slope_not_that_of_swapped_data(routed):
  X, y, Z = data()
  steps = pipeline.make_pipeline(preprocessing.StandardScaler(), regressor())
  steps.fit(X, y, Z=Z)
  slope = steps.predict([[0.0, 1.0]]) - steps.predict([[0.0, 0.0]])
  assert slope == pytest.approx(3.0, abs=0.2)
  alone = regressor().fit(X, y, Z=Z)
  np.testing.assert_allclose(steps.predict(X), alone.predict(X))
  # The scaler changes nothing but rounding.
  assert steps.score(X, y, Z=Z) == pytest.approx(
    alone.score(X, y, Z=Z), abs=1e-6
  )


def test_a_pipeline_without_routing_takes_the_name_of_the_step():
  X, y, Z = data()
  steps = pipeline.Pipeline([('iv', regressors.IVRegressor(treatment=1))])
  steps.fit(X, y, iv__Z=Z)
  assert steps[-1].coef_[1] == pytest.approx(3.0, abs=0.2)


def test_a_search_chooses_the_penalty_that_leaves_the_slope(routed):
  X, y, Z = data()
  search = model_selection.GridSearchCV(
    regressor(), {'estimator__stage2_penalty': [1e-12, 1.0, 10.0]}, cv=3
  )
  search.fit(X, y, Z=Z)
  assert search.best_params_ == {'estimator__stage2_penalty': 1e-12}
  assert search.best_estimator_.coef_[1] == pytest.approx(3.0, abs=0.2)


def test_cross_validation_scores_every_fold(routed):
  X, y, Z = data()
  found = model_selection.cross_validate(
    regressor(), X, y, params={'Z': Z}, cv=3, return_estimator=True
  )
  slopes = [each.coef_[1] for each in found['estimator']]
  np.testing.assert_allclose(slopes, 3.0, atol=0.3)
  # z and x explain 9 + .25 of a variance of 9 + .25 + (3 - 3)^2 + .09.
  np.testing.assert_allclose(found['test_score'], 0.95, atol=0.05)
  np.testing.assert_array_equal(
    model_selection.cross_val_score(regressor(), X, y, params={'Z': Z}, cv=3),
    found['test_score'],
  )


def test_the_score_prefers_the_structural_function_to_regression(routed):
  X, y, Z = data()
  structural = regressor().fit(X, y, Z=Z)
  plain = SelfInstrumented(treatment=1).fit(X, y, Z=X[:, 1])
  assert plain.coef_[1] == pytest.approx(1.5, abs=0.2)
  assert structural.score(X, y, Z=Z) > plain.score(X, y, Z=Z) + 0.1
  # The usual R2 says the contrary.
  r2 = super(regressors.IVRegressor, structural).score
  assert r2(X, y) < super(regressors.IVRegressor, plain).score(X, y)


def test_the_score_weighs_rows_as_told():
  X, y, Z = data(rows=100)
  model = regressors.IVRegressor(treatment=1).fit(X, y, Z=Z)
  plain = model.score(X, y, Z=Z)
  assert model.score(X, y, np.full(100, 7.0), Z=Z) == pytest.approx(plain)
  assert model.score(X, y, np.arange(100.0), Z=Z) != pytest.approx(plain)


def test_econometric_estimators_refuse_the_order_of_scikit_learn(routed):
  X, y, Z = data(rows=100)
  with pytest.raises(TypeError, match=r'got no Z.*regressors.IVRegressor'):
    estimators.TwoSLS().fit(X, y)
  with pytest.raises(ValueError, match=r'Y must be one column.*IVRegressor'):
    estimators.TwoSLS().fit(X, y, Z=Z)
  with pytest.raises(ValueError, match=r'shapes of .*fit\(X, y\).*IVRegres'):
    estimators.TwoSLS().fit(X[:, 1:], y, Z=Z)
  with pytest.raises(ValueError, match='shapes of'):
    estimators.TwoSLS().fit(
      pd.DataFrame(X[:, 1:]), pd.Series(y), Z=pd.Series(Z)
    )
  # No wrapper can be told to route Z to them.
  assert not hasattr(estimators.TwoSLS(), 'set_fit_request')
  with pytest.raises(TypeError, match=r"argument.* {'Z'}"):
    model_selection.cross_val_score(
      estimators.TwoSLS(), X[:, 1:], y, params={'Z': Z}, scoring='r2'
    )


def test_wrappers_without_routing_do_not_swap_outcome_and_treatment():
  X, y, Z = data(rows=100)
  steps = pipeline.Pipeline([('iv', estimators.TwoSLS())])
  with pytest.raises(ValueError, match='shapes of'):
    steps.fit(X[:, 1:], y, iv__Z=Z)
  search = model_selection.GridSearchCV(
    estimators.TwoSLS(), {'stage2_penalty': [1e-12]}, scoring='r2', cv=2
  )
  with pytest.raises(ValueError, match='shapes of'):
    search.fit(X[:, 1:], y, Z=Z)


def test_weights_reach_linear_estimators_and_no_others():
  X, y, Z = data(rows=200)
  weights = np.random.default_rng(1).uniform(0.5, 2.0, 200)
  model = regressors.IVRegressor(treatment=1).fit(
    X, y, Z=Z, sample_weight=weights
  )
  reference = estimators.TwoSLS().fit(
    y, X[:, 1], Z=Z, X=X[:, 0], sample_weight=weights
  )
  np.testing.assert_array_equal(model.coef_, reference.coef_[::-1])
  refused = r'KIV takes no sample_weight; the linear .* \(TwoSLS, LIML'
  with pytest.raises(TypeError, match=refused):
    regressors.IVRegressor(estimators.KIV(), treatment=1).fit(
      X, y, Z=Z, sample_weight=weights
    )


@pytest.mark.parametrize(
  ('name', 'message'),
  [
    ('sample_weight', 'SieveIV takes no sample_weight; .*Fit one of them'),
    ('groups', r'Pass them to the intervals instead: ate_interval\(T0'),
    ('absorb', 'Pass the groups as columns of X'),
    ('weights', "SieveIV.fit has no argument 'weights'. It takes Y, T"),
  ],
)
def test_flexible_estimators_say_who_takes_weights_and_groups(name, message):
  X, y, Z = data(rows=60)
  with pytest.raises(TypeError, match=message):
    estimators.SieveIV().fit(y, X[:, 1], Z=Z, **{name: np.ones(60)})


def test_estimators_have_the_conventions_of_scikit_learn():
  X, y, Z = data(rows=200)
  frame = pd.DataFrame(X, columns=['age', 'price'])
  unfitted = estimators.TwoSLS(random_state=np.int64(3))
  for call in (
    lambda: unfitted.n_features_in_,
    lambda: unfitted.score(y, X[:, 1], Z=Z),
    lambda: unfitted.predict(X[:, 1]),
  ):
    with pytest.raises(exceptions.NotFittedError, match='is not fitted'):
      call()
  model = unfitted.fit(y, frame['price'], Z=Z, X=frame[['age']])
  assert model.n_features_in_ == 2
  assert list(model.feature_names_in_) == ['price', 'age']
  plain = estimators.TwoSLS().fit(y, X[:, 1], Z=Z, X=X[:, :1])
  assert plain.n_features_in_ == 2 and not hasattr(plain, 'feature_names_in_')
  np.testing.assert_array_equal(plain.coef_, model.coef_)
  # The score is that of the regressor, largest for the structural slope.
  wrapped = regressors.IVRegressor(treatment=1).fit(X, y, Z=Z)
  best = model.score(y, frame['price'], Z=Z, X=frame[['age']])
  assert best == pytest.approx(wrapped.score(X, y, Z=Z))
  least_squares = estimators.KClass(kappa=0.0).fit(
    y, frame['price'], Z=Z, X=frame[['age']]
  )
  assert best > least_squares.score(y, frame['price'], Z=Z, X=frame[['age']])
  assert (
    estimators.KIV(n_splits=np.int32(2), random_features=10)
    .fit(y, X[:, 1], Z=Z)
    .models_[1:]
  )
