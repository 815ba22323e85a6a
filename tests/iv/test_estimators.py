"""Estimators on arrays: scikit-learn's habits, effects, storage, bad input."""

import json
import warnings

from linearmodels.datasets import card
from linearmodels.iv import IV2SLS
import numpy as np
import pandas as pd
import pytest

from dfiv_ope.iv import bases, estimators, methods
from dfiv_ope.iv.diagnostics import strength
from dfiv_ope.nn import layers as layers_lib

# A small, fast sieve.
SMALL_SIEVE = {
  'treatment_bases': (bases.Hermite(2),),
  'covariate_bases': (bases.Hermite(1),),
}


def data(rows=400, seed=0):
  generator = np.random.default_rng(seed)
  z, x, noise = generator.normal(size=(3, rows))
  treatment = 3.0 + z + 0.5 * x + noise
  outcome = 10.0 + 2.0 * treatment + 4.0 * x + 3.0 * noise
  return outcome, treatment, z, x


def fitted(**parameters):
  outcome, treatment, z, x = data()
  return estimators.TwoSLS(**parameters).fit(outcome, treatment, Z=z, X=x)


def test_there_is_an_estimator_for_every_method():
  assert set(estimators.ESTIMATORS) == set(methods.NAMES)


def test_two_sls_gives_the_coefficients_on_the_raw_scale():
  outcome, treatment, z, x = data()
  model = fitted()
  exog = np.stack([np.ones_like(x), x], axis=1)
  reference = IV2SLS(outcome, exog, treatment, z).fit().params.values
  np.testing.assert_allclose(model.coef_, reference[[2, 1]], rtol=1e-8)
  np.testing.assert_allclose(
    model.predict(treatment, x),
    reference[2] * treatment + exog @ reference[:2],
    rtol=1e-8,
  )


def test_two_sls_reproduces_the_published_return_to_schooling():
  table = card.load()
  controls = ['exper', 'expersq', 'black', 'smsa', 'south', 'smsa66'] + [
    f'reg66{region}' for region in range(2, 10)
  ]
  model = estimators.TwoSLS().fit(
    table['lwage'], table['educ'], Z=table['nearc4'], X=table[controls]
  )
  reference = (
    IV2SLS(
      table['lwage'],
      table[controls].assign(constant=1.0),
      table['educ'],
      table['nearc4'],
    )
    .fit()
    .params
  )
  assert model.coef_[0] == pytest.approx(reference['educ'], rel=1e-6)
  # Card (1995), as printed in textbooks.
  assert model.coef_[0] == pytest.approx(0.1315, abs=5e-5)
  np.testing.assert_allclose(
    model.coef_[1:], reference[controls].values, rtol=1e-6, atol=1e-9
  )
  # One more year of school, whatever the covariates.
  assert model.ate(12, 13) == pytest.approx(0.1315, abs=5e-5)
  # The textbook's robust first-stage F.
  assert model.first_stage_.effective_f[0] == pytest.approx(14.14, abs=0.01)


def test_effects_of_a_linear_fit_are_multiples_of_its_coefficient():
  model = fitted()
  slope = model.coef_[0]
  assert model.ate(0.0, 3.0) == pytest.approx(3.0 * slope)
  np.testing.assert_allclose(
    model.effect([[1.0], [2.0]], T0=1.0, T1=[2.0, 3.0]), [slope, 2.0 * slope]
  )
  curve = model.dose_response([0.0, 1.0, 2.0])
  np.testing.assert_allclose(np.diff(curve), slope)
  given = model.cate([1.0], given={0: 5.0})
  np.testing.assert_allclose(given, model.predict([1.0], [5.0]))
  with pytest.raises(ValueError, match='no column 1 of X; the fit had 1'):
    model.cate([1.0], given={1: 5.0})


def test_predictions_have_the_shape_of_the_outcome():
  outcome, treatment, z, _ = data()
  model = estimators.TwoSLS().fit(outcome[:, None], treatment[:, None], Z=z)
  assert model.predict(treatment).shape == (400, 1)
  assert fitted().predict(1.0, 0.0).shape == (1,)


def test_units_of_the_data_do_not_matter():
  outcome, treatment, z, x = data()
  plain = estimators.SieveIV(**SMALL_SIEVE).fit(outcome, treatment, Z=z, X=x)
  scaled = estimators.SieveIV(**SMALL_SIEVE).fit(
    1e3 * outcome - 5.0, 1e-3 * treatment, Z=100.0 * z + 7.0, X=x
  )
  np.testing.assert_allclose(
    scaled.predict(1e-3 * treatment, x),
    1e3 * plain.predict(treatment, x) - 5.0,
    rtol=1e-6,
  )


def test_frames_lists_and_integers_are_taken():
  outcome, treatment, z, x = data()
  reference = fitted()
  frame = pd.DataFrame({'y': outcome, 't': treatment, 'z': z, 'x': x})
  model = estimators.TwoSLS().fit(
    frame['y'], frame[['t']], Z=frame['z'], X=frame[['x']]
  )
  np.testing.assert_allclose(model.coef_, reference.coef_)
  model = estimators.TwoSLS().fit(
    list(outcome), list(treatment), Z=list(z), X=list(x)
  )
  np.testing.assert_allclose(model.coef_, reference.coef_)
  binary = (z > 0).astype(np.int8)
  model = estimators.TwoSLS().fit(
    np.round(outcome).astype(int),
    np.round(treatment).astype(int),
    Z=binary,
    X=x,
  )
  assert model.coef_[0] == pytest.approx(2.0, abs=1.0)


def test_more_features_than_rows_still_predicts():
  generator = np.random.default_rng(0)
  outcome, treatment, z, _ = data(rows=40)
  wide = generator.normal(size=(40, 100))
  with warnings.catch_warnings():
    warnings.simplefilter('ignore', strength.WeakInstrumentWarning)
    model = estimators.TwoSLS(stage1_penalty=1e-3, stage2_penalty=1e-3).fit(
      outcome, treatment, Z=z, X=wide
    )
  assert np.all(np.isfinite(model.predict(treatment, wide)))


def test_a_weak_instrument_warns():
  outcome, treatment, _, x = data()
  noise = np.random.default_rng(5).normal(size=400)
  with pytest.warns(strength.WeakInstrumentWarning, match='weak instrument'):
    model = estimators.TwoSLS().fit(outcome, treatment, Z=noise, X=x)
  assert 'WEAK' in model.summary()


def test_a_summary_names_rows_columns_and_first_stage():
  model = fitted()
  text = model.summary()
  assert 'TwoSLS fitted to 400 rows' in text
  assert 'first stage (held out), by treatment column' in text
  assert '  effective F  ' in text and '  F of the index  ' in text
  (value,) = model.first_stage_.singular_values
  # Given x, z and noise move the treatment alike.
  assert value == pytest.approx(0.5**0.5, abs=0.1)
  assert f'singular values   {value:.4g}\n' in text
  assert 'Y along them      100%' in text
  assert f'condition of Z    {model.first_stage_.condition:.2g}' in text
  assert 'WEAK' not in text and 'Warning' not in text


def test_a_summary_has_room_for_some_directions():
  outcome, treatment, z, x = data()
  model = estimators.KIV(random_features=40, search_bandwidths=False).fit(
    outcome, treatment, Z=z, X=x
  )
  count = len(model.first_stage_.singular_values)
  assert count > 6
  assert f' and {count - 6} more\n' in model.summary()


def test_an_outcome_where_stage_1_keeps_nothing_warns():
  generator = np.random.default_rng(2)
  z, noise = generator.standard_normal((2, 20_000, 2))
  x = np.array([0.8, 0.005]) * z + np.array([0.6, 1.0]) * noise
  with pytest.warns(strength.IllPosedWarning) as caught:
    model = estimators.KIV(random_features=50, search_bandwidths=False).fit(
      x[:, 0] / 0.8 + z[:, 1], x, Z=z
    )
  # Both columns move the outcome alike.
  words = next(
    str(each.message)
    for each in caught
    if isinstance(each.message, strength.IllPosedWarning)
  )
  assert abs(int(words.split(' %')[0]) - 50) < 10
  assert f'Warning: {words}' in model.summary()


def test_verbose_draws_a_bar(capsys):
  fitted(verbose=True)
  assert 'TwoSLS' in capsys.readouterr().out


@pytest.mark.parametrize(
  'kind, parameters',
  [
    (estimators.TwoSLS, {}),
    (estimators.SieveIV, {}),
    (estimators.KIV, {}),
    (estimators.KIV, {'random_features': 50}),
    (
      estimators.DFIV,
      {
        'iterations': 2,
        'checks': 1,
        'instrument_net': (
          layers_lib.Dense(4),
          layers_lib.Dropout(0.1),
          layers_lib.Dense(3, None),
        ),
      },
    ),
  ],
)
def test_a_saved_estimator_predicts_the_same(kind, parameters, tmp_path):
  outcome, treatment, z, x = data(rows=200)
  model = kind(**parameters).fit(outcome, treatment, Z=z, X=x)
  model.save(tmp_path / 'model')
  loaded = estimators.load(tmp_path / 'model')
  assert type(loaded) is kind
  assert loaded.get_params() == model.get_params()
  assert loaded.summary() == model.summary()
  np.testing.assert_array_equal(
    loaded.predict(treatment, x), model.predict(treatment, x)
  )
  assert loaded.ate(0.0, 1.0) == model.ate(0.0, 1.0)
  assert loaded.checks()[0] == model.checks()[0]


def test_an_estimator_of_an_older_version_has_fewer_diagnostics(tmp_path):
  model = fitted()
  model.save(tmp_path / 'model')
  path = tmp_path / 'model' / 'arrays.npz'
  with np.load(path) as file:
    saved = {
      name: file[name]
      for name in file
      if name in ('first_stage_r2', 'first_stage_partial_r2')
      or not name.startswith('first_stage')
    }
    # This was the name of the F of the held-out index.
    saved['first_stage_effective_f'] = file['first_stage_held_out_index_f']
  np.savez(path, **saved)
  path = tmp_path / 'model' / 'estimator.json'
  record = json.loads(path.read_text())
  del record['inference']
  path.write_text(json.dumps(record))
  loaded = estimators.load(tmp_path / 'model')
  with pytest.raises(ValueError, match='or an older version saved it'):
    loaded.coef_table()
  assert loaded.first_stage_.held_out_index_f == (
    model.first_stage_.held_out_index_f
  )
  assert not len(loaded.first_stage_.effective_f)
  assert 'effective F' not in loaded.summary()
  assert 'singular values' in model.summary()
  assert 'singular values' not in loaded.summary()
  assert loaded.first_stage_.warnings() == []


def test_saving_never_overwrites_and_loading_says_what_is_missing(tmp_path):
  model = fitted()
  with pytest.raises(FileExistsError, match='nothing is ever overwritten'):
    model.save(tmp_path)
  with pytest.raises(FileNotFoundError, match='holds no saved estimator'):
    estimators.load(tmp_path)
  (tmp_path / 'estimator.json').write_text('{"format": 99, "estimator": "A"}')
  with pytest.raises(ValueError, match='has format 99'):
    estimators.load(tmp_path)


@pytest.mark.parametrize('name', ['arrays.npz', 'weights.npz'])
@pytest.mark.parametrize(
  'damage',
  [
    lambda path: path.unlink(),
    lambda path: path.write_bytes(b''),
    lambda path: path.write_bytes(path.read_bytes()[:100]),
    lambda path: path.write_bytes(b'not an archive at all'),
    lambda path: np.save(path.open('wb'), np.ones(2)),
  ],
)
def test_a_damaged_file_is_refused_in_a_sentence(name, damage, tmp_path):
  fitted().save(tmp_path / 'model')
  damage(tmp_path / 'model' / name)
  with pytest.raises(ValueError, match=f'{name} is missing or damaged. Copy'):
    estimators.load(tmp_path / 'model')


def test_weights_of_another_model_and_pickles_are_refused(tmp_path):
  fitted().save(tmp_path / 'model')
  path = tmp_path / 'model' / 'weights.npz'
  for content in (
    {'other': np.ones(2)},
    {'weights': np.array([object()], dtype=object)},
  ):
    np.savez(path, **content)
    with pytest.raises(ValueError, match='weights.npz is missing or damaged'):
      estimators.load(tmp_path / 'model')


def test_an_estimator_that_is_not_fitted_says_so():
  for call in (
    lambda m: m.predict([1.0]),
    lambda m: m.ate(0.0, 1.0),
    lambda m: m.summary(),
    lambda m: m.save('nowhere'),
    lambda m: m.dose_response([1.0]),
  ):
    with pytest.raises(ValueError, match='This TwoSLS is not fitted'):
      call(estimators.TwoSLS())


Y, T, Z, X = data(rows=20)
BROKEN = T.copy()
BROKEN[3] = np.nan


@pytest.mark.parametrize(
  'arguments, message',
  [
    ({'T': T[:5]}, 'same number of rows, got Y: 20, T: 5'),
    ({'T': BROKEN}, 'T has 1 values that are NaN or infinite, the first in'),
    ({'Y': np.append(Y[1:], np.inf)}, 'Y has 1 values that are NaN'),
    ({'Z': np.ones(20)}, 'Z is constant'),
    ({'T': np.ones(20)}, 'A column of T is constant'),
    ({'Y': np.ones((20, 2))}, 'Y must be one column'),
    ({'T': np.ones((20, 2, 2))}, 'A column of T is constant'),
    ({'X': (np.ones((20, 1)), np.ones((19, 2, 2)))}, r'got \[20, 19\]'),
    ({'X': ['a'] * 20}, 'X must be numbers'),
    (
      {'X': pd.DataFrame({'age': X, 'region': ['a'] * 20})},
      r'some are not: region \(could not .* pandas.get_dummies\(X, dtype=',
    ),
    (
      {'X': pd.Series(pd.date_range('2020', periods=20))},
      'X must be numbers, got dates. Pass the days since one of them',
    ),
    (
      {'X': pd.DataFrame({'age': X, 'day': pd.date_range('2020', periods=20)})},
      'X must be numbers, got dates. Pass the days since one of them',
    ),
    (
      {'X': pd.Series(pd.date_range('2020', periods=20, tz='UTC'))},
      'X must be numbers, got dates. Pass the days since one of them',
    ),
    ({'Y': Y + 1j}, 'Y must be numbers, got complex numbers. Pass real ones'),
    ({'X': [[1.0], [1.0, 2.0]]}, 'X must be numbers; some are not'),
    ({'Y': np.full(20, 1e9 + 0.1)}, 'Y is constant, so there is nothing'),
    ({'X': np.zeros((20, 0))}, 'X is empty'),
    ({'Y': Y[:1], 'T': T[:1], 'Z': Z[:1], 'X': X[:1]}, 'at least 4 rows'),
  ],
)
def test_data_that_cannot_be_used_are_refused(arguments, message):
  values = {'Y': Y, 'T': T, 'Z': Z, 'X': X, **arguments}
  with pytest.raises(ValueError, match=message):
    estimators.TwoSLS().fit(
      values['Y'], values['T'], Z=values['Z'], X=values['X']
    )


@pytest.mark.parametrize('penalty', [0.0, -1.0, float('nan')])
def test_penalties_that_are_not_positive_are_refused(penalty):
  with pytest.raises(ValueError, match='stage1_penalty must be positive'):
    estimators.TwoSLS(stage1_penalty=penalty).fit(Y, T, Z=Z)


def test_points_of_prediction_must_look_like_the_fit():
  model = fitted()
  with pytest.raises(ValueError, match='predictions need them too'):
    model.predict([1.0])
  with pytest.raises(ValueError, match='X must have the 1 columns'):
    model.predict([1.0], [[1.0, 2.0]])
  with pytest.raises(ValueError, match='T has 2 rows and X 3'):
    model.predict([1.0, 2.0], [1.0, 2.0, 3.0])
  bare = estimators.TwoSLS().fit(*data()[:2], Z=data()[2])
  with pytest.raises(ValueError, match='predictions take none'):
    bare.predict([1.0], [1.0])
