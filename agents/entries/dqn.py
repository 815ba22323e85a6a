"""DQN, which trains target policies: hyper-parameters, and those of tasks."""

import dataclasses
from typing import ClassVar

from dfiv_ope.agents.entries import rounds


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(rounds.Config):
  """DQN hyper-parameters, see `rounds.Config` for the others.

  Attributes:
    target_period: updates between copies to the target network.
    epsilon: probability, at the end, of starting an exploratory action.
  """

  algorithm: ClassVar[str] = 'dqn'
  seconds_of_a_transition: ClassVar[float] = 1 / 2_500

  target_period: int = 100
  epsilon: float = 0.1

  def __post_init__(self) -> None:
    super().__post_init__()
    self._at_least_one('target_period')
    self._shares('epsilon')


# Found by hand at action_noise 0.2; they serve 0.0 to 0.5. Mountain car needs
# long returns and held actions to see the goal at all; on cartpole a discount
# nearer to one keeps the cart from drifting off the track.
TUNED = {
  'catch': Config(trial_episodes=256),
  'mountain_car': Config(
    n_step=10, hold=0.9, transitions=300_000, episodes_per_round=16
  ),
  'cartpole': Config(
    n_step=3, discount=0.997, transitions=300_000, episodes_per_round=16
  ),
}
