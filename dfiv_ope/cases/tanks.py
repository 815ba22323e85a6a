"""Two tanks in a row: a pump fills the first, a valve lets it into the second.

The state is both levels; the second is to be 1. Pump and valve are numbers from
0 to 1, or each of them is low or high, four actions. Pumping costs, and so does
a first tank that is above 2.
"""

import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_CHOICES = np.array([[0.1, 0.2], [0.1, 0.9], [0.9, 0.2], [0.9, 0.9]])
_WANTED, _HIGH, _FULL = 1.0, 2.0, 3.0
_RANKED = (0.0, 0.3, 0.6, 1.0, 2.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Tanks(process.Process):
  """The tanks.

  Attributes:
    noise: standard deviation of the levels' changes.
  """

  noise: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return generator.uniform([0.2, 0.0], [1.8, 1.5], (count, 2))

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    pump, valve = (action if self.continuous else _CHOICES[action]).T
    first, second = state.T
    flow = 0.3 * valve * np.sqrt(first)
    change = np.column_stack([0.3 * pump - flow, flow - 0.15 * np.sqrt(second)])
    noise = self.noise * generator.standard_normal(state.shape)
    cost = (
      np.square(second - _WANTED) + 0.1 * pump + np.maximum(first - _HIGH, 0.0)
    )
    return process.Step(
      np.clip(state + change + noise, 0.0, _FULL),
      -cost,
      np.zeros(len(state), bool),
    )


def _controls(observations: types.FloatArray, gain: float) -> types.FloatArray:
  """Returns pump and valve, more where the second tank is low, [B, 2]."""
  first, second = observations.T
  lack = _WANTED - second
  return np.clip(
    np.column_stack([0.5 + gain * (lack + 1.0 - first), 0.5 + gain * lack]),
    0.0,
    1.0,
  )


def switching(gain: float, temperature: float) -> process.Policy:
  """Returns a policy between the four actions."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    apart = _CHOICES[None] - _controls(observations, gain)[:, None]
    return mixtures.softmax(-np.sum(np.square(apart), axis=2) / temperature)

  return policy


def regulating(gain: float, deviation: float) -> process.Policy:
  """Returns the policy of two numbers, with normal noise."""

  def policy(
    observations: types.FloatArray,
  ) -> tuple[types.FloatArray, types.FloatArray]:
    mean = _controls(observations, gain)
    return mean, np.full_like(mean, deviation)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  noise: float,
  horizon: int,
  vectors: bool = False,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: gain and temperature of the policy that writes the log; the
      standard deviation where actions are vectors.
    target: those of the target policy.
    noise: of the levels.
    horizon: where episodes are cut off.
    vectors: whether actions are two numbers.
    discount: of the value.
  """
  problem = Tanks(
    discount=discount,
    horizon=horizon,
    num_actions=0 if vectors else len(_CHOICES),
    continuous=actions_lib.Continuous(low=(0.0, 0.0), high=(1.0, 1.0))
    if vectors
    else None,
    noise=noise,
  )
  policy = regulating if vectors else switching
  return case.simulated_setting(
    problem, policy, behaviour=behaviour, target=target, ranked=_RANKED
  )
