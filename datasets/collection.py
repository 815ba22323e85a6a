"""Collects the log: the target policy with extra noise, rolled."""

from collections.abc import Iterator

from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.policies import acting, rollout


def collect(
    make_environment: rollout.MakeEnvironment,
    target: acting.Policy,
    spec: spec_lib.Spec,
    *,
    copies: int = rollout.DEFAULT_COPIES,
) -> Iterator[rollout.Episode]:
  """Rolls the behaviour policy until the spec's transitions are reached.

  Args:
    make_environment: builds the environment of an episode from its seed.
    target: the policy that the dataset is about.
    spec: says epsilon, number of transitions and seed.
    copies: how many episodes run side by side.

  Yields:
    Whole episodes; the environment's discount is kept, the evaluation's is not
    applied.
  """
  behaviour = acting.explore(target, epsilon=spec.epsilon)
  actor = acting.actor(
      behaviour, copies=copies,
      actions=rollout.sizes(make_environment).continuous)
  return rollout.episodes(
      make_environment, actor, seed=rollout.stream(spec.seed, 'log'),
      num_transitions=spec.transitions, copies=copies)
