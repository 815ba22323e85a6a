"""The rows of a log, and functions of its states, for many policies at once.

With h = [g, 1], g the features of a state, values of policy k and action a are
h's products with a row of weights for each k and a.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import memory, outer_sums
from dfiv_ope.ope import decisions
from dfiv_ope.ope import task as task_lib

# Rows whose features are made at once: memory of this size is used again.
_BLOCK = 8_192


class SharedLog:
  """What all policies of a log share.

  Attributes:
    now: s, encoded, [N, D].
    later: s', encoded, [N, D].
    actions: logged ones, [N].
    continuation: gamma d, [N].
    episodes: index of the episode of each row, [N].
    transitions: the log, as tensors.
    initial: start states, encoded, [M, D].
    initial_observations: the same, raw.
    num_actions: A.
    num_episodes: E.
    fixed_starts: whether start states were given.
    marks: where the parts of the log begin, and its end.
  """

  def __init__(self, task: task_lib.EvaluationTask):
    """Reads the log of a task; what its policy does is of no matter.

    Raises:
      ValueError: a start state has a value that is no category of its column.
    """
    transitions, problem = task.transitions, task.problem
    states = problem.observations
    rows = problem.rows(
      transitions,
      later=decisions.Decision(
        states.compact(transitions.next_observation), None, None
      ),
    )
    step = rows.treatment
    self.transitions = transitions
    self.now, self.later = step.now.observation, step.later.observation
    self.actions = np.asarray(transitions.action)
    self.continuation = np.asarray(step.continuation[:, 0], np.float64)
    self.episodes = np.asarray(task.log.episodes)
    self.num_actions = task.log.num_actions
    self.initial_observations = task.initial_observations
    self.num_episodes = int(self.episodes[-1]) + 1
    self.fixed_starts = task.log.starts is not None
    self.initial = states.compact(task.initial_observations)
    states.require_known(task.initial_observations)
    self.marks = memory.marks(len(self.actions))

  @property
  def num_starts(self) -> int:
    """Start states that the value is the mean over."""
    return len(self.initial_observations)

  def part(self, index: int) -> np.ndarray:
    """Returns the rows of a part."""
    return np.arange(self.marks[index], self.marks[index + 1])

  def chunks(self, parts: Sequence[int], most: int) -> Iterator[np.ndarray]:
    """Yields the rows of some parts, at most so many at a time."""
    if not len(parts):
      return
    rows = np.concatenate([self.part(index) for index in parts])
    for start in range(0, len(rows), most):
      yield rows[start : start + most]

  def states(
    self, function: decisions.Outer, rows: np.ndarray, memory_: 'Memory'
  ) -> tuple[types.FloatArray, np.ndarray]:
    """Returns h of states, [S, H], and which of them rows lead to, [B].

    The first B are those that rows start from; the others are few in a log of
    whole episodes.

    Args:
      function: has g.
      rows: of the log, [B].
      memory_: that the states may take; what it held before is overwritten.
    """
    now, later = self.now[rows], self.later[rows]
    place, others = outer_sums.leads_to(
      now, later, self.continuation[rows] > 0.0
    )
    found = memory_.rows(len(rows) + len(others))
    fill(function, now, found[: len(rows)])
    fill(function, later[others], found[len(rows) :])
    return found, place


class Memory:
  """Memory for functions of states that is used again."""

  def __init__(self, size: int):
    """Initialises it with the number of columns."""
    self._array: types.FloatArray = np.empty((0, size))

  def rows(self, count: int) -> types.FloatArray:
    """Returns an array of so many rows; their content may be any."""
    if len(self._array) < count:
      # The old one goes first.
      self._array = self._array[:0]
      self._array = np.empty((count, self._array.shape[1]))
    return self._array[:count]


def fill(
  function: decisions.Outer, states: types.FloatArray, out: types.FloatArray
) -> None:
  """Puts [g(s), 1] of encoded states into an array, [B, H].

  Args:
    function: has g.
    states: [B, D].
    out: [B, H].
  """
  out[:, -1] = 1.0
  for start in range(0, len(states), _BLOCK):
    some = slice(start, start + _BLOCK)
    function.fill(states[some], out[some, :-1])


def values(
  states: types.FloatArray, weights: types.FloatArray
) -> types.FloatArray:
  """Returns the values of all actions, [B, K, A].

  Args:
    states: h(s), [B, H].
    weights: of K policies and A actions, [K, A, H].
  """
  return (states @ weights.reshape(-1, weights.shape[2]).T).reshape(
    -1, *weights.shape[:2]
  )


def taken(
  states: types.FloatArray, weights: types.FloatArray, actions: np.ndarray
) -> types.FloatArray:
  """Returns the values of logged actions, [B, K].

  Args:
    states: h(s), [B, H].
    weights: of K policies and A actions, [K, A, H].
    actions: [B].
  """
  found = np.empty((len(states), len(weights)))
  for action in range(weights.shape[1]):
    rows = np.flatnonzero(actions == action)
    found[rows] = states[rows] @ weights[:, action].T
  return found


def slices(rows: int, most: int) -> Iterator[np.ndarray]:
  """Yields all rows, at most so many at a time."""
  for start in range(0, rows, most):
    yield np.arange(start, min(start + most, rows))
