"""The average of closed forms: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, hints, registry
from dfiv_ope.iv import bases
from dfiv_ope.iv.methods.entries import sieve

# What can have a share, the simplest first.
CANDIDATES = ('two_sls', 'sieve', 'kiv', 'agmm')
# Begin the names of their losses and shares in a history; how clearly there is
# more than a line.
LOSS, SHARE, CURVE = 'loss_of_', 'share_of_', 'curve_t'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters of the average.

  Attributes:
    candidates: methods that may have a share; each has its defaults. Of a
      fitted model, those that have one: curves, the largest first, and 2SLS.
    treatment_bases: candidates of the sieve for psi.
    covariate_bases: candidates of the sieve for xi.
    covariate_products: candidates of the sieve.
    choice_rows: rows that decide the shares, at most.
  """

  candidates: tuple[str, ...] = CANDIDATES
  treatment_bases: tuple[bases.Basis, ...] = sieve.Config.treatment_bases
  covariate_bases: tuple[bases.Basis, ...] = sieve.Config.covariate_bases
  covariate_products: tuple[bool, ...] = sieve.Config.covariate_products
  choice_rows: int = 10_000

  def __post_init__(self) -> None:
    if not self.candidates:
      raise ValueError('candidates must name at least one method, got none.')
    for name in self.candidates:
      hints.require('candidate', name, CANDIDATES)
    configs.check_at_least(self, 40, 'choice_rows')


CONFIGS = {'default': Config()}
ENTRY = registry.Entry(
  version=7,
  configs=CONFIGS,
  tiny={'candidates': ('two_sls', 'agmm')},
  cost={'fixed': 20.0},
  style=registry.Style(
    label='Auto IV', family=registry.CLOSED_FORM, color='#8c6bb1', marker='P'
  ),
  when=(
    'When nothing is known of the effect: fits 2SLS, the sieve, KIV and '
    'AGMM to halves of the rows and averages those whose predictions, '
    'averaged over what the instruments leave open, are about as close to '
    'the outcomes of the other half as the closest; the less clear it is '
    'that there is more than a line, the more of 2SLS.'
  ),
)
