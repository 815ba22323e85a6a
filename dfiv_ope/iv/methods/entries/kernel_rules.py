"""What kernel regressions take: hyper-parameters that KIV and AGMM share."""

import dataclasses

from dfiv_ope import configs
from dfiv_ope.iv.methods.entries import penalties


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kernels:
  """How kernels are chosen and regressions are cross-fitted.

  Attributes:
    search_bandwidths: whether multiples of the median bandwidths are tried
      (`bandwidths`), and kernels made wider where the effect hardly changes
      (`directions`); without, and of pictures, the median is taken.
    most_landmarks: features of a kernel, at most; of more than 20,000 rows up
      to twice as many.
    tolerance: what may be left of a kernel at any row with fewer of them.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    folds: of the cross-fitting.
    slack: lambda2 is the largest candidate within so many standard errors of
      the least held-out loss. Where the instruments leave much of the treatment
      open, losses hardly tell penalties apart, and a large one adds less that
      the data do not ask for.
    outcome_width: outcomes of heavy tails are clipped at so many robust
      standard deviations from what treatment and covariates explain
      (`heavy_tails`); 0 for never.
  """

  search_bandwidths: bool = True
  most_landmarks: int = 400
  tolerance: float = 1e-8
  stage1_penalties: tuple[float, ...] = penalties.DECADES
  stage2_penalties: tuple[float, ...] = penalties.CANDIDATES
  folds: int = 5
  slack: float = 0.05
  outcome_width: float = 4.0

  def __post_init__(self) -> None:
    configs.check_positive(self, 'tolerance')
    configs.check_at_least(self, 1, 'most_landmarks', 'folds')
    configs.check_at_least(self, 0, 'slack', 'outcome_width')
    penalties.check(self)
