"""Decision processes that are simulated in numpy, many episodes at a time.

    log = process.draw(problem, behaviour, episodes=100, seed=0)
    process.simulate(problem, target, episodes=20_000, seed=1).mean

A policy of this room is a function of arrays, as users hand them in: it maps
raw observations [B, D] to probabilities [B, A], or to means and standard
deviations of vectors, ([B, d], [B, d]).
"""

import abc
from collections.abc import Callable
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dfiv_ope import actions as actions_lib
from dfiv_ope import types
from dfiv_ope.ope import episodes as episodes_lib
from dfiv_ope.policies import episode_returns, identity

Policy = Callable[[types.FloatArray], Any]

# Rewards that count less than this are left out of simulated values.
_NEGLIGIBLE = 1e-5


class Step(NamedTuple):
  """What follows the actions of n episodes.

  Attributes:
    state: [n, ...].
    reward: [n].
    ended: whether the episode terminated, [n].
  """

  state: np.ndarray
  reward: types.FloatArray
  ended: np.ndarray


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Process(abc.ABC):
  """A decision process.

  Attributes:
    discount: of the value.
    horizon: number of steps after which an episode is over.
    complete: whether episodes terminate there, so that the value is that of
      so many steps; otherwise they are cut off.
    num_actions: A; 0 if actions are vectors.
    continuous: what an action is, if actions are vectors.
    categorical: columns of the observations whose values are names.
    dropout: probability that a log's episode is cut off after a step.
  """

  discount: float
  horizon: int
  complete: bool = False
  num_actions: int = 0
  continuous: actions_lib.Continuous | None = None
  categorical: tuple[int, ...] = ()
  dropout: float = 0.0

  @abc.abstractmethod
  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    """Returns the first states of episodes, [n, ...]."""

  @abc.abstractmethod
  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> Step:
    """Returns what follows actions, [n] or [n, d]."""

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    """Returns what a policy sees of states after `time` steps, [n, D]."""
    del time
    return np.asarray(state, np.float64)


def choose(
  probabilities: types.FloatArray, generator: np.random.Generator
) -> np.ndarray:
  """Draws a place of each row of probabilities [n, A], [n]."""
  edges = np.cumsum(probabilities, axis=1)
  uniforms = generator.random((len(edges), 1)) * edges[:, -1:]
  return np.minimum(np.sum(edges <= uniforms, axis=1), edges.shape[1] - 1)


def act(
  problem: Process, answer: Any, generator: np.random.Generator
) -> np.ndarray:
  """Draws actions of what a policy says of n states, [n] or [n, d]."""
  if problem.continuous is None:
    return choose(answer, generator)
  mean, deviation = answer
  return np.clip(
    mean + deviation * generator.standard_normal(mean.shape),
    *problem.continuous.bounds,
  )


def likelihood(
  problem: Process, answer: Any, action: np.ndarray
) -> types.FloatArray:
  """Returns probabilities of actions; densities if they are vectors, [n].

  At a bound, to which vectors are clipped, it is the mass there.
  """
  if problem.continuous is None:
    return np.asarray(answer, np.float64)[np.arange(len(action)), action]
  mean, deviation = (np.broadcast_to(each, action.shape) for each in answer)
  low, high = problem.continuous.bounds
  density = np.exp(-np.square((action - mean) / deviation) / 2.0) / (
    deviation * math.sqrt(2.0 * math.pi)
  )
  density = np.where(
    action <= low, special.ndtr((low - mean) / deviation), density
  )
  density = np.where(
    action >= high, special.ndtr((mean - high) / deviation), density
  )
  return np.prod(density, axis=1)


def draw(
  problem: Process,
  behaviour: Policy,
  *,
  episodes: int,
  seed: types.Seed,
  recorded: bool = True,
  time_feature: bool = False,
  name: str = 'case',
) -> episodes_lib.Episodes:
  """Returns a log of whole episodes.

  Args:
    problem: that is acted in.
    behaviour: the behaviour policy.
    episodes: E.
    seed: of everything that is drawn.
    recorded: whether the log has the probabilities of its actions.
    time_feature: whether the number of the step becomes a last column of the
      observations, which policies do not see.
    name: of the log.
  """
  generator = np.random.default_rng(seed)
  state = problem.start(episodes, generator)
  episode, parts, truncated = np.arange(episodes), [], 0

  def observed(states: np.ndarray, time: int) -> types.FloatArray:
    seen = problem.observe(states, time)
    return (
      np.column_stack([seen, np.full(len(seen), float(time))])
      if time_feature
      else seen
    )

  for time in range(problem.horizon):
    answer = behaviour(problem.observe(state, time))
    action = act(problem, answer, generator)
    after = problem.step(state, action, generator)
    over = after.ended | (problem.complete and time == problem.horizon - 1)
    parts.append(
      (
        episode,
        np.full(len(episode), time),
        observed(state, time),
        action,
        after.reward,
        ~over,
        observed(after.state, time + 1),
        likelihood(problem, answer, action),
      )
    )
    stays = ~over
    if problem.dropout:
      stays &= generator.random(len(stays)) >= problem.dropout
      truncated += int(np.sum(~over & ~stays))
    state, episode = after.state[stays], episode[stays]
    if not len(episode):
      break
  columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
  order = np.lexsort((columns[1], columns[0]))
  episode, time, seen, action, reward, goes_on, following, taken = (
    each[order] for each in columns
  )
  rows = (seen, action, reward, goes_on, following, taken)
  return episodes_lib.Episodes(
    transitions=types.Transition(
      observation=seen,
      action=action if problem.continuous else action.astype(np.int32),
      reward=reward,
      discount=goes_on.astype(np.float32),
      next_observation=following,
    ),
    episodes=episode,
    initial_observations=seen[time == 0],
    num_actions=problem.num_actions,
    discount=problem.discount,
    name=name,
    digest=identity.digest(
      *(np.ascontiguousarray(each).tobytes() for each in rows)
    ),
    truncated=truncated + len(state),
    categorical=problem.categorical,
    behaviour_probabilities=taken if recorded else None,
    continuous=problem.continuous,
    time_feature=time_feature,
  )


def simulate(
  problem: Process, policy: Policy, *, episodes: int, seed: types.Seed
) -> episode_returns.MonteCarlo:
  """Returns the value of a policy, by episodes that nothing cuts off.

  Args:
    problem: that is acted in.
    policy: the policy.
    episodes: how many are averaged.
    seed: of everything that is drawn.
  """
  generator = np.random.default_rng(seed)
  state, episode = problem.start(episodes, generator), np.arange(episodes)
  returns, lengths = np.zeros(episodes), np.zeros(episodes, int)
  longest = (
    problem.horizon
    if problem.complete
    else math.ceil(math.log(_NEGLIGIBLE) / math.log(problem.discount))
  )
  for time in range(longest):
    action = act(problem, policy(problem.observe(state, time)), generator)
    after = problem.step(state, action, generator)
    returns[episode] += problem.discount**time * after.reward
    lengths[episode] += 1
    state, episode = after.state[~after.ended], episode[~after.ended]
    if not len(episode):
      break
  return episode_returns.summarise(returns.tolist(), lengths.tolist())
