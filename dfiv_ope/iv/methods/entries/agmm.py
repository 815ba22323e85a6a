"""AGMM in closed form: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import registry
from dfiv_ope.iv.methods.entries import kernel_rules


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(kernel_rules.Kernels):
  """Hyper-parameters of AGMM.

  The folds choose the penalties; the fit itself has no halves.
  """

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.folds < 2:
      raise ValueError(
        f'folds must be at least 2 to choose penalties, got {self.folds}.'
      )


CONFIGS = {'default': Config()}
ENTRY = registry.Entry(
  version=4,
  configs=CONFIGS,
  cost={'fixed': 2.0},
  style=registry.Style(
    label='AGMM', family=registry.CLOSED_FORM, color='#b3446c', marker='D'
  ),
  when=(
    'When the effect is smooth: kernels as in KIV, but every row serves '
    'both stages. Less error than KIV where treatment and covariates '
    'interact.'
  ),
)
