"""Many policies at once: the numbers of each alone."""

import dataclasses

import numpy as np
import pytest

import dfiv_ope
from dfiv_ope.agents import cross_sums, decision_groups, lstd, shared_sums
from dfiv_ope.agents.entries import kiv
from dfiv_ope.evaluation import (
  comparison,
  inference,
  influence,
  many_policies,
  policy_sums,
  runs,
  trust,
  verdict,
)
from dfiv_ope.ope import choices
from dfiv_ope.ope import task as task_lib

_CONFIG = lstd.Config(random_features=20)


def _threshold(place):
  return lambda s: (s[:, 0] > place).astype(int) + (s[:, 1] > place)


def _soft(s):
  odds = np.exp(np.stack([s[:, 0], s[:, 1], 0.0 * s[:, 0]], axis=1))
  return odds / odds.sum(axis=1, keepdims=True)


def _careless(s):
  answer = np.full((len(s), 3), 0.1 / 3.0)
  answer[np.arange(len(s)), _threshold(0.3)(s)] += 0.9
  return answer


_POLICIES = {
  'low': _threshold(-0.5),
  'middle': _threshold(0.0),
  'high': _threshold(0.5),
  'soft': _soft,
  'careless': _careless,
}


@pytest.fixture(scope='module')
def log():
  generator, rows = np.random.default_rng(0), 9_000
  states = generator.uniform(-1.0, 1.0, (rows, 2))
  actions = generator.integers(3, size=rows)
  ends = generator.uniform(size=rows) < 0.1
  ends[-1] = True
  return dfiv_ope.Log.from_arrays(
    states,
    actions,
    states[:, 0] * (actions - 1) + generator.normal(size=rows),
    ends,
    discount=0.9,
  )


@pytest.fixture(scope='module')
def tasks(log):
  return comparison.tasks(
    log,
    {
      name: task_lib.find_policy(policy, log).policy
      for name, policy in _POLICIES.items()
    },
  )


@pytest.fixture(scope='module')
def together(tasks):
  found = many_policies.run(
    [runs.Evaluator(task) for task in tasks.values()], _CONFIG, seeds=(0, 1)
  )
  return dict(zip(tasks, found, strict=True))


@pytest.mark.parametrize('name', _POLICIES)
def test_each_policy_has_the_numbers_it_has_alone(log, tasks, together, name):
  task = task_lib.EvaluationTask(log, tasks[name].policy)
  task.problem = dataclasses.replace(
    task.problem, bandwidth_scale=tasks[name].problem.bandwidth_scale
  )
  alone = runs.Evaluator(task)
  for seed in (0, 1):
    found, wanted = together[name][seed], alone.run('lstd', _CONFIG, seed=seed)
    assert found.metrics.keys() == wanted.metrics.keys()
    assert found.metrics['estimate'] == pytest.approx(
      wanted.metrics['estimate'], rel=1e-10
    )
    spread = wanted.metrics['data_error']
    for metric, value in wanted.metrics.items():
      # A correction is a sum whose parts cancel.
      assert found.metrics[metric] == pytest.approx(
        value, rel=1e-6, abs=1e-6 * spread if metric == 'correction' else 0.0
      )
    np.testing.assert_allclose(
      found.resamples, wanted.resamples, atol=1e-5 * spread
    )
    assert found.curves == {
      'updates': [0],
      'estimate': [pytest.approx(wanted.curves['estimate'][0], rel=1e-10)],
      'penalty': wanted.curves['penalty'],
    }


def test_small_batches_make_the_same_numbers(monkeypatch, tasks, together):
  monkeypatch.setattr(many_policies, '_MEMORY', 1)
  monkeypatch.setattr(policy_sums, '_VALUES', 40_000)
  names = ['low', 'soft']
  shares = []
  found = many_policies.run(
    [runs.Evaluator(tasks[name], checked=False) for name in names],
    _CONFIG,
    seeds=(0,),
    progress=lambda done, note: shares.append(done),
  )
  for name, own in zip(names, found, strict=True):
    assert own[0].metrics['estimate'] == pytest.approx(
      together[name][0].metrics['estimate'], rel=1e-10
    )
  assert shares == sorted(shares) and shares[0] >= 0.0 and shares[-1] < 1.0


def test_of_more_policies_those_in_contention_are_checked(
  monkeypatch, tasks, together
):
  monkeypatch.setattr(comparison, '_MOST_CHECKED', 2)
  found = comparison.estimate(tasks, {'lstd': _CONFIG}, seeds=1)
  estimates = {name: each['lstd'] for name, each in found.items()}
  first = sorted(tasks, key=lambda name: -estimates[name].value)[:2]
  assert comparison.contenders(estimates) == first
  for name in tasks:
    metrics = estimates[name].runs[0].metrics
    if name not in first:
      assert not inference.checks(metrics)
      judged = trust.judge(
        verdict.Answer(metrics, interval=estimates[name].interval()), None
      )
      assert judged.grade != trust.TRUST
      assert any('were not asked' in each for each in judged.reasons)
      continue
    wanted = together[name][0].metrics
    assert metrics.keys() == wanted.keys()
    assert {'check_narrow', 'check_nearest', 'memory_z'} < metrics.keys()
    for metric, value in wanted.items():
      if metric != 'correction':
        assert metrics[metric] == pytest.approx(value, rel=1e-6)


def test_those_in_contention_keep_the_influence_of_their_episodes(
  monkeypatch, tasks
):
  evaluators = {
    name: runs.Evaluator(tasks[name], checked=False) for name in ('low', 'high')
  }
  found = many_policies.run(
    list(evaluators.values()), _CONFIG, seeds=(0,), keep=1
  )
  best, other = sorted(
    zip(found, evaluators.values(), strict=True),
    key=lambda each: -each[0][0].metrics['estimate'],
  )
  monkeypatch.setattr(influence, 'Influence', None)
  kept = best[1].influence(_CONFIG)
  assert kept.effective_share == best[0][0].metrics['effective_share']
  assert kept.weights.base is None
  with pytest.raises(TypeError):
    other[1].influence(_CONFIG)


def test_a_run_that_diverges_says_so(monkeypatch, tasks):
  low, high = (
    runs.Evaluator(tasks[name], checked=False) for name in ('low', 'high')
  )
  monkeypatch.setattr(
    type(tasks['low'].problem), 'allows', lambda self, value: False
  )
  (found,), _ = many_policies.run([low, high], _CONFIG, seeds=(0,))
  assert 'outside' in found.failure and not found.metrics


def test_other_methods_and_features_are_run_one_by_one(tasks):
  task = tasks['low']
  assert many_policies.fits(task, _CONFIG)
  assert not many_policies.fits(task, kiv.Config())
  assert not many_policies.fits(task, lstd.Config(features='together'))


def test_cross_sums_are_those_of_each_row(monkeypatch):
  monkeypatch.setattr(shared_sums, 'PIECE', 30)  # Kinds have more rows.
  generator = np.random.default_rng(0)
  now, later = generator.normal(size=(2, 500, 3))
  later[::7] = 0.0  # The ends of episodes.
  actions = generator.integers(2, size=500)
  probabilities = [
    np.eye(2)[generator.integers(2, size=500)],
    np.eye(2)[generator.integers(2, size=500)],
    np.array([[0.2, 0.8], [0.7, 0.3]])[generator.integers(2, size=500)],
    generator.dirichlet([1.0, 1.0], size=500),
  ]
  coded = [choices.Choices.of(each) for each in probabilities]
  sums = cross_sums.CrossSums(coded, rows=300, size=3)
  for rows in (np.arange(300), np.arange(300, 500)):
    on = rows[later[rows, 0] != 0.0]
    sums.add(
      cross_sums.Steps(
        np.concatenate([now[rows], later[on] / 0.5]),
        on - rows[0],
        len(rows) + np.arange(len(on)),
        np.full(len(on), 0.5),
        actions[on],
        on,
      )
    )
  for place, policy in enumerate(probabilities):
    np.testing.assert_allclose(
      sums.of(place),
      np.einsum('na,nb,ni,nj->abij', np.eye(2)[actions], policy, now, later),
      atol=1e-12,
    )


def test_policies_that_seldom_differ_are_summed_together():
  states = np.random.default_rng(0).uniform(size=2_000)
  sharp = [
    choices.Choices.of(np.eye(2)[(states > place).astype(int)])
    for place in np.linspace(0.1, 0.9, 30)
  ]
  dense = choices.Choices.of(np.stack([states, 1.0 - states], axis=1))
  (group,) = decision_groups.of([*sharp[:5], dense, *sharp[5:]], rows=100_000)
  assert group.members == [*range(5), *range(6, 31)]
  assert len(group.tables) == 31  # Not 2^30.
  np.testing.assert_array_equal(
    group.tables[group.kinds],
    np.concatenate([each.at(slice(None)) for each in sharp], axis=1),
  )
  # Kinds of policies that have nothing to do with each other multiply.
  generator = np.random.default_rng(1)
  random = [
    choices.Choices.of(np.eye(2)[generator.integers(2, size=2_000)])
    for _ in range(30)
  ]
  sizes = [
    len(group.members) for group in decision_groups.of(random, rows=10_000)
  ]
  assert sum(sizes) == 30 and min(sizes) >= 2 and max(sizes) <= 8


def test_weights_and_sums_change_their_order_both_ways():
  # psi = [g e_0, g e_1, e_1, 1] with one feature g, and h = [g, 1].
  sums = np.array([[1.0, 2.0], [3.0, 4.0]])
  np.testing.assert_array_equal(
    shared_sums.features(sums), [[1.0], [3.0], [4.0], [6.0]]
  )
  weights = np.array([[5.0], [6.0], [7.0], [8.0]])
  blocks = shared_sums.blocks(weights, 2)
  np.testing.assert_array_equal(blocks, [[5.0, 8.0], [6.0, 15.0]])
  assert np.sum(blocks * sums) == float(
    np.sum(weights * shared_sums.features(sums))
  )
