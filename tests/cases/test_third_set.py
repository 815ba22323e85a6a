"""Random problems obey the laws that their modules describe."""

import numpy as np
import pytest

from dfiv_ope.cases import case, drift, garnet, offers, process, suite

_THIRD = [
  each
  for each in suite.CASES.values()
  if each.half in (case.DEVELOPMENT_3, case.HELD_OUT_3)
]


def test_the_set_has_the_kinds_it_was_written_for():
  facts = [each.facts for each in _THIRD]
  assert len({each.family for each in _THIRD}) == 3
  assert {each.overlap for each in facts} == {'good', 'medium', 'poor'}
  assert min(each.horizon for each in facts) == 1
  assert max(each.horizon for each in facts) == 100
  assert sum(not each.recorded for each in facts) == 7
  assert sum(each.vectors for each in facts) == 1


@pytest.mark.parametrize('columns', [0, 2])
def test_garnets_have_exact_values(columns):
  made = garnet.setting(
    (0.0, 1.0), (1.0, 1.0), horizon=9, draw=3, ending=0.2, columns=columns
  )
  np.testing.assert_allclose(made.problem.steps.sum(axis=2), 1.0)
  value, error = made.target.found
  found = process.simulate(
    made.problem, made.target.policy, episodes=2_000, seed=0
  )
  assert error == 0.0
  assert abs(found.mean - value) < 4.0 * found.standard_error
  log = process.draw(made.problem, made.behaviour, episodes=2_000, seed=0)
  assert log.truncated / 2_000 == pytest.approx(0.8**9, abs=0.03)


def test_states_that_look_alike_are_treated_alike():
  made = garnet.setting((0.0, 1.0), (1.0, 1.0), horizon=9, draw=1, alike=True)
  seen = made.problem.observations[:, 0]
  np.testing.assert_array_equal(seen, np.arange(21) // 2)
  # Their steps differ all the same.
  assert np.abs(made.problem.steps[0] - made.problem.steps[1]).max() > 0.05


def test_late_rewards_come_with_the_end():
  made = garnet.setting((0.0, 1.0), (1.0, 1.0), horizon=9, draw=1, late=True)
  rewards = made.problem.rewards
  assert not rewards[:, :, :-1].any() and rewards[:-1, :, -1].all()


def test_systems_drift_and_end_beyond_their_bound():
  made = drift.setting(
    (0.0, 1.0), (1.0, 1.0), horizon=9, draw=1, bound=0.5, unseen=True
  )
  problem = made.problem
  generator = np.random.default_rng(0)
  state = np.tile([0.4, -0.3, 0.9], (40_000, 1))
  found = problem.step(state, np.full(40_000, 2), generator)
  made_by = np.tanh(np.append(state[0], problem.pushes[2]) @ problem.inner)
  change = made_by @ problem.outer
  np.testing.assert_allclose(
    found.state.mean(axis=0), 0.8 * state[0] + 0.6 * change[:3], atol=0.005
  )
  np.testing.assert_allclose(found.state.std(axis=0), 0.2, rtol=0.03)
  np.testing.assert_allclose(
    found.reward, change[3] - 0.1 * np.sum(problem.pushes[2] ** 2)
  )
  np.testing.assert_array_equal(found.ended, np.abs(found.state[:, 0]) > 0.5)
  assert problem.observe(state, 0).shape == (40_000, 2)


@pytest.mark.parametrize('sales', [False, True])
def test_an_offer_pays_once(sales):
  made = offers.setting((0.0, 1.0), (1.0, 1.0), draw=1, noise=0.4, sales=sales)
  problem = made.problem
  state = np.tile([0.5, -1.0, 0.2, 1.0, 3.0], (40_000, 1))
  found = problem.step(state, np.full(40_000, 1), np.random.default_rng(0))
  liked = np.sin(state[0, :4] @ problem.slopes[:, 1]) + problem.groups[3, 1]
  wanted = (
    np.exp(0.4**2 / 2.0) / (1.0 + np.exp(2.0 - 2.0 * liked)) if sales else liked
  )
  error = np.std(found.reward) / 200.0
  assert abs(np.mean(found.reward) - wanted) < 4.0 * error
  assert found.ended.all()
  assert (np.min(found.reward) == 0.0) == sales
