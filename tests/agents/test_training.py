"""Training learns, repeats itself, and survives being stopped."""

import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import testing
from dfiv_ope.agents import dqn, training
from dfiv_ope.policies import rollout, simulation

_CONFIG = dqn.Config(
  hidden=(16,),
  learning_rate=1e-2,
  n_step=1,
  transitions=1_500,
  episodes_per_round=8,
  warmup_rounds=2,
  block=8,
  blocks_per_batch=2,
  uses=4,
  window=5.0,
  target_period=20,
  trial_episodes=8,
)


def _make(seed):
  return testing.Corridor(seed=seed)


def _values(policy):
  grid = tf.constant([[step, 9.0] for step in range(9)], tf.float32)
  return policy.q_network(grid).numpy()


def _train(directory, **kwargs):
  return training.train(_make, _CONFIG, seed=3, directory=directory, **kwargs)


def test_the_trained_policy_takes_the_paying_action(tmp_path):
  policy = _train(tmp_path)
  value = simulation.monte_carlo(
    _make, policy, discount=1.0, seed=0, min_episodes=100, max_episodes=100
  )
  # The best return is twice the length, on average 10; uniform gets half.
  np.testing.assert_allclose(value.mean, 2.0 * value.mean_length)


def test_a_stopped_run_goes_on_to_the_same_network(tmp_path):
  whole = _train(tmp_path / 'whole')

  class StopError(Exception):
    pass

  def stop(progress):
    if progress.transitions > _CONFIG.transitions / 2:
      raise StopError

  with pytest.raises(StopError):
    _train(tmp_path / 'stopped', progress=stop)
  reports = []
  resumed = _train(tmp_path / 'stopped', progress=reports.append)
  assert reports[0].transitions > _CONFIG.transitions / 3  # not from scratch
  np.testing.assert_array_equal(_values(resumed), _values(whole))


def test_what_another_seed_left_is_not_taken_up(tmp_path):
  alone = _train(tmp_path / 'alone')
  training.train(_make, _CONFIG, seed=4, directory=tmp_path / 'shared')
  after = _train(tmp_path / 'shared')
  np.testing.assert_array_equal(_values(after), _values(alone))


def test_exploratory_actions_are_held():
  config = dqn.Config(hidden=(4,), episodes_per_round=1, hold=0.9)
  learner = dqn.DQNLearner(config, None, sizes=rollout.Sizes(2, 3), seed=0)
  actor = dqn.ExploringActor(learner, config)
  actor.begin(0, seed=1)
  actions = np.array(
    [actor.act(np.zeros((1, 2), np.float32), [0])[0] for _ in range(3_000)]
  )
  changes = np.mean(actions[1:] != actions[:-1])
  # A new action in one of ten steps, another one in two thirds of these.
  np.testing.assert_allclose(changes, 0.1 * 2 / 3, atol=0.02)
