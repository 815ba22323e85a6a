"""What a survey of a log adds up, block by block."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import limits
from dfiv_ope.datasets import assembly
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import steps as steps_lib
from dfiv_ope.nn import running_moments


class Start(NamedTuple):
  """Where a block of whole episodes starts.

  Attributes:
    row: number of its first row in the files.
    transition: number of its first transition.
    episode: number of its first episode.
  """

  row: int
  transition: int
  episode: int


class Sums:
  """What a survey adds up, block by block."""

  def __init__(self, discount: float):
    """Begins with none; the discount is that of the value."""
    self._discount = discount
    self.transitions = self.episodes = self._truncated = self._rewarded = 0
    self._returns: list[np.ndarray] = []
    self._lengths: list[np.ndarray] = []
    self._lowest, self._highest, self._largest = np.inf, -np.inf, 0.0
    self._moments = running_moments.Moments()
    self._categories: dict[int, np.ndarray] = {}
    self._hashes = [hashlib.sha256() for _ in (*steps_lib.Steps._fields, '')]
    self.starts: list[Start] = []

  def add(self, block: assembly.Block, log: log_lib.Log) -> None:
    """Takes in the next whole episodes, and the log of these."""
    rewards = log.transitions.reward
    self.starts.append(Start(block.row, self.transitions, self.episodes))
    self._returns.append(log.returns)
    self._lengths.append(np.bincount(log.episodes))
    self.transitions += len(log)
    self.episodes += log.num_episodes
    self._truncated += log.truncated
    self._rewarded += int(np.count_nonzero(rewards))
    self._lowest = min(self._lowest, float(rewards.min()))
    self._highest = max(self._highest, float(rewards.max()))
    self._largest = max(self._largest, float(log.transitions.discount.max()))
    self._moments.add(log.transitions.observation)
    for column in log.categorical:
      self._categories[column] = np.unique(
        np.concatenate(
          [
            self._categories.get(column, np.zeros(0)),
            block.steps.observation[:, column],
          ]
        )
      )
    for each, array in zip(
      self._hashes, (*block.steps, block.annotations), strict=True
    ):
      # One for each column, so that it does not matter what the blocks are.
      each.update(np.ascontiguousarray(array).tobytes())

  def digest(self, known: dict[str, Any]) -> str:
    """Returns what identifies the rows and what they mean."""
    whole = hashlib.sha256(repr(sorted(known.items())).encode())
    for each in self._hashes:
      whole.update(each.digest())
    return whole.hexdigest()

  def found(self) -> dict[str, Any]:
    """Returns the fields of `streamed.Survey` that are sums."""
    limits.finite_value(
      self._discount, truncated=self._truncated, largest=self._largest
    )
    return {
      'transitions': self.transitions,
      'returns': np.concatenate(self._returns),
      'lengths': np.concatenate(self._lengths),
      'truncated': self._truncated,
      'lowest': self._lowest,
      'highest': self._highest,
      'rewarded': self._rewarded,
      'largest_discount': self._largest,
      'scales': self._moments.standardiser(),
      'categories': {
        column: tuple(each.tolist())
        for column, each in self._categories.items()
      },
    }
