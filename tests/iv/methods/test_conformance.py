"""What every method keeps: one suite over all of them."""

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import configs, testing, types
from dfiv_ope.iv import bases, methods
from dfiv_ope.nn import layers


def batch(rows=40, seed=0):
  generator = np.random.default_rng(seed)
  z, x, noise = generator.normal(size=(3, rows, 1)).astype(np.float32)
  treatment = z + 0.5 * x + noise
  return types.IVBatch(
    treatment=treatment,
    instrument=np.concatenate([z, x], axis=1),
    outcome=2.0 * treatment + x + noise,
    covariate=x,
  )


def fit(name, *, seed=0, progress=None):
  module = methods.load(name)
  config = dataclasses.replace(module.Config(), **methods.ENTRIES[name].tiny)
  return module.fit(
    config, batch(seed=0), batch(seed=1), seed=seed, progress=progress
  )


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


def test_those_that_can_be_watched_say_so():
  found = {
    name
    for name in methods.NAMES
    if 'watch' in inspect.signature(methods.load(name).fit).parameters
  }
  assert found == set(methods.WATCHABLE)


@pytest.mark.parametrize('name', methods.NAMES)
def test_fit_and_build_have_the_agreed_signature(name):
  module = methods.load(name)
  parameters = list(inspect.signature(module.fit).parameters)
  assert parameters[:5] == ['config', 'stage1', 'stage2', 'seed', 'progress']
  # A training can be watched.
  assert parameters[5:] == (['watch'] if name in ('dfiv', 'deepgmm') else [])
  assert list(inspect.signature(module.build).parameters) == [
    'config',
    'sizes',
    'seed',
  ]


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
  one = np.asarray(
    model.predict(batch(7, 2).treatment[:1], batch(7, 2).covariate[:1])
  )
  np.testing.assert_allclose(one, many[:1], rtol=1e-4, atol=1e-5)


def test_history_holds_lists_of_numbers(fitted):
  _, model, _ = fitted
  assert model.history
  for values in model.history.values():
    assert np.asarray(list(values), float).ndim == 1


def test_the_same_seed_gives_the_same_numbers(fitted):
  name, model, _ = fitted
  np.testing.assert_array_equal(predictions(fit(name)), predictions(model))


def test_what_is_saved_fills_what_build_makes(fitted, tmp_path):
  name, model, _ = fitted
  empty = methods.load(name).build(model.config, types.Sizes(1, 2, 1))
  if name in methods.CLOSED_FORMS:
    empty.restore(model.state())
  else:
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / 'weights'))
    tf.train.Checkpoint(model=empty).read(path).expect_partial()
  np.testing.assert_array_equal(predictions(empty), predictions(model))


def test_progress_ends_with_all_steps_done(fitted):
  _, _, calls = fitted
  steps = [done for done, _, _ in calls]
  assert steps == sorted(steps)
  assert steps[-1] == calls[-1][1]
  assert all(isinstance(losses, dict) for _, _, losses in calls)


# Settings with which a fit without covariates has an answer that numpy knows.
_LINE = (layers.Dense(1, None),)
_KNOWN = {
  'two_sls': {},
  'sieve': {
    'moment_penalty': None,
    'treatment_bases': (bases.Hermite(2),),
    'instrument_basis': bases.Hermite(3),
    'stage1_penalties': (1e-2,),
    'stage2_penalties': (1e-3,),
  },
  'kiv': {
    'random_features': 10,
    'stage1_penalties': (1e-2,),
    'stage2_penalties': (1e-3,),
    'folds': 2,
    'search_bandwidths': False,
    'moment_penalty': None,
  },
  'agmm': {
    'stage1_penalties': (1e-2,),
    'stage2_penalties': (1e-3,),
    'search_bandwidths': False,
  },
  'auto': {'candidates': ('two_sls',)},
  'dfiv': {
    'iterations': 4,
    'checks': 2,
    'refinements': 0,
    'candidate_penalties': (),
    'stage1_penalty': 1e-2,
    'stage2_penalty': 1e-3,
    'fixed_landmarks': 0,
  },
  'deepiv': {
    'density_steps': 1000,
    'response_steps': 500,
    'checks': 5,
    'members': 1,
    'components': 1,
    'density_rate': 2e-2,
    'response_rate': 2e-2,
    'density_decay': 0.0,
    'response_decay': 0.0,
    'instrument_net': (),
    'treatment_net': _LINE,
    'batch_size': 500,
  },
  'deepgmm': {
    'steps': 300,
    'checks': 5,
    'treatment_rate': 2e-2,
    'treatment_net': _LINE,
    'instrument_net': _LINE,
    'batch_size': 500,
  },
}


def append_one(x):
  return np.concatenate([x, np.ones_like(x[:, :1])], axis=1)


def ridge_weights(columns, target, penalty):
  """Returns weights of columns and of an appended constant, which is free."""
  columns = append_one(columns)
  scale = (
    penalty * len(columns) * np.diag([*np.ones(columns.shape[1] - 1), 0.0])
  )
  return np.linalg.solve(columns.T @ columns + scale, columns.T @ target)


def cross_fitted(halves, penalties):
  """Returns u of all rows; each half is predicted by the other's stage 1."""
  predicted = [
    append_one(rows.instrument)
    @ ridge_weights(source.instrument, source.treatment, penalties[0])
    for source, rows in (halves, halves[::-1])
  ]
  outcome = np.concatenate([halves[1].outcome, halves[0].outcome])
  return ridge_weights(np.concatenate(predicted), outcome, penalties[1])


def projected(halves, penalties):
  """Returns u of all rows that makes what instruments see of y least."""
  psi, phi, y = (
    np.concatenate([getattr(half, each) for half in halves])
    for each in ('treatment', 'instrument', 'outcome')
  )
  both = append_one(phi) @ ridge_weights(
    phi, np.concatenate([append_one(psi), y], axis=1), penalties[0]
  )
  scale = penalties[1] * len(y) * np.diag([*np.ones(psi.shape[1]), 0.0])
  return np.linalg.solve(
    append_one(psi).T @ both[:, :-1] + scale, append_one(psi).T @ both[:, -1:]
  )


@pytest.mark.parametrize('name', methods.NAMES)
def test_a_regression_without_covariates_has_the_answer_of_numpy(name):
  halves = testing.linear_problem(1000, covariates=False)
  module = methods.load(name)
  model = module.fit(
    dataclasses.replace(module.Config(), **_KNOWN[name]), *halves, seed=0
  )
  points = np.linspace(-2.0, 2.0, 7, dtype=np.float32)[:, None]
  found = np.asarray(model.predict(points))
  rows = [
    np.concatenate([getattr(half, each) for half in halves]).astype(float)
    for each in ('treatment', 'instrument', 'outcome')
  ]
  treatment, instrument, outcome = rows
  if name in ('sieve', 'kiv', 'agmm', 'dfiv'):
    featured = [
      types.IVBatch(
        *(
          None if each is None else np.asarray(each, float)
          for each in model.features(half)
        )
      )
      for half in halves
    ]
    psi = np.asarray(
      model.features(halves[0]._replace(treatment=points)).treatment, float
    )
    solve = projected if name == 'agmm' else cross_fitted
    expected = append_one(psi) @ solve(featured, (1e-2, 1e-3))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    return
  fitted = append_one(instrument) @ ridge_weights(instrument, treatment, 0.0)
  weights = ridge_weights(fitted, outcome, 0.0)
  if name == 'auto':  # Its line is Fuller's.
    share = 1.0 / (len(outcome) - instrument.shape[1] - 1)
    first, second = append_one(fitted), append_one(treatment)
    weights = np.linalg.solve(
      (1.0 - share) * first.T @ first + share * second.T @ second,
      (1.0 - share) * first.T @ outcome + share * second.T @ outcome,
    )
  expected = append_one(points) @ weights
  # Two networks stop near the answer; least squares has a slope of 1/4.
  tolerance = 1e-4 if name in ('two_sls', 'auto') else 0.1
  np.testing.assert_allclose(
    found, expected, atol=tolerance * np.abs(expected).max()
  )
