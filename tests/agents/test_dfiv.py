"""DFIV for off-policy evaluation: both stages and three solves, by numpy."""

import dataclasses
import functools

import numpy as np
import pytest
import sonnet as snt
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, dfiv, dfiv_networks, memory
from dfiv_ope.iv import ridge
from dfiv_ope.iv.methods import dfiv_algorithm
from dfiv_ope.nn import layers
from dfiv_ope.ope import values

PENALTY = 1e-3


def _rows(count=200, seed=0):
  """Returns features of rows: phi, and psi with its constants."""
  generator = np.random.default_rng(seed)
  phi = generator.normal(size=(count, 4))
  known, later = (
    np.concatenate(
      [generator.normal(size=(count, 3)), np.ones((count, 1))], axis=1
    )
    for _ in range(2)
  )
  later[:, :3] += 0.5 * known[:, :3] + phi[:, :3]
  outcome = known[:, :1] + generator.normal(size=(count, 1))
  return types.IVBatch(
    treatment=dfiv.Psi(tf.constant(known), tf.constant(-0.9 * later)),
    instrument=tf.constant(phi),
    outcome=tf.constant(outcome),
  )


def _arrays(rows):
  """Returns phi, K, X and r of rows."""
  known, change = (each.numpy() for each in rows.treatment)
  return rows.instrument.numpy(), known, known + change, rows.outcome.numpy()


def _sums(rows):
  phi, known, actual, outcome = _arrays(rows)
  return ridge.sums(
    np.concatenate([phi, known], axis=1),
    np.concatenate([actual, outcome], axis=1),
  )


def _config(**changes):
  return dataclasses.replace(
    dfiv.Config(), stage1_penalty=PENALTY, solve_penalty=PENALTY, **changes
  )


def _free_last(design):
  """Returns the penalty of a design whose last column is free of it."""
  return (
    PENALTY * len(design) * np.diag(np.r_[np.ones(design.shape[1] - 1), 0.0])
  )


def _ridge(design, target):
  return np.linalg.solve(
    design.T @ design + _free_last(design), design.T @ target
  )


def _predicted(rows, *, included, others=None):
  """Returns W of rows, predicted by stage 1 of `others`, or of themselves."""
  phi, known, actual, _ = _arrays(others or rows)
  own_phi, own_known, _, _ = _arrays(rows)
  if included:
    weights = _ridge(np.concatenate([phi, known], axis=1), actual)
    return np.concatenate([own_phi, own_known], axis=1) @ weights
  weights = _ridge(np.c_[phi, np.ones(len(phi))], actual - known)
  return own_known + np.c_[own_phi, np.ones(len(own_phi))] @ weights


@pytest.fixture(scope='module')
def agent(case):
  return case.learner(
    'dfiv',
    treatment_net=(layers.Dense(5, None),),
    instrument_net=(layers.Dense(5, None),),
  ).agent


@pytest.mark.parametrize('included', [False, True])
def test_stage_one_predicts_the_change_or_the_whole(agent, included):
  agent.config = _config(included_instruments=included)
  rows = _rows()
  _, _, actual, _ = _arrays(rows)
  weights = dfiv_algorithm.stage1_weights(agent, agent.config, rows)
  given = dfiv_algorithm.designs(agent, rows, weights)
  np.testing.assert_allclose(
    given.predicted, _predicted(rows, included=included), rtol=1e-6, atol=1e-9
  )
  np.testing.assert_allclose(given.actual, actual)


@pytest.mark.parametrize('included', [False, True])
def test_sums_of_a_log_give_the_stage_one_of_its_rows(included):
  rows = _rows()
  phi, known, _, _ = _arrays(rows)
  weights = dfiv.stage1_weights(
    _config(included_instruments=included), _sums(rows)
  )
  np.testing.assert_allclose(
    np.concatenate([phi, known], axis=1) @ weights,
    _predicted(rows, included=included),
    rtol=1e-6,
    atol=1e-9,
  )


@pytest.mark.parametrize('included', [False, True])
def test_the_plug_in_solve_is_equation_9(included):
  rows = _rows()
  predicted = _predicted(rows, included=included)
  np.testing.assert_allclose(
    dfiv.stage2_weights(
      _config(solve='plug-in', included_instruments=included), _sums(rows)
    ),
    _ridge(predicted, rows.outcome.numpy()),
    rtol=1e-6,
  )


@pytest.mark.parametrize('included', [False, True])
def test_the_moment_solve_has_predictions_for_instruments_only(included):
  rows = _rows()
  _, _, actual, outcome = _arrays(rows)
  predicted = _predicted(rows, included=included)
  np.testing.assert_allclose(
    dfiv.stage2_weights(
      _config(solve='moment', included_instruments=included), _sums(rows)
    ),
    np.linalg.solve(
      predicted.T @ actual + _free_last(predicted), predicted.T @ outcome
    ),
    rtol=1e-6,
  )


def test_the_lstd_solve_has_psi_for_its_own_instruments():
  rows = _rows()
  _, known, actual, outcome = _arrays(rows)
  np.testing.assert_allclose(
    dfiv.stage2_weights(_config(solve='lstd'), _sums(rows)),
    np.linalg.solve(known.T @ actual + _free_last(known), known.T @ outcome),
    rtol=1e-6,
  )


def test_the_three_solves_are_three():
  total = _sums(_rows())
  answers = [
    dfiv.stage2_weights(_config(solve=solve, included_instruments=False), total)
    for solve in dfiv.SOLVES
  ]
  for one, other in ((0, 1), (0, 2), (1, 2)):
    assert np.abs(answers[one] - answers[other]).max() > 0.01


@pytest.mark.parametrize('solve', dfiv.SOLVES)
def test_other_rows_judge_both_stages(solve):
  config = _config(solve=solve)
  fitted, judge = _rows(), _rows(seed=1)
  error = judge.outcome.numpy() - _predicted(
    judge, included=True, others=fitted
  ) @ dfiv.stage2_weights(config, _sums(fitted))
  assert dfiv.held_out_loss(
    config, _sums(fitted), _sums(judge)
  ) == pytest.approx(np.mean(error**2), rel=1e-8)


def test_the_solves_agree_on_a_table(case):
  # Every function of state and action is a feature, so each solve meets the
  # Bellman equation in every cell of the table.
  linear = (layers.Dense(5, None),)
  config = dataclasses.replace(
    dfiv.Config(), treatment_net=linear, instrument_net=linear
  )
  found = []
  for solve in dfiv.SOLVES:
    agent = dfiv.make(
      dataclasses.replace(config, solve=solve), case.problem, seed=0
    )
    agent.solve(memory.InMemory(case.rows, batch_size=1, seed=0).parts)
    found.append(
      values.QFunction(case.problem, agent.predict)
      .values(case.observations)
      .numpy()
    )
  assert np.std(found[0]) == pytest.approx(case.q_values.std(), rel=0.2)
  for other in found[1:]:
    np.testing.assert_allclose(other, found[0], atol=1e-3 * case.q_values.std())


@pytest.mark.parametrize(
  'changes',
  [
    {'treatment_net': (layers.Waves(6),), 'instrument_net': (layers.Waves(4),)},
    {
      'treatment_net': (layers.Dense(6, 'tanh'),),
      'instrument_net': (layers.Dense(4, 'tanh'),),
      'per_action': False,
      'included_instruments': False,
    },
  ],
)
def test_a_step_is_that_of_the_algorithm(curve, changes, monkeypatch):
  # Plain gradient descent shows gradients; Adam would show their signs.
  monkeypatch.setattr(dfiv.optimizers, 'Adam', snt.optimizers.SGD)
  first, second = (
    memory.take(curve.rows, np.arange(start, start + 400)) for start in (0, 400)
  )
  moved, losses = [], []
  for fast in (True, False):
    agent = curve.learner(
      'dfiv',
      stage1_penalty=1e-5,
      stage2_penalty=1e-5,
      learning_rate=1.0,
      treatment_learning_rate=1.0,
      **changes,
    ).agent
    before = [each.numpy() for each in agent.trainable_variables]
    step = (
      agent.step_at_once
      if fast
      else functools.partial(dfiv_algorithm.step_at_once, agent)
    )
    losses.append(step(agent.config, first, second))
    moved.append(
      [
        each.numpy() - start
        for each, start in zip(agent.trainable_variables, before, strict=True)
      ]
    )
  np.testing.assert_allclose(losses[0], losses[1], rtol=2e-3)
  for ours, theirs in zip(*moved, strict=True):
    assert np.abs(theirs).max() > 0.0
    np.testing.assert_allclose(ours, theirs, atol=0.02 * np.abs(theirs).max())


def test_sums_for_each_action_are_those_of_all_columns(case):
  agent = case.learner(
    'dfiv', treatment_net=(layers.Waves(6),), instrument_net=(layers.Waves(4),)
  ).agent
  parts = memory.InMemory(case.rows, batch_size=1, seed=0).parts
  # Without columns of actions alone, which both networks would have.
  halves, dense = agent._half_sums(parts), base.half_sums(agent._sums, parts)
  for ours, theirs in zip(halves, dense, strict=True):
    kept = np.delete(np.arange(len(theirs.gram)), 8)
    np.testing.assert_allclose(
      ours.gram, theirs.gram[np.ix_(kept, kept)], rtol=1e-5, atol=1e-2
    )
    np.testing.assert_allclose(
      ours.moment, theirs.moment[kept], rtol=1e-5, atol=1e-2
    )


def test_features_of_the_least_held_out_loss_are_kept(case, monkeypatch):
  losses = iter([3.0, 3.0, 2.0, 2.0, 4.0, 4.0, 1.0, 1.0])
  monkeypatch.setattr(dfiv, 'held_out_loss', lambda *_: next(losses))
  learner = case.learner(
    'dfiv',
    treatment_net=(layers.Waves(6),),
    instrument_net=(layers.Waves(4),),
    updates=8,
    checks=4,
    batch_size=64,
  )
  learner.step()
  learner.step()
  best = [each.numpy() for each in learner.agent.treatment.network.variables]
  learner.run()
  assert learner.done
  assert learner.history['updates'] == [1, 2, 4]
  assert learner.history['kept_updates'] == [1, 2, 2]
  for ours, kept in zip(
    learner.agent.treatment.network.variables, best, strict=True
  ):
    np.testing.assert_array_equal(ours, kept)
  assert learner.history['estimate'][2] == learner.history['estimate'][1]


@pytest.mark.parametrize(
  'rows, actions, size', [(60_000, 3, 200), (12_000, 3, 198), (6_000, 5, 58)]
)
def test_waves_are_as_many_as_the_log_allows(rows, actions, size):
  assert dfiv_networks.fitting(
    layers.Waves(200), rows, actions
  ) == layers.Waves(size)


@pytest.mark.parametrize(
  'updates, checks, marks',
  [
    (160, 4, (20, 40, 80, 160)),
    (40, 6, (1, 2, 5, 10, 20, 40)),
    (12, 6, (1, 2, 3, 4, 6, 12)),
  ],
)
def test_evaluation_points_double_and_never_repeat(updates, checks, marks):
  assert dfiv.Config(updates=updates, checks=checks).marks == marks


def test_the_paper_has_its_own_form():
  paper = dfiv.CONFIGS['paper']
  assert paper.solve == 'plug-in'
  assert not paper.included_instruments
  assert paper.refinements == 0
  assert paper.patience == 0
  assert paper.marks == tuple(range(200, 4001, 200))


@pytest.mark.parametrize(
  'change, message',
  [
    (
      {'solve': 'two-stage'},
      "no solve 'two-stage'. Choose from plug-in, moment, lstd.",
    ),
    ({'solve_penalty': 0.0}, 'solve_penalty must be positive, got 0.0.'),
    ({'treatment_steps': 0}, 'treatment_steps must be at least 1, got 0.'),
    ({'refinements': -1}, 'refinements must be at least 0, got -1.'),
  ],
)
def test_bad_configs_are_refused(change, message):
  with pytest.raises(ValueError, match=message):
    dataclasses.replace(dfiv.Config(), **change)
