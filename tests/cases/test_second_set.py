"""Problems of the second set obey the laws that their modules describe."""

import math
import random

import numpy as np
import pytest

from dfiv_ope.cases import (
  battery,
  boat,
  case,
  dosing,
  elevator,
  epidemic,
  fishery,
  glucose,
  maintenance,
  marketing,
  process,
  suite,
  tanks,
)

_SECOND = [
  each
  for each in suite.CASES.values()
  if each.half in (case.DEVELOPMENT_2, case.HELD_OUT_2)
]


def _after(problem, state, action, count=40_000):
  """Returns what follows one state and action, drawn often."""
  generator = np.random.default_rng(0)
  states = np.tile(np.asarray(state, float), (count, 1))
  actions = (
    np.tile(np.asarray(action, float), (count, 1))
    if problem.continuous
    else np.full(count, action)
  )
  return problem.step(states, actions, generator)


def _near(values, wanted):
  values = np.asarray(values, float)
  error = np.std(values) / math.sqrt(len(values))
  assert abs(np.mean(values) - wanted) <= 4.0 * error + 1e-12


def test_the_set_has_the_kinds_it_was_written_for():
  facts = [each.facts for each in _SECOND]
  assert len({each.family for each in _SECOND}) == 11
  assert sum(each.vectors for each in facts) == 2
  assert {each.overlap for each in facts} == {'good', 'medium', 'poor'}
  assert min(each.horizon for each in facts) == 1
  assert max(each.horizon for each in facts) == 200
  assert 5 <= sum(not each.recorded for each in facts) <= 15
  problems = [each.setting().problem for each in _SECOND]
  assert {each.num_actions for each in problems} == {0, 2, 3, 4, 5, 6, 8}
  assert sum(bool(each.categorical) for each in problems) == 14
  assert sum(each.dropout > 0.0 for each in problems) == 3


def test_restrictions_make_infections_rarer():
  problem = epidemic.setting(
    (1.0, 1.0), (1.0, 1.0), rate=0.5, horizon=9
  ).problem
  for action, contacts in enumerate((1.0, 0.7, 0.45, 0.2)):
    found = _after(problem, (190.0, 10.0), action)
    fallen = 190.0 - found.state[:, 0]
    _near(fallen, 190.0 * (1.0 - math.exp(-0.5 * contacts * 10.0 / 200.0)))
    _near(190.0 + 10.0 - found.state.sum(axis=1), 10.0 * 0.25)
    cost = (0.0, 0.2, 0.6, 1.5)[action]
    np.testing.assert_allclose(found.reward, -cost - 0.15 * fallen)
  gone = _after(problem, (100.0, 1.0), 3)
  np.testing.assert_array_equal(gone.ended, gone.state[:, 1] == 0.0)
  assert 0.1 < np.mean(gone.ended) < 0.4


def test_glucose_rises_with_meals_and_falls_with_insulin():
  problem = glucose.setting(
    (1.0, 1.0), (1.0, 1.0), noise=0.05, horizon=9
  ).problem
  found = _after(problem, (1.5, 0.5, 1.0), 2)
  acting = 0.6 * 0.5 + 1.0
  _near(found.state[:, 0], 1.5 + 0.15 * 0.1 + 0.3 - 0.2 * acting * 1.5)
  np.testing.assert_allclose(found.state[:, 1], acting)
  shares = np.bincount(found.state[:, 2].astype(int)) / len(found.state)
  np.testing.assert_allclose(shares, [0.85, 0.1, 0.05], atol=0.01)
  low = _after(problem, (0.55, 2.0, 0.0), 4)
  np.testing.assert_allclose(
    low.reward, -np.square(low.state[:, 0] - 1.2) - 30.0 * low.ended
  )
  assert np.mean(low.ended) > 0.5


def test_stocks_grow_logistically():
  problem = fishery.setting((0.2, 0.1), (0.2, 0.1), luck=0.4, horizon=9).problem
  found = _after(problem, (0.8, 1.5), 3)
  left = 0.7 * 0.8
  _near(found.state[:, 0], left + 0.8 * left * (1.0 - left))
  _near(np.log(found.state[:, 1]), 0.7 * math.log(1.5))
  np.testing.assert_allclose(found.reward, 10.0 * 1.5 * 0.24 - 2.0 * 0.09)
  assert not found.ended.any()


@pytest.mark.parametrize('names', [True, False])
def test_machines_have_exact_values(names):
  setting = maintenance.setting(0.3, 0.8, horizon=50, names=names)
  problem, (value, error) = setting.problem, setting.target.found
  np.testing.assert_allclose(problem.steps.sum(axis=2), 1.0)
  found = process.simulate(
    problem, setting.target.policy, episodes=2_000, seed=0
  )
  assert error == 0.0
  assert abs(found.mean - value) < 4.0 * found.standard_error
  # Maker 1, wear 7: it breaks with 1 in 4, and otherwise earns 5 - 2.8.
  state = 8 + 7
  assert np.sum(
    problem.steps[state, 0] * problem.rewards[state, 0]
  ) == pytest.approx(0.25 * -20.0 + 0.75 * 2.2)


def test_customers_buy_and_leave():
  problem = marketing.setting(
    (1.0, 1.0), (1.0, 1.0), tail=0.6, horizon=9
  ).problem
  found = _after(problem, (4.0, 2.0, 2.0), 3)
  buys = found.state[:, 0] == 0.0
  chance = 1.0 / (1.0 + math.exp(-(-2.0 + 1.8 - 0.6 + 0.2)))
  _near(buys, chance)
  np.testing.assert_array_equal(found.state[:, 1], 2.0 + buys)
  _near(found.reward, 10.0 * chance - 1.5)
  _near(found.ended, 0.01 + 0.008 * 5.0 * (1.0 - chance) + 0.03)


def test_high_doses_lower_the_marker_and_harm():
  problem = dosing.setting((0.0, 1.0), (0.0, 1.0), noise=0.2, horizon=9).problem
  for action, (lower, harm) in enumerate(((0.3, 0.05), (0.9, 0.35))):
    found = _after(problem, (90.0, 1.0, 4.0, 0.0), action)
    _near(found.state[:, 2], 4.0 - lower * 0.6 * 1.3 + 0.2)
    _near(found.state[:, 3], harm * 1.5)
    np.testing.assert_allclose(
      found.reward, -found.state[:, 2] - 4.0 * found.ended
    )


def test_boats_drift_with_the_wind():
  problem = boat.setting(1.0, 1.0, turning=0.2, horizon=9).problem
  # The wind blows to the right; the heading is up.
  found = _after(problem, (0.4, 1.0, 0.0), 2)
  _near(found.state[:, 0], 0.4 + 0.03)
  _near(found.state[:, 1], 1.0 + 0.09 * 0.6)
  np.testing.assert_allclose(found.reward, -0.5)
  seen = problem.observe(np.array([[0.4, 1.0, 0.0]]), 0)
  np.testing.assert_allclose(seen, [[0.4, 1.0, 0.0, 1.0]])
  hidden = boat.setting(1.0, 1.0, turning=0.2, horizon=9, hidden=True).problem
  assert hidden.observe(np.array([[0.4, 1.0, 0.0]]), 0).shape == (1, 2)


def test_elevators_take_people_to_the_other_floor():
  problem = elevator.setting(
    (1.0, 1.0), (1.0, 1.0), arrivals=(0.0, 0.0), horizon=9
  ).problem
  state = (0.0, 5.0, 2.0, 1.0, 3.0)  # one inside wants to get out here
  found = _after(problem, state, 2, count=1)
  # It leaves, and three of five fit in beside the other three.
  np.testing.assert_array_equal(found.state, [[0.0, 2.0, 2.0, 0.0, 6.0]])
  assert found.reward[0] == -(7.0 + 0.5 * 4.0)
  moved = _after(problem, state, 1, count=1)
  np.testing.assert_array_equal(moved.state, [[1.0, 5.0, 2.0, 1.0, 3.0]])
  assert moved.reward[0] == found.reward[0] - 0.5


def test_batteries_keep_nine_tenths_of_what_they_buy():
  options = {'freedom': 5.0, 'horizon': 9}
  problem = battery.setting((1.0, 1.0), (1.0, 1.0), **options).problem
  bought = _after(problem, (0.5, 1.2, 6.0), 0)
  np.testing.assert_allclose(bought.state[:, 0], 0.68)
  np.testing.assert_allclose(bought.reward, -10.0 * 1.2 * 0.2)
  _near(bought.state[:, 1], 1.4 + 0.6 * (1.2 - 1.4))
  empty = _after(problem, (0.1, 1.2, 23.0), 2)
  np.testing.assert_allclose(empty.state[:, [0, 2]], 0.0, atol=1e-12)
  vectors = battery.setting(
    (1.0, 1.0), (1.0, 1.0), vectors=True, **options
  ).problem
  half = _after(vectors, (0.5, 1.2, 6.0), (0.5,))
  np.testing.assert_allclose(half.state[:, 0], 0.4)


@pytest.mark.parametrize('vectors', [True, False])
def test_tanks_flow_by_the_root_of_their_levels(vectors):
  problem = tanks.setting(
    (1.0, 1.0), (1.0, 1.0), noise=0.02, horizon=9, vectors=vectors
  ).problem
  found = _after(problem, (2.25, 0.64), (0.9, 0.2) if vectors else 2)
  flow = 0.3 * 0.2 * 1.5
  _near(found.state[:, 0], 2.25 + 0.27 - flow)
  _near(found.state[:, 1], 0.64 + flow - 0.15 * 0.8)
  np.testing.assert_allclose(found.reward, -(0.36**2 + 0.09 + 0.25))


def _bids(seed, episodes):
  """Returns of bidding-near's target policy, one offer at a time."""
  draw, returns = random.Random(seed), []
  bids = (0.0, 0.4, 0.7, 1.0, 1.3, 1.8)
  for _ in range(episodes):
    money = 9.0 * draw.uniform(0.5, 1.5)
    worth, total = math.exp(0.3 * draw.gauss(0.0, 1.0)), 0.0
    for time in range(30):
      level = 0.9 * min(max(money / (30 - time) / 0.3, 0.3), 2.0)
      chances = [math.exp(-((each - level) ** 2) / 0.3) for each in bids]
      bid = min(draw.choices(bids, chances)[0] * worth, money)
      price = 0.7 * math.exp(0.5 * draw.gauss(0.0, 1.0))
      if bid > price:
        money -= price
        if draw.random() < 0.2:
          total += 0.99**time * 5.0 * worth
      worth = math.exp(0.3 * draw.gauss(0.0, 1.0))
      if money < 0.05:
        break
    returns.append(total)
  return returns


def _visits(seed, episodes):
  """Returns of dosing-visits' target policy, one patient at a time."""
  draw, returns = random.Random(seed), []
  for _ in range(episodes):
    age, sex = draw.randrange(20, 90), draw.randrange(2)
    marker, harm, total = draw.gammavariate(4.0, 0.5), 0.0, 0.0
    old = (age - 55.0) / 35.0
    for time in range(100):
      score = marker - 2.0 + 0.5 - 0.02 * (age - 55.0) - harm
      high = draw.random() < 1.0 / (1.0 + math.exp(-2.0 * score))
      lower, hurts = (0.9, 0.35) if high else (0.3, 0.05)
      marker += 0.2 - lower * (1.0 - 0.4 * old) * (1.0 + 0.3 * sex)
      marker = max(marker + 0.3 * draw.gauss(0.0, 1.0), 0.0)
      harm += hurts * draw.gammavariate(2.0, 0.5) * (1.0 + 0.5 * old)
      grave = 1.0 / (1.0 + math.exp(5.0 - 2.0 * harm - 0.5 * marker))
      died = draw.random() < grave
      total -= 0.95**time * (marker + 4.0 * died)
      if died:
        break
    returns.append(total)
  return returns


@pytest.mark.parametrize(
  'name, simulated', [('bidding-near', _bids), ('dosing-visits', _visits)]
)
def test_truths_are_those_of_another_simulation(name, simulated):
  truth, error = suite.CASES[name].make(0).target.found
  found = np.array(simulated(1, 3_000))
  spread = math.hypot(error, np.std(found) / math.sqrt(len(found)))
  assert abs(np.mean(found) - truth) < 4.0 * spread
  assert 0.0 < error < 0.01 * abs(truth)
