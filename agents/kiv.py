"""Kernel instrumental variable regression (Singh et al., 2019) for OPE.

Both variables of the regression are made of states and actions, so one
Gaussian kernel serves both, through one set of random Fourier features. With
K = psi(s, a) and the treatment X = psi(s, a) - gamma d psi(s', pi), stage 1
predicts X from K by ridge regression, W. Its penalty is chosen by held-out
losses, each half of the log judging the other. Stage 2 is one of two:

- 'plug-in', the paper's: the reward is regressed on W, Eq. (9). What the
  penalty of stage 1 shrinks makes values of policies alike.
- 'moment'. Deviation: W is only the instrument of X, u = (W'X)^-1 W'r, so that
  what stage 1 shrinks costs precision alone, as in the KIV of arrays
  (`iv.methods.kiv`).
"""

from collections.abc import Mapping

from dfiv_ope import types
from dfiv_ope.agents import fixed_features
from dfiv_ope.agents.entries import kiv as entry
from dfiv_ope.iv import closed_form, fold_fits, ridge
from dfiv_ope.ope import bellman

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


class KIV(fixed_features.Linear):
  """Two-stage ridge regression on random Fourier features."""

  config: Config

  def solve_sums(self, *folds: ridge.Sums) -> Mapping[str, float]:
    """Solves both stages, each half of the log judging the other."""
    config = self.config
    first, second = folds
    if config.solve == entry.MOMENT:
      solution = fold_fits.predicted_instruments(
        folds,
        stage1_penalties=config.stage1_penalties,
        stage2_penalty=config.stage2_penalties[0],
      )
    else:
      solution = closed_form.cross_fit_sums(
        first,
        second,
        stage1_penalties=config.stage1_penalties,
        stage2_penalties=config.stage2_penalties,
      )
    self.weights = solution.stage2_weights
    return {
      'stage1_penalty': solution.stage1_penalty,
      'stage2_penalty': solution.stage2_penalty,
      'held_out_stage1_loss': min(solution.stage1_losses),
      **(
        {'held_out_stage2_loss': min(solution.stage2_losses)}
        if solution.stage2_losses
        else {}
      ),
      **fixed_features.stage1_metrics(first, second, solution.stage1_penalty),
    }


def make(config: Config, problem: bellman.Problem, *, seed: types.Seed) -> KIV:
  """Returns the agent of a problem; refuses one that does not fit memory."""
  config.require(problem.num_actions)
  return KIV(
    config, fixed_features.make(problem, config.settings_of(problem), seed=seed)
  )
