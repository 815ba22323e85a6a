"""Off-policy evaluation as IV rows: values by hand."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing, types
from dfiv_ope.ope import bellman, decisions, values


def _transitions():
  return types.Transition(
    observation=tf.constant([[0.0, 10.0], [2.0, 20.0], [4.0, 30.0]]),
    action=tf.constant([0, 1, 1]),
    reward=tf.constant([1.0, -1.0, 3.0]),
    discount=tf.constant([1.0, 1.0, 0.0]),
    next_observation=tf.constant([[2.0, 20.0], [4.0, 30.0], [4.0, 30.0]]),
  )


def _problem(**changes):
  arguments = {'discount': 0.9, 'num_actions': 2, **changes}
  return bellman.pose(_transitions(), testing.Mixed([0.25, 0.75]), **arguments)


def test_rows_are_standardised_steps():
  problem = _problem()
  rows = problem.rows(_transitions())
  score = np.sqrt(1.5)
  np.testing.assert_allclose(
    rows.instrument.observation,
    [[-score, -score], [0.0, 0.0], [score, score]],
    atol=1e-6,
  )
  np.testing.assert_array_equal(rows.instrument.actions, [[0], [1], [1]])
  np.testing.assert_allclose(
    rows.treatment.continuation, [[0.9], [0.9], [0.0]], rtol=1e-6
  )
  np.testing.assert_allclose(
    decisions.weights(rows.treatment.later, 2), [[0.25, 0.75]] * 3, rtol=1e-6
  )
  np.testing.assert_allclose(
    rows.outcome * problem.value_scale, [[1.0], [-1.0], [3.0]], rtol=1e-5
  )


def test_a_constant_becomes_one_minus_the_discount():
  rows = _problem().rows(_transitions())
  ones = bellman.difference(
    lambda decision: tf.ones_like(decision.observation[:, :1]), rows.treatment
  )
  np.testing.assert_allclose(ones, [[0.1], [0.1], [1.0]], rtol=1e-5)


def test_the_difference_of_a_step_that_ends_is_the_value_itself():
  rows = _problem().rows(_transitions())
  ends = rows.treatment._replace(
    continuation=tf.zeros_like(rows.treatment.continuation)
  )

  def column(decision):
    return decision.observation[:, :1]

  np.testing.assert_array_equal(
    bellman.difference(column, ends), column(rows.instrument)
  )


def test_bounds_are_what_rewards_and_discount_allow():
  problem = _problem()
  assert (problem.lowest, problem.highest) == pytest.approx((-10.0, 30.0))
  assert problem.allows(33.9) and not problem.allows(34.1)
  assert problem.allows(-13.9) and not problem.allows(-14.1)
  assert not problem.allows(float('nan'))


def test_rewards_of_one_sign_do_not_allow_values_of_the_other():
  losses = _transitions()._replace(reward=tf.constant([-1.0, -1.0, -1.0]))
  problem = bellman.pose(
    losses, testing.Mixed([0.5, 0.5]), discount=0.9, num_actions=2
  )
  assert (problem.lowest, problem.highest) == pytest.approx((-10.0, -1.0))


def test_support_is_the_largest_number_of_actions_taken():
  assert _problem().target.support(_transitions().observation) == 2
  sure = bellman.pose(
    _transitions(), testing.Mixed([0.0, 1.0]), discount=0.9, num_actions=2
  )
  assert sure.target.support(_transitions().observation) == 1
  later = sure.rows(_transitions(), support=1).treatment.later
  np.testing.assert_array_equal(later.actions, [[1], [1], [1]])
  np.testing.assert_array_equal(later.probabilities, [[1.0]] * 3)


def test_the_scale_of_values_is_that_of_a_linear_q_function():
  # r = 2 and no end: all values are 2 / (1 - 0.9).
  process = testing.TabularMDP(seed=0)
  rows = process.transitions(1000)
  steady = rows._replace(reward=tf.fill([1000], 2.0), discount=tf.ones([1000]))
  problem = bellman.pose(
    steady, testing.Mixed([0.5, 0.5]), discount=0.9, num_actions=2
  )
  assert problem.value_scale == 2.0  # that of the rewards
  assert problem.value_mean == pytest.approx(10.0, rel=1e-3)


def test_the_q_function_is_on_the_raw_scale():
  problem = _problem()
  function = values.QFunction(
    problem,
    lambda decision: tf.reduce_sum(
      tf.cast(decision.actions, tf.float32) * decision.probabilities,
      axis=1,
      keepdims=True,
    ),
  )
  observation = _transitions().observation
  scale = problem.value_scale
  np.testing.assert_allclose(
    function.values(observation), [[0.0, scale]] * 3, rtol=1e-5
  )
  np.testing.assert_allclose(
    function.expected(observation), [0.75 * scale] * 3, rtol=1e-5
  )


@pytest.mark.parametrize(
  'changes, words',
  [
    ({'discount': 1.5}, r'discount must lie in \[0, 1\], got 1.5'),
    ({'discount': 1.0}, 'pass its number of steps as longest'),
    ({'num_actions': 1}, 'action 1, but there are 1 actions'),
  ],
)
def test_what_does_not_fit_is_refused(changes, words):
  with pytest.raises(ValueError, match=words):
    _problem(**changes)


def test_an_empty_log_is_refused():
  empty = types.Transition(*(member[:0] for member in _transitions()))
  with pytest.raises(ValueError, match='at least one transition'):
    bellman.pose(empty, testing.Mixed([0.5, 0.5]), discount=0.9, num_actions=2)
