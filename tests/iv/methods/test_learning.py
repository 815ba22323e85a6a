"""Methods that are trained find a function that they could not start with.

The structural function bends, so neither one random feature of DFIV, closed
form included, nor a network as it starts can express it; and least squares of
the outcome on the treatment is confounded. A method whose updates do nothing
must fail the same oracle, and so must least squares.
"""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv import methods
from dfiv_ope.iv.methods import dfiv_graphs
from dfiv_ope.nn import descent, layers

_GRID = np.linspace(-1.8, 1.8, 60, dtype=np.float32)[:, None]
_TRUTH = np.sin(1.5 * _GRID)
_TWO_LAYERS = (
  layers.Dense(32, 'silu'),
  layers.Dense(32, 'silu'),
  layers.Dense(1, None),
)

# What finds the function within seconds.
LEARNING = {
  'dfiv': {
    'iterations': 400,
    'checks': 5,
    'batch_size': 1000,
    'fixed_landmarks': 0,  # A kernel would not have to learn anything.
    'treatment_net': (layers.Dense(32, 'silu'), layers.Dense(1, None)),
    'instrument_net': (layers.Dense(32, 'silu'), layers.Dense(16, None)),
    'treatment_learning_rate': 2e-2,
    'learning_rate': 5e-3,
  },
  'deepiv': {
    'density_steps': 800,
    'response_steps': 1500,
    'checks': 5,
    'batch_size': 500,
    'members': 1,
    'components': 1,
    'density_rate': 1e-2,
    'response_rate': 5e-3,
    'density_decay': 0.0,
    'instrument_net': (layers.Dense(16, 'tanh'),),
    'treatment_net': _TWO_LAYERS,
  },
  'deepgmm': {
    'steps': 800,
    'checks': 8,
    'batch_size': 500,
    'swap': False,
    'treatment_net': _TWO_LAYERS,
    'instrument_net': _TWO_LAYERS,
  },
}
# What leaves networks as they start.
_STILL = {
  'dfiv': {
    'iterations': 1,
    'checks': 1,
    'learning_rate': 1e-30,
    'treatment_learning_rate': 1e-30,
  },
  'deepiv': {
    'density_steps': 1,
    'response_steps': 1,
    'checks': 1,
    'density_rate': 1e-30,
    'response_rate': 1e-30,
  },
  'deepgmm': {
    'steps': 1,
    'checks': 1,
    'treatment_rate': 1e-30,
    'instrument_rate': 1e-30,
  },
}
# `fit` of DFIV goes by `update`, the others by their parts, which have to be
# trained in turns or chosen among. `update` is then trained by itself.
_RUNS = [
  ('dfiv', 'fit'),
  ('deepiv', 'fit'),
  ('deepgmm', 'fit'),
  ('deepiv', 'update'),
  ('deepgmm', 'update'),
]
_IDLE = [
  ('dfiv', 'fit', 'update'),
  ('deepiv', 'fit', 'density_step'),
  ('deepiv', 'fit', 'response_step'),
  ('deepgmm', 'fit', 'critic_step'),
  ('deepgmm', 'fit', 'structural_step'),
  ('deepiv', 'update', 'update'),
  ('deepgmm', 'update', 'update'),
]


def make_halves(seed):
  """Returns two halves of a confounded problem of scale one."""
  generator = np.random.default_rng(seed)
  instrument = generator.uniform(-2.0, 2.0, (20_000, 1))
  hidden, noise = generator.normal(size=(2, 20_000, 1))
  treatment = instrument + 0.5 * hidden
  outcome = np.sin(1.5 * treatment) + hidden + 0.1 * noise
  rows = [each.astype(np.float32) for each in (treatment, instrument, outcome)]
  return [
    types.IVBatch(*(each[half::2] for each in rows), None) for half in (0, 1)
  ]


@pytest.fixture(scope='module')
def halves():
  return make_halves(0)


def configure(name, **changes):
  return dataclasses.replace(
    methods.load(name).Config(), **{**LEARNING[name], **changes}
  )


def fit(halves, name, *, seed=0, **changes):
  """Returns what `fit` predicts."""
  model = methods.load(name).fit(configure(name, **changes), *halves, seed=seed)
  return model.predict(_GRID)


def train(halves, name, *, seed=0):
  """Returns what a model predicts that was trained by `update` alone."""
  config = configure(name)
  halves = [descent.tensors(half) for half in halves]
  model = methods.load(name).build(config, descent.sizes(halves[0]), seed=seed)
  generator = tf.random.Generator.from_seed(seed)

  @tf.function
  def updates(count):
    for _ in tf.range(count):
      model.update(
        *(
          descent.mini_batch(half, config.batch_size, generator)
          for half in halves
        )
      )

  updates(tf.constant(1000))
  for each in model.submodules:
    if isinstance(each, descent.Descent):
      each.anneal(0.8)  # to settle
  updates(tf.constant(500))
  return model.predict(_GRID)


@pytest.fixture(scope='module')
def untrained(halves):
  """Returns a function that gives what a method predicts as it starts."""
  return functools.cache(lambda name: fit(halves, name, **_STILL[name]))


def run(halves, name, how):
  return fit(halves, name) if how == 'fit' else train(halves, name)


def test_no_method_is_missing():
  trained = {
    name for name in methods.NAMES if hasattr(methods.load(name), 'TRAINED')
  }
  assert trained == {'dfiv', 'deepiv', 'deepgmm'} == set(LEARNING)
  assert trained == {name for name, _, idle in _IDLE if idle == 'update'}
  assert set(_RUNS) == {(name, how) for name, how, _ in _IDLE}


@pytest.mark.parametrize('name, how', _RUNS)
def test_training_finds_the_structural_function(
  halves, untrained, require_learned, name, how
):
  require_learned(_TRUTH, run(halves, name, how), untrained(name))


@pytest.mark.parametrize('name, how, method', _IDLE)
def test_without_an_update_the_oracle_fails(
  halves, untrained, require_learned, monkeypatch, name, how, method
):
  start = untrained(name)
  losses = {'stage1_loss': tf.zeros([]), 'stage2_loss': tf.zeros([])}
  model = methods.load(name).build(configure(name), types.Sizes(1, 1))
  monkeypatch.setattr(
    type(model),
    method,
    lambda *batches: losses if method == 'update' else losses['stage1_loss'],
  )
  # A graph that was traced before has the update that does something.
  monkeypatch.setattr(dfiv_graphs, '_IDLE', [])
  idle = run(halves, name, how)
  with pytest.raises(AssertionError, match='learned too little'):
    require_learned(_TRUTH, idle, start)
  if method == 'update':
    np.testing.assert_allclose(idle, start, rtol=1e-3, atol=1e-3)


def test_least_squares_fails_too(halves, require_learned):
  treatment, outcome = (
    np.concatenate([getattr(half, name) for half in halves])
    for name in ('treatment', 'outcome')
  )

  def waves(x):
    angle = np.arange(1, 7) * x
    return np.concatenate(
      [np.ones_like(x), np.sin(angle), np.cos(angle)], axis=1
    )

  weights = np.linalg.lstsq(waves(treatment), outcome, rcond=None)[0]
  with pytest.raises(AssertionError, match='learned too little'):
    require_learned(_TRUTH, waves(_GRID) @ weights, np.zeros_like(_TRUTH))
