"""Kernel instrumental variable regression (Singh et al., 2019) for OPE.

Both variables of the regression are made of states and actions, so one
Gaussian kernel serves both, through one set of random Fourier features. The
penalties are chosen by held-out losses, each half of the log judging the
other (`closed_form.cross_fit_sums`).
"""

from collections.abc import Mapping
import dataclasses
from typing import ClassVar

from dfiv_ope import types
from dfiv_ope.agents import base, fixed_features
from dfiv_ope.iv import closed_form
from dfiv_ope.ope import bellman

_PENALTIES = tuple(10. ** exponent for exponent in range(-12, -3))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(fixed_features.Config):
  """Hyper-parameters of KIV.

  Attributes:
    stage1_penalties: candidates of lambda1.
    stage2_penalties: candidates of lambda2.
  """
  stage1_penalties: tuple[float, ...] = _PENALTIES
  stage2_penalties: tuple[float, ...] = _PENALTIES
  matrices: ClassVar[int] = fixed_features.KIV_MATRICES

  def __post_init__(self) -> None:
    super().__post_init__()
    closed_form.check_candidates(self)


# The default has the features of LSTD-Q (`lstd.py`).
# Deviation: the paper does not say how its 100 features depend on the action.
CONFIGS = {
    'default': Config(),
    'paper': Config(
        random_features=100, bandwidth_scale=1., stage1_penalties=(1e-5,),
        stage2_penalties=(1e-5,)),
}


class KIV(fixed_features.Linear):
  """Two-stage ridge regression on random Fourier features."""
  config: Config

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves both stages on the whole log, Eq. (7) and (9)."""
    halves = fixed_features.half_sums(self._features, parts)
    solution = closed_form.cross_fit_sums(
        *halves, stage1_penalties=self.config.stage1_penalties,
        stage2_penalties=self.config.stage2_penalties)
    self._weights.assign(solution.stage2_weights)
    return {
        'stage1_penalty': solution.stage1_penalty,
        'stage2_penalty': solution.stage2_penalty,
        'held_out_stage1_loss': min(solution.stage1_losses),
        'held_out_stage2_loss': min(solution.stage2_losses),
        **fixed_features.stage1_metrics(*halves, solution.stage1_penalty)}


def make(config: Config, problem: bellman.Problem, *, seed: types.Seed) -> KIV:
  """Returns the agent of a problem; refuses one that does not fit memory."""
  fixed_features.require(
      problem.num_actions, config.random_features,
      matrices=fixed_features.KIV_MATRICES)
  return KIV('kiv', config, fixed_features.make(
      problem, size=config.random_features,
      bandwidth_scale=config.bandwidth_scale, seed=seed))
