"""Small problems with known answers, for tests here and elsewhere."""

import dm_env
from dm_env import specs
import numpy as np


class Corridor(dm_env.Environment):
  """A walk of fixed length that pays the action taken.

  The observation is (step, length); the reward of a step is its action; the
  length is drawn from the seed unless given.
  """

  def __init__(
      self, *, seed: int = 0, length: int | None = None,
      max_length: int = 9, terminates: bool = True, num_actions: int = 3):
    self._length = length or int(
        np.random.default_rng(seed).integers(1, max_length + 1))
    self._terminates = terminates
    self._num_actions = num_actions
    self._step = 0

  def reset(self) -> dm_env.TimeStep:
    self._step = 0
    return dm_env.restart(self._observation())

  def step(self, action: int) -> dm_env.TimeStep:
    self._step += 1
    reward = np.float32(action)
    if self._step < self._length:
      return dm_env.transition(
          reward, self._observation(), discount=np.float32(1.))
    if self._terminates:
      return dm_env.TimeStep(
          dm_env.StepType.LAST, reward, np.float32(0.), self._observation())
    return dm_env.truncation(
        reward, self._observation(), discount=np.float32(1.))

  def observation_spec(self) -> specs.Array:
    return specs.Array((2,), np.float32, 'observation')

  def action_spec(self) -> specs.DiscreteArray:
    return specs.DiscreteArray(self._num_actions, np.int32, 'action')

  def _observation(self) -> np.ndarray:
    return np.array([self._step, self._length], np.float32)
