"""A blend of unrelated estimators: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.agents.entries import doubly_robust


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(doubly_robust.Config):
  """Hyper-parameters: those of LSTD-Q and of weights, and of rollouts.

  Attributes:
    rollouts: in the log's nearest steps, as of `nearest`.
  """

  rollouts: int = 1_000

  def __post_init__(self) -> None:
    super().__post_init__()
    configs.check_at_least(self, 2, 'rollouts')


# No paper of ours has it.
CONFIGS = {'default': Config(), 'paper': Config()}
ENTRY = registry.Entry(
  version=9,
  configs=CONFIGS,
  cost=doubly_robust.COST,
  direct=True,
  tiny={'folds': 2, 'random_features': 10, 'rollouts': 400},
  style=registry.Style(
    label='Blend', family=registry.DOUBLY_ROBUST, color='#8c6bb1', marker='8'
  ),
  when=(
    'When one number is wanted and it is not known which estimator to '
    'believe: LSTD-Q, rollouts in nearest steps (not of tables) and, where '
    'probabilities are recorded, DR, by their estimated mean squared errors.'
  ),
)
