"""One offer a visitor: contexts, arms and a reward, with no next state.

A visitor is a few numbers and the name of a group. What an arm pays depends on
both; either with normal noise, or as a sale that is seldom made and whose
amount has a long tail.
"""

import dataclasses

import numpy as np
from scipy import special

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_GROUPS = 4
_RANKED = (-1.0, 0.0, 0.5, 1.0, 2.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Offers(process.Process):
  """The visitors.

  Attributes:
    slopes: of each arm by the numbers of a visitor, [D, A].
    groups: what an arm is worth more to each group, [G, A].
    noise: standard deviation of what is paid; of its log for sales.
    sales: whether an arm sells, or pays by how much it is liked.
  """

  slopes: types.FloatArray
  groups: types.FloatArray
  noise: float
  sales: bool = False

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.standard_normal((count, len(self.slopes))),
        generator.integers(0, _GROUPS, count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    rows = np.arange(len(state))
    liked = (
      np.sin(state[:, :-1] @ self.slopes)
      + self.groups[state[:, -1].astype(int)]
    )[rows, action]
    noise = self.noise * generator.standard_normal(len(state))
    sold = generator.random(len(state)) < special.expit(2.0 * liked - 2.0)
    return process.Step(
      state,
      sold * np.exp(noise) if self.sales else liked + noise,
      np.ones(len(state), bool),
    )


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  draw: int,
  horizon: int = 1,
  complete: bool = True,
  size: int = 4,
  arms: int = 4,
  noise: float = 0.5,
  sales: bool = False,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: how far the policy that writes the log leans to another one, and
      its temperature.
    target: the same of the target policy.
    draw: which problem.
    horizon: one.
    complete: whether that is all.
    size: numbers of a visitor.
    arms: A.
    noise: of what is paid.
    sales: whether an arm sells, or pays by how much it is liked.
  """
  generator = np.random.default_rng((5, draw))
  problem = Offers(
    discount=1.0,
    horizon=horizon,
    complete=complete,
    num_actions=arms,
    categorical=(size,),
    slopes=generator.standard_normal((size, arms)) / np.sqrt(size),
    groups=0.5 * generator.standard_normal((_GROUPS, arms)),
    noise=noise,
    sales=sales,
  )
  scores, lean = generator.standard_normal((2, size + _GROUPS, arms))

  def policy(shift: float, temperature: float) -> process.Policy:
    def probabilities(observations: types.FloatArray) -> types.FloatArray:
      known = np.column_stack(
        [observations[:, :-1], np.eye(_GROUPS)[observations[:, -1].astype(int)]]
      )
      return mixtures.softmax(known @ (scores + shift * lean) / temperature)

    return probabilities

  return case.simulated_setting(
    problem, policy, behaviour=behaviour, target=target, ranked=_RANKED
  )
