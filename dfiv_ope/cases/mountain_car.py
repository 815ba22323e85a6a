"""A mountain car with a clock that tells nothing.

The car has to be pumped up a hill: a step costs 1 until the goal. Beside
position and velocity the number of the step is observed, which neither policies
nor the car use.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_CLOCK = 1_000.0
_RANKED = (0.3, 0.5, 0.7, 0.85, 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class MountainCar(process.Process):
  """The mountain car.

  Attributes:
    noise: probability that another action is carried out.
    clock: whether the number of the step is observed.
  """

  noise: float
  clock: bool

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [generator.uniform(-0.6, -0.4, count), np.zeros(count)]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    if self.noise:
      swapped = generator.random(len(state)) < self.noise
      action = np.where(swapped, generator.integers(0, 3, len(state)), action)
    position, velocity = state.T
    velocity = np.clip(
      velocity + 0.001 * (action - 1) - 0.0025 * np.cos(3.0 * position),
      -0.07,
      0.07,
    )
    position = np.clip(position + velocity, -1.2, 0.6)
    velocity = np.where((position <= -1.2) & (velocity < 0.0), 0.0, velocity)
    return process.Step(
      np.column_stack([position, velocity]),
      np.full(len(state), -1.0),
      position >= 0.5,
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    if not self.clock:
      return state
    return np.column_stack([state, np.full(len(state), time / _CLOCK)])


def pumping(share: float) -> process.Policy:
  """Returns a policy that pushes along the velocity, and any way otherwise.

  Args:
    share: how often it pushes along, from 0 to 1.
  """

  def policy(observations: types.FloatArray) -> types.FloatArray:
    along = np.where(observations[:, 1] >= 0.0, 2, 0)
    return np.eye(3)[along]

  return mixtures.explore(policy, 1.0 - share, 3)


def setting(
  behaviour: float,
  target: float,
  *,
  noise: float,
  clock: bool,
  horizon: int,
  discount: float = 0.99,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: share of `pumping` of the policy that writes the log.
    target: that of the target policy.
    noise: probability that another action is carried out.
    clock: whether the number of the step is observed.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = MountainCar(
    discount=discount, horizon=horizon, num_actions=3, noise=noise, clock=clock
  )
  return case.simulated_setting(
    problem, pumping, behaviour=(behaviour,), target=(target,), ranked=_RANKED
  )
