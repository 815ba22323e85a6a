"""What regressions of one-step logs leave out where the policy goes."""

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.evaluation import cross_checks, one_step_check
from dfiv_ope.ope import task as task_lib


def _waves(rows=1_000, columns=4, *, recorded):
  """Rewards go up and down with the sum of the columns, and with the action."""
  generator = np.random.default_rng(0)

  def mean(s):
    return np.sin(1.5 * np.sum(s, axis=1, keepdims=True) + [0.0, 2.0, 4.0])

  def policy(s):
    return np.eye(3)[np.argmax(mean(s), axis=1)]

  states = generator.normal(size=(rows, columns))
  action = generator.integers(3, size=rows)
  reward = mean(states)[np.arange(rows), action]
  known = {'behaviour_probabilities': np.full(rows, 1 / 3)} if recorded else {}
  log = dfiv_ope.Log.bandit(
    states,
    action,
    reward + 0.3 * generator.normal(size=rows),
    num_actions=3,
    **known,
  )
  fresh = generator.normal(size=(100_000, columns))
  return log, policy, float(np.mean(np.max(mean(fresh), axis=1)))


def _lines(rows=500):
  """Rewards are linear in the state, for each of two actions."""
  generator = np.random.default_rng(1)
  states = generator.normal(size=(rows, 2))
  action = generator.integers(2, size=rows)
  reward = 1.0 + states[:, 0] * (2 * action - 1)
  log = dfiv_ope.Log.bandit(
    states,
    action,
    reward + 0.3 * generator.normal(size=rows),
    num_actions=2,
    behaviour_probabilities=np.full(rows, 0.5),
  )

  def policy(s):
    likely = 1.0 / (1.0 + np.exp(-2.0 * s[:, 0]))
    return np.stack([1.0 - likely, likely], axis=1)

  s = np.random.default_rng(2).normal(size=400_000)
  return log, policy, 1.0 + float(np.mean(s * np.tanh(s)))


def _doses(rows, *, frequency):
  """Rewards go up and down with the dose and one of two columns."""
  generator = np.random.default_rng(3)
  states = generator.normal(size=(rows, 2))
  dose = generator.uniform(-2.0, 2.0, (rows, 1))
  reward = np.cos(frequency * (dose[:, 0] - states[:, 0]))
  return dfiv_ope.Log.bandit(
    states, dose, reward + 0.3 * generator.normal(size=rows), continuous=True
  )


def _found(log, policy):
  return dfiv_ope.evaluate(log, policy, methods='lstd', seeds=1)


def test_what_is_missing_is_the_weighted_mean_of_errors():
  log, policy, _ = _waves(recorded=True)
  task = task_lib.EvaluationTask(log, task_lib.find_policy(policy, log).policy)
  errors = np.random.default_rng(0).normal(size=len(log)) + 1.0
  found = one_step_check.measure(task, np.arange(len(log)), 7.0, errors)
  states, action = log.transitions.observation, log.transitions.action
  weights = policy(states)[np.arange(len(log)), action] * 3.0
  mean = np.sum(weights * errors) / np.sum(weights)
  assert found.name == 'weighed'
  assert found.value == pytest.approx(mean)
  assert found.standard_error == pytest.approx(
    np.sqrt(np.sum(np.square(weights * (errors - mean)))) / np.sum(weights)
  )
  assert found.beyond_chance == found.value
  # Of other states these weights say nothing, and a name has no curve.
  other = task_lib.EvaluationTask(log.starting_from(states[:50]), task.policy)
  assert one_step_check.measure(other, np.arange(len(log)), 7.0, errors) is None


def test_what_may_be_chance_is_not_missing():
  assert one_step_check.Missing('curve', 1.9, 1.0).beyond_chance == 0.0
  assert one_step_check.Missing('curve', -2.1, 1.0).beyond_chance == -2.1


@pytest.mark.parametrize('recorded', [True, False])
def test_a_value_that_is_drawn_to_the_average_is_not_trusted(recorded):
  log, policy, truth = _waves(recorded=recorded)
  found = _found(log, policy)
  low, high = found.interval()
  assert found.value < truth - 0.3
  assert found.trust().grade != 'trust'
  assert 'by the weighted mean of its errors' in found.trust().reasons[0]
  assert low <= truth <= high
  # Nothing else would have said so.
  checks = found.estimates['lstd'].metrics
  assert checks['check_weighed'] > found.value + 0.3
  assert checks['check_narrow'] < truth - 0.3
  assert checks['check_draw'] < truth - 0.3


def test_a_value_that_is_right_stays_trusted():
  log, policy, truth = _lines()
  found = _found(log, policy)
  assert found.value == pytest.approx(truth, abs=0.08)
  checks = found.estimates['lstd'].metrics
  assert checks['check_weighed'] == checks['check_lstd']
  assert found.trust().grade == 'trust'


def test_waves_of_a_dose_are_seen_by_lengths_of_each_column():
  log = _doses(3_000, frequency=4.0)
  # The best dose earns 1 where it may be given.
  task = task_lib.EvaluationTask(
    log,
    task_lib.find_policy(lambda s: np.clip(s[:, :1], -1.5, 1.5), log).policy,
  )
  found = cross_checks.measure(task)
  starts = np.asarray(log.start_states)[:, 0]
  truth = np.mean(np.cos(4.0 * (np.clip(starts, -1.5, 1.5) - starts)))
  assert found['check_lstd'] < truth - 0.3
  assert found['check_curve'] == pytest.approx(truth, abs=0.1)


def test_a_curve_that_says_the_same_moves_nothing():
  found = cross_checks.measure(
    task_lib.EvaluationTask(
      log := _doses(1_000, frequency=0.5),
      task_lib.find_policy(lambda s: 0.5 * s[:, :1], log).policy,
    )
  )
  assert found['check_curve'] == found['check_lstd']
