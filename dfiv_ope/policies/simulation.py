"""What a policy is worth, by simulation."""

from collections.abc import Callable
import math

import numpy as np

from dfiv_ope import limits, types
from dfiv_ope.policies import acting, episode_returns, rollout

# Of the value: what a simulation without time limit leaves out at its end,
_TAIL = 1e-3
# and what an environment that truncates episodes itself may leave out.
_LARGEST_TAIL = 1e-2
# Steps of a body cost more, and its returns are less noisy.
_FEWEST, _FEWEST_CONTINUOUS = 1_000, 100
_LOOK = 500  # episodes between two looks at the standard error


def true_value(
  make_environment: rollout.MakeEnvironment,
  policy: types.Policy | types.ContinuousPolicy,
  *,
  discount: float,
  seed: int,
  max_episodes: int,
  progress: Callable[[int], None] | None = None,
) -> episode_returns.MonteCarlo:
  """Simulates the value of a policy over an unlimited time.

  A truncated episode of a log says nothing of what would have followed, and
  estimators count it in. So the truth does, too: where the time limit can be
  left out (`rollout.endless`), episodes go on until the discount has left a
  thousandth of the value. With a discount of 1 it never does: limits stay.

  Args:
    make_environment: builds the environment of an episode from its seed.
    policy: the policy to follow.
    discount: the evaluation's discount.
    seed: same seed, same answer.
    max_episodes: stop here in any case.
    progress: told the number of episodes so far.

  Raises:
    ValueError: the environment truncates episodes when more than a hundredth
      of the value is still to come.
  """
  endless = rollout.endless(make_environment) if discount < 1.0 else None
  continuous = rollout.sizes(make_environment).continuous
  return monte_carlo(
    endless or make_environment,
    policy,
    discount=discount,
    seed=seed,
    min_episodes=_FEWEST_CONTINUOUS if continuous else _FEWEST,
    max_episodes=max_episodes,
    progress=progress,
    complete=discount < 1.0,
    horizon=horizon(discount) if endless else None,
  )


def horizon(discount: float) -> int:
  """Returns after how many steps a thousandth of the value is to come."""
  return (
    1 if discount <= _TAIL else math.ceil(math.log(_TAIL) / math.log(discount))
  )


def monte_carlo(
  make_environment: rollout.MakeEnvironment,
  policy: types.Policy | types.ContinuousPolicy,
  *,
  discount: float,
  seed: int,
  min_episodes: int = _FEWEST,
  max_episodes: int = 40_000,
  relative_error: float = 0.005,
  horizon: int | None = None,
  complete: bool = False,
  copies: int = rollout.DEFAULT_COPIES,
  progress: Callable[[int], None] | None = None,
) -> episode_returns.MonteCarlo:
  """Simulates until the value is known well enough.

  Args:
    make_environment: builds the environment of an episode from its seed.
    policy: the policy to follow.
    discount: the evaluation's discount.
    seed: same seed, same answer.
    min_episodes: simulate at least as many.
    max_episodes: stop here in any case.
    relative_error: stop when the standard error is this part of the mean.
    horizon: cut episodes after as many steps; None for never.
    complete: refuse an environment that truncates episodes early.
    copies: how many episodes run side by side.
    progress: told the number of episodes so far.

  Returns:
    The mean return with its standard error.

  Raises:
    ValueError: the discount is 1, and an episode was truncated; or `complete`,
      and a truncated episode leaves out more than a hundredth of the value.
  """
  actor = acting.actor(
    policy, copies=copies, actions=rollout.sizes(make_environment).continuous
  )
  look = min(_LOOK, min_episodes)
  returns: list[float] = []
  lengths: list[int] = []
  for episode in rollout.episodes(
    make_environment,
    actor,
    seed=seed,
    num_episodes=max_episodes,
    horizon=horizon,
    copies=copies,
  ):
    if complete:
      _refuse_early_truncation(episode, discount, horizon)
    else:
      limits.finite_value(
        discount,
        truncated=int(episode.truncated),
        largest=float(np.max(episode.discounts)),
      )
    returns.append(episode.discounted_return(discount))
    lengths.append(len(episode.actions))
    if progress:
      progress(len(returns))
    # Looking only now and then keeps the stopping rule from biting on noise.
    if len(returns) >= min_episodes and len(returns) % look == 0:
      estimate = episode_returns.summarise(returns, lengths)
      if estimate.standard_error <= relative_error * abs(estimate.mean):
        return estimate
  return episode_returns.summarise(returns, lengths)


def _refuse_early_truncation(
  episode: rollout.Episode, discount: float, horizon: int | None
) -> None:
  steps = len(episode.actions)
  tail = discount**steps
  if episode.discounts[-1] and steps != horizon and tail > _LARGEST_TAIL:
    raise ValueError(
      f'The environment truncates an episode after {steps} steps, when '
      f'{100 * tail:.0f} % of its discounted future is still to come, so the '
      'true value cannot be simulated. Let it terminate (discount 0), go on '
      f'for {math.ceil(math.log(_LARGEST_TAIL) / math.log(discount)):,} '
      'steps, or ask for a smaller discount.'
    )
