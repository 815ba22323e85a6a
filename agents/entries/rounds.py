"""What training in rounds is told, whatever learns in it."""

import dataclasses
from typing import ClassVar


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters that all learners of target policies have.

  Attributes:
    algorithm: what learns, as records have it.
    seconds_of_a_transition: CPU seconds that one takes, roughly.
    hidden: widths of the networks' hidden layers.
    learning_rate: of Adam, falling linearly to zero over the run.
    discount: discount of the returns that are maximised.
    n_step: steps before bootstrapping.
    transitions: total number of environment steps of a run.
    episodes_per_round: episodes rolled side by side before each learning phase.
    warmup_rounds: rounds of uniform actions before learning starts.
    block: transitions that are replayed together.
    blocks_per_batch: blocks in a batch of an update.
    uses: how often a transition is replayed.
    window: number of rounds over which these uses are spread.
    trial_episodes: episodes of the policy at every checkpoint; the last policy
      that no earlier one clearly beats is the result of a run.
    hold: probability that an exploratory action goes on for another step.
  """

  algorithm: ClassVar[str]
  seconds_of_a_transition: ClassVar[float]

  hidden: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  discount: float = 0.99
  n_step: int = 5
  transitions: int = 50_000
  episodes_per_round: int = 32
  warmup_rounds: int = 4
  block: int = 32
  blocks_per_batch: int = 8
  uses: int = 8
  window: float = 40.0
  trial_episodes: int = 64
  hold: float = 0.0

  def __post_init__(self) -> None:
    self._at_least_one(
      'n_step',
      'transitions',
      'episodes_per_round',
      'block',
      'blocks_per_batch',
      'uses',
      'trial_episodes',
    )
    if min(self.hidden, default=1) < 1:
      raise ValueError(f'hidden must hold widths from 1, got {self.hidden}.')
    self._positive('learning_rate', 'window')
    if self.warmup_rounds < 0:
      raise ValueError(
        f'warmup_rounds must not be negative, got {self.warmup_rounds}.'
      )
    self._shares('discount', 'hold')

  @property
  def updates(self) -> int:
    """Number of updates of a whole run."""
    return self.transitions * self.uses // (self.block * self.blocks_per_batch)

  def _at_least_one(self, *names: str) -> None:
    for name in names:
      if getattr(self, name) < 1:
        raise ValueError(
          f'{name} must be at least 1, got {getattr(self, name)}.'
        )

  def _positive(self, *names: str) -> None:
    for name in names:
      if not getattr(self, name) > 0.0:
        raise ValueError(f'{name} must be positive, got {getattr(self, name)}.')

  def _shares(self, *names: str) -> None:
    for name in names:
      if not 0.0 <= getattr(self, name) <= 1.0:
        raise ValueError(
          f'{name} must lie in [0, 1], got {getattr(self, name)}.'
        )
