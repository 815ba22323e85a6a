"""Patients who get a standard or a high dose, at one visit or at several.

The state is the age, the sex (a name), a marker that is to be low, and the
toxicity so far. The high dose lowers the marker more, less so in the old, and
harms more. A grave event ends the episode at a cost of 4.
"""

import dataclasses

import numpy as np
from scipy import special

from dfiv_ope import types
from dfiv_ope.cases import case, process

_LOWERS = np.array([0.3, 0.9])
_HARM = np.array([0.05, 0.35])
_GRAVE = 4.0
_RANKED = (-2.0, -0.5, 0.5, 1.5, 3.0)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dosing(process.Process):
  """The patients.

  Attributes:
    noise: standard deviation of the marker's changes.
  """

  noise: float

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return np.column_stack(
      [
        generator.integers(20, 90, count),
        generator.integers(0, 2, count),
        generator.gamma(4.0, 0.5, count),
        np.zeros(count),
      ]
    )

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    age, sex, marker, harm = state.T
    old = (age - 55.0) / 35.0
    lowered = _LOWERS[action] * (1.0 - 0.4 * old) * (1.0 + 0.3 * sex)
    after = np.maximum(
      marker
      - lowered
      + 0.2
      + self.noise * generator.standard_normal(len(state)),
      0.0,
    )
    harmed = harm + _HARM[action] * generator.gamma(2.0, 0.5, len(state)) * (
      1.0 + 0.5 * old
    )
    grave = generator.random(len(state)) < special.expit(
      2.0 * harmed + 0.5 * after - 5.0
    )
    return process.Step(
      np.column_stack([age, sex, after, harmed]), -after - _GRAVE * grave, grave
    )


def deciding(boldness: float, slope: float) -> process.Policy:
  """Returns a policy that gives the high dose to those with a high marker.

  Args:
    boldness: the larger, the more get it.
    slope: how sharply it decides; 0 tosses a coin.
  """

  def policy(observations: types.FloatArray) -> types.FloatArray:
    age, _, marker, harm = observations.T
    score = marker - 2.0 + boldness - 0.02 * (age - 55.0) - harm
    high = special.expit(slope * score)
    return np.column_stack([1.0 - high, high])

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  noise: float,
  horizon: int,
  complete: bool = False,
  dropout: float = 0.0,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case.

  Args:
    behaviour: boldness and slope of the policy that writes the log.
    target: those of the target policy.
    noise: of the marker.
    horizon: visits of a patient.
    complete: whether the treatment, and the value, end there.
    dropout: probability that a patient does not come again.
    discount: of the value.
  """
  problem = Dosing(
    discount=discount,
    horizon=horizon,
    complete=complete,
    dropout=dropout,
    num_actions=2,
    categorical=(1,),
    noise=noise,
  )
  return case.simulated_setting(
    problem, deciding, behaviour=behaviour, target=target, ranked=_RANKED
  )
