"""Makes a dataset of a policy: its log, its true value, and their record."""

from collections.abc import Callable
import contextlib
import pathlib
import time
from typing import NamedTuple

from dfiv_ope import stages, versions, whole_files
from dfiv_ope.datasets import collection, reading, store
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.policies import (
  acting,
  episode_returns,
  rollout,
  simulation,
  trained,
)


class Made(NamedTuple):
  """A dataset that was made.

  Attributes:
    metadata: its record.
    cpu_seconds: that its log took to be collected and written.
  """

  metadata: spec_lib.Metadata
  cpu_seconds: float


class _StateNames(NamedTuple):
  """Names of the entries of an observation, and what those that are names are.

  Attributes:
    observations: names of the entries.
    categorical: values of those that are names.
  """

  observations: tuple[str, ...]
  categorical: dict[str, tuple[int, ...]]


def _state_names(sizes: rollout.Sizes) -> _StateNames:
  names = sizes.names
  if sizes.categories and not names:
    names = tuple(f'state[{i}]' for i in range(sizes.num_observations))
  return _StateNames(
    names,
    {
      names[place]: tuple(range(count))
      for place, count in sizes.categories.items()
    },
  )


def make(
  out: pathlib.Path,
  *,
  spec: spec_lib.Spec,
  make_environment: rollout.MakeEnvironment,
  policy_path: pathlib.Path,
  truth_episodes: int,
  intermediate: pathlib.Path | None = None,
  progress: stages.Progress = stages.silent,
) -> Made:
  """Collects the log of a policy, simulates its value, and writes all down.

  Args:
    out: directory of the dataset; what a killed run left of it is overwritten.
    spec: what is wanted.
    make_environment: builds the environment of an episode from its seed.
    policy_path: directory of the trained policy.
    truth_episodes: simulate at most as many episodes for the true value.
    intermediate: a directory that is removed before the record is written.
    progress: told of the collection and of the simulation.

  Raises:
    FileNotFoundError: there is no trained policy.
    ValueError: it is one of another task, or does not fit.
  """
  sizes = rollout.sizes(make_environment)
  record = trained.read_record(policy_path)
  target = trained.load(
    policy_path,
    num_observations=sizes.num_observations,
    num_actions=sizes.num_actions,
    actions=sizes.continuous,
  )
  if record['task'] != spec.task:
    raise ValueError(
      f'The policy in {policy_path} was trained on {record["task"]}, but '
      f'{spec.task} was asked for.'
    )

  store.clear(out)
  started = time.process_time()
  states = _state_names(sizes)
  writer = store.Writer(
    out,
    num_observations=sizes.num_observations,
    discount=spec.discount,
    continuous=sizes.continuous,
    categories=dict(
      zip(sizes.categories, states.categorical.values(), strict=True)
    ),
  )
  with (
    contextlib.closing(writer),
    progress('Collecting', spec.transitions) as update,
  ):
    collected = 0
    for episode in collection.collect(make_environment, target, spec):
      writer.append(episode)
      collected += len(episode.actions)
      update(collected, f'{collected:,} transitions')
    contents = writer.finish()
  cpu_seconds = time.process_time() - started

  with progress('Simulating the true value', None) as update:
    truth = simulation.true_value(
      make_environment,
      target,
      discount=spec.discount,
      seed=rollout.stream(spec.seed, 'truth'),
      max_episodes=truth_episodes,
      progress=lambda n: update(n, f'{n:,} episodes'),
    )
  store.save_policy(
    target,
    out,
    num_observations=sizes.num_observations,
    continuous=sizes.continuous,
  )
  if intermediate is not None:
    whole_files.remove(intermediate)
  metadata = spec_lib.Metadata(
    spec=spec,
    num_observations=sizes.num_observations,
    num_actions=sizes.num_actions,
    continuous=sizes.continuous,
    **states._asdict(),
    transitions=contents.transitions,
    episodes=contents.episodes,
    truncated=contents.truncated,
    digest=contents.digest,
    files=store.file_record(out),
    truth=truth,
    behaviour=contents.returns,
    policy=record,
    versions=versions.versions(),
  )
  whole_files.write(out / spec_lib.METADATA, metadata.to_json())
  return Made(metadata, cpu_seconds)


def true_value(
  path: pathlib.Path,
  maker: Callable[..., rollout.MakeEnvironment],
  *,
  epsilon: float,
  max_episodes: int,
  trusted: bool = False,
) -> episode_returns.MonteCarlo:
  """Simulates the value of a made dataset's policy with more noise.

  Args:
    path: directory of the dataset.
    maker: called with a task and its action_noise (`envs.maker`).
    epsilon: extra probability of a uniform action.
    max_episodes: simulate at most as many episodes.
    trusted: load the policy whatever operations it holds.
  """
  metadata = spec_lib.read_metadata(path)
  spec, own = (
    metadata.spec,
    reading.load_policy(path, metadata, trusted=trusted),
  )
  assert own is not None and isinstance(spec, spec_lib.Spec)
  return simulation.true_value(
    maker(spec.task, action_noise=spec.action_noise),
    acting.explore(own, epsilon=epsilon),
    discount=spec.discount,
    max_episodes=max_episodes,
    seed=rollout.stream(spec.seed, f'truth {epsilon:g}'),
  )
