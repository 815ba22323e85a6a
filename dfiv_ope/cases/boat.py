"""A boat that sails to a dock with eight headings, in a wind that turns.

The state is the place and the wind's direction (sine and cosine). A boat is
slow against the wind and drifts with it. A step costs 0.5, touching the bank 1;
the dock pays 10 and ends the episode. The wind may be hidden from all.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_ANGLES = np.arange(8.0) * np.pi / 4.0
_HEADINGS = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
_SIZE = np.array([1.0, 2.0])
_DOCK, _NEAR = np.array([0.8, 1.75]), 0.2
_SPEED, _DRIFT = 0.09, 0.03
_RANKED = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Boat(process.Process):
  """The boat; its state is the place and the angle that the wind blows to.

  Attributes:
    turning: standard deviation of the wind's change of angle.
    hidden: whether the wind is not observed.
  """

  turning: float
  hidden: bool = False

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.uniform(0.1, 0.9, count),
        generator.uniform(0.1, 0.6, count),
        generator.uniform(-np.pi, np.pi, count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    place, wind = state[:, :2], state[:, 2]
    speed = _SPEED * (0.6 + 0.4 * np.cos(_ANGLES[action] - wind))
    blown = _DRIFT * np.column_stack([np.cos(wind), np.sin(wind)])
    moved = (
      place
      + speed[:, None] * _HEADINGS[action]
      + blown
      + 0.01 * generator.standard_normal(place.shape)
    )
    after = np.clip(moved, 0.0, _SIZE)
    touched = np.any(after != moved, axis=1)
    ended = np.linalg.norm(after - _DOCK, axis=1) < _NEAR
    turned = wind + self.turning * generator.standard_normal(len(state))
    return process.Step(
      np.column_stack([after, turned]), 10.0 * ended - 0.5 - touched, ended
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    del time
    if self.hidden:
      return np.asarray(state[:, :2], np.float64)
    return np.column_stack(
      [state[:, :2], np.sin(state[:, 2]), np.cos(state[:, 2])]
    )


def sailing(sharpness: float) -> process.Policy:
  """Returns a policy that heads to the dock; it ignores the wind."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    way = _DOCK - observations[:, :2]
    way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-6)
    return mixtures.softmax(sharpness * way @ _HEADINGS.T)

  return policy


def setting(
  behaviour: float,
  target: float,
  *,
  turning: float,
  horizon: int,
  hidden: bool = False,
  discount: float = 0.97,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: sharpness of the policy that writes the log.
    target: that of the target policy.
    turning: of the wind.
    horizon: where episodes are cut off.
    hidden: whether the wind is not observed.
    discount: of the value.
  """
  problem = Boat(
    discount=discount,
    horizon=horizon,
    num_actions=len(_ANGLES),
    turning=turning,
    hidden=hidden,
  )
  return case.simulated_setting(
    problem, sailing, behaviour=(behaviour,), target=(target,), ranked=_RANKED
  )
