"""Kernel instrumental variable regression (Singh et al., 2019) for OPE.

Both variables of the regression are made of states and actions, so one
Gaussian kernel serves both, through one set of random Fourier features. The
penalties are chosen by held-out losses, each half of the log judging the
other (`closed_form.cross_fit_sums`).
"""

from collections.abc import Mapping

from dfiv_ope import types
from dfiv_ope.agents import base, fixed_features
from dfiv_ope.agents.entries import kiv as entry
from dfiv_ope.iv import closed_form
from dfiv_ope.ope import bellman

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


class KIV(fixed_features.Linear):
  """Two-stage ridge regression on random Fourier features."""

  config: Config

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves both stages on the whole log, Eq. (7) and (9)."""
    halves = fixed_features.half_sums(self._features, parts, squares=True)
    solution = closed_form.cross_fit_sums(
      *halves,
      stage1_penalties=self.config.stage1_penalties,
      stage2_penalties=self.config.stage2_penalties,
    )
    self.weights = solution.stage2_weights
    return {
      'stage1_penalty': solution.stage1_penalty,
      'stage2_penalty': solution.stage2_penalty,
      'held_out_stage1_loss': min(solution.stage1_losses),
      'held_out_stage2_loss': min(solution.stage2_losses),
      **fixed_features.stage1_metrics(*halves, solution.stage1_penalty),
    }


def make(config: Config, problem: bellman.Problem, *, seed: types.Seed) -> KIV:
  """Returns the agent of a problem; refuses one that does not fit memory."""
  config.require(problem.num_actions)
  return KIV(
    config, fixed_features.make(problem, config.settings_of(problem), seed=seed)
  )
