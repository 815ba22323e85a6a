"""DQN, which trains target policies: hyper-parameters, and those of tasks."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """DQN hyper-parameters.

  Attributes:
    hidden: widths of the Q-network's hidden layers.
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
    target_period: updates between copies to the target network.
    trial_episodes: episodes of the greedy policy at every checkpoint; the last
      policy that no earlier one clearly beats is the result of a run.
    epsilon: probability, at the end, of starting an exploratory action.
    hold: probability that an exploratory action goes on for another step.
  """
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
  window: float = 40.
  target_period: int = 100
  trial_episodes: int = 64
  epsilon: float = 0.1
  hold: float = 0.

  def __post_init__(self) -> None:
    for name in ('n_step', 'transitions', 'episodes_per_round', 'block',
                 'blocks_per_batch', 'uses', 'target_period', 'trial_episodes'):
      if getattr(self, name) < 1:
        raise ValueError(
            f'{name} must be at least 1, got {getattr(self, name)}.')
    if min(self.hidden, default=1) < 1:
      raise ValueError(f'hidden must hold widths from 1, got {self.hidden}.')
    for name in ('learning_rate', 'window'):
      if not getattr(self, name) > 0.:
        raise ValueError(
            f'{name} must be positive, got {getattr(self, name)}.')
    if self.warmup_rounds < 0:
      raise ValueError(
          f'warmup_rounds must not be negative, got {self.warmup_rounds}.')
    for name in ('discount', 'epsilon', 'hold'):
      if not 0. <= getattr(self, name) <= 1.:
        raise ValueError(
            f'{name} must lie in [0, 1], got {getattr(self, name)}.')

  @property
  def updates(self) -> int:
    """Number of updates of a whole run."""
    return self.transitions * self.uses // (self.block * self.blocks_per_batch)


# Found by hand at action_noise 0.2; they serve 0.0 to 0.5. Mountain car needs
# long returns and held actions to see the goal at all; on cartpole a discount
# nearer to one keeps the cart from drifting off the track.
TUNED = {
    'catch': Config(trial_episodes=256),
    'mountain_car': Config(
        n_step=10, hold=0.9, transitions=300_000, episodes_per_round=16),
    'cartpole': Config(
        n_step=3, discount=0.997, transitions=300_000, episodes_per_round=16),
}
