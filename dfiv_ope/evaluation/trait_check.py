"""What a value misses by a lasting trait that the log does not record.

`ope.traits` with features of the log's own states: of each action where there
are few, whose rewards a trait may move differently, or of state and action
together. Rewards at the end of episodes alone tell nothing of it, and neither
does a trait that only the next states show.
"""

from collections.abc import Mapping
import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import fixed_features, memory
from dfiv_ope.agents.entries import random_features
from dfiv_ope.ope import decisions, history, traits
from dfiv_ope.ope import task as task_lib

# Features of states, and of states and actions together. These have columns
# for numbers and actions besides; with more in all it takes too long.
_STATE_FEATURES, _JOINT_FEATURES, _MOST_COLUMNS = 120, 200, 400
# Of a longer log the first episodes are looked at.
_ROWS = 20_000
# An action needs as many rows for each feature.
_ROWS_EACH = 2


def measure(
  task: task_lib.EvaluationTask,
  weights: types.FloatArray,
  rows: np.ndarray,
  settings: random_features.Settings,
) -> Mapping[str, float]:
  """Returns what is missing from the value of LSTD-Q, as metrics.

  Args:
    task: the log and the target policy.
    weights: what the value rises by with the reward of each row, [N].
    rows: that may be looked at, whole episodes, [M].
    settings: of LSTD-Q's features.

  Returns:
    Nothing if states and actions have too many columns.
  """
  log = task.log
  last = log.episodes[rows][min(_ROWS, len(rows)) - 1]
  rows = rows[log.episodes[rows] <= last]
  episodes = log.episodes[rows]
  rewards = np.asarray(log.transitions.reward, np.float64)[rows]
  ended = np.asarray(log.transitions.discount)[rows] == 0.0
  reached = traits.reached(episodes, ended)
  values, correlations = np.zeros(len(rows)), np.zeros(len(rows))
  parts = _columns(task, rows, settings)
  if not parts:
    return {}
  for mine, columns in parts:
    if len(mine) >= _ROWS_EACH * columns.shape[1]:
      found = traits.levels(
        columns, rewards[mine], episodes[mine], reached[mine]
      )
      values[mine], correlations[mine] = found.values, found.correlation
  # Rows that are not looked at count as those that are.
  whole = np.sum(weights) / np.sum(weights[rows])
  missing: history.Missing = traits.missing(
    values, whole * weights[rows], episodes
  )
  return {
    'trait_value': missing.value,
    'trait_error': missing.standard_error,
    'trait_correlation': float(np.mean(correlations)),
  }


def _columns(
  task: task_lib.EvaluationTask,
  rows: np.ndarray,
  settings: random_features.Settings,
) -> list[tuple[np.ndarray, types.FloatArray]]:
  """Returns places of rows [K] and their features [K, D], each regression's.

  None if there are too many columns.
  """
  made = fixed_features.make(
    task.problem,
    dataclasses.replace(
      settings,
      random_features=min(settings.random_features, _STATE_FEATURES),
      joint_features=min(settings.joint_features, _JOINT_FEATURES),
    ),
    seed=0,
  )
  decision = memory.of_task(task, rows).instrument
  if not isinstance(made, decisions.Outer):
    if made.output_size > _MOST_COLUMNS:
      return []
    return [(np.arange(len(rows)), made(decision))]
  states = made.state(decision.observation)
  columns = np.c_[states, np.ones(len(states))]
  action = decision.actions[:, 0]
  places = [np.flatnonzero(action == each) for each in range(made.num_actions)]
  return [(place, columns[place]) for place in places]
