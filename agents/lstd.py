"""LSTD-Q (Bradtke and Barto, 1996; Lagoudakis and Parr, 2003).

Two-stage least squares with fixed features of which each is its own
instrument: u = (psi'(psi - gamma d psi'))^-1 psi'r. One pass over the log, no
training: the check on all other agents. Where states are names, the features
are the cells of a table (`table_lstd`); where episodes have one step and
actions are many, each has a regression of its own (`one_step_lstd`).
"""

from collections.abc import Hashable, Mapping, Sequence

from dfiv_ope import types
from dfiv_ope.agents import (
  base,
  fixed_features,
  one_step_lstd,
  outer_sums,
  table_lstd,
)
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.iv import just_identified, ridge
from dfiv_ope.ope import bellman, decisions

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


class LSTD(fixed_features.Linear):
  """Least-squares temporal differences on random Fourier features."""

  config: Config
  folds = 1
  # Of the last `solve`, if `keep` was told what will be asked of them.
  kept: outer_sums.PartSums | None = None
  _labels: Sequence[Hashable] | None = None

  def keep(self, labels: Sequence[Hashable]) -> None:
    """Tells what parts of the log are asked for, so that sums are made once.

    Args:
      labels: of each part that `solve` is given.
    """
    if isinstance(self._features, decisions.Outer):
      self._labels = tuple(labels)

  def sums(self, parts: base.Parts) -> ridge.Sums:
    """Returns what `solve_sums` needs of some rows; sums merge."""
    return ridge.merge(*fixed_features.half_sums(self._features, parts))

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for the weights on the whole log."""
    if self._labels is None:
      return self.solve_sums(self.sums(parts))
    assert isinstance(self._features, decisions.Outer)
    self.kept = outer_sums.PartSums(self._features, self._labels)
    self.kept.add(parts())
    return self.solve_sums(self.kept.of())

  def solve_sums(self, *folds: ridge.Sums) -> Mapping[str, float]:
    """Solves for the weights from the sums of a log, whatever its folds."""
    found = just_identified.solve(ridge.merge(*folds), self.config.penalty)
    self.weights = found.weights
    return {'penalty': found.penalty}


def make(
  config: Config, problem: bellman.Problem, *, seed: types.Seed
) -> LSTD | table_lstd.TableLSTD | one_step_lstd.OneStepLSTD:
  """Returns the agent of a problem; refuses one that does not fit memory."""
  if table_lstd.fits(problem, config.settings):
    return table_lstd.TableLSTD(config, problem)
  if one_step_lstd.fits(problem, config.settings_of(problem)):
    return one_step_lstd.OneStepLSTD(config, problem, seed=seed)
  config.require(problem.num_actions)
  return LSTD(
    config, fixed_features.make(problem, config.settings_of(problem), seed=seed)
  )
