"""The model by conditional mean embeddings: kernels, tables, stability."""

import numpy as np
import pytest

from dfiv_ope import testing, types
from dfiv_ope.agents import cme, memory
from dfiv_ope.iv import ridge
from dfiv_ope.ope import bellman, tables

_DISCOUNT = 0.9


def _sums(psi, later, reward):
  """Sums of psi(s, a) and [-gamma d psi(s', pi), r]."""
  return ridge.sums(psi, np.concatenate([-later, reward[:, None]], axis=1))


def _fit(psi, later, reward, penalties, horizon=10.0):
  return cme.fit(
    *(_sums(psi[half::2], later[half::2], reward[half::2]) for half in (0, 1)),
    penalties=penalties,
    horizon=horizon,
  )


def test_two_states_are_what_is_worked_out_by_hand():
  # State 1 earns 1 and goes to state 0 at a discount of 0.5; that earns 2 and
  # ends. With a variance of 1/4 and a penalty of 1/4 slopes are halved:
  # rewards are 1.75 and 1.25, weights of state 0 are 0.125 and 0.375. So
  # V(0) = 1.75 + 0.125 V(0) = 2 and V(1) = 1.25 + 0.375 * 2 = 2.
  state = np.array([1.0, 1.0, 0.0, 0.0])
  ones = np.ones(4)
  psi = np.stack([state, ones], axis=1)
  later = 0.5 * state[:, None] * np.stack([0.0 * ones, ones], axis=1)
  model = _fit(psi, later, 2.0 - state, [0.25], horizon=2.0)
  np.testing.assert_allclose(model.rewards[:, 0], [-0.5, 1.75])
  np.testing.assert_allclose(
    model.transitions, [[0.0, 0.25], [0.0, 0.125]], atol=1e-12
  )
  np.testing.assert_allclose(model.solve()[:, 0], [0.0, 2.0], atol=1e-12)
  assert model.radius == pytest.approx(0.125)


def test_values_are_those_of_kernel_weights_on_next_states():
  generator = np.random.default_rng(0)
  count, penalty = 60, 0.02
  numbers, next_numbers = generator.normal(size=(2, count, 4))
  going_on = _DISCOUNT * (generator.random(count) > 0.2)
  reward = generator.normal(size=count)
  psi, next_psi = map(ridge.append_intercept, (numbers, next_numbers))
  model = _fit(psi, going_on[:, None] * next_psi, reward, [penalty])
  # Kernel ridge regression with an intercept: centred kernels and outcomes.
  centre = np.eye(count) - 1.0 / count
  inside = np.linalg.inv(
    centre @ numbers @ numbers.T @ centre + count * penalty * np.eye(count)
  )
  weights = (
    1.0 / count
    + (next_numbers - numbers.mean(axis=0))
    @ numbers.T
    @ centre
    @ inside
    @ centre
  )
  values = np.linalg.solve(np.eye(count) - weights * going_on, weights @ reward)
  np.testing.assert_allclose(
    (next_psi @ model.solve())[:, 0], values, rtol=1e-8
  )


class _Table(types.Policy):
  """Steps of a table of states, and a policy."""

  def __init__(self, chosen, state, action, reward, goes_on, later):
    self.chosen = chosen
    self.transitions = types.Transition(
      state[:, None].astype(np.float32),
      action.astype(np.int32),
      reward.astype(np.float32),
      goes_on.astype(np.float32),
      later[:, None].astype(np.float32),
    )

  def action_probabilities(self, observation):
    return self.chosen[np.asarray(observation)[:, 0].astype(int)]

  def values(self, discount):
    """Returns the values of the states by CME with next to no penalty."""
    states, actions = self.chosen.shape
    problem = bellman.pose(
      self.transitions,
      self,
      discount=discount,
      num_actions=actions,
      categorical=(0,),
    )
    agent = cme.make(cme.Config(penalties=(1e-13,)), problem, seed=0)
    agent.solve(memory.Parts(problem.rows(self.transitions)))
    decision = problem.target.decide(np.arange(states, dtype=float)[:, None])
    return problem.value_scale * agent.predict(decision)[:, 0]


def test_a_table_without_penalty_is_that_of_lstd():
  generator = np.random.default_rng(1)
  states, actions, count = 5, 3, 3_000
  state, later = generator.integers(states, size=(2, count))
  action = generator.integers(actions, size=count)
  table = _Table(
    generator.dirichlet(np.ones(actions), size=states),
    state,
    action,
    state * action + generator.normal(size=count),
    generator.random(count) > 0.1,
    later,
  )
  found = tables.solve(
    tables.Rows(
      state=state,
      action=action,
      outcome=np.asarray(table.transitions.reward, np.float64),
      continuation=_DISCOUNT
      * np.asarray(table.transitions.discount, np.float64),
      next_state=later,
    ),
    tables.TablePolicy(
      np.tile(np.arange(actions), (states, 1)), table.chosen, actions
    ),
    np.append(np.full(states, 1.0 / states), 0.0),
    prior_rows=1e-9,
  )
  np.testing.assert_allclose(
    table.values(_DISCOUNT), found.values[:-1], rtol=1e-5
  )


@pytest.mark.parametrize(
  'discount, ends, actions, copies',
  [
    (0.0, 0.1, 3, 1),
    (0.99, 0.05, 3, 1),
    (0.99, 0.0, 2, 1),  # Every episode is cut off.
    (0.95, 0.1, 1, 1),  # There is nothing to choose.
    (0.9, 0.1, 3, 3),  # Each row is there three times.
  ],
)
def test_values_of_a_table_solve_the_equations_of_its_frequencies(
  discount, ends, actions, copies
):
  generator = np.random.default_rng(2)
  states, count = 4, 1_200
  chances = generator.dirichlet(np.ones(states), size=(states, actions))
  chosen = generator.dirichlet(np.ones(actions), size=states)
  state = generator.integers(states, size=count)
  action = generator.integers(actions, size=count)
  later = np.sum(
    np.cumsum(chances[state, action], axis=1) < generator.random((count, 1)),
    axis=1,
  ).clip(0, states - 1)
  reward = state - 2.0 * action + generator.integers(3, size=count)
  goes_on = generator.random(count) >= ends
  state, action, later, reward, goes_on = (
    np.tile(each, copies) for each in (state, action, later, reward, goes_on)
  )
  table = _Table(chosen, state, action, reward, goes_on, later)
  size = (states, actions)
  cell = np.ravel_multi_index((state, action), size)
  rows = np.bincount(cell, minlength=states * actions)
  follows = np.zeros((states * actions, states))
  np.add.at(follows, (cell, later), discount * goes_on)
  on = (follows / rows[:, None])[:, :, None] * chosen
  values = np.linalg.solve(
    np.eye(states * actions) - on.reshape(states * actions, -1),
    np.bincount(cell, weights=reward) / rows,
  ).reshape(size)
  np.testing.assert_allclose(
    table.values(discount),
    np.sum(chosen * values, axis=1),
    rtol=1e-4,
    atol=1e-4,
  )


def test_transitions_that_grow_have_a_larger_penalty_or_are_scaled():
  state = np.random.default_rng(2).normal(size=400)
  psi = ridge.append_intercept(state[:, None])
  grown = _DISCOUNT * ridge.append_intercept(1.3 * state[:, None])
  penalties = (1e-6, 1e-2, 1.0, 100.0)
  for given, place in ((penalties, 2), (penalties[:1], 0)):
    model = _fit(psi, grown, state, given)
    assert model.places == (place, 0)
    eigenvalues = np.linalg.eigvals(model.transitions)
    assert np.max(np.abs(eigenvalues)) == pytest.approx(0.9)
  # What grew is told as it was found.
  assert model.radius == pytest.approx(0.9 * 1.3, rel=1e-3)


def test_the_least_penalty_is_taken_of_those_that_predict_about_as_well():
  generator = np.random.default_rng(3)
  state = generator.normal(size=(400, 1))
  psi = ridge.append_intercept(state)
  later = _DISCOUNT * ridge.append_intercept(
    0.1 * state + generator.normal(size=(400, 1))
  )
  penalties = (1e-6, 1e-3, 1.0)
  model = _fit(psi, later, later[:, 0], penalties)
  # Of rewards, which are the same numbers, shrinking 0.1 predicts best.
  assert model.places == (0, 2)


@pytest.mark.parametrize(
  ('matrix', 'expected'),
  [
    (np.zeros((4, 4)), 0.0),
    (np.array([[0.5]]), 0.5),
    (0.7 * np.array([[0.0, -1.0], [1.0, 0.0]]), 0.7),
    (np.diag([0.2, -0.9, 0.3, 0.1]), 0.9),
    (np.roll(np.eye(6), 1, axis=0), 1.0),
  ],
)
def test_the_radius_is_the_largest_eigenvalue(matrix, expected):
  assert cme.radius(matrix) == pytest.approx(expected, rel=1e-3)


def test_a_regulator_has_its_exact_value():
  # s' = 0.8 s + 0.4 a + 0.2 noise with a = -1 or 1 costs s^2. With both as
  # likely, the mean square m goes to 0.64 m + 0.2.
  generator = np.random.default_rng(4)
  steps, episodes = 20, 100
  action = (generator.random((steps, episodes)) < 0.3).astype(np.int32)
  states = np.zeros((steps + 1, episodes))
  states[0] = generator.normal(size=episodes)
  for step in range(steps):
    states[step + 1] = (
      0.8 * states[step]
      + 0.4 * (2 * action[step] - 1)
      + 0.2 * generator.normal(size=episodes)
    )
  now = states[:-1].ravel()
  transitions = types.Transition(
    now[:, None].astype(np.float32),
    action.ravel(),
    -np.square(now).astype(np.float32),
    np.ones(now.size, np.float32),
    states[1:].ravel()[:, None].astype(np.float32),
  )
  problem = bellman.pose(
    transitions,
    testing.Mixed(np.array([0.5, 0.5])),
    discount=_DISCOUNT,
    num_actions=2,
  )
  agent = cme.make(cme.Config(random_features=40), problem, seed=0)
  agent.solve(memory.Parts(problem.rows(transitions)))
  (start,) = problem.target.in_parts(states[0][:, None])
  rest = 0.2 / 0.36
  truth = -(np.square(states[0]) - rest) / (1.0 - 0.64 * _DISCOUNT) - rest / (
    1.0 - _DISCOUNT
  )
  values = problem.value_scale * agent.predict(start)[:, 0]
  assert np.mean(values) == pytest.approx(np.mean(truth), rel=0.05)
  assert np.corrcoef(values, truth)[0, 1] > 0.98


def test_a_bandwidth_that_is_given_is_taken():
  case = testing.TabularMDP(seed=0)
  transitions = case.transitions(200)
  problem = bellman.pose(
    transitions,
    testing.Mixed(np.array([0.3, 0.7])),
    discount=_DISCOUNT,
    num_actions=2,
  )
  rows = memory.Parts(problem.rows(transitions))
  given = cme.make(cme.Config(bandwidth_scale=3.0), problem, seed=0)
  assert given.solve(rows)['bandwidth_scale'] == 3.0
  chosen = cme.make(cme.Config(), problem, seed=0)
  chosen.solve(rows)
  assert chosen.bandwidth_scale in (0.5, 1.0, 2.0)
  again = cme.make(cme.Config(), problem, seed=0)
  again.restore(chosen.save())
  decision = problem.target.decide(np.eye(5))
  np.testing.assert_array_equal(
    again.predict(decision), chosen.predict(decision)
  )


def test_what_cannot_be_is_refused():
  with pytest.raises(ValueError, match='penalties must be positive'):
    cme.Config(penalties=())
  with pytest.raises(ValueError, match='more than the 2 GB allowed'):
    cme.Config(random_features=10_000)
  with pytest.raises(ValueError, match='Actions are vectors'):
    cme.Config(features='per_action').require(0)
