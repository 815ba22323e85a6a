"""Random finite problems (Archibald et al., 1995, call them garnets).

Each action of a state leads to a few states at random, and every step may be
the last. Names of states, or points drawn at random, are what is observed; in
some problems two states each look alike. Values are exact.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, finite, mixtures, process

_RANKED = (-1.0, 0.0, 0.5, 1.0, 2.0)


def garnet(
  generator: np.random.Generator,
  *,
  states: int,
  actions: int,
  horizon: int,
  branches: int = 3,
  ending: float = 0.05,
  discount: float = 0.95,
  columns: int = 0,
  alike: bool = False,
  late: bool = False,
  noise: float = 0.0,
  complete: bool = False,
) -> finite.Finite:
  """Returns a problem of some states, and one more that ends episodes.

  Args:
    generator: draws it.
    states: how many go on; even where they look alike.
    actions: A.
    horizon: longest episode.
    branches: states that an action may lead to.
    ending: probability that a step is the last.
    discount: of the value.
    columns: of the points that are observed; 0 for names.
    alike: whether states 0 and 1 look alike, 2 and 3, and so on.
    late: whether only the last step is rewarded.
    noise: standard deviation of the rewards.
    complete: whether episodes terminate at the horizon.
  """
  size, end = states + 1, states
  steps, rewards = np.zeros((2, size, actions, size))
  for state in range(states):
    for action in range(actions):
      following = generator.choice(states, branches, replace=False)
      shares = generator.dirichlet(np.ones(branches))
      steps[state, action, following] = (1.0 - ending) * shares
      steps[state, action, end] = ending
      gain = generator.standard_normal() + 0.5
      rewards[state, action, end] = gain
      if not late:
        rewards[state, action] = gain
  steps[end, :, end] = 1.0
  seen = looks(states, alike=alike)
  return finite.Finite(
    discount=discount,
    horizon=horizon,
    complete=complete,
    num_actions=actions,
    categorical=() if columns else (0,),
    steps=steps,
    rewards=rewards,
    ends=np.arange(size) == end,
    first=np.append(generator.dirichlet(np.ones(states)), 0.0),
    observations=generator.standard_normal((size, columns))[seen]
    if columns
    else seen[:, None].astype(float),
    reward_noise=noise,
  )


def looks(states: int, *, alike: bool) -> np.ndarray:
  """Returns the number of what is seen of each state, [S]."""
  number = np.arange(states + 1)
  return number // 2 if alike else number


def nearest(
  problem: finite.Finite, table: types.FloatArray
) -> Callable[[types.FloatArray], types.FloatArray]:
  """Returns a policy that does what it would in the nearest known point."""

  def policy(observations: types.FloatArray) -> types.FloatArray:
    apart = np.sum(
      np.square(observations[:, None] - problem.observations[None]), axis=2
    )
    return table[np.argmin(apart, axis=1)]

  return policy


def setting(
  behaviour: tuple[float, float],
  target: tuple[float, float],
  *,
  draw: int,
  states: int = 20,
  actions: int = 3,
  columns: int = 0,
  alike: bool = False,
  **options: Any,
) -> case.Setting:
  """Returns a case; policies have random preferences.

  Args:
    behaviour: how far the policy that writes the log leans to another one, and
      how sharply it decides.
    target: the same of the target policy.
    draw: which problem.
    states: how many go on.
    actions: A.
    columns: of the points that are observed; 0 for names.
    alike: whether states look alike in twos.
    **options: of `garnet`.
  """
  generator = np.random.default_rng((3, draw))
  problem = garnet(
    generator,
    states=states,
    actions=actions,
    columns=columns,
    alike=alike,
    **options,
  )
  seen = looks(states, alike=alike)
  scores, lean = generator.standard_normal((2, states + 1, actions))[:, seen]

  def table(shift: float, sharpness: float) -> types.FloatArray:
    return mixtures.softmax(sharpness * (scores + shift * lean))

  def policy(known: types.FloatArray) -> process.Policy:
    return nearest(problem, known) if columns else problem.policy(known)

  def value(shift: float, sharpness: float) -> case.Value:
    known = table(shift, sharpness)
    return case.Value(policy(known), lambda: (problem.value(known), 0.0))

  return case.Setting(
    problem=problem,
    behaviour=policy(table(*behaviour)),
    target=value(*target),
    others={f'{each:g}': value(each, target[1]) for each in _RANKED},
  )
