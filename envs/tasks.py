"""Names the tasks and builds them."""

from collections.abc import Callable

import dm_env
import numpy as np

from dfiv_ope.envs import names, wrappers


def make(
    task: str, *, action_noise: float = 0., seed: int) -> dm_env.Environment:
  """Builds a task with float64 flat observations and int32 actions.

  Args:
    task: one of `names.TASKS`.
    action_noise: probability with which the environment replaces the action
      by a uniform one.
    seed: seeds the task and, by a separate stream, the action noise.

  Returns:
    A dm_env environment.

  Raises:
    ValueError: the task is unknown or the noise is not a probability.
  """
  task_seed, noise_seed = np.random.SeedSequence(seed).generate_state(2)
  return wrappers.RandomAction(
      wrappers.DoublePrecision(_bsuite(task, int(task_seed))),
      action_noise=action_noise,
      seed=int(noise_seed))


def maker(
    task: str, *, action_noise: float) -> Callable[[int], dm_env.Environment]:
  """Returns the function of a seed that builds a task."""
  return lambda seed: make(task, action_noise=action_noise, seed=seed)


def _bsuite(task: str, seed: int) -> dm_env.Environment:
  """Builds the plain bsuite task (their ids carry no seed; we pass one)."""
  names.require(task)
  if task == 'catch':
    from bsuite.environments import catch
    return catch.Catch(seed=seed)
  if task == 'mountain_car':
    from bsuite.environments import mountain_car
    return mountain_car.MountainCar(max_steps=1000, seed=seed)
  from bsuite.environments import cartpole
  return cartpole.Cartpole(seed=seed)
