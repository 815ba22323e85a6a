"""A battery that buys and sells power at prices with spikes.

The state is the charge, the price of this hour, and the hour (sine and cosine).
Three actions charge, hold and discharge by 0.2, or a number from -1 to 1 says
how much of that. A tenth of what is charged is lost.
"""

import dataclasses

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_POWER, _KEPT = 0.2, 0.9
_CHOICES = np.array([-1.0, 0.0, 1.0])  # sold
_RANKED = (0.0, 0.5, 1.0, 2.0, 4.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Battery(process.Process):
  """The battery; its state is the charge, the price and the hour.

  Attributes:
    freedom: of Student's t, the law of a price's changes.
  """

  freedom: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.random(count),
        generator.uniform(0.5, 1.5, count),
        generator.integers(0, 24, count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    charge, price, hour = state.T
    wanted = action[:, 0] if self.continuous else _CHOICES[action]
    sold = np.clip(_POWER * wanted, -(1.0 - charge) / _KEPT, charge)
    after = charge - np.where(sold > 0.0, sold, _KEPT * sold)
    mean = 1.0 + 0.4 * np.sin(2.0 * np.pi * hour / 24.0)
    shock = generator.standard_t(self.freedom, len(state))
    following = mean + 0.6 * (price - mean) + 0.15 * shock
    return process.Step(
      np.column_stack([np.clip(after, 0.0, 1.0), following, (hour + 1) % 24]),
      10.0 * price * sold,
      np.zeros(len(state), bool),
    )

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    del time
    angle = 2.0 * np.pi * state[:, 2] / 24.0
    return np.column_stack([state[:, :2], np.sin(angle), np.cos(angle)])


def _wanted(observations: types.FloatArray, gain: float) -> types.FloatArray:
  """Returns what to sell, more at a high price or charge, [B, 1]."""
  charge, price = observations[:, 0], observations[:, 1]
  return np.clip(gain * (price - 1.0) + charge - 0.5, -1.0, 1.0)[:, None]


def trading(gain: float, temperature: float) -> process.Policy:
  """Returns a policy between charging, holding and discharging."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    wanted = _wanted(observations, gain)
    return mixtures.softmax(-np.square(_CHOICES - wanted) / temperature)

  return policy


def dispatching(gain: float, deviation: float) -> process.Policy:
  """Returns the policy of a number, with normal noise."""

  def policy(
    observations: types.FloatArray,
  ) -> tuple[types.FloatArray, types.FloatArray]:
    mean = 0.7 * _wanted(observations, gain)
    return mean, np.full_like(mean, deviation)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  freedom: float,
  horizon: int,
  vectors: bool = False,
  discount: float = 0.97,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: gain and temperature of the policy that writes the log; the
      standard deviation where actions are vectors.
    target: those of the target policy.
    freedom: of the price's law.
    horizon: where episodes are cut off.
    vectors: whether an action is a number.
    discount: of the value.
  """
  problem = Battery(
    discount=discount,
    horizon=horizon,
    num_actions=0 if vectors else len(_CHOICES),
    continuous=actions_lib.Continuous(low=(-1.0,), high=(1.0,))
    if vectors
    else None,
    freedom=freedom,
  )
  policy = dispatching if vectors else trading
  return case.simulated_setting(
    problem, policy, behaviour=behaviour, target=target, ranked=_RANKED
  )
