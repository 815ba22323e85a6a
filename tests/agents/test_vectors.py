"""Actions that are vectors: every agent, on a line whose values are known.

s' = s / 2 + a + noise, the reward is s - a^2 and the target takes a = s / 5
with Gaussian noise of standard deviation 0.3. So V(s) = b s - c s^2 - d, and
the value of one step is V at discount 0.
"""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions, agents, types
from dfiv_ope.agents import base, memory, network_agent
from dfiv_ope.evaluation import influence, interval_settings
from dfiv_ope.ope import bellman, decisions, targets
from dfiv_ope.policies import continuous

_DISCOUNT, _SLOPE, _SPREAD, _NOISE = 0.8, 0.2, 0.3, 0.1
_ACTION = actions.Continuous(low=(None,), high=(None,))
# Relative error that a short training may leave.
_TOLERANCE = {
  'lstd': 0.02,
  'kiv': 0.03,
  'cme': 0.03,
  'fqe': 0.15,
  'dfiv': 0.1,
  'deepgmm': 0.6,
  'deepiv': 2.0,
}


def _policy(spread=_SPREAD):
  return continuous.Gaussian(
    lambda s: _SLOPE * s, standard_deviation=spread, actions=_ACTION
  )


def _value(state):
  """V of the target, by matching coefficients of its Bellman equation."""
  step = 0.5 + _SLOPE  # s' = step s + noise
  variance = _SPREAD**2 + _NOISE**2
  square = -(_SLOPE**2) / (1.0 - _DISCOUNT * step**2)
  linear = 1.0 / (1.0 - _DISCOUNT * step)
  constant = (-(_SPREAD**2) + _DISCOUNT * square * variance) / (1.0 - _DISCOUNT)
  return constant + linear * state + square * state**2


@functools.cache
def _log(rows=8_000, seed=0):
  generator = np.random.default_rng(seed)
  state = generator.normal(size=(rows, 1)) + 0.5
  action = _SLOPE * state + 0.6 * generator.normal(size=(rows, 1))
  later = 0.5 * state + action + _NOISE * generator.normal(size=(rows, 1))
  return types.Transition(
    *map(
      tf.constant,
      (
        state,
        action,
        (state - action**2)[:, 0],
        np.ones(rows, np.float32),
        later,
      ),
    )
  )


@functools.cache
def _problem(spread=_SPREAD):
  return bellman.pose(
    _log(),
    _policy(spread),
    discount=_DISCOUNT,
    num_actions=0,
    continuous=_ACTION,
  )


@functools.cache
def _learner(name):
  problem, entry = _problem(), agents.ENTRIES[name]
  config = entry.configs['default']
  quick = {
    'fqe': {'updates': 600, 'checks': 1},
    'dfiv': {'updates': 60, 'checks': 1},
    'deepgmm': {'updates': 800, 'checks': 1},
    'deepiv': {'updates': 60, 'checks': 1},
  }.get(name, {})
  config = dataclasses.replace(config, **quick)
  learner = base.OPELearner(
    agents.load(name).make(config, problem, seed=0),
    problem,
    memory.InMemory(
      problem.log_rows(_log()), batch_size=config.batch_size, seed=0
    ),
    initial_observations=tf.constant([[1.0]] * 200, tf.float64),
  )
  learner.run()
  return learner


def test_every_agent_has_a_tolerance_here():
  assert set(_TOLERANCE) == set(agents.LEARNERS)


@pytest.mark.parametrize('name', agents.LEARNERS)
def test_the_value_of_a_gaussian_policy_is_found(name):
  learner = _learner(name)
  assert not learner.divergence
  assert learner.evaluate() == pytest.approx(_value(1.0), rel=_TOLERANCE[name])


def test_values_of_actions_are_asked_for_one_by_one():
  q = _learner('lstd').q_function
  state, action = tf.constant([[1.0], [1.0]]), tf.constant([[0.2], [0.6]])
  found = np.asarray(q.value(state, action))
  mean = 0.5 + np.array([0.2, 0.6])
  grid = np.random.default_rng(0).normal(size=40_000) * _NOISE
  expected = (
    1.0
    - np.array([0.2, 0.6]) ** 2
    + _DISCOUNT * np.mean(_value(mean[:, None] + grid), axis=1)
  )
  np.testing.assert_allclose(found, expected, rtol=0.05)
  with pytest.raises(ValueError, match='cannot be listed'):
    q.values(state)


def test_a_deterministic_policy_takes_one_draw():
  decision = _problem(0.0).target.decide(tf.constant([[1.0], [2.0]]))
  assert decision.actions.shape == (2, 1, 1)
  np.testing.assert_allclose(
    _problem(0.0).vectors.invert(decision.actions[:, 0]),
    [[0.2], [0.4]],
    atol=1e-6,
  )


def test_the_error_of_draws_is_that_of_independent_ones():
  problem = _problem()
  rows = problem.log_rows(_log())
  found = influence.Influence(
    problem,
    memory.InMemory(rows, batch_size=1, seed=0).parts,
    episodes=np.arange(8_000),
    features=interval_settings.settings(None, problem),
    initial_observations=tf.constant([[1.0]] * 200, tf.float64),
  )

  class Linear(network_agent.NetworkAgent):
    """Its value is the action on its raw scale."""

    def predict(self, decision: decisions.Decision) -> tf.Tensor:
      shape = tf.shape(decision.actions)
      raw = problem.vectors.invert(
        tf.reshape(decision.actions, [shape[0] * shape[1], 1])
      )
      return tf.reduce_mean(tf.reshape(raw, shape[:2]), axis=1, keepdims=True)

  weighted = _DISCOUNT**2 * np.sum(np.square(found.weights)) + 1.0 / 200
  assert found.draw_error(Linear()) == pytest.approx(
    problem.value_scale * _SPREAD * np.sqrt(weighted / targets.DRAWS), rel=0.1
  )


def test_mixed_actions_are_inputs_as_well():
  mixed = actions.Continuous(
    low=(None, None), high=(None, None), categories={1: ('a', 'b', 'c')}
  )
  log = _log()
  kind = np.random.default_rng(1).integers(3, size=8_000)
  both = log._replace(
    action=tf.concat([log.action, kind[:, None].astype(float)], axis=1),
    discount=tf.zeros([8_000]),
    reward=tf.constant(np.array([1.0, 5.0, 2.0])[kind]),
  )

  class Second:
    """Takes the second name, and the number 0."""

    deterministic = True

    def draw(self, observation, uniforms):
      return tf.tile(tf.constant([[[0.0, 1.0]]]), [len(observation), 1, 1])

    def log_prob(self, observation, action):
      raise NotImplementedError

  problem = bellman.pose(
    both, Second(), discount=_DISCOUNT, num_actions=0, continuous=mixed
  )
  module = agents.load('lstd')
  learner = base.OPELearner(
    module.make(module.Config(), problem, seed=0),
    problem,
    memory.InMemory(problem.log_rows(both), batch_size=1, seed=0),
    initial_observations=tf.constant([[0.5]], tf.float64),
  )
  learner.run()
  assert learner.evaluate() == pytest.approx(5.0, rel=0.01)
