"""A log in memory: whole episodes on their raw scales, and what is known of it.

Nothing is standardised or estimated here. `dfiv_ope.Log` makes one of arrays,
of a data frame, of a Minari dataset or of a directory.
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from dfiv_ope import actions, types
from dfiv_ope.ope import log_notes
from dfiv_ope.policies import episode_returns


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Episodes:
  """Whole episodes of N transitions.

  Attributes:
    transitions: in order, one episode after another; arrays [N, ...].
    episodes: index of the episode of each transition, [N], from 0.
    initial_observations: of each of E episodes, [E, D].
    num_actions: A; 0 if actions are vectors.
    discount: of the value that is asked for.
    name: what the log is called.
    digest: identifies the content, in hexadecimal.
    truncated: number of episodes that were cut off (bootstrapped).
    action_labels: names of the actions; empty if they are numbers from 0.
    observation_names: of the columns of observations; empty if they have none.
    categorical: columns of the observations whose values are names.
    behaviour_probabilities: of each logged action in the behaviour policy,
      [N], its density if actions are vectors; None if they were not recorded.
    recorded_targets: observations [M, D] and the target policy's probabilities
      there, [M, A]; None if they were not recorded.
    notes: what was dropped, and what the columns cannot tell.
    continuous: what the actions are if they are vectors; else None.
  """
  transitions: types.Transition
  episodes: np.ndarray
  initial_observations: np.ndarray
  num_actions: int
  discount: float
  name: str = 'log'
  digest: str = ''
  truncated: int = 0
  action_labels: tuple[str, ...] = ()
  observation_names: tuple[str, ...] = ()
  categorical: tuple[int, ...] = ()
  behaviour_probabilities: types.FloatArray | None = None
  recorded_targets: tuple[np.ndarray, np.ndarray] | None = None
  notes: tuple[log_notes.Note, ...] = ()
  continuous: actions.Continuous | None = None

  def __len__(self) -> int:
    """The number of transitions."""
    return len(self.episodes)

  def __repr__(self) -> str:
    shown = (f'{self.num_actions} actions' if self.continuous is None else
             f'{self.continuous.size} action entries')
    return (
        f'<{type(self).__name__} {self.name}: {len(self):,} transitions in '
        f'{self.num_episodes:,} episodes ({self.truncated:,} truncated), '
        f'{self.num_observations} observation entries, {shown}, discount '
        f'{self.discount:g}>')

  @property
  def num_observations(self) -> int:
    """D, columns of an observation."""
    return self.transitions.observation.shape[1]

  @property
  def num_episodes(self) -> int:
    """E."""
    return len(self.initial_observations)

  def for_policies(self) -> dict[str, Any]:
    """Returns what `policies.identity.identify` is told of the log."""
    known = {
        'num_actions': self.num_actions, 'transitions': self.transitions,
        'episodes': self.episodes, 'action_labels': self.action_labels,
        'recorded': self.recorded_targets, 'categorical': self.categorical}
    if self.continuous is not None:
      known['continuous'] = self.continuous
    return known

  @functools.cached_property
  def average_return(self) -> episode_returns.MonteCarlo:
    """The naive estimate: mean of `returns` and its standard error."""
    return episode_returns.summarise(
        self.returns.tolist(), np.bincount(self.episodes).tolist())

  @functools.cached_property
  def returns(self) -> types.FloatArray:
    """Discounted return of each episode, as far as it was logged, [E]."""
    rewards = np.asarray(self.transitions.reward, np.float64)
    starts = np.flatnonzero(np.diff(self.episodes, prepend=-1))
    step = np.arange(len(rewards)) - starts[self.episodes]
    return np.bincount(
        self.episodes, weights=rewards * self.discount ** step)
