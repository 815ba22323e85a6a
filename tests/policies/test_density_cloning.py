"""The clone of a log of vectors finds its density."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
import tensorflow as tf

from dfiv_ope import actions, types
from dfiv_ope.policies import (
  clone_config,
  clone_training,
  continuous,
  density_cloning,
  quasi_random,
)

_QUICK = clone_config.Config(updates=1_500, checks=5)
_N = 12_000
_SPACE = actions.Continuous(
  low=(-1.0, None, None),
  high=(1.0, None, None),
  categories={1: ('a', 'b', 'c')},
)


@pytest.fixture(scope='module')
def made():
  """A log, the log density of its actions, and its clone.

  Entry 0 is clipped at 1, entry 2 lies at 1,000 and has noise that depends on
  the state, entry 1 is a name.
  """
  generator = np.random.default_rng(0)
  state = generator.normal(size=(_N, 2))
  mean = np.stack([state[:, 0], 1_000.0 + 20.0 * state[:, 1]], axis=1)
  deviation = np.stack(
    [np.full(_N, 0.5), np.where(state[:, 0] > 0.0, 5.0, 20.0)], axis=1
  )
  numbers = generator.normal(mean, deviation)
  at = stats.norm(mean[:, 0], 0.5)
  logs = np.where(
    numbers[:, 0] <= -1.0,
    at.logcdf(-1.0),
    np.where(numbers[:, 0] >= 1.0, at.logsf(1.0), at.logpdf(numbers[:, 0])),
  )
  logs += stats.norm(mean[:, 1], deviation[:, 1]).logpdf(numbers[:, 1])
  label = (generator.random(_N) < np.where(state[:, 0] > 0.0, 0.8, 0.1)) * 2
  chance = np.where(state[:, 0] > 0.0, 0.8, 0.1)
  logs += np.log(np.where(label == 2, chance, 1.0 - chance))
  taken = np.stack(
    [np.clip(numbers[:, 0], -1.0, 1.0), label, numbers[:, 1]], axis=1
  )
  nothing = np.zeros(_N, np.float32)
  log = types.Transition(state, taken, nothing, nothing, state)
  return (
    log,
    logs,
    density_cloning.clone(
      log, np.arange(_N) // 10, actions=_SPACE, seed=0, config=_QUICK
    ),
  )


def test_a_clone_finds_the_density_of_the_log(made):
  log, logs, found = made
  assert isinstance(found.policy, types.ContinuousPolicy)
  # The entropy is the least log loss there is, up to sampling.
  assert found.held_out_loss == pytest.approx(-logs.mean(), abs=0.12)
  assert found.constant_loss > found.held_out_loss + 1.0
  estimate = found.policy.log_prob(
    tf.constant(log.observation), tf.constant(log.action)
  ).numpy()
  assert np.exp(logs - estimate).mean() == pytest.approx(1.0, abs=0.05)
  # A label that was never logged is never taken.
  other = log.action.copy()
  other[:, 1] = 1.0
  assert np.isneginf(
    found.policy.log_prob(tf.constant(log.observation), tf.constant(other))
  ).all()


def test_draws_of_the_clone_are_like_the_log(made):
  log, _, found = made
  drawn = found.policy.draw(
    tf.constant(log.observation), quasi_random.uniforms(_N, 2, 3, seed=0)
  ).numpy()
  assert drawn.shape == (_N, 2, 3)
  _SPACE.refuse_others(drawn.reshape(-1, 3).astype(float), whose='The clone')
  np.testing.assert_allclose(
    drawn.mean(axis=(0, 1)), log.action.mean(axis=0), atol=1.0, rtol=0.05
  )
  np.testing.assert_allclose(
    drawn.std(axis=(0, 1)), log.action.std(axis=0), rtol=0.06
  )
  for bound in (-1.0, 1.0):
    assert np.mean(drawn[..., 0] == bound) == pytest.approx(
      np.mean(log.action[:, 0] == bound), abs=0.02
    )
  right = log.observation[:, 0] > 0.0
  assert np.mean(drawn[right, :, 1] == 2.0) == pytest.approx(0.8, abs=0.03)


def test_a_clone_survives_its_saved_model(made, tmp_path):
  log, _, found = made
  continuous.save(
    found.policy, tmp_path / 'clone', num_observations=2, actions=_SPACE
  )
  loaded = continuous.load(
    tmp_path / 'clone', num_observations=2, actions=_SPACE
  )
  states, taken = (tf.constant(each[:50]) for each in log[:2])
  uniforms = quasi_random.uniforms(50, 4, 3, seed=1)
  np.testing.assert_allclose(
    loaded.draw(states, uniforms),
    found.policy.draw(states, uniforms),
    rtol=1e-5,
  )
  np.testing.assert_allclose(
    loaded.log_prob(states, taken),
    found.policy.log_prob(states, taken),
    rtol=1e-4,
  )


def test_actions_that_ignore_the_state_get_one_gaussian():
  generator = np.random.default_rng(2)
  state = generator.normal(size=(300, 20))
  taken = generator.normal(3.0, 2.0, size=(300, 1))
  nothing = np.zeros(300, np.float32)
  config = clone_config.Config(updates=100, checks=1, learning_rate=0.03)
  found = density_cloning.clone(
    types.Transition(state, taken, nothing, nothing, state),
    np.arange(300),
    actions=actions.Continuous(low=(None,), high=(None,)),
    seed=0,
    config=config,
  )
  assert found.held_out_loss == found.constant_loss
  seen = taken[
    ~clone_training.held_out_rows(np.arange(300), config=config, seed=0)
  ]
  np.testing.assert_allclose(
    found.policy.log_prob(tf.constant(state), tf.constant(taken)),
    stats.norm.logpdf(taken[:, 0], seen.mean(), seen.std()),
    rtol=1e-4,
  )
  drawn = found.policy.draw(
    tf.constant(state), quasi_random.uniforms(300, 64, 1, seed=0)
  ).numpy()
  assert drawn.mean() == pytest.approx(3.0, abs=0.3)
  assert drawn.std() == pytest.approx(2.0, abs=0.3)


def test_many_actions_have_fewer_and_larger_steps():
  few = clone_config.Config()
  assert clone_config.for_log(20_000, 0) == few
  assert clone_config.for_log(20_000, 100) == few
  many = clone_config.for_log(20_000, 1_000)
  assert (many.updates, many.learning_rate) == (600, 2.0 * few.learning_rate)
  assert clone_config.for_log(20_000, 100_000).updates == 300


def test_few_rows_have_fewer_steps():
  config = clone_config.Config()
  for rows, updates in ((2, 300), (600, 300), (2_000, 781), (15_360, 6_000)):
    assert clone_config.for_log(rows, 3) == dataclasses.replace(
      config, updates=updates
    )
  # Many actions of few rows: as many steps as rows need, if these cost less.
  assert clone_config.for_log(600, 1_000).updates == 300
  assert clone_config.for_log(600, 1_000).learning_rate == config.learning_rate
