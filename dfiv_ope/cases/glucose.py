"""Doses of insulin for a patient who eats.

The state is the glucose, the insulin that still acts, and the meal of this
step, a name: none, a small or a large one. Five doses. Deviations from a normal
glucose cost their square; a glucose below 0.5 ends the episode at a cost of 30.
"""

import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, mixtures, process

_DOSES = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
_NORMAL, _LOW, _COLLAPSE = 1.2, 0.5, 30.0
_RISE = np.array([0.0, 0.3, 0.8])
# Of the next meal after each one.
_MEALS = np.array([[0.6, 0.25, 0.15], [0.85, 0.1, 0.05], [0.95, 0.05, 0.0]])
_RANKED = (0.0, 0.5, 1.0, 1.5, 2.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Glucose(process.Process):
  """The patient.

  Attributes:
    noise: standard deviation of the glucose's changes.
  """

  noise: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.uniform(1.0, 2.2, count),
        generator.uniform(0.0, 0.5, count),
        generator.integers(0, 3, count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    glucose, insulin, meal = state.T
    meal = meal.astype(int)
    acting = 0.6 * insulin + _DOSES[action]
    size = generator.gamma(4.0, 0.25, len(state))
    change = (
      0.15 * (1.6 - glucose)
      + _RISE[meal] * size
      - 0.2 * acting * glucose
      + self.noise * generator.standard_normal(len(state))
    )
    after = np.clip(glucose + change, 0.3, 5.0)
    ended = after < _LOW
    reward = -np.square(after - _NORMAL) - _COLLAPSE * ended
    following = process.choose(_MEALS[meal], generator)
    return process.Step(
      np.column_stack([after, acting, following]), reward, ended
    )


def dosing(strength: float, temperature: float) -> process.Policy:
  """Returns a policy that doses by the glucose and the meal to come."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    glucose, insulin, meal = observations.T
    wanted = strength * (glucose - _NORMAL + _RISE[meal.astype(int)])
    wanted = np.maximum(wanted - 0.3 * insulin, 0.0)[:, None]
    return mixtures.softmax(-np.square(_DOSES - wanted) / temperature)

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  noise: float,
  horizon: int,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: strength and temperature of the policy that writes the log.
    target: those of the target policy.
    noise: of the glucose.
    horizon: where episodes are cut off.
    discount: of the value.
  """
  problem = Glucose(
    discount=discount,
    horizon=horizon,
    num_actions=len(_DOSES),
    categorical=(2,),
    noise=noise,
  )
  return case.simulated_setting(
    problem, dosing, behaviour=behaviour, target=target, ranked=_RANKED
  )
