"""Kernel IV: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import configs, registry
from dfiv_ope.iv.methods.entries import kernel_rules, penalties


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(kernel_rules.Kernels):
  """Hyper-parameters of KIV.

  With `folds=1` there is no cross-fitting: one half is stage 1, the other stage
  2, and the penalties are chosen as in Appendix A.

  Attributes:
    random_features: number of random Fourier features for each of the two
      kernels, even; None for landmarks.
    bandwidth_scale: multiplies the bandwidth of each column.
    moment_penalty: ridge penalty of the projection on predicted features, which
      are then the instruments of the actual ones (`fold_fits.two_stages`);
      None for the stage 2 of the paper, and without folds.
    treatment_pixels: how many of the last columns of treatment and covariate
      are the pixels of a picture, which have one bandwidth together.
    instrument_pixels: likewise, of instrument and covariate.
  """

  random_features: int | None = None
  bandwidth_scale: float = 1.0
  moment_penalty: float | None = 1e-6
  treatment_pixels: int = 0
  instrument_pixels: int = 0

  def __post_init__(self) -> None:
    super().__post_init__()
    size = self.random_features
    if size is not None and (size < 2 or size % 2):
      raise ValueError(
        f'random_features must be even and at least 2, or None for '
        f'landmarks, got {size}.'
      )
    configs.check_positive(self, 'bandwidth_scale')
    if self.moment_penalty is not None:
      configs.check_positive(self, 'moment_penalty')
    configs.check_at_least(self, 0, 'treatment_pixels', 'instrument_pixels')


# Pictures have one bandwidth, and halves that predict each other.
PICTURES = Config(
  search_bandwidths=False,
  folds=2,
  slack=1.0,
  outcome_width=0.0,
  moment_penalty=None,
  stage1_penalties=penalties.CANDIDATES,
)
# The paper's setting. Its text leaves the grids of penalties open.
PAPER = Config(
  random_features=100,
  folds=1,
  search_bandwidths=False,
  slack=0.0,
  outcome_width=0.0,
  moment_penalty=None,
  stage1_penalties=penalties.CANDIDATES,
)
CONFIGS = {'default': Config(), 'paper': PAPER}
ENTRY = registry.Entry(
  version=6,
  configs=CONFIGS,
  cost={'fixed': 2.0},
  paper_cost={'fixed': 0.2},
  style=registry.Style(
    label='KIV', family=registry.CLOSED_FORM, color='#b87900', marker='^'
  ),
  when=(
    'When the effect is smooth in a few columns and nothing should be '
    'trained. With many covariates learned features do better: DFIV had a '
    'far smaller error on the demand design.'
  ),
)
