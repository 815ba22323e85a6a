"""Finite tasks of Gymnasium: FrozenLake, Taxi and CliffWalking, from tables."""

from typing import Any

import numpy as np

from dfiv_ope.cases import finite

PACKAGE = 'gymnasium'
INSTALL = "pip install 'dfiv-ope[gym]'"
_DISCOUNT = 0.95


def gym_table(
  name: str, *, horizon: int = 200, **options: Any
) -> finite.Finite:
  """Returns a task; all of its ends are one further state.

  Args:
    name: of the environment, such as FrozenLake-v1.
    horizon: where episodes are cut off.
    **options: of `gymnasium.make`.

  Raises:
    ModuleNotFoundError: Gymnasium is not installed.
  """
  try:
    import gymnasium
  except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
      f'{name} is a task of Gymnasium, which is not installed. Install it '
      f'with `{INSTALL}`.'
    ) from error
  environment: Any = gymnasium.make(name, **options).unwrapped
  size, actions = len(environment.P), len(environment.P[0])
  steps, rewards = np.zeros((2, size + 1, actions, size + 1))
  for state, by_action in environment.P.items():
    for action, outcomes in by_action.items():
      for probability, following, reward, ended in outcomes:
        place = size if ended else following
        steps[state, action, place] += probability
        rewards[state, action, place] += probability * reward
  rewards /= np.where(steps > 0.0, steps, 1.0)
  steps[size, :, size] = 1.0
  return finite.Finite(
    discount=_DISCOUNT,
    horizon=horizon,
    num_actions=actions,
    categorical=(0,),
    steps=steps,
    rewards=rewards,
    ends=np.arange(size + 1) == size,
    first=np.append(environment.initial_state_distrib, 0.0),
    observations=finite.numbers(size + 1),
  )
