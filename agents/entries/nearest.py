"""Rollouts in a model of nearest neighbours: registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.agents.entries import base


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(base.MethodConfig):
  """Hyper-parameters of the model and its rollouts.

  Attributes:
    rollouts: at least as many, the same number from each initial state; of a
      log with more episodes, one from each of as many.
    folds: of episodes, for the values that its interval is made of.
  """

  rollouts: int = 1_000
  folds: int = 5

  def __post_init__(self) -> None:
    configs.check_at_least(self, 2, 'rollouts', 'folds')


# No paper of ours has it.
CONFIGS = {'default': Config(), 'paper': Config()}
ENTRY = registry.Entry(
  version=8,
  configs=CONFIGS,
  cost={'fixed': 2.0},
  direct=True,
  tiny={'rollouts': 400, 'folds': 2},
  style=registry.Style(
    label='Nearest', family=registry.MODEL, color='#6b7f8f', marker='h'
  ),
  when=(
    'Beside any other, as a check that shares nothing with its value: the '
    "target policy is rolled out in the log's own steps. It says how far "
    'the policy leaves the log. For smooth dynamics in a few columns, and '
    'for tables.'
  ),
)
