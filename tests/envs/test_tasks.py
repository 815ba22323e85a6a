"""The tasks keep dm_env's contract, their types and their seeds."""

from absl.testing import absltest
from bsuite.environments import catch, mountain_car
import dm_env
from dm_env import test_utils
import numpy as np
import pytest

from dfiv_ope import envs


class _Interface(test_utils.EnvironmentTestMixin):
  task = ''

  def make_object_under_test(self):
    return envs.make(self.task, action_noise=0.2, seed=1)


class CatchTest(_Interface, absltest.TestCase):
  task = 'catch'


class MountainCarTest(_Interface, absltest.TestCase):
  task = 'mountain_car'


class CartpoleTest(_Interface, absltest.TestCase):
  task = 'cartpole'


def _roll(environment: dm_env.Environment, actions):
  steps = [environment.reset()]
  for action in actions:
    steps.append(environment.step(action))
  return np.stack([step.observation for step in steps]), steps


@pytest.mark.parametrize(
  'task, size', [('catch', 50), ('mountain_car', 3), ('cartpole', 6)]
)
def test_observations_are_flat_float64_and_actions_three_int32(task, size):
  environment = envs.make(task, seed=0)
  assert environment.observation_spec().shape == (size,)
  assert environment.action_spec().num_values == 3
  assert environment.action_spec().dtype == np.int32
  environment.reset()
  step = environment.step(1)
  assert step.observation.shape == (size,)
  assert step.observation.dtype == np.float64
  assert np.asarray(step.reward).dtype == np.float64
  assert np.asarray(step.discount).dtype == np.float32


@pytest.mark.parametrize('task', envs.TASKS)
def test_same_seed_same_trajectory_and_another_seed_another(task):
  actions = np.random.default_rng(0).integers(3, size=30)
  one, _ = _roll(envs.make(task, action_noise=0.5, seed=7), actions)
  two, _ = _roll(envs.make(task, action_noise=0.5, seed=7), actions)
  other, _ = _roll(envs.make(task, action_noise=0.5, seed=8), actions)
  np.testing.assert_array_equal(one, two)
  assert not np.array_equal(one, other)


def test_catch_without_noise_follows_the_agent():
  """The paddle starts in the middle; two steps left put it in column 0."""
  environment = envs.make('catch', action_noise=0.0, seed=3)
  observations, _ = _roll(environment, [0, 0])
  paddle_row = observations.reshape(-1, 10, 5)[:, 9]
  np.testing.assert_array_equal(np.argmax(paddle_row, axis=1), [2, 1, 0])


def test_an_episode_of_catch_ends_by_termination_after_nine_steps():
  _, steps = _roll(envs.make('catch', seed=0), [1] * 9)
  assert [step.last() for step in steps] == [False] * 9 + [True]
  assert steps[-1].discount == 0.0
  assert abs(steps[-1].reward) == 1.0


def test_an_unknown_task_is_answered_with_the_known_ones():
  with pytest.raises(ValueError, match='catch, mountain_car, cartpole'):
    envs.make('pong', seed=0)


@pytest.mark.parametrize('task, steps', [('catch', 9), ('mountain_car', 20)])
def test_seeds_of_tasks_are_those_of_bsuite(task, steps):
  """The generator is made in another way, with the same numbers."""
  make = {'catch': catch.Catch, 'mountain_car': mountain_car.MountainCar}[task]
  for seed in range(20):
    task_seed = int(np.random.SeedSequence(seed).generate_state(2)[0])
    plain, ours = make(seed=task_seed), envs.make(task, seed=seed)
    found, wanted = ours.reset(), plain.reset()
    for step in range(steps):
      np.testing.assert_array_equal(
        found.observation, wanted.observation.ravel()
      )
      found, wanted = ours.step(step % 3), plain.step(step % 3)
