"""The scale of the values of a log, by a linear Q-function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge
from dfiv_ope.nn import tensors
from dfiv_ope.ope import decisions, targets

# Penalty of the fit, and the columns that it may have: indicators of more
# categories or actions are left out.
_PENALTY = 1e-4
_COLUMNS = 200
# Probabilities of actions that are made at a time.
_ENTRIES = 200_000


def rows_at_once(spaces: decisions.Spaces) -> int:
  """Returns how many rows a part of a log should have."""
  if spaces.vectors is not None:
    return targets.PART
  return max(targets.PART, _ENTRIES // spaces.num_actions)


# `bellman.difference`.
Difference = Callable[[decisions.Function, Any], types.Array]


def measure(
  parts: Sequence[types.IVBatch],
  spaces: decisions.Spaces,
  *,
  difference: Difference,
  lowest: float,
  highest: float,
) -> tuple[float, float]:
  """Returns mean and spread of the values of a log.

  Args:
    parts: the log, as rows of the regression.
    spaces: what states and actions are.
    difference: `bellman.difference`.
    lowest: least value that is possible.
    highest: greatest value that is possible.
  """
  columns = linear(spaces)
  fitted = fit(
    ridge.merge(*(sums(rows, columns, difference) for rows in parts))
  )
  found = np.clip(
    np.concatenate([values(rows, columns, fitted) for rows in parts]),
    lowest,
    highest,
  )
  return settled(float(found.mean()), float(found.std()))


def linear(spaces: decisions.Spaces) -> decisions.Function:
  """Returns the columns that the fit is linear in, as features of decisions."""
  states_are_few = spaces.states.size <= _COLUMNS
  actions_are_few = spaces.action_size <= _COLUMNS
  numbers = len(spaces.states.numbers)

  def columns_of(decision: decisions.Decision) -> types.Array:
    observation = decision.observation
    columns = [
      spaces.states.expand(observation)
      if states_are_few
      else observation[:, :numbers]
    ]
    if spaces.vectors is not None:
      inputs = tensors.reshape(
        spaces.action_inputs(decision.actions),
        [len(observation), -1, spaces.action_size],
      )
      columns.append(
        tensors.total(inputs * decision.probabilities[..., None], axis=1)
      )
    elif actions_are_few:
      columns.append(decisions.weights(decision, spaces.num_actions)[:, 1:])
    return tensors.append_ones(tensors.concat(columns, axis=1))

  return columns_of


def sums(
  rows: types.IVBatch, columns: decisions.Function, difference: Difference
) -> ridge.Sums:
  """Returns what `fit` needs of some rows; sums merge.

  Args:
    rows: of the regression.
    columns: of `linear`.
    difference: `bellman.difference`.
  """
  return ridge.sums(
    columns(rows.instrument),
    np.concatenate([difference(columns, rows.treatment), rows.outcome], axis=1),
  )


def fit(total: ridge.Sums) -> types.FloatArray:
  """Returns the weights of the linear Q-function, from the sums of a log."""
  return ridge.solve_cross(total, _PENALTY)


def values(
  rows: types.IVBatch, columns: decisions.Function, fitted: types.FloatArray
) -> types.FloatArray:
  """Returns the values of rows, float64 [B, 1].

  Products and means in float32 would depend on how the log is cut into parts.
  """
  return np.asarray(columns(rows.instrument), np.float64) @ fitted


def settled(mean: float, scale: float) -> tuple[float, float]:
  """Returns mean and spread, which is 1 where values never change."""
  # Rewards that never change have values that never change either.
  return mean, scale if scale > 1e-6 * max(1.0, abs(mean)) else 1.0
