"""TD3 learns a known answer, repeats itself, and survives being stopped."""

import dataclasses

import dm_env
from dm_env import specs
import numpy as np
import pytest
import tensorflow as tf

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.agents import td3, training
from dfiv_ope.agents.entries import trainers
from dfiv_ope.policies import rollout, trained

_CONFIG = td3.Config(
  hidden=(32,),
  learning_rate=3e-3,
  n_step=1,
  transitions=800,
  episodes_per_round=8,
  warmup_rounds=4,
  block=8,
  blocks_per_batch=8,
  uses=64,
  window=20.0,
  trial_episodes=8,
  target_rate=0.05,
)


class Follow(dm_env.Environment):
  """Four steps that pay best if the action, in [0, 4], is twice the state."""

  def __init__(self, seed):
    self._generator = np.random.default_rng(seed)
    self._steps = 0

  def _observe(self):
    self._state = self._generator.uniform(0.0, 2.0)
    return np.array([self._state])

  def reset(self):
    self._steps = 0
    return dm_env.restart(self._observe())

  def step(self, action):
    reward = -((action[0] - 2.0 * self._state) ** 2)
    self._steps += 1
    return (dm_env.termination if self._steps == 4 else dm_env.transition)(
      reward, self._observe()
    )

  def observation_spec(self):
    return specs.Array((1,), np.float64)

  def action_spec(self):
    return specs.BoundedArray((1,), np.float64, 0.0, 4.0)


def _means(policy):
  return policy.mean(tf.constant([[0.2], [1.0], [1.8]])).numpy()[:, 0]


def test_the_trained_policy_follows_the_state(tmp_path):
  policy = training.train(Follow, _CONFIG, seed=0, directory=tmp_path)
  # A policy that does not look at the state is off by 1.6 at the ends.
  np.testing.assert_allclose(_means(policy), [0.4, 2.0, 3.6], atol=0.4)
  # 0.2 times half the range of [0, 4].
  _, deviation = policy.moments(tf.zeros([1, 1]))
  np.testing.assert_allclose(deviation, [0.4], rtol=1e-6)


def test_a_stopped_run_goes_on_to_the_same_network(tmp_path):
  config = dataclasses.replace(
    _CONFIG, transitions=300, uses=16, warmup_rounds=2
  )

  def run(name, progress=None):
    return training.train(
      Follow, config, seed=1, directory=tmp_path / name, progress=progress
    )

  class StopError(Exception):
    pass

  def stop(progress):
    if progress.transitions > 150:
      raise StopError

  whole = run('whole')
  with pytest.raises(StopError):
    run('stopped', stop)
  np.testing.assert_array_equal(_means(run('stopped')), _means(whole))


def test_the_record_of_a_policy_has_its_algorithm(tmp_path):
  config = dataclasses.replace(
    _CONFIG, transitions=100, uses=2, warmup_rounds=1
  )
  record = training.write(
    tmp_path,
    trainers.Training(task='follow', action_noise=0.0, seed=0, config=config),
    make_environment=Follow,
  )
  assert record['td3']['policy_noise'] == 0.2 and 'dqn' not in record
  assert record['value']['episodes'] == 20  # a short training, short trials
  assert (
    'training',
    f'TD3, 100 transitions, {record["cpu_seconds"]:.0f} CPU s',
  ) in trained.card(record)
  loaded = trained.load(
    tmp_path,
    num_observations=1,
    num_actions=0,
    actions=actions_lib.Continuous(low=(0.0,), high=(4.0,)),
  )
  assert loaded.draw(tf.zeros([2, 1]), tf.fill([2, 3, 1], 0.5)).shape == (
    2,
    3,
    1,
  )


_SIZES = rollout.Sizes(
  1, 0, actions_lib.Continuous(low=(-3.0, 0.0), high=(1.0, 2.0))
)


def test_the_target_takes_the_smaller_critic():
  """Without smoothing: r + d min Q'(s', pi'(s'))."""
  learner = td3.TD3Learner(
    td3.Config(hidden=(4,), smoothing=0.0), None, sizes=_SIZES, seed=0
  )
  batch = types.Transition(
    tf.zeros([3, 1]),
    tf.zeros([3, 2]),
    tf.constant([1.0, 2.0, 3.0]),
    tf.constant([0.0, 1.0, 0.5]),
    tf.constant([[0.1], [0.2], [0.3]]),
  )
  unit = learner._target_network.unit(batch.next_observation)
  values = np.stack(
    [critic(batch.next_observation, unit) for critic in learner._target_critics]
  )
  assert not np.allclose(values[0], values[1])
  np.testing.assert_allclose(
    learner._target(batch),
    [1.0, 2.0, 3.0] + np.array([0.0, 1.0, 0.5]) * values.min(axis=0),
    rtol=1e-6,
  )


def test_actions_of_the_network_lie_within_their_bounds():
  learner = td3.TD3Learner(td3.Config(hidden=(4,)), None, sizes=_SIZES, seed=0)
  actions = learner.network(
    tf.constant(np.linspace(-1e4, 1e4, 50)[:, None])
  ).numpy()
  low, high = _SIZES.continuous.bounds
  assert (actions >= low).all() and (actions <= high).all()


def test_exploring_starts_uniform_and_is_held():
  config = td3.Config(
    hidden=(4,), episodes_per_round=1, hold=0.9, exploration=0.1
  )
  learner = td3.TD3Learner(config, None, sizes=_SIZES, seed=0)
  actor = td3.ExploringActor(learner, config)
  actor.begin(0, seed=1)
  actions = np.array(
    [actor.act(np.zeros((1, 1)), [0])[0] for _ in range(4_000)]
  )
  changes = np.mean(np.any(actions[1:] != actions[:-1], axis=1))
  np.testing.assert_allclose(changes, 0.1, atol=0.02)
  # Some 400 draws, uniform on [-3, 1] and [0, 2].
  np.testing.assert_allclose(actions.mean(axis=0), [-1.0, 1.0], atol=0.25)
  actor.begin_round(0.5, warm=True)
  actor.begin(0, seed=1)
  noise = np.array([actor.act(np.zeros((1, 1)), [0])[0] for _ in range(4_000)])
  noise = (noise - learner.network(tf.zeros([1, 1])).numpy()) / [2.0, 1.0]
  np.testing.assert_allclose(noise.std(axis=0), config.exploration, rtol=0.2)


def test_finitely_many_actions_are_refused():
  with pytest.raises(ValueError, match='TD3 is for actions that are vectors'):
    td3.TD3Learner(td3.Config(), None, sizes=rollout.Sizes(1, 3), seed=0)


@pytest.mark.parametrize(
  'field, value, message',
  [
    ('policy_delay', 0, 'policy_delay must be at least 1'),
    ('target_rate', 0.0, 'target_rate must be positive'),
    ('policy_noise', 1.5, r'policy_noise must lie in \[0, 1\]'),
    ('hidden', (0,), 'hidden must hold widths from 1'),
  ],
)
def test_impossible_settings_are_refused(field, value, message):
  with pytest.raises(ValueError, match=message):
    td3.Config(**{field: value})
