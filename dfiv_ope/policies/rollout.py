"""Rolls an actor through many copies of an environment at once.

One batched call chooses the actions of all copies. Every episode has an index
and draws all its randomness from (seed, index), and episodes come out in the
order of their index. So which episodes a roll-out yields depends neither on
how long the others last (taking those that finish first would favour short
ones) nor on the number of transitions asked for.
"""

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import types
from typing import Any, NamedTuple, Protocol

import dm_env
import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import spaces
from dfiv_ope.policies import episode_returns

# Builds an environment from a seed; called once for each episode.
MakeEnvironment = Callable[[int], dm_env.Environment]

# Of the draws: raised when the same seed gives other episodes, which makes
# stored truths and intervals of new logs others.
VERSION = 1
# Enough copies to hide the cost of a policy call, few enough to waste little.
DEFAULT_COPIES = 64


def stream(seed: int, purpose: str) -> int:
  """Returns a seed for one purpose, independent of those for others."""
  return int(
    np.random.SeedSequence([seed, *purpose.encode()]).generate_state(1)[0]
  )


def endless(make_environment: MakeEnvironment) -> MakeEnvironment | None:
  """Returns what builds an environment without its time limit.

  It is the attribute `endless` of the maker; None if there is none.
  """
  found: MakeEnvironment | None = getattr(make_environment, 'endless', None)
  return found


class Sizes(NamedTuple):
  """What observations and actions of an environment are.

  Attributes:
    num_observations: entries of an observation.
    num_actions: how many actions there are; 0 if they are vectors.
    continuous: what the actions are if they are vectors.
    names: of the entries of an observation; empty if they are only numbered.
    categories: how many values, 0, 1, ..., an entry has that is a name, by its
      place.
  """

  num_observations: int
  num_actions: int
  continuous: actions_lib.Continuous | None = None
  names: tuple[str, ...] = ()
  categories: Mapping[int, int] = types.MappingProxyType({})


def sizes(make_environment: MakeEnvironment) -> Sizes:
  """Returns the sizes of an environment, by making one."""
  environment = make_environment(0)
  observations = environment.observation_spec()
  actions = spaces.actions(environment.action_spec())
  environment.close()
  (num_observations,) = observations.shape
  if not isinstance(observations, spaces.Observations):
    return Sizes(num_observations, *actions)
  return Sizes(
    num_observations, *actions, observations.names, observations.categories
  )


class Episode(NamedTuple):
  """One whole episode of T steps.

  Attributes:
    observations: float64 [T + 1, D], the last one included.
    actions: the intended actions, int32 [T], or vectors, float64 [T, d].
    rewards: float64 [T].
    discounts: the environment's discounts, float32 [T]; the last is 0 if the
      episode terminated and positive if it was truncated.
  """

  observations: np.ndarray
  actions: np.ndarray
  rewards: np.ndarray
  discounts: np.ndarray

  def discounted_return(self, discount: float) -> float:
    """Returns the sum of rewards, each times all discounts before it."""
    weights = episode_returns.weights(discount, self.discounts)
    return float(weights @ self.rewards)

  @property
  def truncated(self) -> bool:
    """Whether it was cut off."""
    return bool(self.discounts[-1] > 0.0)


class Actor(Protocol):
  """Chooses actions for a batch of environments, each in its slot."""

  def begin(self, slot: int, seed: int) -> None:
    """Starts an episode in a slot; its randomness comes from the seed."""

  def act(self, observations: np.ndarray, slots: list[int]) -> np.ndarray:
    """Returns actions, [K] or [K, d], for observations [K, D].

    Only those of `slots` matter.
    """


@dataclasses.dataclass
class _Run:
  """An episode under way."""

  index: int
  environment: dm_env.Environment
  observations: list[np.ndarray]
  actions: list[Any] = dataclasses.field(default_factory=list)
  rewards: list[float] = dataclasses.field(default_factory=list)
  discounts: list[float] = dataclasses.field(default_factory=list)

  def episode(self) -> Episode:
    return Episode(
      np.stack(self.observations).astype(np.float64),
      np.asarray(
        self.actions, np.float64 if np.ndim(self.actions[0]) else np.int32
      ),
      np.asarray(self.rewards, np.float64),
      np.asarray(self.discounts, np.float32),
    )


def episodes(
  make_environment: MakeEnvironment,
  actor: Actor,
  *,
  seed: int,
  num_episodes: int | None = None,
  num_transitions: int | None = None,
  horizon: int | None = None,
  copies: int = DEFAULT_COPIES,
) -> Iterator[Episode]:
  """Yields whole episodes in the order of their index.

  Args:
    make_environment: builds the environment of an episode from its seed.
    actor: chooses the actions; must have at least `copies` slots.
    seed: same seed, same episodes.
    num_episodes: how many episodes to yield; or
    num_transitions: stop with the first episode that reaches this total.
    horizon: cut an episode after as many steps; None for never.
    copies: how many episodes run side by side.

  Raises:
    ValueError: not exactly one of the two sizes is given, or it is not
      positive.
  """
  if (num_episodes is None) == (num_transitions is None):
    raise ValueError('Pass either num_episodes or num_transitions.')
  wanted = num_episodes if num_transitions is None else num_transitions
  if wanted is None or wanted < 1:
    raise ValueError(f'At least one must be asked for, got {wanted}.')

  running: dict[int, _Run] = {}
  finished: dict[int, Episode] = {}
  free = list(range(copies))[::-1]
  started = yielded = steps_taken = steps_yielded = 0
  size = sizes(make_environment).num_observations
  batch = np.zeros((copies, size), np.float64)

  def more_to_start() -> bool:
    if num_transitions is None:
      return started < wanted
    return steps_taken < wanted

  while True:
    while free and more_to_start():
      environment_seed, actor_seed = np.random.SeedSequence(
        [seed, started]
      ).generate_state(2)
      slot = free.pop()
      environment = make_environment(int(environment_seed))
      first = environment.reset().observation
      batch[slot] = first
      running[slot] = _Run(started, environment, [first])
      actor.begin(slot, int(actor_seed))
      started += 1
    if not running:
      return

    slots = list(running)
    actions = actor.act(batch, slots)
    steps_taken += len(slots)
    for slot in slots:
      run = running[slot]
      timestep = run.environment.step(actions[slot])
      run.actions.append(actions[slot])
      run.rewards.append(timestep.reward)
      run.discounts.append(timestep.discount)
      run.observations.append(timestep.observation)
      batch[slot] = timestep.observation
      if timestep.last() or len(run.rewards) == horizon:
        finished[run.index] = run.episode()
        run.environment.close()
        del running[slot]
        free.append(slot)

    while yielded in finished:
      episode = finished.pop(yielded)
      yielded += 1
      steps_yielded += len(episode.actions)
      yield episode
      if num_transitions is not None and steps_yielded >= wanted:
        return
