"""A log that is read in parts, again for every pass, and what is known of it.

What a pass over all rows finds out is a `Survey`; later passes ask for `Part`s,
by the numbers of their transitions, so that any process can read any of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import functools
from typing import NamedTuple, Protocol

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import scaling
from dfiv_ope.ope import episodes as episodes_lib
from dfiv_ope.policies import episode_returns


class Part(NamedTuple):
  """Some transitions of a log that follow each other.

  Attributes:
    transitions: arrays, [B, ...].
    episodes: number of each one's episode in the whole log, [B].
    starts: observations of the episodes that begin here, [S, D].
    behaviour_probabilities: of the actions in the behaviour policy, [B]; None
      if they were not recorded.
  """

  transitions: types.Transition
  episodes: np.ndarray
  starts: types.FloatArray
  behaviour_probabilities: types.FloatArray | None


class Parts(Protocol):
  """What reads a log in parts."""

  def __call__(self, marks: Sequence[int]) -> Iterator[Part]:
    """Yields the transitions from each mark to the next, one part for each."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
  """What one pass over a log of N transitions in E episodes finds out.

  Attributes:
    transitions: N.
    returns: discounted return of each episode, [E].
    lengths: transitions of each episode, [E].
    truncated: number of episodes that were cut off.
    lowest: least reward.
    highest: greatest reward.
    rewarded: number of rewards that are not zero.
    largest_discount: of a step.
    scales: of the columns of observations; those of names are of no matter.
    categories: values of each column of names, rising.
    sample: some whole episodes, or all.
    digest: identifies the content, in hexadecimal.
    at: reads transitions by their numbers, which rise; None where only the
      sample can be asked.
  """

  transitions: int
  returns: types.FloatArray
  lengths: np.ndarray
  truncated: int
  lowest: float
  highest: float
  rewarded: int
  largest_discount: float
  scales: scaling.Standardiser
  categories: Mapping[int, tuple[float, ...]]
  sample: episodes_lib.Episodes
  digest: str
  at: Callable[[Sequence[int]], types.Transition] | None = None

  @property
  def episodes(self) -> int:
    """E."""
    return len(self.returns)

  @property
  def longest(self) -> int:
    """Number of steps of the longest episode."""
    return int(np.max(self.lengths))

  @property
  def complete(self) -> bool:
    """Whether the sample is the whole log."""
    return len(self.sample) == self.transitions

  @functools.cached_property
  def average_return(self) -> episode_returns.MonteCarlo:
    """The naive estimate: mean of `returns` and its standard error."""
    return episode_returns.summarise(
      self.returns.tolist(), self.lengths.tolist()
    )
