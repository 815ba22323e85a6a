"""Linear two-stage least squares: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters of linear 2SLS.

  Attributes:
    stage1_penalty: ridge penalty of stage 1 on standardised columns. The
      default is there only to make collinear columns solvable.
    stage2_penalty: the same for stage 2.
  """

  stage1_penalty: float = 1e-12
  stage2_penalty: float = 1e-12

  def __post_init__(self) -> None:
    for name in ('stage1_penalty', 'stage2_penalty'):
      if not getattr(self, name) > 0:
        raise ValueError(
          f'{name} must be positive, got {getattr(self, name)}. Keep the '
          'default for ordinary 2SLS.'
        )


CONFIGS = {'default': Config()}
ENTRY = registry.Entry(
  version=1,
  configs=CONFIGS,
  cost={'fixed': 0.1},
  style=registry.Style(
    label='2SLS', family=registry.CLOSED_FORM, color='#808080', marker='x'
  ),
  when=(
    'When the effect is linear: the coefficients of any textbook, at once. '
    'It cannot follow a curved effect.'
  ),
)
