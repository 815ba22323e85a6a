"""Policies that come from elsewhere: functions, models, recorded columns."""

from collections.abc import Callable

import numpy as np
from scipy import spatial

from dfiv_ope import types
from dfiv_ope.nn import tensors

_BLOCK = 10_000  # rows at a time


class Normalised:
  """Divides the probabilities of a policy by their sum."""

  def __init__(self, policy: types.Policy):
    self._policy = policy

  def action_probabilities(self, observation: types.Array) -> types.Array:
    probabilities = self._policy.action_probabilities(observation)
    return probabilities / tensors.total(probabilities, axis=1, keepdims=True)


def timeless(
  policy: types.Policy | types.ContinuousPolicy,
) -> types.Policy | types.ContinuousPolicy:
  """Keeps the last column of observations, the time, from a policy."""
  if isinstance(policy, types.ContinuousPolicy):
    return _TimelessVectors(policy)
  return _Timeless(policy)


class _Timeless:
  """A policy over finitely many actions that does not see the time."""

  def __init__(self, policy: types.Policy):
    self._policy = policy

  def action_probabilities(self, observation: types.Array) -> types.Array:
    return self._policy.action_probabilities(observation[:, :-1])


class _TimelessVectors:
  """A policy over vectors that does not see the time."""

  def __init__(self, policy: types.ContinuousPolicy):
    self._policy = policy

  @property
  def deterministic(self) -> bool:
    return self._policy.deterministic

  def draw(
    self, observation: types.Array, uniforms: types.Array
  ) -> types.Array:
    return self._policy.draw(observation[:, :-1], uniforms)

  def log_prob(
    self, observation: types.Array, action: types.Array
  ) -> types.Array:
    return self._policy.log_prob(observation[:, :-1], action)


class Function:
  """Asks a function of arrays: a user's own, or a model of another library."""

  def __init__(
    self, function: Callable[[np.ndarray], np.ndarray], *, num_actions: int
  ):
    """Wraps the function.

    Args:
      function: maps observations, float64 [B, D], to probabilities, float32
        [B, A].
      num_actions: A.
    """
    self._function = function
    self._num_actions = num_actions

  def action_probabilities(self, observation: types.Array) -> types.Array:
    return tensors.ask(self._function, observation, columns=self._num_actions)


class Recorded(Function):
  """Probabilities that were recorded state by state.

  A state that was recorded several times has the mean of its probabilities;
  one that was never recorded has those of the nearest that was.
  """

  def __init__(self, observations: np.ndarray, probabilities: np.ndarray):
    """Remembers the probabilities.

    Args:
      observations: float64 [N, D].
      probabilities: [N, A]; rows with a nan, or with nothing but zeros as
        where an episode is over, are left out.

    Raises:
      ValueError: nothing is left.
    """
    super().__init__(self._look_up, num_actions=probabilities.shape[1])
    known = np.sum(probabilities, axis=1) > 0.0  # not so if one is nan
    if not known.any():
      raise ValueError('The log records no probabilities of the target policy.')
    rows = np.ascontiguousarray(observations[known], np.float64) + 0.0  # no -0
    self._keys, first, place = np.unique(
      _keys(rows), return_index=True, return_inverse=True
    )
    # One matrix in float64: with many actions there is no room for more.
    sums = np.zeros([len(first), probabilities.shape[1]])
    for part in np.array_split(np.arange(len(rows)), -(-len(rows) // _BLOCK)):
      np.add.at(sums, place[part], probabilities[np.flatnonzero(known)[part]])
    sums /= sums.sum(axis=1, keepdims=True)
    self._probabilities = sums.astype(np.float32)
    self._states = rows[first]
    self._tree: spatial.KDTree | None = None

  def _look_up(self, observation: np.ndarray) -> np.ndarray:
    rows = np.ascontiguousarray(observation, np.float64) + 0.0
    keys = _keys(rows)
    place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
    unknown = self._keys[place] != keys
    if unknown.any():
      if self._tree is None:
        self._tree = spatial.KDTree(self._states)
      _, place[unknown] = self._tree.query(rows[unknown])
    return self._probabilities[place]


def _keys(rows: np.ndarray) -> np.ndarray:
  """Returns a sortable value for each row of bytes, [N]."""
  return rows.view(f'S{rows.dtype.itemsize * rows.shape[1]}')[:, 0]
