"""The toy mountain car of COBS: 21 places on a line, the last one is the goal.

An episode starts in the middle; the two actions move it left and right, a step
costs 1, and the episode is over at the goal or after the horizon. A stochastic
step goes the other way with probability 0.1.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, finite

_PLACES = 21
_SLIP = 0.1
_RANKED = (0.55, 0.65, 0.75, 0.85, 0.95)


def toy_mountain_car(
  *,
  horizon: int,
  stochastic: bool = False,
  complete: bool = True,
  coordinates: bool = False,
) -> finite.Finite:
  """Returns the toy mountain car.

  Args:
    horizon: number of steps.
    stochastic: whether steps slip.
    complete: whether the value is that of so many steps; otherwise episodes
      are cut off there.
    coordinates: whether the place is a number; otherwise it is a name.
  """
  steps = np.zeros((_PLACES, 2, _PLACES))
  for place in range(_PLACES):
    sides = max(place - 1, 0), min(place + 1, _PLACES - 1)
    for action in range(2):
      steps[place, action, sides[action]] += 1.0 - _SLIP * stochastic
      steps[place, action, sides[1 - action]] += _SLIP * stochastic
  return finite.Finite(
    discount=0.99,
    horizon=horizon,
    complete=complete,
    num_actions=2,
    categorical=() if coordinates else (0,),
    steps=steps,
    rewards=np.full_like(steps, -1.0),
    ends=np.arange(_PLACES) == _PLACES - 1,
    first=np.eye(_PLACES)[_PLACES // 2],
    observations=finite.numbers(_PLACES),
  )


def rightwards(share: float) -> types.FloatArray:
  """Returns the table of going right with the same probability, [S, A]."""
  return np.tile([1.0 - share, share], (_PLACES, 1))


def setting(
  problem: finite.Finite, behaviour: float, target: float
) -> case.Setting:
  """Returns a case of two constant policies.

  Args:
    problem: of `toy_mountain_car`.
    behaviour: probability of going right in the log.
    target: that of the target policy.
  """
  return case.Setting(
    problem=problem,
    behaviour=problem.policy(rightwards(behaviour)),
    target=case.tabulated(problem, rightwards(target)),
    others={
      f'{share:g}': case.tabulated(problem, rightwards(share))
      for share in _RANKED
    },
  )
