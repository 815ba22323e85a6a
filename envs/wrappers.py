"""Wrappers that give every task the same types and add action noise."""

import dm_env
from dm_env import specs
import numpy as np


class Wrapper(dm_env.Environment):
  """Passes everything on to another environment."""

  def __init__(self, environment: dm_env.Environment):
    self._environment = environment

  def reset(self) -> dm_env.TimeStep:
    return self._environment.reset()

  def step(self, action: int) -> dm_env.TimeStep:
    return self._environment.step(action)

  def observation_spec(self) -> specs.Array:
    return self._environment.observation_spec()

  def action_spec(self) -> specs.DiscreteArray:
    return self._environment.action_spec()

  def reward_spec(self) -> specs.Array:
    return self._environment.reward_spec()

  def discount_spec(self) -> specs.BoundedArray:
    return self._environment.discount_spec()

  def close(self) -> None:
    self._environment.close()


class DoublePrecision(Wrapper):
  """Flattens observations and fixes dtypes: float64 numbers, int32 actions.

  The discount is float32: it is 0 or 1.
  """

  def reset(self) -> dm_env.TimeStep:
    return self._convert(self._environment.reset())

  def step(self, action: int) -> dm_env.TimeStep:
    return self._convert(self._environment.step(int(action)))

  def observation_spec(self) -> specs.Array:
    spec = self._environment.observation_spec()
    return specs.Array((int(np.prod(spec.shape)),), np.float64, 'observation')

  def action_spec(self) -> specs.DiscreteArray:
    spec = self._environment.action_spec()
    return specs.DiscreteArray(spec.num_values, np.int32, 'action')

  def reward_spec(self) -> specs.Array:
    return specs.Array((), np.float64, 'reward')

  def discount_spec(self) -> specs.BoundedArray:
    return specs.BoundedArray((), np.float32, 0., 1., 'discount')

  def _convert(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
    first = timestep.first()
    return timestep._replace(
        reward=None if first else np.float64(timestep.reward),
        discount=None if first else np.float32(timestep.discount),
        observation=np.asarray(timestep.observation, np.float64).reshape(-1))


class RandomAction(Wrapper):
  """Replaces the agent's action by a uniform one with a given probability.

  The replacement belongs to the dynamics: who logs a step logs the action the
  agent asked for. The uniform draw may return that same action.
  """

  def __init__(
      self, environment: dm_env.Environment, *, action_noise: float, seed: int):
    """Wraps an environment.

    Args:
      environment: an environment with a `DiscreteArray` action spec.
      action_noise: probability of a replacement, in [0, 1].
      seed: seed of the wrapper's own generator.

    Raises:
      ValueError: `action_noise` is not a probability.
    """
    if not 0. <= action_noise <= 1.:
      raise ValueError(
          f'action_noise must lie in [0, 1], got {action_noise}.')
    super().__init__(environment)
    self._action_noise = action_noise
    self._num_actions = environment.action_spec().num_values
    self._generator = np.random.default_rng(seed)

  def step(self, action: int) -> dm_env.TimeStep:
    if self._generator.random() < self._action_noise:
      action = self._generator.integers(self._num_actions)
    return self._environment.step(action)
