"""What every estimator that weighs a log must do, run on each of them."""

import dataclasses

import numpy as np
import pytest

from dfiv_ope import agents, testing
from dfiv_ope.agents import cross_fitting, direct, doubly_robust, nearest
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.evaluation import estimates, inference, result_rows, runs
from dfiv_ope.ope import propensities
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import continuous
from dfiv_ope.results import rows as rows_lib

DIRECT = tuple(name for name in agents.NAMES if name not in agents.LEARNERS)
# Those that cannot look beyond the end of an episode, and the others.
SAMPLING = tuple(
  name
  for name in DIRECT
  if agents.ENTRIES[name].style.family == 'importance sampling'
)
# They need no probabilities of the behaviour policy.
WITHOUT = ('drl', 'nearest', 'blend')
ROBUST = tuple(name for name in DIRECT if name not in SAMPLING)
_BEHAVIOUR, _TARGET = 0.5, 0.7
_DISCOUNT, _END = 0.8, 0.3


def arrays(*, count=400, seed=0, end=_END, cut=False, **changes):
  """Returns a walk over five states, whose actions are fair coins.

  An action of one pays one, and each state a tenth of its number.
  """
  generator = np.random.default_rng(seed)
  columns = {
    name: []
    for name in (
      'observations',
      'actions',
      'rewards',
      'terminals',
      'truncations',
      'next_observations',
      'episode_ids',
    )
  }
  for episode in range(count):
    state, done, step = int(generator.integers(5)), False, 0
    while not done:
      action = int(generator.random() < _BEHAVIOUR)
      forward = generator.random() < 0.5 + 0.3 * action
      later = (state + (1 if forward else 3)) % 5
      done = generator.random() < end
      step += 1
      stopped = cut and step == 3 and not done
      for name, value in zip(
        columns,
        (
          [float(state)],
          action,
          action + 0.1 * state,
          done,
          stopped,
          [float(later)],
          episode,
        ),
        strict=True,
      ):
        columns[name].append(value)
      state, done = later, done or stopped
  known = {name: np.array(each) for name, each in columns.items()}
  if not cut:
    del known['truncations']
  return {**known, 'discount': _DISCOUNT, 'num_actions': 2, **changes}


def log_of(*, recorded=True, **options):
  made = arrays(**options)
  if recorded:
    made['behaviour_probabilities'] = np.full(len(made['actions']), _BEHAVIOUR)
  return log_lib.Log.from_arrays(**{'categorical': [0], **made})


def task_of(probability=_TARGET, **options):
  return task_lib.EvaluationTask(
    log_of(**options), testing.Mixed(np.array([1.0 - probability, probability]))
  )


def truth(probability=_TARGET):
  """The exact value: V = gains + 0.8 * 0.7 P V."""
  forward = 0.5 + 0.3 * probability
  steps = np.zeros((5, 5))
  for state in range(5):
    steps[state, (state + 1) % 5] = forward
    steps[state, (state + 3) % 5] = 1.0 - forward
  gains = probability + 0.1 * np.arange(5)
  return np.linalg.solve(
    np.eye(5) - _DISCOUNT * (1.0 - _END) * steps, gains
  ).mean()


def config_of(name, **changes):
  entry = agents.ENTRIES[name]
  return dataclasses.replace(
    entry.configs['default'], **{**entry.tiny, **changes}
  )


def run(name, task, *, seed=0, **changes):
  # What unrelated estimators say is tested elsewhere.
  return runs.Evaluator(task, checked=False).run(
    name, config_of(name, **changes), seed=seed
  )


@pytest.fixture(scope='module')
def task():
  return task_of(seed=1)


@pytest.mark.parametrize('name', DIRECT)
def test_a_module_estimates_and_has_both_configs(name, task):
  module = agents.load(name)
  assert not hasattr(module, 'make')
  assert set(module.CONFIGS) == {'default', 'paper'}
  found = module.estimate(config_of(name), task, seed=0)
  assert isinstance(found, direct.Direct)
  assert found.added.shape == (400,)
  assert np.sum(found.added) == pytest.approx(0.0, abs=1e-9)
  assert 20.0 < found.metrics['effective_episodes'] <= 400.0
  assert 1.0 / 400.0 <= found.metrics['largest_weight_share'] < 0.2


@pytest.mark.parametrize('name', DIRECT)
def test_the_interval_holds_the_exact_value(name, task):
  evaluator = runs.Evaluator(task, checked=False)
  found = estimates.estimate(evaluator, name, config_of(name), seeds=3)
  assert not found.missing
  ends = found.interval(0.99)
  assert ends.low < truth() < ends.high
  assert abs(found.value - truth()) < 0.15 * truth()
  # Beside what other estimators say.
  assert ends.high - ends.low - sum(ends.reach) < 0.6 * truth()
  # Paired by the same resamples.
  paired = found.difference(estimates.log_average(evaluator), 0.99)
  assert paired.low < truth() - truth(_BEHAVIOUR) < paired.high


@pytest.mark.parametrize('name', DIRECT)
def test_same_seed_same_numbers(name, task):
  first, second = run(name, task), run(name, task)
  assert first.metrics == second.metrics
  np.testing.assert_array_equal(first.resamples, second.resamples)


@pytest.mark.parametrize('name', DIRECT)
def test_a_run_becomes_a_row_that_is_read_again(name, task):
  found = run(name, task)
  problem = result_rows.user_log(task, target='t', policy='mixed')
  row = result_rows.of_run(problem, name, {'type': 'Config'}, found)
  again = rows_lib.decode(rows_lib.encode(row))
  assert again.metrics == row.metrics and not again.failed
  assert len(again.resamples) == 200


@pytest.mark.parametrize('name', SAMPLING)
def test_the_behaviour_policy_is_worth_the_average(name):
  task = task_of(probability=_BEHAVIOUR)
  found = run(name, task)
  average = runs.Evaluator(task).log_average()
  assert found.metrics['estimate'] == pytest.approx(average.metrics['estimate'])
  np.testing.assert_allclose(found.resamples, average.resamples, atol=1e-9)
  assert found.metrics['effective_episodes'] == pytest.approx(400.0)


@pytest.mark.parametrize('name', SAMPLING)
def test_a_cap_of_nothing_much_changes_the_value(name, task):
  free, bound = run(name, task), run(name, task, cap=1.0)
  assert (
    bound.metrics['effective_episodes'] > free.metrics['effective_episodes']
  )
  assert bound.metrics['estimate'] != free.metrics['estimate']
  loose = run(name, task, cap=1e9)
  assert loose.metrics['estimate'] == free.metrics['estimate']


@pytest.mark.parametrize('name', DIRECT)
@pytest.mark.parametrize(
  'changes, words',
  [
    ({'cap': 0.0}, 'cap must be positive, got 0'),
    ({'cap': float('nan')}, 'cap must be positive, got nan'),
    ({'folds': 1}, 'folds must be at least 2, got 1'),
  ],
)
def test_wrong_settings_are_refused(name, changes, words):
  if not set(changes) <= {
    field.name for field in dataclasses.fields(config_of(name))
  }:
    pytest.skip('It has no such setting.')
  with pytest.raises(ValueError, match=words):
    config_of(name, **changes)


@pytest.mark.parametrize('name', SAMPLING)
def test_truncated_episodes_are_refused_in_a_sentence(name):
  found = run(name, task_of(cut=True))
  assert found.refused and not found.metrics and not len(found.resamples)
  assert 'of 400 episodes are truncated' in found.failure
  assert 'count up to 51 %' in found.failure  # 0.8^3
  assert 'use dr, lstd or fqe' in found.failure
  row = result_rows.of_run(
    result_rows.user_log(task_of(cut=True), target='t', policy='mixed'),
    name,
    {'type': 'Config'},
    found,
  )
  assert rows_lib.decode(rows_lib.encode(row)).outcome == 'refused'


@pytest.mark.parametrize('name', SAMPLING)
def test_what_is_cut_may_be_negligible(name):
  task = task_of(cut=True, discount=0.2)  # 0.2^3 < 1 %
  assert run(name, task).metrics['estimate'] > 0.0


@pytest.mark.parametrize('name', DIRECT)
def test_a_clone_stands_for_probabilities_that_are_not_recorded(name, task):
  guessed = task_of(recorded=False, seed=1)
  known, found = run(name, task), run(name, guessed)
  if name in WITHOUT:
    assert found.metrics['estimate'] == known.metrics['estimate']
    return
  assert known.metrics['estimated_propensities'] == 0.0
  assert found.metrics['estimated_propensities'] == 1.0
  assert found.metrics['estimate'] != known.metrics['estimate']
  assert found.metrics['estimate'] == pytest.approx(
    known.metrics['estimate'], abs=2.0 * known.metrics['data_error']
  )


def test_no_row_is_weighed_by_a_clone_that_saw_it(monkeypatch):
  task, seen = task_of(recorded=False, count=40), []
  clone = propensities.cloning.clone

  def watched(transitions, episodes, **options):
    seen.append(set(np.unique(episodes)))
    return clone(transitions, episodes, **options)

  monkeypatch.setattr(propensities.cloning, 'clone', watched)
  found = task.behaviour_of_others(4)
  assert found.estimated and np.all(found.probabilities > 0.0)
  assert len(seen) == 4
  left_out = [set(range(40)) - each for each in seen]
  assert all(len(each) == 10 for each in left_out)
  assert set.union(*left_out) == set(range(40))
  task.behaviour_of_others(4)
  task_lib.EvaluationTask(
    task.log, testing.Mixed(np.array([0.5, 0.5])), like=task
  ).behaviour_of_others(4)
  assert len(seen) == 4  # Found out once.


def test_an_action_that_others_never_take_has_a_probability():
  made = arrays(count=30)
  made['actions'] = np.zeros_like(made['actions'])
  made['actions'][0] = 1
  log = log_lib.Log.from_arrays(**made, categorical=[0])
  found = propensities.cross_fitted(log, count=3)
  assert np.all((found > 0.0) & (found <= 1.0))
  assert found[0] < 0.05


@pytest.mark.parametrize('name', SAMPLING)
def test_an_impossible_log_is_refused_in_a_sentence(name):
  made = arrays(count=40)
  log = log_lib.Log.from_arrays(
    **{**made, 'actions': np.zeros_like(made['actions'])}, categorical=[0]
  )
  task = task_lib.EvaluationTask(log, testing.Mixed(np.array([0.0, 1.0])))
  found = run(name, task)
  assert found.refused
  assert 'None of the 40 episodes could be one' in found.failure


@pytest.mark.parametrize('name', DIRECT)
def test_few_episodes_have_an_estimate_and_no_interval(name):
  evaluator = runs.Evaluator(task_of(count=12))
  found = estimates.estimate(evaluator, name, config_of(name), seeds=1)
  assert np.isfinite(found.value)
  assert 'Log at least 20' in found.missing and found.interval() is None


def test_weights_on_one_episode_give_no_interval():
  # One of 30 episodes is all that the target would do.
  made = arrays(count=30, end=1.0)
  made['actions'] = (np.arange(30) == 7).astype(int)
  log = log_lib.Log.from_arrays(
    **made,
    categorical=[0],
    behaviour_probabilities=np.where(made['actions'], 0.03, 0.97),
  )
  task = task_lib.EvaluationTask(log, testing.Mixed(np.array([0.0, 1.0])))
  for name in SAMPLING:
    found = estimates.estimate(
      runs.Evaluator(task), name, config_of(name), seeds=1
    )
    assert found.metrics['effective_episodes'] == pytest.approx(1.0)
    assert np.isfinite(found.value) and found.interval() is None
    assert found.missing.startswith(
      'No interval: the weights of 30 episodes are worth 1.0.'
    )


@pytest.mark.parametrize('name', SAMPLING)
def test_one_step_logs_work(name):
  generator = np.random.default_rng(0)
  actions = generator.integers(2, size=2_000)
  log = log_lib.Log.bandit(
    generator.normal(size=(2_000, 1)),
    actions,
    actions + 0.0,
    behaviour_probabilities=np.full(2_000, 0.5),
  )
  found = run(
    name, task_lib.EvaluationTask(log, testing.Mixed(np.array([0.1, 0.9])))
  )
  assert found.metrics['estimate'] == pytest.approx(0.9, rel=0.05)


def test_one_step_logs_of_many_actions_work():
  generator = np.random.default_rng(0)
  actions = generator.integers(12, size=600)
  log = log_lib.Log.bandit(
    generator.normal(size=(600, 2)),
    actions,
    actions / 10.0,
    behaviour_probabilities=np.full(600, 1.0 / 12.0),
    num_actions=12,
  )
  found = run(
    'dr', task_lib.EvaluationTask(log, testing.Mixed(np.arange(12) / 66.0))
  )
  # The mean of a^2 / 660.
  assert found.metrics['estimate'] == pytest.approx(506.0 / 660.0, rel=0.1)


def _vectors(spread, *, recorded=True):
  generator = np.random.default_rng(0)
  states = generator.normal(size=(600, 1))
  actions = 0.5 * states + generator.normal(size=(600, 1))
  density = np.exp(-0.5 * (actions - 0.5 * states)[:, 0] ** 2) / np.sqrt(
    2.0 * np.pi
  )
  log = log_lib.Log.from_arrays(
    states,
    actions,
    -np.square(actions[:, 0]),
    np.arange(600) % 2 == 1,
    discount=0.9,
    continuous=True,
    **({'behaviour_probabilities': density} if recorded else {}),
  )
  return task_lib.EvaluationTask(
    log,
    continuous.Gaussian(
      lambda s: 0.5 * s, standard_deviation=spread, actions=log.continuous
    ),
  )


@pytest.mark.parametrize('name', SAMPLING)
def test_vectors_are_weighed_by_densities(name):
  found = run(name, _vectors(1.0))
  assert found.metrics['estimate'] == pytest.approx(
    _vectors(1.0).log.average_return.mean, rel=1e-5
  )
  # E a^2 = 1/4 + 0.8^2 in each of two steps.
  other = run(name, _vectors(0.8))
  assert other.metrics['estimate'] == pytest.approx(
    -1.9 * (0.25 + 0.64), rel=0.1
  )


@pytest.mark.parametrize('name', DIRECT)
def test_a_policy_without_a_density_is_refused_in_a_sentence(name):
  if name in WITHOUT:
    pytest.skip('It needs no density.')
  found = run(name, _vectors(0.0))
  assert found.refused
  assert 'takes one vector in each state' in found.failure


def test_probabilities_that_are_none_are_an_error():
  made = arrays(count=30)
  log = dataclasses.replace(
    log_lib.Log.from_arrays(**made, categorical=[0]),
    behaviour_probabilities=np.zeros(len(made['actions'])),
  )
  with pytest.raises(ValueError, match='had probability 0'):
    run(
      'tis', task_lib.EvaluationTask(log, testing.Mixed(np.array([0.5, 0.5])))
    )


def test_weights_beyond_all_numbers_are_refused_in_a_sentence():
  count, length = 30, 400
  generator = np.random.default_rng(0)
  actions = np.ones(count * length, int)
  log = log_lib.Log.from_arrays(
    generator.normal(size=(count * length, 1)),
    actions,
    actions + 0.0,
    np.arange(count * length) % length == length - 1,
    discount=1.0,
    num_actions=2,
    behaviour_probabilities=np.full(count * length, 0.01),
  )
  task = task_lib.EvaluationTask(log, testing.Mixed(np.array([0.0, 1.0])))
  for name in ('tis', 'pdis'):
    assert 'too large to be numbers' in run(name, task).failure
    assert run(name, task, cap=10.0).metrics['estimate'] > 0.0
  for name in ('wis', 'wpdis'):
    assert run(name, task).metrics['estimate'] == pytest.approx(400.0)


def _without_a_model(task):
  """Returns the ingredients of DR with values of zero."""
  found = doubly_robust.prepare(config_of('dr'), task, seed=0)
  return found._replace(
    values=cross_fitting.Values(
      np.zeros(task.log.num_episodes),
      np.asarray(task.log.transitions.reward, np.float64),
    )
  )


@pytest.mark.parametrize('name, normalised', [('pdis', False), ('wpdis', True)])
def test_without_a_model_dr_is_importance_sampling(task, name, normalised):
  found = _without_a_model(task).weigh(normalised=normalised)
  other = run(name, task)
  assert found.value == pytest.approx(other.metrics['estimate'], abs=1e-12)
  np.testing.assert_allclose(
    inference.resample(found.added), other.resamples, atol=1e-12
  )


@pytest.mark.parametrize('name', ROBUST)
def test_what_follows_a_truncated_episode_is_estimated(name):
  found = estimates.estimate(
    runs.Evaluator(task_of(cut=True, seed=1)), name, config_of(name), seeds=1
  )
  ends = found.interval(0.99)
  assert ends.low < truth() < ends.high
  assert found.value == pytest.approx(truth(), rel=0.1)


@pytest.mark.parametrize('features', ['table', 'per_action'])
def test_values_of_an_episode_do_not_come_from_it(features):
  made = arrays(count=40)
  changed = {**made, 'rewards': made['rewards'].copy()}
  own = made['episode_ids'] == 7
  changed['rewards'][own] += 1.0
  found = []
  for each in (made, changed):
    task = task_lib.EvaluationTask(
      log_lib.Log.from_arrays(**each, categorical=[0]),
      testing.Mixed(np.array([0.3, 0.7])),
    )
    folds = cross_fitting.folds(task, 4, seed=0)
    found.append(
      cross_fitting.values(
        config_of('dr', features=features, random_features=4),
        task,
        folds,
        seed=0,
      )
    )
  before, after = found
  assert after.initial[7] == pytest.approx(before.initial[7], rel=1e-3)
  np.testing.assert_allclose(
    after.errors[own], before.errors[own] + 1.0, rtol=1e-3, atol=1e-3
  )
  assert np.abs(after.initial - before.initial).max() > 0.01


def test_what_follows_truncated_episodes_rests_on_values(task):
  assert run('wis', task).metrics['values_share'] == 0.0
  assert run('dr', task).metrics['values_share'] == 0.0
  # Of episodes with coins like the target's, all weights are one.
  cut = task_of(probability=_BEHAVIOUR, cut=True)
  log = cut.log
  wanted = log.truncated / log.num_episodes * _DISCOUNT**3
  assert run('wdr', cut).metrics['values_share'] == pytest.approx(wanted)
  assert run('magic', cut).metrics['values_share'] >= wanted * 0.999


def test_rollouts_are_in_a_blend_of_numbers_and_not_of_a_table(task):
  assert {'lstd_share', 'dr_share'} <= set(run('blend', task).metrics)
  assert 'nearest_share' not in run('blend', task).metrics
  numbers = run('blend', task_of(seed=1, categorical=[]))
  assert 'nearest_share' in numbers.metrics


def test_magic_blends_the_model_and_the_weights(task):
  magic, wdr = run('magic', task), run('wdr', task)
  assert magic.metrics['weighted_value'] == wdr.metrics['estimate']
  low, high = sorted([magic.metrics['model_value'], wdr.metrics['estimate']])
  slack = 2.0 * wdr.metrics['data_error']
  assert low - slack < magic.metrics['estimate'] < high + slack
  assert 0.0 <= magic.metrics['model_share'] <= 1.0
  assert magic.metrics['correction'] == pytest.approx(
    wdr.metrics['estimate'] - magic.metrics['estimate']
  )


def test_visits_of_the_behaviour_policy_weigh_all_rows_alike():
  found = run('drl', task_of(probability=_BEHAVIOUR, seed=1))
  assert found.metrics['effective_share'] > 0.8
  assert found.metrics['estimate'] == pytest.approx(truth(_BEHAVIOUR), rel=0.1)


@pytest.mark.parametrize(
  'discount, most', [(0.0, 1), (0.99, 688), (1.0, 24), (0.999999999, 100_000)]
)
def test_rollouts_end_where_little_is_left_and_never_go_on_forever(
  discount, most
):
  assert nearest.steps(discount, longest=8) == most
