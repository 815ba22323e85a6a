"""The graph of COBS (Voloshin et al.): two lanes, a choice at each step.

After t >= 1 steps an episode is in state 2t - 1 or 2t; action 0 leads to the
first, action 1 to the second, and if transitions are stochastic to the other
one with probability 1/4. The first pays 1 and the second -1, at each step or,
if rewards are sparse, at the last step alone; noisy rewards have standard
deviation 1. Policies take action 0 with the same probability everywhere.

In the version with partial observation the lane is hidden, and so is the step
within a block of them; the second lane slips more often, so that what is hidden
matters.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.cases import case, finite

_SLIP = 0.25
_HIDDEN_SLIPS = (0.1, 0.4)
_DISCOUNT = 0.98
_RANKED = (0.1, 0.3, 0.5, 0.7, 0.9)


def graph(
  *,
  horizon: int,
  stochastic: bool = True,
  noisy: bool = False,
  sparse: bool = False,
  block: int = 0,
) -> finite.Finite:
  """Returns the graph.

  Args:
    horizon: number of steps.
    stochastic: whether steps slip.
    noisy: whether rewards are noisy.
    sparse: whether only the last step pays.
    block: number of steps that look alike, and with them both lanes; 0 if
      the state is observed.
  """
  size = 2 * horizon + 1
  steps, rewards = np.zeros((2, size, 2, size))
  for state in range(size - 2):
    following = 2 * ((state + 1) // 2) + 1  # of the first lane
    slip = _HIDDEN_SLIPS[(state + 1) % 2] if block else (_SLIP * stochastic)
    for action in range(2):
      steps[state, action, following + action] = 1.0 - slip
      steps[state, action, following + 1 - action] = slip
    if not sparse or following == size - 2:
      rewards[state, :, following] = 1.0
      rewards[state, :, following + 1] = -1.0
  steps[-2:, :, -1] = 1.0
  step = (np.arange(size) + 1) // 2
  return finite.Finite(
    discount=_DISCOUNT,
    horizon=horizon,
    num_actions=2,
    categorical=(0,),
    steps=steps,
    rewards=rewards,
    ends=step == horizon,
    first=np.eye(size)[0],
    reward_noise=float(noisy),
    observations=finite.numbers(size)
    if not block
    else (step // block).astype(float)[:, None],
  )


def constant(problem: finite.Finite, share: float) -> types.FloatArray:
  """Returns the table of taking action 0 with the same probability."""
  return np.tile([share, 1.0 - share], (len(problem.steps), 1))


def setting(
  problem: finite.Finite, behaviour: float, target: float
) -> case.Setting:
  """Returns a case of two constant policies.

  Args:
    problem: of `graph`.
    behaviour: probability of action 0 in the log.
    target: that of the target policy.
  """
  return case.Setting(
    problem=problem,
    behaviour=problem.policy(constant(problem, behaviour)),
    target=case.tabulated(problem, constant(problem, target)),
    others={
      f'{share:g}': case.tabulated(problem, constant(problem, share))
      for share in _RANKED
    },
  )
