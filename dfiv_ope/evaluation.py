"""What a policy is worth: by simulation here, from a log elsewhere."""

from collections.abc import Callable
import dataclasses

import numpy as np

from dfiv_ope import policies, rollout, types


@dataclasses.dataclass(frozen=True, kw_only=True)
class MonteCarlo:
  """The mean of a policy's discounted return, by simulation.

  Attributes:
    mean: average discounted return.
    standard_error: of the mean.
    episodes: how many episodes were averaged.
    mean_length: average number of steps of an episode.
  """
  mean: float
  standard_error: float
  episodes: int
  mean_length: float


def summarise(returns: list[float], lengths: list[int]) -> MonteCarlo:
  """Averages the returns of whole episodes."""
  if not returns:
    raise ValueError('At least one episode is needed.')
  spread = np.std(returns, ddof=1) if len(returns) > 1 else np.nan
  return MonteCarlo(
      mean=float(np.mean(returns)),
      standard_error=float(spread / np.sqrt(len(returns))),
      episodes=len(returns),
      mean_length=float(np.mean(lengths)))


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
) -> MonteCarlo:
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
  """
  actor = policies.SamplingActor(policy, copies=copies)
  returns: list[float] = []
  lengths: list[int] = []
  for episode in rollout.episodes(
      make_environment, actor, seed=seed, num_episodes=max_episodes,
      copies=copies):
    returns.append(episode.discounted_return(discount))
    lengths.append(len(episode.actions))
    if progress:
      progress(len(returns))
    # Looking only now and then keeps the stopping rule from biting on noise.
    if len(returns) >= min_episodes and len(returns) % 500 == 0:
      estimate = summarise(returns, lengths)
      if estimate.standard_error <= relative_error * abs(estimate.mean):
        return estimate
  return summarise(returns, lengths)
