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


def measure(
  parts: Sequence[types.IVBatch],
  spaces: decisions.Spaces,
  *,
  difference: Callable[[decisions.Function, Any], types.Array],
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
  states_are_few = spaces.states.size <= _COLUMNS
  actions_are_few = spaces.action_size <= _COLUMNS
  numbers = len(spaces.states.numbers)

  def linear(decision: decisions.Decision) -> types.Array:
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

  fitted = ridge.solve_cross(
    ridge.merge(
      *(
        ridge.sums(
          linear(rows.instrument),
          np.concatenate(
            [difference(linear, rows.treatment), rows.outcome], axis=1
          ),
        )
        for rows in parts
      )
    ),
    _PENALTY,
  )
  values = np.clip(
    np.concatenate(
      [
        tensors.array(linear(rows.instrument)) @ fitted.astype(np.float32)
        for rows in parts
      ]
    ),
    lowest,
    highest,
  )
  mean, scale = float(values.mean()), float(values.std())
  # Rewards that never change have values that never change either.
  return mean, scale if scale > 1e-6 * max(1.0, abs(mean)) else 1.0
