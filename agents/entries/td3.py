"""TD3, which trains policies over actions that are vectors."""

import dataclasses
from typing import ClassVar

from dfiv_ope.agents.entries import rounds


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(rounds.Config):
  """TD3 hyper-parameters, see `rounds.Config` for the others.

  Standard deviations are parts of half the range between the bounds.

  Attributes:
    target_rate: part of a network that its target network takes over at an
      update of the policy.
    policy_delay: updates of the critics for one of the policy.
    exploration: standard deviation of the noise that is explored with.
    smoothing: standard deviation of the noise in the targets of the critics.
    smoothing_bound: this noise is no larger.
    policy_noise: standard deviation of the noise of the trained policy, which
      the follow-up paper evaluates with 0.2.
  """

  algorithm: ClassVar[str] = 'td3'
  seconds_of_a_transition: ClassVar[float] = 1 / 600

  target_rate: float = 0.01
  policy_delay: int = 2
  exploration: float = 0.3
  smoothing: float = 0.2
  smoothing_bound: float = 0.5
  policy_noise: float = 0.2
  n_step: int = 3
  episodes_per_round: int = 8
  uses: int = 64
  window: float = 20.0
  trial_episodes: int = 16

  def __post_init__(self) -> None:
    super().__post_init__()
    self._at_least_one('policy_delay')
    self._positive('target_rate')
    self._shares(
      'target_rate',
      'exploration',
      'smoothing',
      'smoothing_bound',
      'policy_noise',
    )


_CONTROL = Config(
  hidden=(128, 128),
  episodes_per_round=4,
  warmup_rounds=2,
  block=64,
  blocks_per_batch=4,
  trial_episodes=4,
)

# Found by hand at action_noise 0; a run takes some CPU minutes.
TUNED = {
  'gym:Pendulum-v1': Config(transitions=30_000),
  'gym:MountainCarContinuous-v0': Config(
    transitions=30_000, hold=0.95, exploration=0.5, warmup_rounds=3
  ),
  'control:cartpole-swingup': dataclasses.replace(
    _CONTROL, transitions=100_000
  ),
  'control:cheetah-run': dataclasses.replace(_CONTROL, transitions=200_000),
  'control:walker-walk': dataclasses.replace(_CONTROL, transitions=150_000),
  'control:humanoid-run': dataclasses.replace(_CONTROL, transitions=150_000),
}
