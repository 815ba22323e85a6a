"""FQE: its projection and target by hand, a chain with known values."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, fqe, memory
from dfiv_ope.nn import layers
from dfiv_ope.ope import bellman, decision_networks, decisions

# A walk through four states; action 1 pays 1 and goes on, action 0 pays
# nothing and ends the walk, as does the last state.
_LENGTH = 4
_DISCOUNT = 0.9


class _Coin:
  """Takes action 1 with probability 3/4 in every state."""

  def action_probabilities(self, observation):
    return tf.tile([[0.25, 0.75]], [tf.shape(observation)[0], 1])


def _chain():
  """Returns every transition of the walk once, and its Q, [S, A]."""
  states = np.repeat(np.arange(_LENGTH), 2)
  actions = np.tile([0, 1], _LENGTH).astype(np.int32)
  following = np.minimum(states + 1, _LENGTH - 1)
  going_on = (actions == 1) & (states < _LENGTH - 1)
  one_hot = np.eye(_LENGTH, dtype=np.float32)
  transitions = types.Transition(
    *map(
      tf.constant,
      (
        one_hot[states],
        actions,
        actions.astype(np.float32),
        going_on.astype(np.float32),
        one_hot[following],
      ),
    )
  )
  values = np.zeros([_LENGTH, 2])
  values[-1] = [0.0, 1.0]
  for state in range(_LENGTH - 2, -1, -1):
    values[state] = [0.0, 1.0 + _DISCOUNT * values[state + 1] @ [0.25, 0.75]]
  return transitions, values


def _learner(seed=0, **changes):
  transitions, _ = _chain()
  problem = bellman.pose(
    transitions, _Coin(), discount=_DISCOUNT, num_actions=2
  )
  config = fqe.Config(
    **{
      'updates': 600,
      'checks': 6,
      'batch_size': 64,
      'hidden': (),
      'learning_rate': 2e-2,
      **changes,
    }
  )
  return base.OPELearner(
    fqe.make(config, problem, seed=seed),
    problem,
    memory.InMemory(
      problem.rows(transitions), batch_size=config.batch_size, seed=seed
    ),
    initial_observations=transitions.observation[:1],
  )


@pytest.mark.parametrize(
  'changes',
  [
    {'per_action': True},
    {'per_action': True, 'target_period': 10, 'target_rate': 1.0},
    {
      'per_action': False,
      'hidden': (16,),
      'atoms': 9,
      'updates': 1200,
      'learning_rate': 2e-2,
    },
  ],
  ids=['polyak', 'copies', 'categorical'],
)
def test_the_values_of_a_chain_are_found(changes):
  learner = _learner(**changes)
  learner.run()
  _, values = _chain()
  # The walk has no noise, so what remains is the last learning rate's.
  np.testing.assert_allclose(
    learner.q_function.values(tf.eye(_LENGTH)), values, atol=0.03
  )
  assert learner.evaluate() == pytest.approx(values[0] @ [0.25, 0.75], abs=0.02)


def test_two_hot_shares_a_value_between_its_neighbours():
  atoms = tf.constant([-1.0, 0.0, 1.0, 2.0])
  values = tf.constant([[-1.0], [-0.75], [0.0], [1.4], [2.0], [7.0], [-3.0]])
  np.testing.assert_allclose(
    fqe.two_hot(values, atoms),
    [
      [1.0, 0.0, 0.0, 0.0],
      [0.75, 0.25, 0.0, 0.0],
      [0.0, 1.0, 0.0, 0.0],
      [0.0, 0.0, 0.6, 0.4],
      [0.0, 0.0, 0.0, 1.0],
      [0.0, 0.0, 0.0, 1.0],
      [1.0, 0.0, 0.0, 0.0],
    ],
    atol=1e-6,
  )


def test_two_hot_keeps_the_mean_and_sums_to_one():
  atoms = np.linspace(-3.0, 5.0, 12).astype(np.float32)
  values = (
    np.random.default_rng(0).uniform(-3.0, 5.0, (50, 1)).astype(np.float32)
  )
  shares = fqe.two_hot(tf.constant(values), tf.constant(atoms)).numpy()
  np.testing.assert_allclose(shares @ atoms, values[:, 0], atol=1e-5)
  np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)
  assert np.all((shares > 0).sum(axis=1) <= 2)


def test_the_categorical_value_is_the_mean_of_the_probabilities():
  atoms = np.array([-1.0, 1.0, 3.0])
  joint = decision_networks.Joint(
    (layers.Dense(8), layers.Dense(3, None)),
    spaces=decisions.Spaces.of_numbers(2, 2),
    seed=0,
  )
  observation = tf.constant([[0.3, -1.0], [2.0, 0.5]])
  network = fqe.Categorical(joint, atoms)
  by_action = []
  for action in (0, 1):
    decision = decisions.taken(observation, tf.fill([2], action))
    logits = joint(decision).numpy()
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    by_action.append(shares @ atoms)
    target = tf.constant([[1.5], [-1.0]])
    expected = -np.mean(
      [
        0.75 * np.log(shares[0, 1]) + 0.25 * np.log(shares[0, 2]),
        np.log(shares[1, 0]),
      ]
    )
    np.testing.assert_allclose(
      network.loss(decision, target), expected, rtol=1e-5
    )
  both = decisions.Decision(
    observation,
    tf.constant([[0, 1], [1, 0]]),
    tf.constant([[0.25, 0.75], [0.4, 0.6]]),
  )
  np.testing.assert_allclose(
    network(both)[:, 0],
    [
      0.25 * by_action[0][0] + 0.75 * by_action[1][0],
      0.4 * by_action[1][1] + 0.6 * by_action[0][1],
    ],
    rtol=1e-5,
  )


def test_the_atoms_span_what_rewards_and_discount_allow():
  learner = _learner(per_action=False, atoms=5)
  # Rewards are 0 and 1, so values lie in [0, 1 / (1 - 0.9)].
  np.testing.assert_allclose(
    learner.agent._target._atoms * learner.problem.value_scale,
    [0.0, 2.5, 5.0, 7.5, 10.0],
    rtol=1e-5,
  )


def test_the_first_loss_is_that_of_the_target_by_hand():
  learner = _learner(updates=1, checks=1)
  q = learner.q_function.values(tf.eye(_LENGTH)).numpy()
  rows = learner.problem.rows(_chain()[0])
  loss = learner.agent.update(rows, rows)['loss']
  errors = []
  for state in range(_LENGTH):
    errors.append(0.0 - q[state, 0])
    later = q[state + 1] @ [0.25, 0.75] if state < _LENGTH - 1 else 0.0
    errors.append(1.0 + 0.9 * later - q[state, 1])
  expected = 0.5 * np.mean(np.square(errors)) / learner.problem.value_scale**2
  np.testing.assert_allclose(loss, expected, rtol=1e-4)


@pytest.mark.parametrize(
  'period, rate, moves',
  [(1, 0.25, [0.25, 0.25, 0.25]), (2, 1.0, [0.0, 1.0, 0.0])],
)
def test_the_target_moves_towards_the_network_in_training(period, rate, moves):
  agent = _learner(target_period=period, target_rate=rate).agent
  rows = _learner().problem.rows(_chain()[0])
  for move in moves:
    before = [x.numpy() for x in agent._target.trainable_variables]
    agent.update(rows, rows)
    pairs = zip(
      before,
      agent._target.trainable_variables,
      agent._descent.network.trainable_variables,
      strict=True,
    )
    for old, new, source in pairs:
      np.testing.assert_allclose(
        new, old + move * (source.numpy() - old), atol=1e-6
      )


def test_predictions_start_at_the_mean_value_and_come_from_the_target():
  learner = _learner(updates=20, checks=1, target_period=100)
  start = learner.q_function.values(tf.eye(_LENGTH)).numpy()
  mean = learner.problem.value_mean * learner.problem.value_scale
  assert abs(start.mean() - mean) < learner.problem.value_scale
  learner.run()  # too short for the target to move
  np.testing.assert_array_equal(
    learner.q_function.values(tf.eye(_LENGTH)), start
  )


@pytest.mark.parametrize('falls', [False, True])
def test_the_learning_rate_falls_where_asked_for(falls):
  agent = _learner(falling_rate=falls).agent
  agent.anneal(0.5)
  np.testing.assert_allclose(
    agent._descent._rate, 1e-2 if falls else 2e-2, rtol=1e-6
  )


def test_updates_in_one_graph_equal_updates_one_by_one():
  together, one_by_one = (
    _learner(updates=4, checks=1),
    _learner(updates=4, checks=4, falling_rate=False),
  )
  together.run()
  one_by_one.run()
  np.testing.assert_allclose(
    together.evaluate(), one_by_one.evaluate(), rtol=1e-6
  )


def test_the_paper_config_has_the_network_of_the_paper():
  config = fqe.CONFIGS['paper']
  assert config.layers == (layers.Dense(50), layers.Dense(50))
  transitions, _ = _chain()
  problem = bellman.pose(
    transitions, _Coin(), discount=_DISCOUNT, num_actions=2
  )
  agent = fqe.make(config, problem, seed=0)
  shapes = sorted(tuple(x.shape) for x in agent._target.trainable_variables)
  assert shapes == sorted(
    [(_LENGTH + 2, 50), (50,), (50, 50), (50,), (50, 1), (1,)]
  )
  assert (config.target_rate, config.target_period) == (1.0, 100)
  assert not config.falling_rate


@pytest.mark.parametrize(
  'bad, message',
  [
    ({'learning_rate': 0.0}, 'learning_rate must be positive, got 0.0'),
    ({'target_rate': 1.5}, 'target_rate must be at most 1, got 1.5'),
    ({'target_rate': 0.0}, 'target_rate must be positive'),
    ({'target_period': 0}, 'target_period must be at least 1, got 0'),
    ({'atoms': 1, 'per_action': False}, 'atoms must be 0 .* got 1'),
    ({'atoms': 51}, 'set per_action=False'),
    ({'hidden': (8, 0)}, 'Dense.size must be at least 1, got 0'),
    ({'activation': 'gelu'}, 'Dense.activation must be one of'),
  ],
)
def test_bad_configs_are_refused(bad, message):
  with pytest.raises(ValueError, match=message):
    dataclasses.replace(fqe.Config(), **bad)
