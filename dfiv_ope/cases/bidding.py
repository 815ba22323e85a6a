"""Bids for places of advertisements, with a budget for a day.

The state is the money that is left, the worth of the place that is offered, and
the number of offers that are left. Six bids, as multiples of the worth; the
highest bid of others is paid. A place that is won pays five times its worth
with a chance of a fifth. A spent budget ends the episode.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_BIDS = np.array([0.0, 0.4, 0.7, 1.0, 1.3, 1.8])
_PAYS, _TIMES = 0.2, 5.0
_RANKED = (0.3, 0.6, 0.9, 1.2, 1.6)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Bidding(process.Process):
  """The day; its state is the money, the worth and the time.

  Attributes:
    budget: of a day.
    tail: standard deviation of the logarithm of a place's worth.
  """

  budget: float
  tail: float

  def _worth(
    self, count: int, generator: np.random.Generator
  ) -> types.FloatArray:
    return np.exp(self.tail * generator.standard_normal(count))

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        self.budget * generator.uniform(0.5, 1.5, count),
        self._worth(count, generator),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    money, worth = state.T
    bid = np.minimum(_BIDS[action] * worth, money)
    price = 0.7 * np.exp(0.5 * generator.standard_normal(len(state)))
    won = bid > price
    paid = generator.random(len(state)) < _PAYS
    left = money - won * price
    return process.Step(
      np.column_stack([left, self._worth(len(state), generator)]),
      _TIMES * worth * won * paid,
      left < 0.05,
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    return np.column_stack([state, np.full(len(state), self.horizon - time)])


def bidding(level: float, temperature: float) -> process.Policy:
  """Returns a policy that bids more where money is left for each offer."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    money, _, offers = observations.T
    pace = np.clip(money / np.maximum(offers, 1.0) / 0.3, 0.3, 2.0)
    return mixtures.softmax(
      -np.square(_BIDS - (level * pace)[:, None]) / temperature
    )

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  budget: float,
  tail: float,
  horizon: int,
  complete: bool = True,
  discount: float = 0.99,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: level and temperature of the policy that writes the log.
    target: those of the target policy.
    budget: of a day.
    tail: of the places' worth.
    horizon: offers of a day.
    complete: whether the day, and the value, end there.
    discount: of the value.
  """
  problem = Bidding(
    discount=discount,
    horizon=horizon,
    complete=complete,
    num_actions=len(_BIDS),
    budget=budget,
    tail=tail,
  )
  return case.simulated_setting(
    problem, bidding, behaviour=behaviour, target=target, ranked=_RANKED
  )
