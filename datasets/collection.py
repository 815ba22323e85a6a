"""Collects the log: the target policy with extra noise, rolled."""

from collections.abc import Callable, Iterator
import dataclasses
import pathlib

from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import reading
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
    behaviour, copies=copies, actions=rollout.sizes(make_environment).continuous
  )
  return rollout.episodes(
    make_environment,
    actor,
    seed=rollout.stream(spec.seed, 'log'),
    num_transitions=spec.transitions,
    copies=copies,
  )


def redraw(
  path: pathlib.Path,
  maker: Callable[..., rollout.MakeEnvironment],
  *,
  seed: int,
) -> tuple[log_lib.Log, acting.Policy]:
  """Returns a new log, drawn as that of a made dataset, and its target policy.

  Args:
    path: directory of the dataset.
    maker: called with a task and its action_noise (`envs.maker`).
    seed: of the new log.
  """
  metadata = spec_lib.read_metadata(path)
  spec, policy = metadata.spec, reading.load_policy(path, metadata)
  assert policy is not None and isinstance(spec, spec_lib.Spec)
  return log_lib.Log.from_episodes(
    collect(
      maker(spec.task, action_noise=spec.action_noise),
      policy,
      dataclasses.replace(spec, seed=seed),
    ),
    num_actions=metadata.num_actions,
    discount=spec.discount,
    continuous=metadata.continuous,
  ), policy
