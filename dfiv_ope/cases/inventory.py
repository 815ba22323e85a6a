"""A shop that orders goods for an uncertain demand.

The state is the stock and the season (sine and cosine); five actions order 0 to
8 units, which cost 1 each and 2 an order. Sold units earn 3, kept ones cost
0.2 and perish in part, and unmet demand costs 1.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_ORDERS = np.array([0.0, 2.0, 4.0, 6.0, 8.0])
_ROOM, _KEPT = 20.0, 0.9
_RANKED = (2.0, 4.0, 6.0, 8.0, 12.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Inventory(process.Process):
  """The shop; its state is the stock and the season's angle.

  Attributes:
    shape: of the gamma law of demand: its relative variance is 1 / shape.
    season: length of a year in steps.
  """

  shape: float
  season: float = 20.0

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.uniform(0.0, 8.0, count),
        generator.uniform(0.0, 2.0 * np.pi, count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    stock, angle = state.T
    ordered = _ORDERS[action]
    mean = 3.0 + 1.5 * np.sin(angle)
    demand = generator.gamma(self.shape, mean / self.shape)
    there = np.minimum(stock + ordered, _ROOM)
    sold = np.minimum(there, demand)
    left = there - sold
    reward = (
      3.0 * sold
      - ordered
      - 2.0 * (ordered > 0.0)
      - 0.2 * left
      - (demand - sold)
    )
    return process.Step(
      np.column_stack(
        [_KEPT * left, np.mod(angle + 2.0 * np.pi / self.season, 2.0 * np.pi)]
      ),
      reward,
      np.zeros(len(state), bool),
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    return np.column_stack(
      [state[:, 0], np.sin(state[:, 1]), np.cos(state[:, 1])]
    )


def refill(level: float, temperature: float) -> process.Policy:
  """Returns a policy that orders about up to a level."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    missing = np.maximum(level - observations[:, :1], 0.0)
    return mixtures.softmax(-np.square(_ORDERS - missing) / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  shape: float,
  horizon: int,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: level and temperature of the policy that writes the log.
    target: those of the target policy.
    shape: of the law of demand.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Inventory(
    discount=discount, horizon=horizon, num_actions=len(_ORDERS), shape=shape
  )
  return case.simulated_setting(
    problem, refill, behaviour=behaviour, target=target, ranked=_RANKED
  )
