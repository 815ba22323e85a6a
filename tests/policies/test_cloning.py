"""A clone finds the probabilities that a log was drawn with."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.policies import cloning, finite

_QUICK = cloning.Config(updates=200, checks=4)


def _log(probabilities, observations, *, seed=0):
  """Returns transitions with actions drawn from the probabilities."""
  uniforms = np.random.default_rng(seed).random((len(observations), 1))
  nothing = np.zeros(len(observations), np.float32)
  return types.Transition(
    observations,
    finite.sample(probabilities, uniforms),
    nothing,
    nothing,
    observations,
  )


@pytest.fixture(scope='module')
def logistic():
  """A log of 20,000 steps whose probabilities are a softmax of the state.

  The columns of the observation differ in scale by a factor of 1,000.
  """
  state = np.random.default_rng(1).normal(size=(20_000, 3))
  weights = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0], [0.0, 0.0, 0.0]])
  logits = state @ weights
  probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
  observations = (state * [1.0, 1e-3, 1.0] + [0.0, 5.0, 0.0]).astype(np.float32)
  return _log(probabilities, observations), probabilities


def test_a_clone_recovers_the_probabilities_of_the_log(logistic):
  log, probabilities = logistic
  found = cloning.clone(log, np.arange(20_000) // 10, num_actions=3, seed=0)
  estimate = found.policy.action_probabilities(log.observation)
  np.testing.assert_allclose(estimate.sum(axis=1), 1.0, rtol=1e-5)
  assert np.abs(estimate - probabilities).mean() < 0.02
  # The entropy is the least log loss there is, up to sampling.
  entropy = -np.mean(np.sum(probabilities * np.log(probabilities), axis=1))
  assert found.held_out_loss == pytest.approx(entropy, abs=0.03)
  assert found.constant_loss == pytest.approx(np.log(3.0), abs=0.02)


def test_the_same_seed_gives_the_same_clone(logistic):
  log, _ = logistic
  first, again, other = (
    cloning.clone(
      log, np.arange(20_000) // 10, num_actions=3, seed=seed, config=_QUICK
    )
    for seed in (0, 0, 1)
  )
  assert first.held_out_loss == again.held_out_loss != other.held_out_loss
  np.testing.assert_array_equal(
    first.policy.action_probabilities(log.observation[:10]),
    again.policy.action_probabilities(log.observation[:10]),
  )


def test_actions_that_do_not_depend_on_the_state_get_their_frequencies():
  observations = (
    np.random.default_rng(2).normal(size=(300, 20)).astype(np.float32)
  )
  log = _log(np.tile([[0.2, 0.8]], (300, 1)), observations)
  found = cloning.clone(
    log, np.arange(300), num_actions=2, seed=0, config=_QUICK
  )
  assert found.held_out_loss <= found.constant_loss
  np.testing.assert_allclose(
    np.mean(found.policy.action_probabilities(observations), axis=0),
    [0.2, 0.8],
    atol=0.06,
  )


def test_an_action_that_is_never_logged_is_never_taken():
  observations = (
    np.random.default_rng(3).normal(size=(500, 2)).astype(np.float32)
  )
  log = _log(np.tile([[0.5, 0.0, 0.5]], (500, 1)), observations)
  found = cloning.clone(
    log, np.arange(500) // 5, num_actions=3, seed=0, config=_QUICK
  )
  estimate = found.policy.action_probabilities(observations)
  assert estimate[:, 1].max() == 0.0
  assert np.isfinite(estimate).all()


def test_every_logged_action_has_a_positive_probability():
  """Even where a deterministic policy made a single exception."""
  observations = np.linspace(-1.0, 1.0, 1_000, dtype=np.float32)[:, None]
  target = np.eye(2)[(observations[:, 0] > 0.0).astype(int)]
  target[10] = [0.0, 1.0]
  log = _log(target, observations)
  found = cloning.clone(
    log, np.arange(1_000) // 4, num_actions=2, seed=0, config=_QUICK
  )
  estimate = found.policy.action_probabilities(observations)
  assert estimate[10, 1] >= 0.4 * cloning.Config().floor
  assert found.held_out_loss < 0.2 * found.constant_loss


def test_a_log_of_one_episode_can_be_cloned():
  observations = (
    np.random.default_rng(4).normal(size=(400, 1)).astype(np.float32)
  )
  target = np.eye(2)[(observations[:, 0] > 0.0).astype(int)]
  found = cloning.clone(
    _log(target, observations),
    np.zeros(400),
    num_actions=2,
    seed=0,
    config=_QUICK,
  )
  assert found.held_out_loss < 0.3 * found.constant_loss


def test_a_clone_works_in_graphs(logistic):
  log, _ = logistic
  found = cloning.clone(
    log, np.arange(20_000), num_actions=3, seed=0, config=_QUICK
  )
  np.testing.assert_allclose(
    tf.function(found.policy.action_probabilities)(log.observation[:5]),
    found.policy.action_probabilities(log.observation[:5]),
    rtol=1e-6,
  )


def test_a_log_of_one_row_is_refused():
  log = _log(np.array([[1.0, 0.0]]), np.zeros((1, 1), np.float32))
  with pytest.raises(ValueError, match='fewer than two transitions'):
    cloning.clone(log, np.zeros(1), num_actions=2, seed=0)


@pytest.mark.parametrize(
  'name, value',
  [
    ('learning_rate', 0.0),
    ('updates', 0),
    ('checks', 0),
    ('batch_size', 0),
    ('held_out', 1.0),
    ('floor', 0.0),
  ],
)
def test_a_config_that_cannot_work_is_refused(name, value):
  with pytest.raises(ValueError, match=name):
    cloning.Config(**{name: value})
