"""DeepGMM for OPE: its game by hand, a chain with known values."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, deepgmm, memory
from dfiv_ope.iv.methods import deepgmm_update
from dfiv_ope.nn import layers
from dfiv_ope.ope import bellman, decision_networks, decisions

# A walk through three states. Action 0 ends it; action 1 goes on, or stays
# where it is, by the toss of a coin.
_DISCOUNT = 0.8


class _Always:
  """Takes action 1 in every state."""

  def action_probabilities(self, observation):
    return tf.tile([[0.0, 1.0]], [tf.shape(observation)[0], 1])


def _transitions():
  """Returns every transition of the walk, as often as it is likely."""
  rows = []  # state, action, reward, discount, next state
  for state in range(3):
    rows += 2 * [(state, 0, -1.0, 0.0, state)]
    rows += [
      (state, 1, float(state), 1.0, state),
      (state, 1, float(state), 1.0, min(state + 1, 2)),
    ]
  state, action, reward, going_on, following = map(
    np.array, zip(*rows, strict=True)
  )
  one_hot = np.eye(3, dtype=np.float32)
  return types.Transition(
    *map(
      tf.constant,
      (
        one_hot[state],
        action.astype(np.int32),
        reward.astype(np.float32),
        going_on.astype(np.float32),
        one_hot[following],
      ),
    )
  )


def _values():
  """Returns Q, [S, A], from V = r + gamma (V + V_next) / 2."""
  last = 2.0 / (1.0 - _DISCOUNT)
  middle = (1.0 + 0.4 * last) / 0.6
  first = (0.0 + 0.4 * middle) / 0.6
  return np.array([[-1.0, first], [-1.0, middle], [-1.0, last]])


@pytest.fixture(name='problem', scope='module')
def fixture_problem():
  return bellman.pose(
    _transitions(), _Always(), discount=_DISCOUNT, num_actions=2
  )


def _learner(problem, seed=0, **changes):
  config = deepgmm.Config(
    **{
      'updates': 1500,
      'checks': 10,
      'batch_size': 128,
      'treatment_net': (),
      'instrument_net': (),
      'treatment_rate': 1e-2,
      'instrument_rate': 2e-2,
      'average_rate': 0.01,
      **changes,
    }
  )
  return base.OPELearner(
    deepgmm.make(config, problem, seed=seed),
    problem,
    memory.InMemory(
      problem.rows(_transitions()), batch_size=config.batch_size, seed=seed
    ),
    initial_observations=tf.eye(3)[:1],
  )


@pytest.mark.parametrize('critic_steps', [1, 2])
def test_the_values_of_a_chain_with_chance_are_found(problem, critic_steps):
  learner = _learner(problem, critic_steps=critic_steps)
  learner.run()
  # What remains is the noise of batches that are not quite the chain.
  np.testing.assert_allclose(
    learner.q_function.values(tf.eye(3)), _values(), atol=0.25
  )
  assert learner.evaluate() == pytest.approx(_values()[0, 1], abs=0.2)


def _structural(mean=0.5):
  return deepgmm.Structural(
    decision_networks.Heads(
      (layers.Dense(2, None),), spaces=decisions.Spaces.of_numbers(3, 2), seed=0
    ),
    mean,
  )


def test_the_structural_function_is_the_bellman_difference(problem):
  structural = _structural()
  (offset,) = (x for x in structural.trainable_variables if 'offset' in x.name)
  offset.assign(2.0)
  step = problem.rows(_transitions()).treatment
  now, later = structural.q(step.now), structural.q(step.later)
  np.testing.assert_allclose(
    structural(step), now - step.continuation * later, rtol=1e-6
  )
  ends = step._replace(continuation=tf.zeros_like(step.continuation))
  np.testing.assert_allclose(structural(ends), now, rtol=1e-6)
  offset.assign(0.0)
  np.testing.assert_allclose(structural.q(step.now), now - 2.0, rtol=1e-4)


def test_an_update_moves_both_against_the_other_as_it_was(problem):
  agent = _learner(problem, unit_residuals=False).agent
  game = agent._game
  rows = problem.rows(_transitions())
  structural, critic = game.structurals[0].network, game.critics[0].network
  with tf.GradientTape(persistent=True) as tape:
    residual = rows.outcome - structural(rows.treatment)
    value = deepgmm_update.game_value(
      critic(rows.instrument),
      residual,
      residual,
      even_weights=agent.config.even_weights,
    )
  players = (structural, -1e-2), (critic, 2e-2)
  # The first step of OAdam goes by the rate, against or up the gradient.
  expected = [
    variable + rate * tf.sign(tape.gradient(value, variable))
    for network, rate in players
    for variable in network.trainable_variables
  ]
  losses = agent.update(rows, rows)
  np.testing.assert_allclose(losses['game_value'], value, rtol=1e-5)
  variables = [
    variable
    for network, _ in players
    for variable in network.trainable_variables
  ]
  for variable, wanted in zip(variables, expected, strict=True):
    np.testing.assert_allclose(variable, wanted, atol=1e-4)


def test_predictions_are_those_of_the_averaged_weights(problem):
  agent = _learner(problem, average_rate=0.25).agent
  rows = problem.rows(_transitions())
  for _ in range(2):
    before = [x.numpy() for x in agent._average.trainable_variables]
    agent.update(rows, rows)
    trios = zip(
      before,
      agent._average.trainable_variables,
      agent._present.trainable_variables,
      strict=True,
    )
    for old, new, present in trios:
      np.testing.assert_allclose(
        new, 0.75 * old + 0.25 * present.numpy(), atol=1e-6
      )
  np.testing.assert_array_equal(
    agent.predict(rows.instrument), agent._average.q(rows.instrument)
  )
  last = _learner(problem, average_rate=1.0).agent
  last.update(rows, rows)
  np.testing.assert_array_equal(
    last.predict(rows.instrument), last._present.q(rows.instrument)
  )


@pytest.mark.parametrize('falls', [False, True])
def test_both_rates_fall_where_asked_for(problem, falls):
  agent = _learner(problem, falling_rates=falls).agent
  agent.anneal(0.5)
  rates = [
    each._rate.numpy()
    for each in (agent._game.structurals[0], agent._game.critics[0])
  ]
  np.testing.assert_allclose(
    rates, np.array([1e-2, 2e-2]) * (0.5 if falls else 1.0), rtol=1e-6
  )


def test_the_paper_config_has_the_networks_of_the_paper(problem):
  agent = deepgmm.make(deepgmm.CONFIGS['paper'], problem, seed=0)

  def weights(network):
    return {
      tuple(x.shape) for x in network.trainable_variables if x.shape.rank == 2
    }

  # Inputs are three entries of the state and two of the action.
  assert weights(agent._present) == {(5, 50), (50, 50), (50, 1)}
  assert weights(agent._game.critics[0].network) == {
    (5, 150),
    (150, 100),
    (100, 50),
    (50, 1),
  }


@pytest.mark.parametrize(
  'bad, message',
  [
    ({'average_rate': 0.0}, r'average_rate must lie in \(0, 1\], got 0.0'),
    ({'average_rate': 1.5}, 'average_rate must lie in'),
    ({'critic_steps': 0}, 'critic_steps must be at least 1, got 0'),
    ({'instrument_rate': 0.0}, 'instrument_rate must be positive'),
    ({'checks': 0}, 'checks must be at least 1, got 0'),
  ],
)
def test_bad_configs_are_refused(bad, message):
  with pytest.raises(ValueError, match=message):
    dataclasses.replace(deepgmm.Config(), **bad)
