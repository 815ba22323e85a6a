"""What a policy is worth, by simulation."""

from collections.abc import Callable

import numpy as np

from dfiv_ope import limits, types
from dfiv_ope.policies import episode_returns, finite, rollout


def monte_carlo(
    make_environment: rollout.MakeEnvironment,
    policy: types.Policy,
    *,
    discount: float,
    seed: int,
    min_episodes: int = 1_000,
    max_episodes: int = 40_000,
    relative_error: float = 0.005,
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
    copies: how many episodes run side by side.
    progress: told the number of episodes so far.

  Returns:
    The mean return with its standard error.

  Raises:
    ValueError: the discount is 1, and an episode was truncated.
  """
  actor = finite.SamplingActor(policy, copies=copies)
  returns: list[float] = []
  lengths: list[int] = []
  for episode in rollout.episodes(
      make_environment, actor, seed=seed, num_episodes=max_episodes,
      copies=copies):
    limits.finite_value(
        discount, truncated=int(episode.truncated),
        largest=float(np.max(episode.discounts)))
    returns.append(episode.discounted_return(discount))
    lengths.append(len(episode.actions))
    if progress:
      progress(len(returns))
    # Looking only now and then keeps the stopping rule from biting on noise.
    if len(returns) >= min_episodes and len(returns) % 500 == 0:
      estimate = episode_returns.summarise(returns, lengths)
      if estimate.standard_error <= relative_error * abs(estimate.mean):
        return estimate
  return episode_returns.summarise(returns, lengths)
