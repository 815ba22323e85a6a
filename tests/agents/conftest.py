"""A small problem with a known answer, and quick configs of every agent."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import agents, testing, types
from dfiv_ope.agents import base, memory
from dfiv_ope.nn import networks
from dfiv_ope.ope import bellman

DISCOUNT = 0.9
POLICY = np.array([0.3, 0.7])

_LINEAR = (networks.Dense(5, None),)

# Fields of the default config that a test of a few seconds needs changed.
_TRAINED = {'updates': 6, 'checks': 3, 'batch_size': 64}
QUICK = {name: {**entry.tiny, **(_TRAINED if entry.trained else {})}
         for name, entry in agents.ENTRIES.items()}
QUICK['dfiv'].update(treatment_net=_LINEAR, instrument_net=_LINEAR)


class Case(NamedTuple):
  """A tabular problem, its rows and its exact answer."""
  problem: bellman.Problem
  transitions: types.Transition
  rows: types.IVBatch
  q_values: np.ndarray

  @property
  def observations(self):
    return tf.eye(self.q_values.shape[0])

  def learner(self, name, *, seed=0, data=None, **changes):
    """Returns a learner of an agent with some of its config changed."""
    module = agents.load(name)
    config = dataclasses.replace(module.CONFIGS['default'], **changes)
    return base.OPELearner(
        module.make(config, self.problem, seed=seed), self.problem,
        data or memory.InMemory(
            self.rows, batch_size=config.batch_size, seed=seed),
        initial_observations=self.observations)


@pytest.fixture(scope='session')
def case():
  process = testing.TabularMDP(seed=3)
  transitions = process.transitions(20_000)
  problem = bellman.pose(
      transitions, testing.Mixed(POLICY), discount=DISCOUNT, num_actions=2)
  return Case(
      problem, transitions, problem.rows(transitions),
      process.q_values(np.tile(POLICY, (5, 1)), DISCOUNT))


@pytest.fixture(scope='session')
def quick():
  return QUICK


@pytest.fixture(scope='session')
def finished(case):
  """Returns a function that gives the finished quick run of an agent."""

  @functools.cache
  def run(name):
    learner = case.learner(name, **QUICK[name])
    learner.run()
    return learner

  return run
