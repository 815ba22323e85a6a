"""The first stage of off-policy evaluation, against exact tables."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing
from dfiv_ope.agents import fixed_features, memory, network_agent
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import first_stage, influence, interval_settings
from dfiv_ope.ope import bellman, decisions

DISCOUNT = 0.9
POLICY = np.array([0.3, 0.7])


class _Known(network_agent.NetworkAgent):
  """Knows the values of every state and action."""

  def __init__(self, problem, table):
    super().__init__('known')
    self._problem = problem
    self._table = tf.constant(table / problem.value_scale, tf.float32)

  def predict(self, decision):
    state = tf.argmax(
      self._problem.observations.invert(decision.observation), axis=1
    )
    return tf.reduce_sum(
      tf.gather(self._table, state) * decisions.weights(decision, 2),
      axis=1,
      keepdims=True,
    )


def _examine(process, count=20_000, repeat=1):
  """Returns the first stage of rows, each `repeat` times in an episode."""
  transitions = process.transitions(count)
  problem = bellman.pose(
    transitions, testing.Mixed(POLICY), discount=DISCOUNT, num_actions=2
  )
  rows = tf.nest.map_structure(
    lambda x: None if x is None else tf.repeat(x, repeat, axis=0),
    problem.rows(transitions),
  )
  found = influence.Influence(
    problem,
    memory.InMemory(rows, batch_size=1, seed=0).parts,
    episodes=np.repeat(np.arange(count), repeat),
    initial_observations=tf.repeat(tf.eye(5), count // 5, axis=0),
    features=interval_settings.settings(None, problem),
  )
  table = process.q_values(np.tile(POLICY, (5, 1)), DISCOUNT)
  return found.first_stage, _Known(problem, table), table


def _exact(process, table):
  """Returns mean and variance of gamma d V(s') at every (s, a), [10] each."""
  value = DISCOUNT * table @ POLICY
  alive = 1.0 - process.ends
  mean = alive * (process.probabilities @ value)
  return mean.ravel(), (
    alive * (process.probabilities @ value**2) - mean**2
  ).ravel()


@pytest.fixture(scope='module')
def process():
  return testing.TabularMDP(seed=3)


def test_r2_and_f_are_those_of_the_exact_values(process):
  found, agent, table = _examine(process)
  metrics = found.measure(agent)
  mean, variance = _exact(process, table)
  share = mean.var() / (mean.var() + variance.mean())
  assert metrics['first_stage_r2'] == pytest.approx(share, abs=0.02)
  # The slope on the mean has this robust F in 20,000 rows.
  centred = mean - mean.mean()
  robust = 20_000 * np.mean(centred**2) ** 2 / np.mean(centred**2 * variance)
  assert metrics['first_stage_f'] == pytest.approx(robust, rel=0.15)


def test_f_knows_that_rows_of_an_episode_are_alike(process):
  found, agent, _ = _examine(process, count=5_000, repeat=4)
  single, known, _ = _examine(process, count=5_000)
  assert found.measure(agent)['first_stage_f'] == pytest.approx(
    single.measure(known)['first_stage_f'], rel=0.15
  )


def test_where_an_action_has_one_result_all_is_explained(process):
  certain = testing.TabularMDP(seed=3)
  certain.probabilities = np.eye(5)[np.argmax(certain.probabilities, axis=2)]
  certain.ends = np.zeros_like(certain.ends)
  found, agent, _ = _examine(certain)
  metrics = found.measure(agent)
  assert metrics['first_stage_r2'] == pytest.approx(1.0, abs=1e-3)
  assert 1e6 < metrics['first_stage_f'] <= 1e12


def test_where_all_is_chance_nothing_is_explained():
  chance = testing.TabularMDP(seed=3)
  chance.probabilities = np.full_like(chance.probabilities, 0.2)
  chance.ends = np.full_like(chance.ends, 0.1)
  found, agent, _ = _examine(chance)
  metrics = found.measure(agent)
  assert metrics['first_stage_r2'] == pytest.approx(0.0, abs=0.02)
  assert metrics['first_stage_f'] < 10.0


def test_values_that_do_not_vary_are_explained():
  steady = testing.TabularMDP(seed=3)
  steady.ends = np.zeros_like(steady.ends)
  found, agent, table = _examine(steady)
  # All the same but for rounding.
  agent._table = 7.0 + 1e-6 * tf.random.stateless_uniform(table.shape, (0, 1))
  metrics = found.measure(agent)
  assert metrics['first_stage_r2'] == 1.0
  assert metrics['first_stage_f'] == 1e12


def test_singular_values_are_those_of_the_exact_operator(process):
  found, _, _ = _examine(process)
  # Indicators of (s, a), and what each is less than what follows.
  later = np.einsum('sat,b->satb', process.probabilities, POLICY)
  alive = DISCOUNT * (1.0 - process.ends).ravel()
  second = np.zeros((10, 10))
  cross = np.zeros((10, 10))
  for index in range(10):
    state, action = divmod(index, 2)
    own = np.eye(10)[index]
    for target in range(5):
      following = np.zeros((5, 2))
      following[target] = POLICY
      ends = process.ends[state, action]
      for chance, scale in ((ends, 0.0), (1.0 - ends, DISCOUNT)):
        change = own - scale * following.ravel()
        weight = 0.1 * process.probabilities[state, action, target] * chance
        second += weight * np.outer(change, change)
        cross += weight * np.outer(own, change)
  assert np.allclose(
    cross,
    0.1
    * (np.eye(10) - alive[:, None] * later.reshape(10, 5, 2).reshape(10, 10)),
  )
  values, vectors = np.linalg.eigh(second)
  exact = np.linalg.svd(
    cross / np.sqrt(0.1) @ vectors / np.sqrt(values), compute_uv=False
  )
  operator = found.operator
  assert operator['first_stage_value_1'] == pytest.approx(exact[0], abs=0.01)
  assert operator['first_stage_value_10'] == pytest.approx(exact[9], abs=0.03)
  assert operator['first_stage_rank'] == pytest.approx(
    np.sum(exact**2), abs=0.1
  )
  assert operator['first_stage_lost_share'] == 0.0


def test_a_long_log_is_thinned(process, monkeypatch):
  whole, agent, _ = _examine(process)
  monkeypatch.setattr(first_stage, 'MOST_ROWS', 10_000)
  monkeypatch.setattr(interval_settings, 'DUAL_ROWS', 10_000)
  thinned, _, _ = _examine(process)
  assert len(list(thinned._parts())) < len(list(whole._parts()))
  assert len(thinned._episodes) == sum(
    len(rows.outcome) for rows in thinned._parts()
  )
  assert thinned.measure(agent)['first_stage_r2'] == pytest.approx(
    whole.measure(agent)['first_stage_r2'], abs=0.03
  )


@pytest.mark.parametrize('kind', ['per_action', 'together'])
def test_rows_without_zeros_are_those_of_the_features(case, kind):
  psi = fixed_features.make(
    case.problem,
    random_features.Config(
      random_features=6, joint_features=6, bandwidth_scale=1.0, features=kind
    ).settings,
    seed=0,
  )
  found = fixed_features.Rows(psi, case.rows.instrument)
  columns = np.asarray(psi(case.rows.instrument))
  target = case.rows.outcome.numpy()[:, 0].astype(np.float64)
  np.testing.assert_allclose(
    found.moment(target)[:, 0], target @ columns, rtol=1e-9, atol=1e-7
  )
  weights = np.random.default_rng(0).normal(size=(columns.shape[1], 1))
  np.testing.assert_allclose(
    found.dot(weights), (columns @ weights)[:, 0], rtol=1e-9, atol=1e-9
  )
