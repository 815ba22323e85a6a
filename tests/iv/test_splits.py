"""Repeated random splits of the estimators on arrays."""

import json
import warnings

import numpy as np
import pytest
from sklearn import base
import tensorflow as tf

from dfiv_ope.iv import bases, estimators, splits

QUICK = {'iterations': 2, 'checks': 1}


def data(rows=120, seed=0):
  generator = np.random.default_rng(seed)
  z = generator.uniform(-3.0, 3.0, size=(rows, 2))
  noise = generator.normal(size=rows)
  treatment = z[:, 0] + noise
  return np.abs(treatment) + noise, treatment, z


def test_the_number_of_splits_falls_with_the_rows():
  assert [
    splits.number(rows, 5)
    for rows in (20, 2000, 2499, 2500, 5000, 9999, 10_000, 10**6)
  ] == [5, 5, 5, 4, 2, 2, 1, 1]
  assert splits.number(20, 1) == 1


def test_splits_differ_and_the_first_does_not_depend_on_their_number():
  (one,) = splits.draw(11, 1, 3)
  first, second, third = splits.draw(11, 3, 3)
  for half, other in zip(one.halves, first.halves, strict=True):
    np.testing.assert_array_equal(half, other)
  assert first.seed == 3 and len({first.seed, second.seed, third.seed}) == 3
  for each in (first, second, third):
    assert sorted(np.concatenate(each.halves)) == list(range(11))
  assert set(first.halves[0]) != set(second.halves[0])


def test_the_spread_is_a_share_of_the_scale():
  predictions = np.array([[0.0, 1.0], [2.0, 1.0]])  # Variances 2 and 0.
  assert splits.spread(predictions, 4.0) == pytest.approx(0.25)
  assert np.isnan(splits.spread(predictions[:1], 4.0))


def test_a_prediction_is_the_mean_over_splits():
  Y, T, Z = data()
  model = estimators.KIV(random_features=20, n_splits=3).fit(Y, T, Z=Z)
  each = []
  for split in splits.draw(len(Y), 3, 0):
    one = base.clone(model).set_params(n_splits=1, random_state=split.seed)
    each.append(one.fit(Y, T, Z=Z).predict(T))
  np.testing.assert_allclose(model.predict(T), np.mean(each, axis=0), rtol=1e-6)
  spread = np.sqrt(np.mean(np.var(each, axis=0, ddof=1))) / np.std(Y)
  assert model.split_spread_ == pytest.approx(spread, rel=1e-5)
  assert (
    f'  sd over splits    {spread:.2g} of the sd of Y for one, about '
    f'{spread / 3**0.5:.2g} for their mean'
  ) in model.summary()
  assert 'random splits       3, averaged' in model.summary()


def test_closed_forms_average_by_default_and_networks_warn():
  Y, T, Z = data()
  with warnings.catch_warnings():
    warnings.simplefilter('error', splits.SplitWarning)
    model = estimators.KIV(random_features=20).fit(Y, T, Z=Z)
  assert len(model.models_) == 5
  with pytest.warns(splits.SplitWarning, match='One random split of 120 rows'):
    again = estimators.DFIV(**QUICK).fit(Y, T, Z=Z)
  assert len(again.models_) == 1
  assert np.isnan(again.split_spread_)
  assert 'random splits       1; n_splits=5 tells' in again.summary()


def test_linear_2sls_does_not_depend_on_the_split():
  Y, T, Z = data()
  fits = [
    estimators.TwoSLS(random_state=seed).fit(Y, T, Z=Z).coef_ for seed in (0, 1)
  ]
  np.testing.assert_allclose(*fits, rtol=1e-10)
  assert 'splits' not in estimators.TwoSLS().fit(Y, T, Z=Z).summary()
  with pytest.raises(TypeError, match="no parameter 'n_splits'"):
    estimators.TwoSLS(n_splits=2)


def test_the_mean_over_splits_has_a_smaller_error_and_spread():
  """On the mean over data sets; it is no law for each of them."""
  points = np.linspace(-3.0, 3.0, 61)
  errors = {1: [], 5: []}
  for seed in range(2):
    Y, T, Z = data(rows=200, seed=seed)
    for count in errors:
      for state in (0, 1):
        # More folds than two leave less to average, and so does stage 2 by
        # moments, whose one split is as good as five of the paper's here.
        model = estimators.KIV(
          n_splits=count,
          random_state=state,
          folds=2,
          slack=0.0,
          search_bandwidths=False,
          moment_penalty=None,
        )
        errors[count].append(
          model.fit(Y, T, Z=Z).predict(points) - np.abs(points)
        )
  mean = {count: np.mean(np.square(each)) for count, each in errors.items()}
  assert mean[5] < 0.8 * mean[1]
  moved = {
    count: np.mean(np.square(np.subtract(each[::2], each[1::2])))
    for count, each in errors.items()
  }
  assert moved[5] < 0.5 * moved[1]


@pytest.mark.parametrize(
  'model',
  [
    estimators.KIV(n_splits=2),
    estimators.SieveIV(n_splits=2, treatment_bases=(bases.Hermite(2),)),
    estimators.DFIV(**QUICK, n_splits=2),
  ],
)
def test_all_splits_are_saved(model, tmp_path):
  Y, T, Z = data()
  model = base.clone(model).fit(Y, T, Z=Z)
  model.save(tmp_path / 'saved')
  loaded = estimators.load(tmp_path / 'saved')
  assert len(loaded.models_) == 2
  assert loaded.split_spread_ == model.split_spread_
  assert loaded.summary() == model.summary()
  np.testing.assert_array_equal(loaded.predict(T), model.predict(T))


def as_checkpoint(model, path):
  """Writes a closed form as versions before 3 did: variables of modules."""
  root = tf.Module()
  for key, values in model.state().items():
    node, (*parts, last) = root, key.split('/')
    if last.isdigit():  # One of a list.
      parts, last = parts[:-1], parts[-1]
    for part in parts:
      if not hasattr(node, f'_{part}'):
        setattr(node, f'_{part}', tf.Module())
      node = getattr(node, f'_{part}')
    name = f'_{last}' if parts else last
    if key[-1].isdigit():
      setattr(node, name, [*getattr(node, name, ()), tf.Variable(values)])
    else:
      setattr(node, name, tf.Variable(values))
  tf.train.Checkpoint(model=root).write(str(path))


@pytest.mark.parametrize(
  'model',
  [
    estimators.TwoSLS(),
    estimators.SieveIV(n_splits=1),
    estimators.KIV(n_splits=1),
    estimators.KIV(random_features=20, n_splits=1),
  ],
)
def test_an_estimator_of_the_first_format_is_read(model, tmp_path):
  Y, T, Z = data()
  model.fit(Y, T, Z=Z)
  model.save(tmp_path / 'saved')
  path = tmp_path / 'saved' / 'estimator.json'
  (tmp_path / 'saved' / 'weights.npz').unlink()
  as_checkpoint(model.model_, tmp_path / 'saved' / 'weights')
  record = json.loads(path.read_text())
  (record['config'],) = record.pop('configs')
  for name in ('names', 'underidentified'):
    del record[name]
  path.write_text(json.dumps({**record, 'format': 1}))
  loaded = estimators.load(tmp_path / 'saved')
  np.testing.assert_array_equal(loaded.predict(T), model.predict(T))
  assert loaded.names_ == (None, None, None, None)


@pytest.mark.parametrize('count', [0, 1.5, True, 'all'])
def test_a_number_of_splits_that_is_none_is_refused(count):
  Y, T, Z = data()
  with pytest.raises(ValueError, match='n_splits must be a positive int'):
    estimators.KIV(n_splits=count).fit(Y, T, Z=Z)


def test_the_progress_is_that_of_all_splits():
  Y, T, Z = data()
  seen = []
  estimators.KIV(random_features=20, n_splits=3).fit(
    Y, T, Z=Z, progress=lambda done, total, losses: seen.append((done, total))
  )
  assert seen == [(1, 3), (2, 3), (3, 3)]


def test_only_one_training_can_be_watched():
  Y, T, Z = data()
  with pytest.raises(ValueError, match='got n_splits=2. Pass n_splits=1'):
    estimators.DFIV(**QUICK, n_splits=2).fit(
      Y, T, Z=Z, watch=lambda model: None
    )
