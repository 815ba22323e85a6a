"""A fishery: six shares of a stock that may be caught in a season.

The stock grows logistically, times log-normal luck with wide tails; the price
returns to its mean. A catch earns its price and costs by its effort. A stock
below 0.05 is closed, which ends the episode.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_SHARES = np.array([0.0, 0.1, 0.2, 0.3, 0.45, 0.6])
_GROWTH, _CLOSED = 0.8, 0.05
_RANKED = (0.05, 0.15, 0.25, 0.4, 0.6)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Fishery(process.Process):
  """The fishery; its state is the stock and the price.

  Attributes:
    luck: standard deviation of the logarithm of the growth's luck.
  """

  luck: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.uniform(0.3, 1.2, count),
        np.exp(0.3 * generator.standard_normal(count)),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    stock, price = state.T
    caught = _SHARES[action] * stock
    left = stock - caught
    luck = np.exp(
      self.luck * generator.standard_normal(len(state)) - self.luck**2 / 2.0
    )
    after = np.minimum((left + _GROWTH * left * (1.0 - left)) * luck, 4.0)
    after = np.maximum(after, 0.01)
    change = 0.2 * generator.standard_normal(len(state))
    return process.Step(
      np.column_stack([after, np.exp(0.7 * np.log(price) + change)]),
      10.0 * price * caught - 2.0 * np.square(_SHARES[action]),
      after < _CLOSED,
    )


def catching(share: float, temperature: float) -> process.Policy:
  """Returns a policy that catches about a share, more where stocks are high."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    wanted = share * (0.5 + observations[:, :1])
    return mixtures.softmax(-np.square(_SHARES - wanted) / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  luck: float,
  horizon: int,
  complete: bool = False,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: share and temperature of the policy that writes the log.
    target: those of the target policy.
    luck: of the stock's growth.
    horizon: seasons of an episode.
    complete: whether the licence, and the value, end there.
    discount: of the value.
  """
  problem = Fishery(
    discount=discount,
    horizon=horizon,
    complete=complete,
    num_actions=len(_SHARES),
    luck=luck,
  )
  return case.simulated_setting(
    problem, catching, behaviour=behaviour, target=target, ranked=_RANKED
  )
