"""Weights of episodes as data: what all methods that weigh a log are told."""

import dataclasses

from dfiv_ope import configs
from dfiv_ope.agents.entries import base

# CPU seconds of a run, roughly; most of it are the clones of the behaviour
# policy, and recorded probabilities need none.
COST = {'fixed': 13.0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(base.MethodConfig):
  """What every method that weighs by pi(a|s) / b(a|s) is told.

  Attributes:
    cap: largest weight, the product of an episode's ratios so far; None for
      any. A cap makes the estimate steadier, and draws it to what the
      behaviour policy earns.
    folds: of episodes, for what is estimated: a clone of the behaviour policy
      never saw the episodes that it weighs.
  """

  cap: float | None = None
  folds: int = 5

  def __post_init__(self) -> None:
    if self.cap is not None:
      configs.check_positive(self, 'cap')
    configs.check_at_least(self, 2, 'folds')


# No paper has other ones.
CONFIGS = {'default': Config(), 'paper': Config()}
