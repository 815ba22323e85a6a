"""What every method keeps: one suite over all of them."""

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import configs, types
from dfiv_ope.iv import methods


def batch(rows=40, seed=0, covariate=True):
  generator = np.random.default_rng(seed)
  z, x, noise = generator.normal(size=(3, rows, 1)).astype(np.float32)
  treatment = z + 0.5 * x + noise
  return types.IVBatch(
      treatment=treatment,
      instrument=np.concatenate([z, x], axis=1) if covariate else z,
      outcome=2. * treatment + x + noise,
      covariate=x if covariate else None)


def fit(name, *, seed=0, covariate=True, progress=None):
  module = methods.load(name)
  config = dataclasses.replace(
      module.Config(), **methods.ENTRIES[name].tiny)
  return module.fit(
      config, batch(seed=0, covariate=covariate),
      batch(seed=1, covariate=covariate), seed=seed, progress=progress)


@pytest.fixture(scope='module', params=methods.NAMES)
def fitted(request):
  # Graphs are slow to build: one fit serves all tests of a method.
  calls = []
  model = fit(request.param, progress=lambda *args: calls.append(args))
  return request.param, model, calls


def predictions(model, rows=7):
  points = batch(rows=rows, seed=2)
  return np.asarray(model.predict(points.treatment, points.covariate))


def test_no_method_is_missing_from_this_suite():
  found = set()
  for module in pkgutil.iter_modules(methods.__path__):
    loaded = importlib.import_module(f'dfiv_ope.iv.methods.{module.name}')
    if hasattr(loaded, 'fit') and hasattr(loaded, 'Config'):
      found.add(module.name)
  assert found == set(methods.NAMES)


@pytest.mark.parametrize('name', methods.NAMES)
def test_fit_and_build_have_the_agreed_signature(name):
  module = methods.load(name)
  parameters = list(inspect.signature(module.fit).parameters)
  assert parameters[:5] == [
      'config', 'stage1', 'stage2', 'seed', 'progress']
  # A training can be watched.
  assert parameters[5:] == (['watch'] if name in ('dfiv', 'deepgmm') else [])
  assert list(inspect.signature(module.build).parameters) == [
      'config', 'treatment_size', 'instrument_size', 'covariate_size', 'seed']


@pytest.mark.parametrize('name', methods.NAMES)
def test_configs_are_frozen_and_become_json(name):
  config = methods.load(name).Config()
  with pytest.raises(dataclasses.FrozenInstanceError):
    setattr(config, dataclasses.fields(config)[0].name, None)
  assert configs.encode(config)['type'] == 'Config'


def test_predictions_are_finite_columns_of_any_batch_size(fitted):
  _, model, _ = fitted
  many = predictions(model)
  assert many.shape == (7, 1)
  assert np.all(np.isfinite(many))
  one = np.asarray(model.predict(
      batch(7, 2).treatment[:1], batch(7, 2).covariate[:1]))
  np.testing.assert_allclose(one, many[:1], rtol=1e-4, atol=1e-5)


def test_history_holds_lists_of_numbers(fitted):
  _, model, _ = fitted
  assert model.history
  for values in model.history.values():
    assert np.asarray(list(values), float).ndim == 1


def test_the_same_seed_gives_the_same_numbers(fitted):
  name, model, _ = fitted
  np.testing.assert_array_equal(predictions(fit(name)), predictions(model))


def test_a_checkpoint_fills_what_build_makes(fitted, tmp_path):
  name, model, _ = fitted
  path = tf.train.Checkpoint(model=model).write(str(tmp_path / 'weights'))
  empty = methods.load(name).build(
      model.config, treatment_size=1, instrument_size=2, covariate_size=1)
  tf.train.Checkpoint(model=empty).read(path).expect_partial()
  np.testing.assert_array_equal(predictions(empty), predictions(model))


def test_progress_ends_with_all_steps_done(fitted):
  _, _, calls = fitted
  steps = [done for done, _, _ in calls]
  assert steps == sorted(steps)
  assert steps[-1] == calls[-1][1]
  assert all(isinstance(losses, dict) for _, _, losses in calls)


@pytest.mark.parametrize('name', methods.NAMES)
def test_a_regression_without_covariates_fits(name):
  model = fit(name, covariate=False)
  values = np.asarray(model.predict(batch(7, 2, covariate=False).treatment))
  assert values.shape == (7, 1)
  assert np.all(np.isfinite(values))
