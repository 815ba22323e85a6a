"""A regression's answer as a Q-function."""

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, decisions


class QFunction:
  """The values of a policy on their raw scale."""

  def __init__(self, problem: bellman.Problem, function: decisions.Function):
    """Wraps a function of decisions on the scale of the problem, [B, 1]."""
    self._problem = problem
    self._function = function

  def values(self, observation: types.Array) -> types.Array:
    """Returns Q(s, .), [B, A], of raw observations [B, D].

    Raises:
      ValueError: actions are vectors, of which there is no end; or a value is
        no category of its column.
    """
    if self._problem.continuous is not None:
      raise ValueError(
        'Actions are vectors, so the values of all cannot be listed. Ask '
        'value(observation, action) for those of some.'
      )
    states = self._states(observation)
    columns = [
      self._function(
        decisions.taken(states, np.full(len(observation), action, np.int32))
      )
      for action in range(self._problem.num_actions)
    ]
    return self._raw(tensors.concat(columns, axis=1))

  def value(self, observation: types.Array, action: types.Array) -> types.Array:
    """Returns Q(s, a), [B], of raw observations [B, D] and their actions.

    Raises:
      ValueError: a value is no category of its column.
    """
    vectors = self._problem.vectors
    return self._raw(
      self._function(
        decisions.taken(
          self._states(observation),
          action if vectors is None else vectors.compact(action),
        )
      )
    )[:, 0]

  def expected(self, observation: types.Array) -> types.Array:
    """Returns E_pi Q(s, .), [B], of raw observations [B, D].

    Raises:
      ValueError: a value is no category of its column.
    """
    self._problem.observations.require_known(observation)
    target = self._problem.target
    return tensors.concat(
      [
        self._raw(self._function(decision))[:, 0]
        for decision in target.in_parts(observation, rows=target.rows_at_once)
      ],
      axis=0,
    )

  def _states(self, observation: types.Array) -> types.Array:
    """Returns raw observations encoded; refuses unknown categories."""
    self._problem.observations.require_known(observation)
    return self._problem.observations.compact(observation)

  def _raw(self, value: types.Array) -> types.Array:
    return self._problem.value_scale * tensors.cast(value, np.float64)
