"""Small problems with known answers, and configs of every agent for them."""

import collections
import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents, testing, types
from dfiv_ope.agents import base, memory
from dfiv_ope.nn import layers
from dfiv_ope.ope import bellman

DISCOUNT = 0.9
POLICY = np.array([0.3, 0.7])

_LINEAR = (layers.Dense(5, None),)

# Fields of the default config that a test of a few seconds needs changed.
_TRAINED = {'updates': 6, 'checks': 3, 'batch_size': 64}
QUICK = {
  name: {**entry.tiny, **(_TRAINED if entry.trained else {})}
  for name, entry in agents.ENTRIES.items()
  if not entry.direct
}
QUICK['dfiv'].update(treatment_net=_LINEAR, instrument_net=_LINEAR, patience=3)

_TWO_LAYERS = (layers.Dense(32, 'silu'), layers.Dense(32, 'silu'))

# What finds the Q-function of `curve` within seconds. psi of DFIV is narrow:
# random features are not enough, and the closed form cannot mend that. Others
# have their default config, closed forms with few features.
LEARNING = collections.defaultdict(
  dict,
  {
    **{
      name: {'random_features': 20}
      for name, entry in agents.ENTRIES.items()
      if not entry.trained and not entry.direct
    },
    'dfiv': {
      'updates': 1000,
      'checks': 4,
      'batch_size': 256,
      'treatment_net': (*_TWO_LAYERS, layers.Dense(3, None)),
      'instrument_net': (layers.Dense(32, 'silu'), layers.Dense(8, None)),
      'treatment_learning_rate': 5e-3,
      'patience': 0,
    },
    'fqe': {
      'updates': 1500,
      'checks': 5,
      'batch_size': 128,
      'hidden': (32, 32),
      'activation': 'silu',
      'learning_rate': 5e-3,
    },
    'deepgmm': {
      'updates': 2500,
      'checks': 5,
      'batch_size': 128,
      'treatment_net': _TWO_LAYERS,
      'instrument_net': _TWO_LAYERS,
      'treatment_rate': 5e-3,
      'average_rate': 0.02,
    },
    'deepiv': {
      'updates': 2000,
      'checks': 5,
      'batch_size': 128,
      'components': 3,
      'density_net': (layers.Dense(32, 'silu'),),
      'value_net': _TWO_LAYERS,
      'response_rate': 5e-3,
    },
  },
)


class Case(NamedTuple):
  """A problem, its rows and its exact answer at some observations."""

  problem: bellman.Problem
  transitions: types.Transition
  rows: types.IVBatch
  q_values: np.ndarray
  observations: tf.Tensor

  def learner(self, name, *, seed=0, data=None, **changes):
    """Returns a learner of an agent with some of its config changed."""
    module = agents.load(name)
    config = dataclasses.replace(module.CONFIGS['default'], **changes)
    return base.OPELearner(
      module.make(config, self.problem, seed=seed),
      self.problem,
      data
      or memory.InMemory(self.rows, batch_size=config.batch_size, seed=seed),
      initial_observations=self.observations,
    )


@pytest.fixture(scope='session')
def case():
  process = testing.TabularMDP(seed=3)
  transitions = process.transitions(20_000)
  problem = bellman.pose(
    transitions, testing.Mixed(POLICY), discount=DISCOUNT, num_actions=2
  )
  return Case(
    problem,
    transitions,
    problem.rows(transitions),
    process.q_values(np.tile(POLICY, (5, 1)), DISCOUNT),
    tf.eye(5),
  )


def make_curve(seed):
  """Returns a problem of a continuous state whose Q-function bends often."""
  generator = np.random.default_rng(seed)
  rows, discount = 8000, 0.8

  def q_values(state):
    wave = np.sin(5.0 * state)
    return np.cos(4.0 * state)[:, None] + np.stack([-wave, wave], axis=1)

  state = generator.uniform(-1.0, 1.0, rows)
  action = generator.integers(2, size=rows)
  later = 0.5 * state + 0.5 * generator.uniform(-1.0, 1.0, rows)
  # The reward that makes these the values, wherever a step leads.
  reward = (
    q_values(state)[np.arange(rows), action]
    - discount * q_values(later) @ POLICY
    + 0.1 * generator.normal(size=rows)
  )
  transitions = types.Transition(
    *map(
      tf.constant,
      (
        state[:, None].astype(np.float32),
        action.astype(np.int32),
        reward.astype(np.float32),
        np.ones(rows, np.float32),
        later[:, None].astype(np.float32),
      ),
    )
  )
  problem = bellman.pose(
    transitions, testing.Mixed(POLICY), discount=discount, num_actions=2
  )
  grid = np.linspace(-0.95, 0.95, 60)
  return Case(
    problem,
    transitions,
    problem.rows(transitions),
    q_values(grid),
    tf.constant(grid[:, None], tf.float32),
  )


@pytest.fixture(scope='session')
def curve():
  return make_curve(0)


@pytest.fixture(scope='session')
def quick():
  return QUICK


@pytest.fixture(scope='session')
def learning():
  return LEARNING


@pytest.fixture(scope='session')
def finished(case):
  """Returns a function that gives the finished quick run of an agent."""

  @functools.cache
  def run(name):
    learner = case.learner(name, **QUICK[name])
    learner.run()
    return learner

  return run
