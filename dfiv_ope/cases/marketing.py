"""Offers to customers who buy seldom, much or little, and leave.

The state is the months since a purchase, the number of purchases, and the
segment, a name. Four offers: none, a letter, a coupon, a call. A purchase is
log-normal, so that few customers bring much of the sum; a customer who leaves
ends the episode, and records of others stop at any time.
"""

import dataclasses

import numpy as np
from scipy import special

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_COSTS = np.array([0.0, 0.1, 0.6, 1.5])
_BASE = np.array([-1.5, -0.8, -2.0, -0.3])
_LIFTS = np.array(
  [
    [0.0, 0.2, 0.8, 1.0],
    [0.0, 0.4, 0.5, -0.4],
    [0.0, 0.1, 1.2, 1.8],
    [0.0, 0.0, 0.2, 0.3],
  ]
)
_SIZES = np.array([4.0, 6.0, 10.0, 3.0])
_ANNOYED = np.array([0.0, 0.005, 0.0, 0.03])
_SEGMENTS = np.array([0.4, 0.3, 0.1, 0.2])
_RANKED = (-2.0, 0.0, 1.0, 2.0, 4.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Marketing(process.Process):
  """The customers.

  Attributes:
    tail: standard deviation of the logarithm of a purchase.
  """

  tail: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.integers(0, 7, count),
        generator.poisson(2.0, count),
        process.choose(np.tile(_SEGMENTS, (count, 1)), generator),
      ]
    ).astype(float)

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    recency, bought, segment = state.T
    kind = segment.astype(int)
    chance = special.expit(
      _BASE[kind]
      + _LIFTS[kind, action]
      - 0.15 * recency
      + 0.1 * np.minimum(bought, 10.0)
    )
    buys = generator.random(len(state)) < chance
    size = _SIZES[kind] * np.exp(
      self.tail * generator.standard_normal(len(state)) - self.tail**2 / 2.0
    )
    following = np.column_stack(
      [np.where(buys, 0.0, recency + 1.0), bought + buys, segment]
    )
    leaves = (
      generator.random(len(state))
      < 0.01 + 0.008 * following[:, 0] + _ANNOYED[action]
    )
    return process.Step(following, buys * size - _COSTS[action], leaves)


def offering(warmth: float, temperature: float) -> process.Policy:
  """Returns a policy that makes dearer offers the longer nobody bought."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    recency, bought, segment = observations.T
    lift = _LIFTS[segment.astype(int)]
    need = (1.0 + 0.2 * np.minimum(recency, 8.0))[:, None]
    scores = warmth * lift * need - _COSTS
    scores[:, 0] += 0.05 * np.minimum(bought, 8.0)
    return mixtures.softmax(scores / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  tail: float,
  horizon: int,
  dropout: float = 0.0,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: warmth and temperature of the policy that writes the log.
    target: those of the target policy.
    tail: of the purchases.
    horizon: where episodes are cut off.
    dropout: probability that an episode is cut off after a step.
    discount: of the value.
  """
  problem = Marketing(
    discount=discount,
    horizon=horizon,
    dropout=dropout,
    num_actions=len(_COSTS),
    categorical=(2,),
    tail=tail,
  )
  return case.simulated_setting(
    problem, offering, behaviour=behaviour, target=target, ranked=_RANKED
  )
