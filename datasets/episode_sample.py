"""A seeded sample of whole episodes of a log that comes in blocks.

Each episode has a key, a hash of its number. Those with the least keys are
taken until they have as many rows as wanted: whatever the blocks are, the same
episodes are taken, and no more than twice as many rows are ever kept.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope.datasets import assembly
from dfiv_ope.datasets import steps as steps_lib

# Of SplitMix64 (Steele et al., 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (
  (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
  (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


class _Episode(NamedTuple):
  key: int
  number: int
  transitions: int
  steps: steps_lib.Steps
  annotations: np.ndarray


class EpisodeSample:
  """Takes in blocks and keeps some of their episodes."""

  def __init__(self, *, transitions: int, seed: int = 0):
    """Begins with none.

    Args:
      transitions: that the sample has at most, but for a single episode.
      seed: same seed, same episodes.
    """
    self._most = transitions
    self._seed = seed
    self._kept: list[_Episode] = []
    self._size = self._count = 0
    self._below = 2**64  # Keys that may still be taken are less.

  def add(self, block: assembly.Block) -> None:
    """Takes in the next whole episodes of the log."""
    starts = np.flatnonzero(block.steps.is_first)
    ends = np.append(starts[1:], len(block.steps.is_first))
    numbers = np.arange(self._count, self._count + len(starts))
    self._count += len(starts)
    hashed = keys(numbers, self._seed)
    small = hashed <= np.uint64(self._below - 1)
    for key, number, start, end in zip(
      *(each[small].tolist() for each in (hashed, numbers, starts, ends)),
      strict=True,
    ):
      if key >= self._below:
        continue
      place = slice(start, end)
      self._kept.append(
        _Episode(
          key,
          number,
          end - start - 1,
          steps_lib.Steps(*(each[place].copy() for each in block.steps)),
          block.annotations[place].copy(),
        )
      )
      self._size += end - start - 1
      if self._size > 2 * self._most:
        self._shrink()

  def _shrink(self) -> None:
    """Keeps the episodes of least keys that are few enough together."""
    self._kept.sort(key=lambda each: each.key)
    total = np.cumsum([each.transitions for each in self._kept])
    # A single one is kept, however long it is.
    count = max(1, int(np.searchsorted(total, self._most, side='right')))
    if count < len(self._kept):
      self._below = self._kept[count].key
    self._kept = self._kept[:count]
    self._size = int(total[count - 1])

  def taken(self) -> assembly.Block:
    """Returns the sample, in the order of the log."""
    self._shrink()
    chosen = sorted(self._kept, key=lambda each: each.number)
    return assembly.Block(
      steps_lib.concatenate(each.steps for each in chosen),
      np.concatenate([each.annotations for each in chosen]),
      0,
    )


def keys(numbers: np.ndarray, seed: int) -> np.ndarray:
  """Returns a hash of each number, uint64 [N]."""
  with np.errstate(over='ignore'):
    mixed = (numbers.astype(np.uint64) + np.uint64(seed + 1)) * _GOLDEN
    for shift, factor in _MIX:
      mixed = (mixed ^ (mixed >> shift)) * factor
  return mixed ^ (mixed >> np.uint64(31))
