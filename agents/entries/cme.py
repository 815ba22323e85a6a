"""A model by conditional mean embeddings: hyper-parameters, registry entry."""

import dataclasses
from typing import ClassVar

from dfiv_ope import registry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv.methods.entries import penalties as penalties_lib

_PENALTIES = tuple(10.0**exponent for exponent in range(-10, 1))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(random_features.Config):
  """Hyper-parameters of the model.

  Attributes:
    bandwidth_scale: multiplies the median distance between observations; None
      to choose it by the held-out loss of the model.
    penalties: candidates of the ridge penalties of transitions and of rewards,
      rising.
  """

  penalties: tuple[float, ...] = _PENALTIES
  matrices: ClassVar[int] = random_features.KIV_MATRICES

  def __post_init__(self) -> None:
    super().__post_init__()
    penalties_lib.check(self, ['penalties'])


# What is fixed in `agents.cme` was chosen on development cases of the suite. No
# paper of ours has it.
CONFIGS = {'default': Config(), 'paper': Config()}
ENTRY = registry.Entry(
  version=1,
  configs=CONFIGS,
  tiny={'random_features': 10},
  cost={'fixed': 4.0},
  style=registry.Style(
    label='CME', family=registry.CLOSED_FORM, color='#8c6d46', marker='P'
  ),
  when=(
    'As a check on LSTD-Q: a model of steps and rewards on the same kind of '
    'features, whose penalties and bandwidth are those that predict held-out '
    'steps best. Where LSTD-Q is unstable: short logs, noisy steps.'
  ),
)
