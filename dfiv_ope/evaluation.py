"""What a policy is worth: by simulation here, from a log elsewhere."""

from collections.abc import Callable

import tensorflow as tf

from dfiv_ope import policies, rollout, statistics, types


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
) -> statistics.MonteCarlo:
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
      estimate = statistics.summarise(returns, lengths)
      if estimate.standard_error <= relative_error * abs(estimate.mean):
        return estimate
  return statistics.summarise(returns, lengths)


def initial_value(
    q_function: types.QFunction, initial_observations: tf.Tensor) -> float:
  """Returns E Q(s0, pi) over initial states and the policy's actions.

  The expectation over actions is exact, the one over states the mean over
  those given.

  Args:
    q_function: values of the policy.
    initial_observations: raw observations [E, D].
  """
  return float(tf.reduce_mean(q_function.expected(initial_observations)))
