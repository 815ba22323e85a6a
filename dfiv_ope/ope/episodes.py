"""A log in memory: whole episodes on their raw scales, and what is known of it.

Nothing is standardised or estimated here. `dfiv_ope.Log` makes one of arrays,
of a data frame, of a Minari dataset or of a directory.
"""

import dataclasses
import functools
import hashlib
from typing import Any, Self

import numpy as np

from dfiv_ope import actions, limits, types
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
    discount: of the value that is asked for; 1 if all episodes terminate.
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
    time_feature: whether the last column of the observations is the number of
      the step, which policies do not see.
    starts: states that the value is the mean over, [M, D], if they are others
      than `initial_observations`.
    transitions_only: whether the log is of transitions without episodes, so
      that `episodes` are pieces that chain, and nothing says where it starts.
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
  time_feature: bool = False
  starts: np.ndarray | None = None
  transitions_only: bool = False

  def __post_init__(self) -> None:
    limits.share('discount', self.discount)
    limits.finite_value(
      self.discount,
      truncated=self.truncated,
      largest=float(np.max(self.transitions.discount)),
    )

  def __len__(self) -> int:
    """The number of transitions."""
    return len(self.episodes)

  def __repr__(self) -> str:
    shown = (
      f'{self.num_actions} actions'
      if self.continuous is None
      else f'{self.continuous.size} action entries'
    )
    return (
      f'<{type(self).__name__} {self.name}: {len(self):,} transitions in '
      f'{self.num_episodes:,} episodes ({self.truncated:,} truncated), '
      f'{self.num_observations} observation entries, {shown}, discount '
      f'{self.discount:g}>'
    )

  @property
  def num_observations(self) -> int:
    """Number of columns of an observation, D."""
    return self.transitions.observation.shape[1]

  @property
  def num_episodes(self) -> int:
    """Number of episodes, E."""
    return len(self.initial_observations)

  @property
  def longest(self) -> int:
    """Number of steps of the longest episode."""
    return int(np.bincount(self.episodes).max())

  @property
  def start_states(self) -> np.ndarray:
    """What the value is the mean over: [E, D], or [M, D] of `starts`.

    Raises:
      ValueError: nothing says what they are.
    """
    if self.starts is not None:
      return self.starts
    if self.transitions_only:
      raise ValueError(
        'The log is of transitions without episodes, so nothing says where '
        'episodes start. Give start states: --initial FILE, or '
        'initial_observations in Python.'
      )
    return self.initial_observations

  def starting_from(self, states: Any) -> Self:
    """Returns the log with other start states.

    The value is then the mean over these states, which are taken as they are:
    intervals have no part for other states that might have been given.

    Args:
      states: [M, D], numbers as in `initial_observations`; without the number
        of the step, if that is an observation.

    Raises:
      ValueError: they do not fit the observations.
    """
    found = np.asarray(states)
    wanted = self.num_observations - self.time_feature
    if (
      found.dtype.kind not in 'fiub'
      or found.ndim != 2
      or (found.shape[1] != wanted)
      or not len(found)
    ):
      raise ValueError(
        f'Start states should be numbers of shape [M, {wanted}], as the '
        f'observations of the log are, got shape {found.shape} of type '
        f'{found.dtype}.'
      )
    if not np.isfinite(found).all():
      row, column = np.argwhere(~np.isfinite(found))[0]
      raise ValueError(
        f'Start state {row} has {found[row, column]} in column {column}. '
        'Leave it out, or fill in a number.'
      )
    if self.time_feature:
      found = np.append(found, np.zeros((len(found), 1)), axis=1)
    found = found.astype(self.initial_observations.dtype)
    return dataclasses.replace(
      self,
      starts=found,
      digest=hashlib.sha256(self.digest.encode() + found.tobytes()).hexdigest(),
    )

  def for_policies(self) -> dict[str, Any]:
    """Returns what `policies.identity.identify` is told of the log."""
    seen = self.num_observations - self.time_feature
    transitions, recorded = self.transitions, self.recorded_targets
    if self.time_feature:
      transitions = transitions._replace(
        observation=transitions.observation[:, :seen],
        next_observation=transitions.next_observation[:, :seen],
      )
      recorded = recorded and (recorded[0][:, :seen], recorded[1])
    known = {
      'num_actions': self.num_actions,
      'transitions': transitions,
      'episodes': self.episodes,
      'action_labels': self.action_labels,
      'recorded': recorded,
      'categorical': tuple(each for each in self.categorical if each < seen),
    }
    if self.continuous is not None:
      known['continuous'] = self.continuous
    return known

  @functools.cached_property
  def average_return(self) -> episode_returns.MonteCarlo:
    """The naive estimate: mean of `returns` and its standard error."""
    return episode_returns.summarise(
      self.returns.tolist(), np.bincount(self.episodes).tolist()
    )

  @functools.cached_property
  def returns(self) -> types.FloatArray:
    """Discounted return of each episode, as far as it was logged, [E]."""
    rewards = np.asarray(self.transitions.reward, np.float64)
    starts = np.flatnonzero(np.diff(self.episodes, prepend=-1))
    weights = episode_returns.weights_of_all(
      self.discount, self.transitions.discount, starts
    )
    return np.bincount(self.episodes, weights=rewards * weights)
