"""Sums by kinds of decisions, against products of the features themselves."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import fixed_features, lstd, memory, outer_sums
from dfiv_ope.evaluation import shared_pass
from dfiv_ope.iv import ridge
from dfiv_ope.ope import bellman, decisions

_CONFIG = lstd.Config(random_features=6)


def _spread(probabilities):
  """Returns a policy whose decisions depend on the sign of the first entry."""

  class Signed(types.Policy):
    num_actions = 2

    def action_probabilities(self, observation):
      first = tf.cast(observation, tf.float64)[:, :1]
      return probabilities(first)

  return Signed()


_POLICIES = {
  'greedy': lambda x: tf.cast(tf.concat([x > 0, x <= 0], axis=1), tf.float32),
  'exploring': lambda x: tf.cast(
    0.1 + 0.8 * tf.cast(tf.concat([x > 0, x <= 0], axis=1), tf.float64),
    tf.float32,
  ),
  'of many kinds': lambda x: tf.cast(
    tf.concat([tf.sigmoid(x), tf.sigmoid(-x)], axis=1), tf.float32
  ),
}


def _log(policy, episodes=30, steps=9):
  """Returns rows of episodes whose states follow each other; some are cut."""
  generator = np.random.default_rng(1)
  state = generator.normal(size=(episodes, steps + 1, 2)).astype(np.float32)
  discount = np.ones((episodes, steps), np.float32)
  discount[::3, -1] = 0.0
  transitions = types.Transition(
    *map(
      tf.constant,
      (
        state[:, :-1].reshape(-1, 2),
        generator.integers(2, size=episodes * steps).astype(np.int32),
        generator.normal(size=episodes * steps).astype(np.float32),
        discount.ravel(),
        state[:, 1:].reshape(-1, 2),
      ),
    )
  )
  problem = bellman.pose(transitions, policy, discount=0.9, num_actions=2)
  return problem, problem.log_rows(transitions)


def _plain(psi, rows):
  return ridge.sums(
    psi(rows.instrument),
    np.concatenate(
      [bellman.difference(psi, rows.treatment), rows.outcome], axis=1
    ),
  )


def _assert_same(found, expected):
  for name, value in expected._asdict().items():
    np.testing.assert_allclose(
      getattr(found, name), value, rtol=1e-6, atol=1e-6, err_msg=name
    )


@pytest.mark.parametrize('name', _POLICIES)
def test_sums_are_those_of_the_features(name):
  problem, rows = _log(_spread(_POLICIES[name]))
  psi = fixed_features.make(problem, _CONFIG.settings, seed=0)
  assert isinstance(psi, decisions.Outer)
  found = outer_sums.OuterSums(psi, squares=True)
  found.add(rows)
  _assert_same(found.total(), _plain(psi, rows))


@pytest.mark.parametrize('name', _POLICIES)
def test_errors_are_those_of_the_features(name):
  problem, rows = _log(_spread(_POLICIES[name]))
  agent = lstd.make(_CONFIG, problem, seed=0)
  agent.solve(memory.Parts(rows))
  np.testing.assert_allclose(
    agent.errors(rows),
    (
      rows.outcome.numpy()
      - np.asarray(bellman.difference(agent.predict, rows.treatment))
    )[:, 0],
    rtol=1e-5,
    atol=1e-6,
  )


def test_kept_sums_are_those_of_their_parts(monkeypatch):
  monkeypatch.setattr(memory, '_PART_ROWS', 30)
  problem, rows = _log(_spread(_POLICIES['greedy']))
  parts = memory.Parts(rows)
  psi = fixed_features.make(problem, _CONFIG.settings, seed=0)
  labels = shared_pass.labels(len(rows.outcome), 100)
  assert [each.checked for each in labels].count(True) == 3
  agent = lstd.make(_CONFIG, problem, seed=0)
  plain = agent.solve(parts)
  weights = agent.weights
  agent.keep(labels)
  assert agent.solve(parts) == pytest.approx(plain)
  np.testing.assert_allclose(agent.weights, weights, rtol=1e-6, atol=1e-8)
  first = list(itertools.islice(parts(), 3))
  _assert_same(
    agent.kept.of(lambda label: label.checked),
    ridge.merge(*(_plain(psi, part) for part in first))._replace(
      square=np.zeros(0)
    ),
  )


def test_parts_of_a_short_log_are_cut_once():
  rows = np.arange(10_000)
  parts = memory.Parts(rows)
  first, again = list(parts()), list(parts())
  assert len(first) == len(again) == 4
  assert all(a is b for a, b in zip(first, again, strict=True))
  np.testing.assert_array_equal(np.concatenate(first), rows)
