"""A machine that wears: run it, repair it or replace it.

A state is the maker of the machine, one of three, and its wear, 0 to 7, so that
values are exact. A machine that runs earns less the more it is worn, and may
break, which costs 20 and brings another one.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, finite, mixtures

_MAKERS, _WEARS = 3, 8
_WEARING = np.array([0.2, 0.4, 0.7])
_RUN, _REPAIR, _REPLACE = range(3)
_BROKEN, _REPAIRED, _REPLACED = -20.0, -2.0, -8.0


def machine(
  *, horizon: int, discount: float, names: bool, noise: float = 0.0
) -> finite.Finite:
  """Returns the problem.

  Args:
    horizon: where episodes are cut off.
    discount: of the value.
    names: whether the wear is a name, too, rather than a number.
    noise: standard deviation of the rewards.
  """
  size = _MAKERS * _WEARS
  steps = np.zeros((size, 3, size))
  rewards = np.zeros((size, 3, size))
  new = np.arange(_MAKERS) * _WEARS
  for maker in range(_MAKERS):
    for wear in range(_WEARS):
      here = maker * _WEARS + wear
      breaks = 0.25 * (wear / (_WEARS - 1.0)) ** 2
      worn = min(here + 1, maker * _WEARS + _WEARS - 1)
      earned = 5.0 - 0.4 * wear
      # A new machine may be the one that was there: then it never earned.
      steps[here, _RUN, new] += breaks / _MAKERS
      rewards[here, _RUN, new] = _BROKEN
      for following, chance in (
        (worn, _WEARING[maker]),
        (here, 1.0 - _WEARING[maker]),
      ):
        already = steps[here, _RUN, following]
        added = (1.0 - breaks) * chance
        if already + added:
          rewards[here, _RUN, following] = (
            already * rewards[here, _RUN, following] + added * earned
          ) / (already + added)
        steps[here, _RUN, following] += added
      for better, chance in ((2, 0.5), (4, 0.5)):
        steps[here, _REPAIR, here - min(better, wear)] += chance
      rewards[here, _REPAIR] = _REPAIRED
      steps[here, _REPLACE, new] = 1.0 / _MAKERS
      rewards[here, _REPLACE] = _REPLACED
  first = np.zeros(size)
  first[new] = 1.0 / _MAKERS
  return finite.Finite(
    discount=discount,
    horizon=horizon,
    num_actions=3,
    categorical=(0, 1) if names else (0,),
    steps=steps,
    rewards=rewards,
    ends=np.zeros(size, bool),
    first=first,
    observations=observations(),
    reward_noise=noise,
  )


def observations() -> types.FloatArray:
  """Returns maker and wear of each state, [S, 2]."""
  maker, wear = np.divmod(np.arange(_MAKERS * _WEARS), _WEARS)
  return np.column_stack([maker, wear]).astype(float)


def setting(
  behaviour: float,
  target: float,
  *,
  horizon: int,
  names: bool,
  noise: float = 0.0,
  discount: float = 0.95,
) -> case.Setting:
  """Returns a case; policies are best with some probability, else any action.

  Args:
    behaviour: share of the best action in the log.
    target: that of the target policy.
    horizon: where episodes are cut off.
    names: whether the wear is a name, too.
    noise: of the rewards.
    discount: of the value.
  """
  return mixtures.setting(
    machine(horizon=horizon, discount=discount, names=names, noise=noise),
    behaviour,
    target,
  )
