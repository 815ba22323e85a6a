"""Values of policies on bsuite's three tasks, known far better than estimates.

catch has 250 states: its values are exact. mountain_car and cartpole are
simulated in numpy, many episodes at a time, and every policy meets the same
starts, the same action noise and the same draws (common random numbers): the
difference of two policies is then known better than either value.

    values = bsuite_values.simulate(
      'mountain_car', policies, action_noise=0.2, discount=0.99,
      episodes=20_000, seed=0)
    values.difference('a', 'b').mean
"""

import abc
from collections.abc import Mapping
import dataclasses
import math
from typing import NamedTuple

import numpy as np

from dfiv_ope import types

_ACTIONS = 3
# Episodes that are simulated at once: their arrays stay in the cache.
_AT_ONCE = 2_000


class Known(NamedTuple):
  """A mean and its standard error, 0 where it is exact."""

  mean: float
  standard_error: float


@dataclasses.dataclass(frozen=True, eq=False)
class Values:
  """Returns of the same episodes under several policies.

  Attributes:
    returns: by policy, [E]; one exact value by start state if `exact`.
    exact: whether their mean is the value itself.
  """

  returns: Mapping[str, types.FloatArray]
  exact: bool = False

  def value(self, name: str) -> Known:
    """Returns the value of a policy."""
    return self._known(self.returns[name])

  def difference(self, first: str, second: str) -> Known:
    """Returns the value of one policy less another's."""
    return self._known(self.returns[first] - self.returns[second])

  def _known(self, returns: types.FloatArray) -> Known:
    error = (
      0.0 if self.exact else np.std(returns, ddof=1) / math.sqrt(len(returns))
    )
    return Known(float(np.mean(returns)), float(error))


class Task(abc.ABC):
  """A task of bsuite without its noise; n episodes are stepped at once."""

  def __init__(self, starts: types.FloatArray):
    """Makes the first states of episodes.

    Args:
      starts: uniform numbers in [0, 1), [n, 4].
    """
    self.state = self._first(starts)  # [n, ...]
    self.time = 0

  @abc.abstractmethod
  def _first(self, starts: types.FloatArray) -> types.FloatArray:
    """Returns the first states, [n, ...]."""

  @abc.abstractmethod
  def observe(self) -> types.FloatArray:
    """Returns what a policy sees, float64 [n, D] of float32 numbers."""

  @abc.abstractmethod
  def step(self, action: np.ndarray) -> tuple[types.FloatArray, np.ndarray]:
    """Takes actions [n]; returns rewards and which episodes go on, [n]."""

  def keep(self, goes_on: np.ndarray) -> None:
    """Forgets episodes that are over."""
    self.state = self.state[goes_on]


class MountainCar(Task):
  """bsuite's mountain car: position and velocity, [n, 2]."""

  longest = 1000

  def _first(self, starts: types.FloatArray) -> types.FloatArray:
    position = -0.6 + 0.2 * starts[:, 0]
    return np.stack([position, np.zeros(len(starts))], axis=1)

  def observe(self) -> types.FloatArray:
    clock = np.full((len(self.state), 1), self.time / self.longest)
    return np.float64(np.float32(np.hstack([self.state, clock])))

  def step(self, action: np.ndarray) -> tuple[types.FloatArray, np.ndarray]:
    position, velocity = self.state.T
    velocity = np.clip(
      velocity + 0.001 * (action - 1) - 0.0025 * np.cos(3.0 * position),
      -0.07,
      0.07,
    )
    position = np.clip(position + velocity, -1.2, 0.6)
    velocity = np.where(position == -1.2, np.maximum(velocity, 0.0), velocity)
    self.state = np.stack([position, velocity], axis=1)
    self.time += 1
    return (
      np.full(len(action), -1.0),
      (position < 0.5) & (self.time < self.longest),
    )


class Cartpole(Task):
  """bsuite's cartpole: place, angle and their speeds, [n, 4]."""

  # Seconds, summed as bsuite sums them: the limit turns on rounding.
  elapsed = 0.0

  def _first(self, starts: types.FloatArray) -> types.FloatArray:
    return -0.05 + 0.1 * starts

  def observe(self) -> types.FloatArray:
    x, x_dot, theta, theta_dot = self.state.T
    clock = np.full(len(x), self.elapsed / 10.0)
    return np.float64(
      np.float32(
        np.stack(
          [
            x / 3.0,
            x_dot / 3.0,
            np.sin(theta),
            np.cos(theta),
            theta_dot,
            clock,
          ],
          axis=1,
        )
      )
    )

  def step(self, action: np.ndarray) -> tuple[types.FloatArray, np.ndarray]:
    x, x_dot, theta, theta_dot = self.state.T
    cosine, sine = np.cos(theta), np.sin(theta)
    push = (10.0 * (action - 1) + 0.05 * theta_dot**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (
      0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1)
    )
    speed = push - 0.05 * turn * cosine / 1.1
    x, x_dot = x + 0.01 * x_dot, x_dot + 0.01 * speed
    theta, theta_dot = theta + 0.01 * theta_dot, theta_dot + 0.01 * turn
    self.state = np.stack([x, x_dot, theta, theta_dot], axis=1)
    self.time += 1
    self.elapsed += 0.01
    upright = (np.cos(theta) > 0.8) & (np.abs(x) < 3.0)
    return upright.astype(np.float64), upright & (self.elapsed <= 10.0)


_TASKS: dict[str, type[Task]] = {
  'mountain_car': MountainCar,
  'cartpole': Cartpole,
}
NAMES = ('catch', *_TASKS)


def simulate(
  task: str,
  policies: Mapping[str, types.Policy],
  *,
  action_noise: float,
  discount: float,
  episodes: int,
  seed: int,
) -> Values:
  """Returns the values of policies on a task.

  Args:
    task: one of `NAMES`.
    policies: by name.
    action_noise: probability of a uniform action in the place of another.
    discount: of the value.
    episodes: how many are simulated, where values are not exact.
    seed: of everything that is drawn.

  Raises:
    ValueError: there is no such task.
  """
  if task not in NAMES:
    raise ValueError(f'Values are known of {", ".join(NAMES)}, not of {task}.')
  if task == 'catch':
    return Values(
      {
        name: catch(each, action_noise=action_noise, discount=discount)
        for name, each in policies.items()
      },
      exact=True,
    )
  return Values(
    {
      name: np.concatenate(
        [
          _returns(
            _TASKS[task],
            each,
            action_noise=action_noise,
            discount=discount,
            episodes=min(_AT_ONCE, episodes - start),
            seed=(seed, start),
          )
          for start in range(0, episodes, _AT_ONCE)
        ]
      )
      for name, each in policies.items()
    }
  )


def catch(
  policy: types.Policy, *, action_noise: float, discount: float
) -> types.FloatArray:
  """Returns the exact value on catch of each column that a ball starts in, [5].

  Backward in time over the paddle's five places and the ball's five columns.
  """
  rows, columns = 10, 5
  ball, paddle = (each.ravel() for each in np.indices((columns, columns)))
  moved = np.clip(
    paddle[:, None] + np.arange(-1, _ACTIONS - 1), 0, columns - 1
  )  # [25, A]
  value = np.where(paddle == ball, 1.0, -1.0) / discount
  for row in range(rows - 2, -1, -1):
    board = np.zeros((columns**2, rows, columns))
    board[np.arange(columns**2), row, ball] = 1.0
    board[np.arange(columns**2), rows - 1, paddle] = 1.0
    chosen = np.asarray(
      policy.action_probabilities(board.reshape(columns**2, -1)), np.float64
    )
    taken = (1.0 - action_noise) * chosen + action_noise / _ACTIONS
    value = discount * np.sum(
      taken * value.reshape(columns, columns)[ball[:, None], moved], axis=1
    )
  return value.reshape(columns, columns)[:, columns // 2]


def _returns(
  task: type[Task],
  policy: types.Policy,
  *,
  action_noise: float,
  discount: float,
  episodes: int,
  seed: types.Seed,
) -> types.FloatArray:
  """Returns the discounted returns of episodes, [E].

  What an episode draws depends on its number and step alone, not on who acts.
  """
  generator = np.random.default_rng(seed)
  run = task(generator.random((episodes, 4)))
  alive, returns = np.arange(episodes), np.zeros(episodes)
  while len(alive):
    chance = generator.random((episodes, 3))[alive]
    weight = discount**run.time
    edges = np.cumsum(
      np.asarray(policy.action_probabilities(run.observe()), np.float64), axis=1
    )
    action = np.minimum(
      np.sum(edges <= chance[:, :1] * edges[:, -1:], axis=1), _ACTIONS - 1
    )
    swapped = np.int64(_ACTIONS * chance[:, 1])
    reward, goes_on = run.step(
      np.where(chance[:, 2] < action_noise, swapped, action)
    )
    returns[alive] += weight * reward
    alive = alive[goes_on]
    run.keep(goes_on)
  return returns
