"""Finite problems have the values that brute force and simulation find."""

import itertools

import numpy as np
import pytest

from dfiv_ope.cases import finite, graph, gridworld, process, toy_mountain_car


def _problem(**changes):
  """Two states and an end, worked by hand."""
  steps = np.zeros((3, 2, 3))
  steps[0, 0], steps[0, 1] = [0.5, 0.5, 0.0], [0.0, 0.2, 0.8]
  steps[1, 0], steps[1, 1] = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
  steps[2, :, 2] = 1.0
  rewards = np.zeros((3, 2, 3))
  rewards[0, 1], rewards[1, 0] = [0.0, 1.0, 2.0], 3.0
  given = {
    'discount': 0.9,
    'horizon': 50,
    'num_actions': 2,
    'steps': steps,
    'rewards': rewards,
    'ends': np.array([False, False, True]),
    'first': np.array([1.0, 0.0, 0.0]),
    'observations': finite.numbers(3),
  }
  return finite.Finite(**given | changes)


_TABLE = np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]])


def test_the_value_is_the_hand_worked_one():
  # V0 = .9 (.25 V0 + .35 V1) + .5 (.2 + 1.6), V1 = 3 + .9 V0.
  value = (0.9 + 0.9 * 0.35 * 3.0) / (1.0 - 0.9 * 0.25 - 0.81 * 0.35)
  assert _problem().value(_TABLE) == pytest.approx(value, rel=1e-12)


def test_the_value_of_few_steps_is_the_mean_over_all_paths():
  problem = _problem(horizon=3, complete=True)
  total = 0.0
  for path in itertools.product(*[range(2), range(3)] * 3):
    state, chance, gain = 0, 1.0, 0.0
    for time, (action, following) in enumerate(
      zip(path[::2], path[1::2], strict=True)
    ):
      chance *= _TABLE[state, action] * problem.steps[state, action, following]
      # What follows the end has no reward in this problem.
      gain += 0.9**time * problem.rewards[state, action, following]
      state = following
    total += chance * gain
  assert problem.value(_TABLE) == pytest.approx(total, rel=1e-12)


def test_the_best_policy_is_the_best_of_all():
  problem = _problem()
  tables = [
    np.eye(2)[[first, second, 0]]
    for first, second in itertools.product(range(2), repeat=2)
  ]
  best = max(tables, key=problem.value)
  np.testing.assert_array_equal(problem.optimal()[:2], best[:2])
  allowed = np.array([[False, True], [False, True], [True, True]])
  np.testing.assert_array_equal(
    problem.optimal(allowed)[:2], [[0.0, 1.0], [0.0, 1.0]]
  )


def test_states_that_look_alike_need_the_same_probabilities():
  problem = _problem(observations=np.zeros((3, 1)))
  with pytest.raises(ValueError, match='State 1 looks like state 0.*the same'):
    problem.policy(_TABLE)
  seen = problem.policy(np.full((3, 2), 0.5))(np.zeros((4, 1)))
  np.testing.assert_array_equal(seen, np.full((4, 2), 0.5))


@pytest.mark.parametrize(
  'problem, table',
  [
    (_problem(), _TABLE),
    (_problem(horizon=2, complete=True, reward_noise=0.5), _TABLE),
    (graph.graph(horizon=5, noisy=True), np.tile([0.7, 0.3], (11, 1))),
    (graph.graph(horizon=5, block=2), np.tile([0.7, 0.3], (11, 1))),
    (
      gridworld.gridworld(stochastic=True, coordinates=True),
      np.tile([0.1, 0.4, 0.4, 0.1], (64, 1)),
    ),
    (
      toy_mountain_car.toy_mountain_car(horizon=60),
      toy_mountain_car.rightwards(0.6),
    ),
  ],
)
def test_exact_values_are_those_of_simulated_episodes(problem, table):
  found = process.simulate(
    problem, problem.policy(table), episodes=20_000, seed=0
  )
  assert abs(found.mean - problem.value(table)) < 4.0 * found.standard_error


def test_the_graph_pays_by_lane():
  # Without slips: sum of .98^t (2p - 1).
  problem = graph.graph(horizon=4, stochastic=False)
  weights = 0.98 ** np.arange(4)
  assert problem.value(graph.constant(problem, 0.8)) == pytest.approx(
    0.6 * weights.sum(), rel=1e-12
  )
  sparse = graph.graph(horizon=4, sparse=True)
  assert sparse.value(graph.constant(sparse, 0.8)) == pytest.approx(
    0.6 * 0.5 * weights[-1], rel=1e-12
  )


def test_hidden_lanes_follow_their_chain():
  problem = graph.graph(horizon=3, block=1)
  first, second = 0.8 * 0.9 + 0.2 * 0.1, 0.8 * 0.6 + 0.2 * 0.4
  share, value = second, 2.0 * second - 1.0  # an episode starts in the second
  for time in (1, 2):
    share = share * first + (1.0 - share) * second
    value += 0.98**time * (2.0 * share - 1.0)
  assert problem.value(graph.constant(problem, 0.8)) == pytest.approx(
    value, rel=1e-12
  )
  np.testing.assert_array_equal(
    problem.observations[:, 0], [0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
  )


def test_the_toy_car_needs_ten_steps_at_least():
  problem = toy_mountain_car.toy_mountain_car(horizon=250)
  assert problem.value(toy_mountain_car.rightwards(1.0)) == pytest.approx(
    -np.sum(0.99 ** np.arange(10)), rel=1e-12
  )
  assert problem.value(toy_mountain_car.rightwards(0.0)) == pytest.approx(
    -np.sum(0.99 ** np.arange(250)), rel=1e-12
  )
