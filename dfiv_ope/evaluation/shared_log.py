"""The rows of a log, and functions of its states, for many policies at once.

With h = [g, 1], g the features of a state, values of policy k and action a are
h's products with a row of weights for each k and a.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import memory, shared_sums
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

  def chunks(self, parts: Sequence[int]) -> Iterator[np.ndarray]:
    """Yields the rows of some parts, as many as fit memory at a time."""
    if not len(parts):
      return
    rows = np.concatenate([self.part(index) for index in parts])
    for start in range(0, len(rows), shared_sums.CHUNK):
      yield rows[start : start + shared_sums.CHUNK]


def features(
  function: decisions.Outer,
  states: types.FloatArray,
  rows: np.ndarray,
  out: types.FloatArray | None = None,
) -> types.FloatArray:
  """Returns [g(s), 1] of some encoded states, [B, H].

  Args:
    function: has g.
    states: of all rows.
    rows: which ones.
    out: of at least as many rows, where they are put; new memory if None.
  """
  if out is None:
    out = np.empty((len(rows), function.output_size // function.num_actions))
  found = out[: len(rows)]
  found[:, -1] = 1.0
  for start in range(0, len(rows), _BLOCK):
    some = rows[start : start + _BLOCK]
    function.fill(states[some], found[start : start + _BLOCK, :-1])
  return found


def taken(
  states: types.FloatArray, weights: types.FloatArray, actions: np.ndarray
) -> types.FloatArray:
  """Returns the values of logged actions, [B, K].

  Args:
    states: h(s), [B, H].
    weights: of K policies and A actions, [K, A, H].
    actions: [B].
  """
  return _values(states, weights)[np.arange(len(actions)), :, actions]


def expected(
  states: types.FloatArray,
  weights: types.FloatArray,
  probabilities: types.FloatArray,
) -> types.FloatArray:
  """Returns the values of what each policy does, [B, K].

  Args:
    states: h(s), [B, H].
    weights: of K policies and A actions, [K, A, H].
    probabilities: of these actions, [B, K, A].
  """
  return np.einsum('bka,bka->bk', _values(states, weights), probabilities)


def _values(
  states: types.FloatArray, weights: types.FloatArray
) -> types.FloatArray:
  """Returns the values of all actions, [B, K, A]."""
  return (states @ weights.reshape(-1, weights.shape[2]).T).reshape(
    -1, *weights.shape[:2]
  )


def slices(rows: int, most: int) -> Iterator[np.ndarray]:
  """Yields all rows, at most so many at a time."""
  for start in range(0, rows, most):
    yield np.arange(start, min(start + most, rows))
