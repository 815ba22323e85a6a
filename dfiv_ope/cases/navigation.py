"""Navigation on a square: around a puddle to a goal in the corner.

A step moves 0.08 in one of four directions, or by a vector, with noise. A
step costs 1, in the puddle 3; the goal pays 10 and ends the episode. In the
sparse version only the goal pays.
"""

import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_SPEED = 0.08
_DIRECTIONS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
_GOAL, _NEAR = np.array([0.9, 0.9]), 0.12
_PUDDLE, _RADIUS = np.array([0.55, 0.55]), 0.15
_PAY = 10.0
_RANKED = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Navigation(process.Process):
  """The square.

  Attributes:
    noise: standard deviation of a step.
    sparse: whether only the goal pays.
  """

  noise: float
  sparse: bool = False

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return generator.uniform(0.0, 0.4, (count, 2))

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    move = action if self.continuous else _DIRECTIONS[action]
    following = state + _SPEED * move
    if self.noise:
      following = following + self.noise * generator.standard_normal(
        state.shape
      )
    following = np.clip(following, 0.0, 1.0)
    ended = np.linalg.norm(following - _GOAL, axis=1) < _NEAR
    wet = np.linalg.norm(following - _PUDDLE, axis=1) < _RADIUS
    cost = np.zeros(len(state)) if self.sparse else 1.0 + 2.0 * wet
    return process.Step(following, _PAY * ended - cost, ended)


def _heading(observations: types.FloatArray) -> types.FloatArray:
  """Returns the direction to the goal, away from the puddle, [B, 2]."""
  to_goal = _GOAL - observations
  to_goal = to_goal / np.maximum(
    np.linalg.norm(to_goal, axis=1, keepdims=True), 1e-6
  )
  away = observations - _PUDDLE
  distance = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6)
  return to_goal + np.exp(-np.square(distance / 0.2)) * away / distance


def choosing(sharpness: float) -> process.Policy:
  """Returns a policy between four directions."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    return mixtures.softmax(sharpness * _heading(observations) @ _DIRECTIONS.T)

  return policy


def steering(sharpness: float) -> process.Policy:
  """Returns the heading with noise of deviation 1 / (2 sharpness^1/2)."""

  def policy(
    observations: types.FloatArray,
  ) -> tuple[types.FloatArray, types.FloatArray]:
    mean = 0.7 * _heading(observations)
    return mean, np.full_like(mean, 0.5 / np.sqrt(sharpness))

  return policy


def setting(
  behaviour: float,
  target: float,
  *,
  noise: float,
  horizon: int,
  sparse: bool = False,
  vectors: bool = False,
  discount: float = 0.97,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: sharpness of the policy that writes the log.
    target: that of the target policy.
    noise: standard deviation of a step.
    horizon: where episodes are cut off.
    sparse: whether only the goal pays.
    vectors: whether a step may go in any direction.
    discount: of the value.
  """
  space = (
    actions_lib.Continuous(low=(-1.0, -1.0), high=(1.0, 1.0))
    if vectors
    else None
  )
  problem = Navigation(
    discount=discount,
    horizon=horizon,
    noise=noise,
    sparse=sparse,
    num_actions=0 if vectors else len(_DIRECTIONS),
    continuous=space,
  )
  policy = steering if vectors else choosing
  return case.simulated_setting(
    problem, policy, behaviour=(behaviour,), target=(target,), ranked=_RANKED
  )
