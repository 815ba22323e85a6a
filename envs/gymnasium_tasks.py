"""Tasks of Gymnasium as dm_env environments."""

from typing import Any
import warnings

import dm_env
from dm_env import specs
import numpy as np

from dfiv_ope import hints, user_code
from dfiv_ope.envs import names

_NO_LIMIT = -1  # Gymnasium's word for it


class Gymnasium(dm_env.Environment):
  """One environment of Gymnasium.

  Where it terminates, the discount is 0; where it is truncated, it is 1.
  """

  def __init__(self, task: str, *, seed: int, limited: bool = True):
    """Builds the environment.

    Args:
      task: its name, gym:ID.
      seed: of all its randomness.
      limited: whether Gymnasium's time limit truncates episodes.

    Raises:
      ValueError: Gymnasium is not installed, has no such environment, or one
        whose observations or actions are of another kind.
    """
    self._environment = _load(task, limited)
    self._seed: int | None = seed
    self._ended = True
    self._observations = _observation_spec(
      task, self._environment.observation_space
    )
    self._actions, self._first_action = _action_spec(
      task, self._environment.action_space
    )

  def reset(self) -> dm_env.TimeStep:
    observation, _ = self._environment.reset(seed=self._seed)
    self._seed = None  # Later episodes go on with the same generator.
    self._ended = False
    return dm_env.restart(self._observed(observation))

  def step(self, action: Any) -> dm_env.TimeStep:
    if self._ended:
      return self.reset()
    observation, reward, terminated, truncated, _ = self._environment.step(
      action + self._first_action
    )
    self._ended = terminated or truncated
    observation, reward = self._observed(observation), float(reward)
    if terminated:
      return dm_env.termination(reward, observation)
    if truncated:
      return dm_env.truncation(reward, observation, discount=1.0)
    return dm_env.transition(reward, observation, discount=1.0)

  def observation_spec(self) -> specs.Array:
    return self._observations

  def action_spec(self) -> specs.BoundedArray:
    return self._actions

  def close(self) -> None:
    self._environment.close()

  def _observed(self, observation: Any) -> Any:
    if isinstance(self._observations, specs.DiscreteArray):
      first = self._environment.observation_space.start
      return np.asarray(observation - first, self._observations.dtype)
    return np.asarray(observation)


def _load(task: str, limited: bool) -> Any:
  try:
    import gymnasium
  except ImportError as error:
    raise ValueError(
      f"{task} needs Gymnasium: pip install 'dfiv-ope[gym]'."
    ) from error
  name = task.removeprefix(names.GYM_PREFIX)
  limit = {} if limited else {'max_episode_steps': _NO_LIMIT}
  try:
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # What it would say is refused below.
      environment = gymnasium.make(name, disable_env_checker=True, **limit)
  except gymnasium.error.UnregisteredEnv as error:
    near = hints.near(name, gymnasium.registry)
    hint = f': did you mean {names.GYM_PREFIX}{near}?' if near else '.'
    raise ValueError(f'Gymnasium has no environment {name!r}{hint}') from error
  except Exception as error:  # Of packages that it needs, or its own.
    raise ValueError(
      f'{task} cannot be made: {user_code.line(error)}.'
    ) from error
  found = environment.spec.id if environment.spec else name
  if found != name.rpartition(':')[2]:  # It takes the latest version.
    raise ValueError(
      f'{task} has no version. Name it as {names.GYM_PREFIX}{found}.'
    )
  return environment


def _observation_spec(task: str, space: Any) -> specs.Array:
  from gymnasium import spaces

  if isinstance(space, spaces.Discrete):
    return specs.DiscreteArray(int(space.n), name='state')
  if isinstance(space, spaces.Box):
    return specs.Array(space.shape, space.dtype, 'observation')
  raise ValueError(
    f'The observations of {task} are {type(space).__name__}, but only '
    'Discrete and Box can be used. Wrap it, and name it as module:function.'
  )


def _action_spec(task: str, space: Any) -> tuple[specs.BoundedArray, int]:
  """Returns the spec, and the number of the first action."""
  from gymnasium import spaces

  if isinstance(space, spaces.Discrete):
    return specs.DiscreteArray(int(space.n), name='action'), int(space.start)
  if isinstance(space, spaces.Box):
    return specs.BoundedArray(
      space.shape, space.dtype, space.low, space.high, 'action'
    ), 0
  raise ValueError(
    f'The actions of {task} are {type(space).__name__}, but only Discrete '
    'and Box can be used. Wrap it, and name it as module:function.'
  )
