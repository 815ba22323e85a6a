"""Wrappers that give every task the same types and add action noise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import dm_env
from dm_env import specs
import numpy as np

from dfiv_ope import spaces


class Wrapper(dm_env.Environment):
  """Passes everything on to another environment."""

  def __init__(self, environment: dm_env.Environment):
    self._environment = environment

  def reset(self) -> dm_env.TimeStep:
    return self._environment.reset()

  def step(self, action: Any) -> dm_env.TimeStep:
    return self._environment.step(action)

  def observation_spec(self) -> specs.Array:
    return self._environment.observation_spec()

  def action_spec(self) -> specs.BoundedArray:
    return self._environment.action_spec()

  def reward_spec(self) -> specs.Array:
    return self._environment.reward_spec()

  def discount_spec(self) -> specs.BoundedArray:
    return self._environment.discount_spec()

  def close(self) -> None:
    self._environment.close()


class Kinds(NamedTuple):
  """What an environment gives and takes, as `DoublePrecision` has it.

  Attributes:
    observations: of flat observations.
    actions: one of finitely many, or a flat vector within bounds.
    inner_shape: of the environment's own actions; None if they are numbers.
    inner_dtype: of the same.
  """

  observations: spaces.Observations
  actions: specs.BoundedArray
  inner_shape: tuple[int, ...] | None
  inner_dtype: np.dtype


def kinds(environment: dm_env.Environment) -> Kinds:
  """Returns what an environment gives and takes.

  Raises:
    ValueError: its observations or actions are of another kind.
  """
  observations = _flat_spec(environment.observation_spec())
  inner = environment.action_spec()
  found = spaces.actions(inner)
  if found.continuous is None:
    discrete = specs.DiscreteArray(found.num_actions, np.int32, 'action')
    return Kinds(observations, discrete, None, inner.dtype)
  bounded = specs.BoundedArray(
    (found.continuous.size,), np.float64, *found.continuous.bounds, 'action'
  )
  return Kinds(observations, bounded, inner.shape, inner.dtype)


class DoublePrecision(Wrapper):
  """Flattens observations and actions and fixes their dtypes.

  Observations are float64 [D]; those of a mapping stand one after another in
  its order, and one of finitely many states is its number. Actions are int32,
  or float64 [d] within bounds. The discount is float32: it is 0 or 1.
  """

  def __init__(
    self, environment: dm_env.Environment, like: Kinds | None = None
  ):
    """Wraps an environment.

    Args:
      environment: of arrays, or mappings of arrays.
      like: of another environment that differs in its seed alone; None to ask
        this one.

    Raises:
      ValueError: its observations or actions are of another kind.
    """
    super().__init__(environment)
    self._kinds = kinds(environment) if like is None else like

  def reset(self) -> dm_env.TimeStep:
    return self._convert(self._environment.reset())

  def step(self, action: Any) -> dm_env.TimeStep:
    given = (
      int(action)
      if self._kinds.inner_shape is None
      else np.asarray(action, self._kinds.inner_dtype).reshape(
        self._kinds.inner_shape
      )
    )
    return self._convert(self._environment.step(given))

  def observation_spec(self) -> spaces.Observations:
    return self._kinds.observations

  def action_spec(self) -> specs.BoundedArray:
    return self._kinds.actions

  def reward_spec(self) -> specs.Array:
    return specs.Array((), np.float64, 'reward')

  def discount_spec(self) -> specs.BoundedArray:
    return specs.BoundedArray((), np.float32, 0.0, 1.0, 'discount')

  def _convert(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
    first = timestep.first()
    return timestep._replace(
      reward=None if first else np.float64(timestep.reward),
      discount=None if first else np.float32(timestep.discount),
      observation=_flat(timestep.observation),
    )


def _flat(observation: Any) -> np.ndarray:
  if isinstance(observation, Mapping):
    return np.concatenate([_flat(each) for each in observation.values()])
  return np.asarray(observation, np.float64).reshape(-1)


def _flat_spec(spec: Any) -> spaces.Observations:
  """Returns the spec of flat observations.

  Raises:
    ValueError: they are not arrays of numbers, nor a mapping of such.
  """
  if isinstance(spec, specs.DiscreteArray):
    return spaces.Observations(
      1, names=[spec.name or 'state'], categories={0: int(spec.num_values)}
    )
  parts = spec if isinstance(spec, Mapping) else {'': spec}
  names: list[str] = []
  categories: dict[int, int] = {}
  for name, each in parts.items():
    if not isinstance(each, specs.Array) or each.dtype.kind not in 'fiub':
      raise ValueError(
        f'The observations are {spec}, but they should be an array of '
        'numbers, or a mapping of such arrays.'
      )
    if isinstance(each, specs.DiscreteArray):
      categories[len(names)] = int(each.num_values)
    size = int(np.prod(each.shape))
    names += [f'{name}[{i}]' for i in range(size)] if each.shape else [name]
  return spaces.Observations(
    len(names),
    names=names if isinstance(spec, Mapping) else (),
    categories=categories,
  )


class RandomAction(Wrapper):
  """Replaces the agent's action by a uniform one with a given probability.

  The replacement belongs to the dynamics: who logs a step logs the action the
  agent asked for. The uniform draw may return that same action.
  """

  def __init__(
    self, environment: dm_env.Environment, *, action_noise: float, seed: int
  ):
    """Wraps an environment.

    Args:
      environment: an environment with a `DiscreteArray` action spec.
      action_noise: probability of a replacement, in [0, 1].
      seed: seed of the wrapper's own generator.

    Raises:
      ValueError: `action_noise` is not a probability.
    """
    _check_noise(action_noise)
    super().__init__(environment)
    self._action_noise = action_noise
    self._num_actions = environment.action_spec().num_values
    self._generator = np.random.default_rng(seed)

  def step(self, action: int) -> dm_env.TimeStep:
    if self._generator.random() < self._action_noise:
      action = self._generator.integers(self._num_actions)
    return self._environment.step(action)


class GaussianAction(Wrapper):
  """Adds Gaussian noise to actions that are vectors, and clips the sum.

  The noise belongs to the dynamics, as that of `RandomAction` does.
  """

  def __init__(
    self, environment: dm_env.Environment, *, action_noise: float, seed: int
  ):
    """Wraps an environment.

    Args:
      environment: an environment with a `BoundedArray` action spec, [d].
      action_noise: standard deviation of the noise, in [0, 1], as a part of
        half the range between the bounds.
      seed: seed of the wrapper's own generator.

    Raises:
      ValueError: `action_noise` lies outside of [0, 1].
    """
    _check_noise(action_noise)
    super().__init__(environment)
    spec = environment.action_spec()
    self._low, self._high = spec.minimum, spec.maximum
    self._deviation = action_noise * (self._high - self._low) / 2.0  # [d]
    self._generator = np.random.default_rng(seed)

  def step(self, action: np.ndarray) -> dm_env.TimeStep:
    noise = self._generator.standard_normal(len(self._deviation))
    return self._environment.step(
      np.clip(action + self._deviation * noise, self._low, self._high)
    )


def _check_noise(action_noise: float) -> None:
  if not 0.0 <= action_noise <= 1.0:
    raise ValueError(f'action_noise must lie in [0, 1], got {action_noise}.')
