"""Sieve IV: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.iv import bases
from dfiv_ope.iv.methods.entries import penalties


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters of sieve IV.

  Attributes:
    treatment_bases: candidates for psi, the simplest first.
    covariate_bases: candidates for xi, and for the covariate's part of phi.
    covariate_products: whether functions of the treatment are multiplied with
      those of the covariates; candidates. Without products f is a function of
      the treatment plus one of the covariates.
    instrument_basis: the instrument's part of phi; with fewer functions than
      psi, f would not be identified.
    interaction: the most columns that one product of psi, phi or xi joins.
    most_functions: products of fewer columns are formed where psi, phi or xi
      would have more functions than this.
    most_columns: bases whose stage-2 design would have more columns than this
      are not tried.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    slack: lambda2 is the largest candidate within so many standard errors of
      the least held-out loss.
    moment_penalty: ridge penalty of the projection on predicted functions,
      which are then the instruments of the actual ones
      (`closed_form.cross_fit`); None for Eq. (9).
    outcome_width: outcomes of heavy tails are clipped at so many robust
      standard deviations from what treatment and covariates explain
      (`heavy_tails`); 0 for never.
  """

  treatment_bases: tuple[bases.Basis, ...] = (
    bases.Hermite(1),
    bases.Hermite(2),
    bases.BSpline(5),
    bases.BSpline(8),
    bases.BSpline(12),
  )
  covariate_bases: tuple[bases.Basis, ...] = (
    bases.Hermite(2),
    bases.BSpline(6),
    bases.BSpline(12),
    bases.BSpline(24),
    bases.BSpline(32),
  )
  covariate_products: tuple[bool, ...] = (True, False)
  instrument_basis: bases.Basis = bases.BSpline(12)
  interaction: int = 2
  most_functions: int = 700
  most_columns: int = 1300
  stage1_penalties: tuple[float, ...] = penalties.CANDIDATES
  stage2_penalties: tuple[float, ...] = penalties.CANDIDATES
  slack: float = 0.05
  moment_penalty: float | None = 1e-6
  outcome_width: float = 4.0

  def __post_init__(self) -> None:
    if self.interaction < 1:
      raise ValueError(
        f'interaction must be at least 1, got {self.interaction}.'
      )
    for name in ('treatment_bases', 'covariate_bases', 'covariate_products'):
      if not getattr(self, name):
        raise ValueError(f'{name} must have at least one candidate, got none.')
    penalties.check(self)
    configs.check_at_least(self, 0, 'slack', 'outcome_width')
    if self.moment_penalty is not None:
      configs.check_positive(self, 'moment_penalty')


CONFIGS = {'default': Config()}
ENTRY = registry.Entry(
  version=3,
  configs=CONFIGS,
  cost={'fixed': 6.0},
  style=registry.Style(
    label='Sieve IV', family=registry.CLOSED_FORM, color='#009e73', marker='s'
  ),
  when=(
    'When the effect may be curved and there are few columns: splines and '
    'polynomials, chosen by held-out losses, in seconds.'
  ),
)
