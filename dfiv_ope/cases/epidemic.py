"""An epidemic in a town of 200, and four degrees of restrictions.

The state is the number of people who may fall ill and of those who are ill. A
stricter degree makes contacts rarer and costs more; each new patient costs
0.15. The episode ends when nobody is ill.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_PEOPLE = 200
_CONTACTS = np.array([1.0, 0.7, 0.45, 0.2])
_COSTS = np.array([0.0, 0.2, 0.6, 1.5])
_RECOVERY, _PATIENT = 0.25, 0.15
_RANKED = (0.0, 5.0, 15.0, 30.0, 60.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Epidemic(process.Process):
  """The town.

  Attributes:
    rate: people whom a patient infects in a step where nobody is immune.
  """

  rate: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    ill = generator.integers(3, 16, count)
    return np.column_stack([_PEOPLE - ill, ill]).astype(float)

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    healthy, ill = state.T
    chance = 1.0 - np.exp(-self.rate * _CONTACTS[action] * ill / _PEOPLE)
    infected = generator.binomial(healthy.astype(int), chance)
    recovered = generator.binomial(ill.astype(int), _RECOVERY)
    following = np.column_stack(
      [healthy - infected, ill + infected - recovered]
    )
    return process.Step(
      following, -_COSTS[action] - _PATIENT * infected, following[:, 1] == 0.0
    )


def restricting(strictness: float, temperature: float) -> process.Policy:
  """Returns a policy whose degree is near strictness times the share of ill."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    wanted = np.minimum(strictness * observations[:, 1:] / _PEOPLE, 3.0)
    return mixtures.softmax(-np.square(np.arange(4.0) - wanted) / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  rate: float,
  horizon: int,
  discount: float = 0.97,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: strictness and temperature of the policy that writes the log.
    target: those of the target policy.
    rate: of infections.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Epidemic(
    discount=discount, horizon=horizon, num_actions=len(_CONTACTS), rate=rate
  )
  return case.simulated_setting(
    problem, restricting, behaviour=behaviour, target=target, ranked=_RANKED
  )
