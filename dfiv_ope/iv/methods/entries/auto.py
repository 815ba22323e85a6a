"""The choice between closed forms: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, hints, registry
from dfiv_ope.iv import bases
from dfiv_ope.iv.methods.entries import sieve

# What can be chosen, the simplest first.
CANDIDATES = ('two_sls', 'sieve', 'kiv', 'agmm')
# Begins the names of their losses in a history.
LOSS = 'loss_of_'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters of the choice.

  Attributes:
    candidates: methods to choose from, the simplest first; each has its
      defaults. Of a fitted model, the chosen one.
    treatment_bases: candidates of the sieve for psi.
    covariate_bases: candidates of the sieve for xi.
    choice_rows: rows that the choice looks at, at most.
    least_gain: by how many standard errors of their difference a later
      candidate has to have less loss than the first.
  """

  candidates: tuple[str, ...] = CANDIDATES
  treatment_bases: tuple[bases.Basis, ...] = sieve.Config.treatment_bases
  covariate_bases: tuple[bases.Basis, ...] = sieve.Config.covariate_bases
  choice_rows: int = 10_000
  least_gain: float = 1.0

  def __post_init__(self) -> None:
    if not self.candidates:
      raise ValueError('candidates must name at least one method, got none.')
    for name in self.candidates:
      hints.require('candidate', name, CANDIDATES)
    configs.check_at_least(self, 40, 'choice_rows')
    configs.check_at_least(self, 0, 'least_gain')


CONFIGS = {'default': Config()}
ENTRY = registry.Entry(
  version=4,
  configs=CONFIGS,
  tiny={'candidates': ('two_sls', 'agmm')},
  cost={'fixed': 20.0},
  style=registry.Style(
    label='Auto IV', family=registry.CLOSED_FORM, color='#8c6bb1', marker='P'
  ),
  when=(
    'When nothing is known of the effect: fits 2SLS, the sieve, KIV and '
    'AGMM to halves of the rows and keeps the one whose predictions, '
    'averaged over what the instruments leave open, are closest to the '
    'outcomes of the other half.'
  ),
)
