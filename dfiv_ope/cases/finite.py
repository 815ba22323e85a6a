"""Finite problems: tables of steps and rewards, with exact values.

problem = finite.Finite(steps=P, rewards=R, ends=ends, first=d0, ...)
problem.value(table)                 # of a policy [S, A], exactly
process.draw(problem, problem.policy(table), episodes=100, seed=0)
"""

import dataclasses
import functools

import numpy as np
from scipy import sparse

from dfiv_ope import types
from dfiv_ope.cases import process

_TOLERANCE = 1e-10


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Finite(process.Process):
  """A finite problem of S states and A actions.

  Attributes:
    steps: probabilities of the next state, [S, A, S].
    rewards: their means, [S, A, S].
    ends: states that an episode ends in, [S].
    first: shares of the states that episodes start from, [S].
    observations: what a policy sees of each state, [S, D].
    reward_noise: standard deviation of normal noise on rewards.
  """

  steps: types.FloatArray
  rewards: types.FloatArray
  ends: np.ndarray
  first: types.FloatArray
  observations: types.FloatArray
  reward_noise: float = 0.0

  def start(self, count: int, generator: np.random.Generator) -> np.ndarray:
    return process.choose(np.tile(self.first, (count, 1)), generator)

  def step(
    self, state: np.ndarray, action: np.ndarray, generator: np.random.Generator
  ) -> process.Step:
    following = process.choose(self.steps[state, action], generator)
    reward = self.rewards[state, action, following]
    if self.reward_noise:
      reward = reward + self.reward_noise * generator.standard_normal(
        len(state)
      )
    return process.Step(following, reward, self.ends[following])

  def observe(self, state: np.ndarray, time: int) -> types.FloatArray:
    return self.observations[state]

  def policy(self, table: types.FloatArray) -> process.Policy:
    """Returns a policy of observations that does what a table says.

    Args:
      table: probabilities, [S, A]; states that look alike have the same.

    Raises:
      ValueError: they have not.
    """
    seen, first, place = np.unique(
      self.observations, axis=0, return_index=True, return_inverse=True
    )
    wrong = np.flatnonzero(np.any(table[first][place] != table, axis=1))
    if len(wrong):
      raise ValueError(
        f'State {wrong[0]} looks like state {first[place][wrong[0]]}, but '
        'the table has other probabilities there. A policy sees observations '
        'alone: give both the same.'
      )
    rows = {each.tobytes(): at for at, each in enumerate(seen + 0.0)}
    known = table[first]

    def probabilities(observations: types.FloatArray) -> types.FloatArray:
      asked = np.ascontiguousarray(observations, np.float64) + 0.0
      return known[[rows[each.tobytes()] for each in asked]]

    return probabilities

  def value(self, table: types.FloatArray) -> float:
    """Returns the exact value of a policy [S, A].

    If episodes are complete after the horizon, it is that of so many steps.
    """
    goes_on, gains = self._chain(table)
    if not self.complete:
      return float(
        self.first
        @ np.linalg.solve(np.eye(len(gains)) - self.discount * goes_on, gains)
      )
    values = np.zeros(len(gains))
    for _ in range(self.horizon):
      values = gains + self.discount * goes_on @ values
    return float(self.first @ values)

  def optimal(self, allowed: np.ndarray | None = None) -> types.FloatArray:
    """Returns the table of the policy that is best without a horizon, [S, A].

    Args:
      allowed: which actions it chooses from, [S, A]; None for all.
    """
    permitted = (
      np.ones(self.steps.shape[:2], bool) if (allowed is None) else allowed
    )
    going_on = sparse.csr_matrix(
      (self.steps * ~self.ends).reshape(-1, len(self.steps))
    )
    values = np.zeros(len(self.steps))
    before = values + 1.0
    while np.abs(values - before).max() > _TOLERANCE:
      q = np.where(
        permitted,
        self._gains
        + self.discount * (going_on @ values).reshape(permitted.shape),
        -np.inf,
      )
      before, values = values, q.max(axis=1)
    return np.eye(q.shape[1])[q.argmax(axis=1)]

  @functools.cached_property
  def _gains(self) -> types.FloatArray:
    """Mean reward of states and actions, [S, A]."""
    return np.sum(self.steps * self.rewards, axis=2)

  def _chain(
    self, table: types.FloatArray
  ) -> tuple[types.FloatArray, types.FloatArray]:
    """Returns steps that do not end, [S, S], and mean rewards, [S]."""
    steps = np.einsum('sa,sat->st', table, self.steps)
    return steps * ~self.ends, np.sum(table * self._gains, axis=1)


def numbers(size: int) -> types.FloatArray:
  """Returns observations that are the number of the state, [S, 1]."""
  return np.arange(float(size))[:, None]
