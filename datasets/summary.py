"""What a person wants to know of a log before an estimate is made of it."""

from typing import Any

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets import action_summary
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import steps as steps_lib


class Summary:
  """Counts and ranges of rows that come in blocks of whole episodes.

  Attributes:
    transitions: number of transitions.
  """

  def __init__(
    self,
    *,
    action_labels: tuple[str, ...],
    annotations: tuple[str, ...],
    continuous: actions_lib.Continuous | None = None,
  ):
    """Begins with none.

    Args:
      action_labels: one an action.
      annotations: names of the further columns.
      continuous: what the actions are if they are vectors.
    """
    self._annotations = annotations
    self._density = continuous is not None
    self._actions: action_summary.Counts | action_summary.Ranges = (
      action_summary.Counts(action_labels)
      if continuous is None
      else action_summary.Ranges(continuous)
    )
    self.transitions = 0
    self._lengths: list[np.ndarray] = []
    self._terminated = 0
    self._reward_sum = 0.0
    self._rewards = (np.inf, -np.inf)
    self._probabilities = (np.inf, -np.inf)

  def add(self, steps: steps_lib.Steps, annotations: np.ndarray) -> None:
    """Takes in a block and its further columns, [N, K]."""
    starts = ~steps.is_last
    ends = np.flatnonzero(steps.is_last)
    rewards = steps.reward[starts]
    self._actions.add(steps.action[starts])
    self.transitions += len(rewards)
    self._lengths.append(np.diff(ends, prepend=-1) - 1)
    self._terminated += int(steps.is_terminal.sum())
    self._reward_sum += float(rewards.sum(dtype=np.float64))
    self._rewards = _widen(self._rewards, rewards)
    if columns_lib.BEHAVIOUR_PROBABILITY in self._annotations:
      column = self._annotations.index(columns_lib.BEHAVIOUR_PROBABILITY)
      self._probabilities = _widen(
        self._probabilities, annotations[starts, column]
      )

  def record(self) -> dict[str, Any]:
    """Returns counts and ranges for programs, None where there are none."""
    lengths = np.concatenate(self._lengths)
    return {
      'transitions': self.transitions,
      'episodes': len(lengths),
      'truncated': len(lengths) - self._terminated,
      'steps': {
        'least': int(lengths.min()),
        'most': int(lengths.max()),
        'median': float(np.median(lengths)),
      },
      'reward': {
        **(_ends(self._rewards) or {}),
        'mean': self._reward_sum / self.transitions,
      },
      'actions': self._actions.record(),
      'behaviour_probability': _ends(self._probabilities),
    }

  def rows(self) -> list[tuple[str, str]]:
    """Returns names and values for a card."""
    lengths = np.concatenate(self._lengths)
    total = self.transitions
    result = [
      (
        'size',
        f'{total:,} transitions in {len(lengths):,} episodes, '
        f'{len(lengths) - self._terminated:,} truncated',
      ),
      (
        'horizon',
        f'{lengths.min():,} to {lengths.max():,} steps an episode, '
        f'median {np.median(lengths):,.0f}',
      ),
      (
        'reward',
        f'{self._rewards[0]:g} to {self._rewards[1]:g}, mean '
        f'{self._reward_sum / total:.4g}',
      ),
      *self._actions.rows(),
    ]
    if np.isfinite(self._probabilities[0]):
      low, high = self._probabilities
      result.append(
        (
          'behaviour density' if self._density else 'behaviour probability',
          f'{low:g} to {high:g}',
        )
      )
    return result


def _ends(limits: tuple[float, float]) -> dict[str, float] | None:
  if not np.isfinite(limits[0]):
    return None
  return {'least': limits[0], 'most': limits[1]}


def _widen(
  limits: tuple[float, float], values: np.ndarray
) -> tuple[float, float]:
  return (
    min(limits[0], float(values.min())),
    max(limits[1], float(values.max())),
  )
