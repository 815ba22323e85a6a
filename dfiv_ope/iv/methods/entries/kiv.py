"""Kernel IV: hyper-parameters and registry entry."""

import dataclasses

from dfiv_ope import registry
from dfiv_ope.iv.methods.entries import penalties


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Hyper-parameters of KIV.

  Attributes:
    random_features: number of random Fourier features for each of the two
      kernels, even; None for the exact kernel.
    bandwidth_scale: multiplies the median bandwidth of each column.
    treatment_pixels: how many of the last columns of treatment and covariate
      are the pixels of a picture, which have one bandwidth together.
    instrument_pixels: likewise, of instrument and covariate.
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
    cross_fit: whether each half predicts the other (`closed_form.cross_fit`);
      otherwise one half is stage 1, the other stage 2, and the penalties are
      chosen as in Appendix A.
    slack: with `cross_fit`, lambda2 is the largest candidate within so many
      standard errors of the least held-out loss. Where the instruments leave
      much of the treatment open, losses hardly tell penalties apart, and a
      large one adds less that the data do not ask for.
    tolerance: what may be left of the exact kernel at any row.
  """
  random_features: int | None = None
  bandwidth_scale: float = 1.
  treatment_pixels: int = 0
  instrument_pixels: int = 0
  stage1_penalties: tuple[float, ...] = penalties.CANDIDATES
  stage2_penalties: tuple[float, ...] = penalties.CANDIDATES
  cross_fit: bool = True
  slack: float = 0.
  tolerance: float = 1e-8

  def __post_init__(self) -> None:
    size = self.random_features
    if size is not None and (size < 2 or size % 2):
      raise ValueError(
          f'random_features must be even and at least 2, or None for the '
          f'exact kernel, got {size}.')
    for name in ('bandwidth_scale', 'tolerance'):
      if not getattr(self, name) > 0:
        raise ValueError(
            f'{name} must be positive, got {getattr(self, name)}.')
    if self.slack and not self.cross_fit:
      raise ValueError(
          f'slack goes with cross_fit=True; without, it must be 0, got '
          f'{self.slack}.')
    for name in ('treatment_pixels', 'instrument_pixels', 'slack'):
      if getattr(self, name) < 0:
        raise ValueError(
            f'{name} must be at least 0, got {getattr(self, name)}.')
    penalties.check(self)


# The paper's setting. Its text leaves the grids of penalties open.
PAPER = Config(random_features=100, cross_fit=False)
CONFIGS = {'default': Config(), 'paper': PAPER}
ENTRY = registry.Entry(
    version=1, configs=CONFIGS,
    cost={'fixed': 5.},
    style=registry.Style(
        label='KIV', family=registry.CLOSED_FORM, color='#e69f00', marker='^'),
    when=(
        'When the effect is smooth in a few columns and nothing should be '
        'trained. With many covariates learned features do better: DFIV had a '
        'far smaller error on the demand design.'))
