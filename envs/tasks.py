"""Builds tasks of their names."""

import dataclasses
import functools
from typing import Any

import dm_env
from dm_env import specs
import numpy as np

from dfiv_ope.envs import control, gymnasium_tasks, names, user, wrappers


def make(
  task: str, *, action_noise: float = 0.0, seed: int, limited: bool = True
) -> dm_env.Environment:
  """Builds a task with float64 flat observations.

  Actions are int32, or float64 [d] within bounds.

  Args:
    task: one of `names.TASKS`, gym:ID, control:DOMAIN-TASK, or
      module:function.
    action_noise: probability with which the environment replaces the action
      by a uniform one; of actions that are vectors, standard deviation of the
      Gaussian noise that it adds, as a part of half the range of the bounds.
    seed: seeds the task and, by a separate stream, the action noise.
    limited: whether a time limit of Gymnasium or DM Control truncates
      episodes. Without it they may never end.

  Returns:
    A dm_env environment.

  Raises:
    ValueError: there is no such task, it has observations or actions of
      another kind, or the noise lies outside of [0, 1].
  """
  task_seed, noise_seed = map(
    int, np.random.SeedSequence(seed).generate_state(2)
  )
  plain = _plain(task, task_seed, limited)
  try:
    environment = wrappers.DoublePrecision(
      plain, _kinds(task) if task in names.TASKS else None
    )
  except ValueError as error:
    raise ValueError(f'{task} cannot be used: {error}') from error
  noisy = (
    wrappers.RandomAction
    if isinstance(environment.action_spec(), specs.DiscreteArray)
    else wrappers.GaussianAction
  )
  return noisy(environment, action_noise=action_noise, seed=noise_seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maker:
  """Builds a task from a seed, see `make`."""

  task: str
  action_noise: float
  limited: bool = True

  def __call__(self, seed: int) -> dm_env.Environment:
    return make(
      self.task, action_noise=self.action_noise, seed=seed, limited=self.limited
    )

  @property
  def endless(self) -> 'Maker | None':
    """What builds the task without its time limit.

    None if the limit is not ours to leave out: bsuite's tasks show their clock
    and terminate, and a user's environment ends as it likes.
    """
    if not self.task.startswith((names.GYM_PREFIX, names.CONTROL_PREFIX)):
      return None
    return dataclasses.replace(self, limited=False)


def maker(task: str, *, action_noise: float) -> Maker:
  """Returns the function of a seed that builds a task."""
  return Maker(task=task, action_noise=action_noise)


@functools.cache
def is_continuous(task: str) -> bool:
  """Whether actions are vectors; makes the task if its name does not tell."""
  if task in names.TASKS or task.startswith(names.CONTROL_PREFIX):
    return task not in names.TASKS
  environment = make(task, seed=0)
  try:
    return not isinstance(environment.action_spec(), specs.DiscreteArray)
  finally:
    environment.close()


@functools.cache
def _kinds(task: str) -> wrappers.Kinds:
  """Returns what a task of bsuite gives and takes, whatever its seed is."""
  return wrappers.kinds(_plain(task, 0, limited=True))


class _NoEntropy(np.random.SeedSequence):
  """Seeds a bit generator with zeros, for one that is seeded again."""

  def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
    return np.zeros(n_words, dtype)


_NO_ENTROPY = _NoEntropy(0)


def _legacy(seed: int) -> np.random.MT19937:
  """Returns the bits of `np.random.RandomState(seed)`.

  That draws entropy for a state which its seed replaces, and takes longer than
  an episode of catch. Given these bits, it takes them as they are.
  """
  bits = np.random.MT19937(_NO_ENTROPY)
  np.random.RandomState(bits).seed(seed)
  return bits


def _plain(task: str, seed: int, limited: bool) -> dm_env.Environment:
  """Builds a task as those who wrote it have it."""
  names.require(task)
  if task.startswith(names.GYM_PREFIX):
    return gymnasium_tasks.Gymnasium(task, seed=seed, limited=limited)
  if task.startswith(names.CONTROL_PREFIX):
    return control.Control(task, seed=seed, limited=limited)
  # Ids of bsuite carry no seed; we pass one.
  if task == 'catch':
    from bsuite.environments import catch

    return catch.Catch(seed=_legacy(seed))
  if task == 'mountain_car':
    from bsuite.environments import mountain_car

    return mountain_car.MountainCar(max_steps=1000, seed=_legacy(seed))
  if task == 'cartpole':
    from bsuite.environments import cartpole

    return cartpole.Cartpole(seed=_legacy(seed))
  return user.make(task, seed=seed)
