"""A log whose observations are not the whole state is told from one that is."""

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.evaluation import state_check
from dfiv_ope.ope import task as task_lib

_EPISODES, _LENGTH = 40, 25


def _task(columns):
  """A walk with a wind and a clock; some columns are observed."""
  generator = np.random.default_rng(3)
  place, wind = generator.normal(size=(2, _EPISODES))
  rows = []
  for step in range(_LENGTH):
    action = generator.integers(2, size=_EPISODES)
    after = 0.8 * place + 0.4 * (action - 0.5) + 0.5 * wind
    after = after + 0.1 * generator.normal(size=_EPISODES)
    new_wind = 0.95 * wind + 0.1 * generator.normal(size=_EPISODES)
    now, later = (
      np.stack([*each, np.full(_EPISODES, clock)], axis=1)
      for each, clock in (
        ((place, wind), 0.1 * step),
        ((after, new_wind), 0.1 * (step + 1)),
      )
    )
    rows.append((now, later, action, -(after**2)))
    place, wind = after, new_wind
  now, later, action, reward = (
    np.concatenate(np.stack(each, axis=1)) for each in zip(*rows, strict=True)
  )
  ends = np.arange(len(action)) % _LENGTH == _LENGTH - 1
  log = dfiv_ope.Log.from_arrays(
    now[:, columns],
    action,
    reward,
    np.zeros(len(ends), bool),
    ends,
    discount=0.9,
    next_observations=later[:, columns],
  )
  return task_lib.EvaluationTask(
    log, task_lib.find_policy('uniform', log).policy
  )


@pytest.mark.parametrize('columns', [[0, 1], [0, 1, 2]])
def test_a_whole_state_is_not_doubted_and_the_rounding_of_a_clock_is_none(
  columns,
):
  found = state_check.measure(_task(columns), np.arange(1_000))
  assert found['memory_share'] < 0.01


def test_a_hidden_wind_is_told():
  found = state_check.measure(_task([0]), np.arange(1_000))
  assert found['memory_share'] > 0.05
  assert found['memory_z'] > 4.0


@pytest.mark.parametrize('one_step', [True, False])
def test_recorded_probabilities_tell_of_what_the_behaviour_policy_knew(
  one_step,
):
  generator = np.random.default_rng(0)
  age, pain = generator.normal(size=(2, 1_000))
  high = 1.0 / (1.0 + np.exp(-1.5 * pain))
  dose = (generator.random(1_000) < high).astype(int)
  log = dfiv_ope.Log.from_arrays(
    age,
    dose,
    age + pain * (2 * dose - 1) + 0.1 * generator.normal(size=1_000),
    np.ones(1_000, bool) if one_step else np.arange(1_000) % 4 == 3,
    discount=0.9,
    behaviour_probabilities=np.where(dose == 1, high, 1.0 - high),
  )
  task = task_lib.EvaluationTask(
    log, task_lib.find_policy('uniform', log).policy
  )
  found = state_check.measure(task, np.arange(1_000))
  assert found['foreseen_share'] > 0.3
  assert found['foreseen_z'] > 4.0
  assert found['foreseen_outcome'] == 1.0
  assert ('memory_share' in found) != one_step
  said = dfiv_ope.evaluate(log, 'uniform', methods='lstd', seeds=1).trust()
  assert said.grade == 'do not'
  assert 'recorded probabilities tell' in ' '.join(said.reasons)


def test_probabilities_that_are_the_same_everywhere_tell_nothing():
  generator = np.random.default_rng(0)
  log = dfiv_ope.Log.from_arrays(
    generator.normal(size=1_000),
    generator.integers(2, size=1_000),
    generator.normal(size=1_000),
    np.arange(1_000) % 4 == 3,
    discount=0.9,
    behaviour_probabilities=np.full(1_000, 0.5),
  )
  task = task_lib.EvaluationTask(
    log, task_lib.find_policy('uniform', log).policy
  )
  found = state_check.measure(task, np.arange(1_000))
  assert {name.split('_')[0] for name in found} == {'memory', 'acted'}


def _switching(*, seen, episodes=150, length=8):
  """Changing the action costs, and the last one may be observed."""
  generator = np.random.default_rng(1)
  place, last = generator.normal(size=episodes), np.zeros(episodes, int)
  rows = []
  for _ in range(length):
    action = generator.integers(3, size=episodes)
    now = np.c_[place, np.eye(3)[last]] if seen else place[:, None]
    reward = 0.5 * place * (action - 1) - 1.0 * (action != last)
    place = 0.7 * place + 0.3 * action + 0.5 * generator.normal(size=episodes)
    later = np.c_[place, np.eye(3)[action]] if seen else place[:, None]
    noise = 0.3 * generator.normal(size=episodes)
    rows.append((now, action, reward + noise, later))
    last = action
  now, action, reward, later = (
    np.concatenate(np.stack(each, axis=1)) for each in zip(*rows, strict=True)
  )
  return dfiv_ope.Log.from_arrays(
    now,
    action,
    reward,
    np.zeros(len(action), bool),
    np.tile(np.arange(length) == length - 1, episodes),
    discount=0.9,
    next_observations=later,
  )


@pytest.mark.parametrize('seen', [True, False])
def test_a_cost_of_changing_the_action_needs_the_action_before(seen):
  log = _switching(seen=seen)
  result = dfiv_ope.evaluate(
    log,
    lambda states: np.tile([0.05, 0.9, 0.05], (len(states), 1)),
    methods='lstd',
    seeds=1,
  )
  said = ' '.join(result.trust().reasons)
  told = 'the action of the step before tells'
  assert (told in said) != seen
  if not seen:
    assert result.trust().grade == 'do not'
    assert 'of the variance of the reward beyond the state' in said
    assert 'Add the action of the step before to the observations.' in said


def test_a_table_needs_the_action_before_too():
  generator = np.random.default_rng(2)
  cell, action = generator.integers(4, size=(2, 2_000)) % [[4], [2]]
  step = np.arange(2_000) % 10
  before = np.where(step == 0, 0, np.roll(action, 1))
  log = dfiv_ope.Log.from_arrays(
    cell,
    action,
    1.0 * (action != before),
    np.zeros(2_000, bool),
    step == 9,
    discount=0.9,
    next_observations=np.roll(cell, -1),
    categorical=[0],
  )
  result = dfiv_ope.evaluate(
    log,
    lambda states: np.tile([0.9, 0.1], (len(states), 1)),
    methods='lstd',
    seeds=1,
  )
  # An action changes half of the time in the log, and .18 of it by the policy.
  assert result.interval().low > 0.3 / (1.0 - 0.9)
  assert result.trust().grade == 'do not'
  assert 'Bellman errors go with the action of the step before' in ' '.join(
    result.trust().reasons
  )


def test_of_a_short_log_nothing_is_told():
  assert state_check.measure(_task([0]), np.arange(400)) == {}
