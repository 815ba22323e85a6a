"""One-step logs of many actions: known values, weights, kinds."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import dfiv_ope
from dfiv_ope.agents import (
  base,
  fixed_features,
  kiv,
  lstd,
  memory,
  one_step_columns,
  one_step_lstd,
)
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import runs
from dfiv_ope.ope import decisions
from dfiv_ope.ope import task as task_lib


def _softmax(scores):
  scores = np.exp(scores - scores.max(axis=1, keepdims=True))
  return scores / scores.sum(axis=1, keepdims=True)


class _Bandit:
  """A log whose rewards are linear in the state, for each action."""

  def __init__(self, rows=3_000, actions=40, columns=3, seed=0, **known):
    generator = np.random.default_rng(seed)
    self._slopes = generator.normal(size=(columns, actions))
    self._levels = generator.normal(size=actions)
    states = generator.normal(size=(rows, columns))
    taken = generator.integers(actions, size=rows)
    means = states @ self._slopes + self._levels
    self.average = np.mean(means)
    self.truth = np.mean(np.sum(self.policy(states) * means, axis=1))
    self.log = dfiv_ope.Log.bandit(
      states,
      taken,
      means[np.arange(rows), taken] + generator.normal(size=rows),
      num_actions=actions,
      **known,
    )

  def policy(self, states):
    return _softmax(states @ self._slopes + self._levels).astype(np.float32)

  @property
  def task(self):
    target = task_lib.find_policy(self.policy, self.log)
    return task_lib.EvaluationTask(self.log, target.policy)


@pytest.fixture(scope='module')
def bandit():
  return _Bandit()


@pytest.fixture(scope='module')
def learner(bandit):
  task = bandit.task
  found = base.OPELearner(
    lstd.make(lstd.Config(random_features=60), task.problem, seed=0),
    task.problem,
    memory.InMemory(task.rows, batch_size=1, seed=0),
    initial_observations=task.initial_observations,
  )
  found.run()
  return found


def test_the_value_of_a_known_bandit_is_found(bandit, learner):
  assert isinstance(learner.agent, one_step_lstd.OneStepLSTD)
  assert bandit.truth - bandit.average > 1.5
  assert learner.evaluate() == pytest.approx(bandit.truth, abs=0.1)
  assert {'penalty_level', 'penalty_slope'} <= set(learner.history)


def test_the_closed_form_is_the_mean_over_states_and_actions(learner):
  assert learner.problem.value_scale * learner.agent.fitted.value == (
    pytest.approx(learner.evaluate(), rel=1e-5)
  )


def test_weights_times_rewards_are_the_value_and_the_correction(
  bandit, learner
):
  found = runs.Evaluator(bandit.task).influence(
    learner.agent.config, learner.agent
  )
  effect = found.measure(learner.agent, learner.initial_values)
  rewards = bandit.log.transitions.reward
  # The value of q by the weights, and the correction for what q leaves out.
  fitted = learner.q_function.value(
    bandit.log.transitions.observation, bandit.log.transitions.action
  )
  assert effect.correction == pytest.approx(
    found.weights @ (rewards - np.asarray(fitted)), abs=1e-4
  )
  assert found.weights @ rewards == pytest.approx(bandit.truth, abs=0.1)


def test_an_expectation_is_the_sum_over_actions(learner):
  observation = learner.problem.observations.compact(
    np.random.default_rng(1).normal(size=(4, 3))
  )
  each = np.concatenate(
    [
      learner.agent.predict(decisions.taken(observation, np.full(4, action)))
      for action in range(40)
    ],
    axis=1,
  )
  generator = np.random.default_rng(2)
  for actions in (
    np.tile(np.arange(40), (4, 1)),
    generator.integers(40, size=(4, 40)),
    generator.integers(40, size=(4, 3)),
  ):
    probabilities = generator.dirichlet(np.ones(actions.shape[1]), size=4)
    found = learner.agent.predict(
      decisions.Decision(
        observation,
        tf.constant(actions, tf.int32),
        tf.constant(probabilities, tf.float32),
      )
    )
    np.testing.assert_allclose(
      found[:, 0],
      np.sum(probabilities * np.take_along_axis(each, actions, axis=1), axis=1),
      rtol=1e-5,
    )


def test_the_interval_holds_and_no_first_stage_is_measured(bandit):
  found = dfiv_ope.evaluate(
    bandit.log,
    bandit.policy,
    methods='lstd',
    seeds=1,
    configs={'lstd': {'random_features': 60}},
  )
  low, high = found.interval(0.95)
  assert low < bandit.truth < high
  assert 0.05 < high - low < 0.5
  metrics = found.estimates['lstd'].metrics
  assert metrics['overlap_one_step'] == 1.0
  assert not [name for name in metrics if name.startswith('first_stage')]
  assert any(
    'a ridge regression for each action beside 40 random features '
    'of the state' in words
    for words in found.warnings
  )


def test_an_influence_of_its_own_has_the_weights_of_the_agent(bandit, learner):
  evaluator = runs.Evaluator(bandit.task)
  own = evaluator.influence(learner.agent.config)
  np.testing.assert_allclose(
    own.weights, learner.agent.fitted.weights, atol=1e-8
  )
  assert own.extrapolation == pytest.approx(
    learner.problem.value_scale * learner.agent.fitted.extrapolation
  )


def test_actions_that_the_log_never_shows_widen_the_interval(bandit):
  seen = np.flatnonzero(bandit.log.transitions.action < 20)
  log = dfiv_ope.Log.bandit(
    *(np.asarray(each)[seen] for each in bandit.log.transitions[:3]),
    num_actions=40,
  )
  errors = []
  for each in (bandit.log, log):
    task = task_lib.EvaluationTask(
      each, task_lib.find_policy(bandit.policy, each).policy
    )
    errors.append(
      runs.Evaluator(task)
      .influence(lstd.Config(random_features=60))
      .extrapolation
    )
  assert errors[1] > 3.0 * errors[0] > 0.0


def test_thousand_actions_of_few_rows():
  bandit = _Bandit(rows=4_000, actions=1_000, columns=2)
  found = dfiv_ope.evaluate(bandit.log, bandit.policy, methods='lstd', seeds=1)
  low, high = found.interval(0.95)
  assert low < bandit.truth < high
  assert found.value == pytest.approx(bandit.truth, abs=0.3)


def test_features_overrule_what_is_taken_by_itself(bandit):
  problem = bandit.task.problem
  assert problem.one_step
  together = lstd.make(
    lstd.Config(features='together', joint_features=10), problem, seed=0
  )
  assert isinstance(together, fixed_features.Linear)
  assert isinstance(
    kiv.make(kiv.Config(joint_features=10), problem, seed=0),
    fixed_features.Linear,
  )
  few = dataclasses.replace(problem, num_actions=5, num_rows=5 * 301 * 8)
  assert isinstance(lstd.make(lstd.Config(), few, seed=0), lstd.LSTD)
  assert isinstance(
    lstd.make(lstd.Config(features='one_step'), few, seed=0),
    one_step_lstd.OneStepLSTD,
  )
  with pytest.raises(ValueError, match='features=one_step needs a log whose'):
    lstd.make(
      lstd.Config(features='one_step'),
      dataclasses.replace(problem, one_step=False),
      seed=0,
    )


@pytest.mark.parametrize(
  'changes, config, kind',
  [
    ({}, {}, random_features.ONE_STEP),
    ({'num_rows': 8 * 3 * 301 - 1}, {}, random_features.ONE_STEP),
    ({'num_rows': 8 * 3 * 301}, {}, random_features.PER_ACTION),
    ({'one_step': False}, {}, random_features.PER_ACTION),
    ({}, {'random_features': 20}, random_features.PER_ACTION),
    ({}, {'features': 'together'}, random_features.TOGETHER),
    ({'num_actions': 0}, {}, random_features.TOGETHER),
  ],
)
def test_few_actions_have_a_regression_each_where_rows_are_few(
  changes, config, kind
):
  asked = random_features.Size(3, 300, one_step=True)._replace(**changes)
  settings = lstd.Config(**config).settings_of(asked)

  def found(tabular):
    return settings.kind(
      num_actions=asked.num_actions, tabular=tabular, one_step=asked.one_step
    )

  assert found(tabular=False) == kind
  if not config and asked.num_actions:
    assert found(tabular=True) == random_features.TABLE
    # KIV and CME solve for all columns at once.
    assert (
      settings.dense(num_actions=3, cells=None) == random_features.PER_ACTION
    )


@pytest.mark.parametrize('rows', [300, 2_000])
def test_few_rows_of_few_actions_are_no_reason_to_shrink_rewards(rows):
  # With features for each action, as many as rows allow, half of the gain was
  # left of 300 rows.
  bandit = _Bandit(rows=rows, actions=3, columns=8)
  found = dfiv_ope.evaluate(bandit.log, bandit.policy, methods='lstd', seeds=1)
  low, high = found.interval()
  assert low < bandit.truth < high
  gained = bandit.truth - bandit.average
  assert abs(found.value - bandit.truth) < 0.06 * gained
  metrics = found.estimates['lstd'].metrics
  assert metrics['overlap_one_step'] == 1.0
  assert metrics['overlap_bandwidth_scale'] == 0.5
  assert {'check_lstd', 'check_narrow', 'check_draw'} <= set(metrics)


def test_many_columns_leave_each_action_its_level():
  problem = _Bandit(rows=200, actions=8, columns=3).task.problem
  settings = lstd.Config().settings

  def own(actions):
    return len(
      one_step_columns.Columns(
        dataclasses.replace(problem, num_actions=actions), settings, seed=0
      ).groups.own
    )

  assert own(8) == 104  # Waves, three numbers, a constant.
  assert own(1_000) == 4
  assert own(100_000) == 1


def test_categories_have_slopes_of_each_action():
  bandit = _Bandit(rows=500, actions=8, columns=3)
  states = np.array(bandit.log.transitions.observation)
  states[:, 0] = np.abs(np.round(states[:, 0]))
  log = dfiv_ope.Log.bandit(
    states,
    bandit.log.transitions.action,
    bandit.log.transitions.reward,
    num_actions=8,
    categorical=[0],
  )
  found = dfiv_ope.evaluate(
    log,
    bandit.policy,
    methods='lstd',
    seeds=1,
    configs={'lstd': {'random_features': 20}},
  )
  assert found.value == pytest.approx(bandit.truth, abs=0.5)


def test_short_one_step_logs_of_vectors_are_not_trusted():
  generator = np.random.default_rng(0)
  state = generator.normal(size=(300, 5))
  action = generator.normal(size=(300, 1))
  slope = np.array([0.5, -0.2, 0.1, 0.3, -0.4])
  reward = -np.square(action[:, 0] - state @ slope)
  log = dfiv_ope.Log.from_arrays(
    state, action, reward, np.ones(300, bool), discount=0.9
  )
  result = dfiv_ope.evaluate(
    log, lambda s: (s @ slope)[:, None], methods='lstd', seeds=2
  )
  # The best there is earns 0.
  assert result.value < -0.5
  assert result.trust().grade != 'trust'
  assert any('have one step' in each for each in result.trust().reasons)
