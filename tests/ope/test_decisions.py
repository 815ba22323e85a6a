"""Networks of states and actions: expectations are exact."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope.nn import encoding, layers, networks
from dfiv_ope.ope import decision_networks, decisions

LAYERS = (layers.Dense(4, 'tanh'), layers.Dense(3, None))
OBSERVATION = tf.constant(
  np.random.default_rng(0).normal(size=(6, 2)), tf.float32
)


def _policy():
  """All three actions, in another order in each row."""
  generator = np.random.default_rng(1)
  probabilities = generator.dirichlet(np.ones(3), size=6)
  actions = np.stack([generator.permutation(3) for _ in range(6)])
  decision = decisions.Decision(
    OBSERVATION,
    tf.constant(actions, tf.int32),
    tf.constant(np.take_along_axis(probabilities, actions, 1), tf.float32),
  )
  return decision, probabilities


def _networks():
  spaces = decisions.Spaces.of_numbers(2, 3)
  state = decision_networks.StateNetwork(LAYERS, states=spaces.states, seed=0)
  return {
    'joint': decision_networks.Joint(LAYERS, spaces=spaces, seed=0),
    'joint with constant': decision_networks.Joint(
      LAYERS, spaces=spaces, seed=0, constant=True
    ),
    'outer': decision_networks.OuterNetwork(state, state_size=3, num_actions=3),
    'heads': decision_networks.Heads(LAYERS, spaces=spaces, seed=0),
  }


def test_weights_put_probabilities_in_the_order_of_actions():
  decision, probabilities = _policy()
  np.testing.assert_allclose(
    decisions.weights(decision, 3), probabilities, rtol=1e-6
  )


def test_weights_of_many_actions_are_summed_without_indicators():
  generator = np.random.default_rng(1)
  actions = generator.integers(40, size=(6, 30))  # Some of them twice.
  probabilities = generator.dirichlet(np.ones(30), size=6)
  expected = np.zeros((6, 40))
  for row, columns in enumerate(actions):
    np.add.at(expected[row], columns, probabilities[row])
  found = decisions.weights(
    decisions.Decision(
      OBSERVATION,
      tf.constant(actions, tf.int32),
      tf.constant(probabilities, tf.float32),
    ),
    40,
  )
  np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_network_of_vectors_averages_over_draws():
  vectors = encoding.fit(
    np.array([[0.0, 2.0], [4.0, 5.0], [2.0, 2.0]]), categorical=[1]
  )
  spaces = dataclasses.replace(
    decisions.Spaces.of_numbers(2, 0), vectors=vectors
  )
  assert spaces.action_size == 3
  network = decision_networks.Joint(LAYERS, spaces=spaces, seed=0)
  drawn = vectors.compact([[0.0, 2.0], [4.0, 5.0]])
  both = decisions.Decision(
    OBSERVATION[:1], drawn[None], tf.constant([[0.25, 0.75]])
  )
  single = [
    network(decisions.taken(OBSERVATION[:1], drawn[index, None]))
    for index in (0, 1)
  ]
  np.testing.assert_allclose(
    network(both), 0.25 * single[0] + 0.75 * single[1], rtol=1e-5
  )
  assert isinstance(
    decision_networks.value_network(
      LAYERS, spaces=spaces, per_action=True, seed=0
    ),
    decision_networks.Joint,
  )


@pytest.mark.parametrize('name', list(_networks()))
def test_a_policy_gets_the_mean_over_its_actions(name):
  network = _networks()[name]
  decision, probabilities = _policy()
  parts = [
    network(decisions.taken(OBSERVATION, tf.fill([6], action))).numpy()
    for action in range(3)
  ]
  np.testing.assert_allclose(
    network(decision),
    np.einsum('abd,ba->bd', np.stack(parts), probabilities),
    rtol=1e-5,
    atol=1e-6,
  )


def test_joint_is_the_network_of_state_and_one_hot_action():
  network = networks.Network(LAYERS, input_size=5, seed=0)
  action = np.array([0, 1, 2, 2, 1, 0])
  expected = network(tf.concat([OBSERVATION, tf.eye(3).numpy()[action]], 1))
  np.testing.assert_allclose(
    _networks()['joint'](decisions.taken(OBSERVATION, action)),
    expected,
    rtol=1e-6,
  )


def test_outer_has_a_block_an_action_and_a_constant_at_the_end():
  state = networks.Network(LAYERS, input_size=2, seed=0)(OBSERVATION).numpy()
  rows = _networks()['outer'](
    decisions.taken(OBSERVATION, tf.fill([6], 1))
  ).numpy()
  assert rows.shape == (6, 12)
  np.testing.assert_array_equal(rows[:, :3], 0.0)
  np.testing.assert_allclose(rows[:, 3:6], state, rtol=1e-6)
  np.testing.assert_array_equal(rows[:, 6:9], 0.0)
  np.testing.assert_array_equal(rows[:, 9:], np.tile([1.0, 0.0, 1.0], (6, 1)))


def test_heads_need_an_output_an_action():
  with pytest.raises(ValueError, match='one output for each of 4 actions'):
    decision_networks.Heads(
      LAYERS, spaces=decisions.Spaces.of_numbers(2, 4), seed=0
    )


def test_a_product_with_outer_features_needs_no_features():
  decision, _ = _policy()
  outer = _networks()['outer']
  coefficients = tf.constant(
    np.random.default_rng(2).normal(size=(outer.output_size, 1)), tf.float32
  )
  np.testing.assert_allclose(
    outer.dot(decision, coefficients),
    tf.matmul(outer(decision), coefficients),
    rtol=1e-5,
    atol=1e-6,
  )
