"""The weights of rows and the influence of episodes, from sums over a log.

What `evaluation.influence` solves for, where the log is read in parts.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, fixed_features
from dfiv_ope.agents.entries import random_features
from dfiv_ope.evaluation import (
  first_stage,
  inference,
  influence,
  shared_pass,
  streamed_effects,
  streamed_passes,
)
from dfiv_ope.iv import just_identified
from dfiv_ope.ope import bellman, decisions, streamed


def dual(
  survey: streamed.Survey,
  problem: bellman.Problem,
  config: random_features.Config,
  sums: streamed_passes.Sums,
) -> types.FloatArray:
  """Returns the coefficients of the weights of rows, [D, 1].

  Args:
    survey: of the log.
    problem: what is asked of it.
    config: of the method.
    sums: of its features, with those of seed 0.
  """
  used = sums.of(
    0, stages=(shared_pass.FIRST, shared_pass.SECOND, shared_pass.WEIGHTS)
  )
  # The sums of all rows would be larger by this.
  share = float(used.count) / survey.transitions
  value = sums.value[:, None] / survey.episodes
  penalty = config.settings_of(problem).penalty
  return share * just_identified.dual(used, value, penalty).weights


class Influence(influence.Influence):
  """The influence of episodes, of sums instead of rows."""

  def __init__(
    self,
    problem: bellman.Problem,
    config: random_features.Config,
    psi: fixed_features.Features,
    sums: streamed_passes.Sums,
    found: streamed_effects.Effects,
    survey: streamed.Survey,
  ):
    """Takes what passes have found.

    Args:
      problem: what is asked of the log.
      config: of the method.
      psi: its features of seed 0.
      sums: of these.
      found: weights of rows, made of the same features.
      survey: of the log.
    """
    self.features = config.settings_of(problem)
    self.cells, self.extrapolation = 0, 0.0
    self.kind = (
      random_features.PER_ACTION
      if isinstance(psi, decisions.Outer)
      else random_features.TOGETHER
    )
    self.columns = psi.output_size
    self._found = found
    self._rows = survey.transitions
    looked_at = [part for _, part in sums.looked_at]
    rows = [problem.rows(part.transitions) for part in looked_at]
    self.first_stage = first_stage.LogFirstStage(
      problem,
      psi,
      lambda: rows,
      (
        sums.of(0, stages=[shared_pass.FIRST]),
        sums.of(0, stages=[shared_pass.SECOND]),
      ),
      features=self.features,
      episodes=np.concatenate([part.episodes for part in looked_at]),
    )

  @property
  def effective_share(self) -> float:
    """Effective sample size as a share of the rows."""
    return self._found.weights**2 / (self._rows * self._found.squares)

  @property
  def heavy_share(self) -> float:
    """Share of all |w r| that the largest thousandth of rows has."""
    most = inference.heavy_rows(self._found.counted)
    size = self._found.size
    return float(np.sum(self._found.largest[:most])) / size if size else 0.0

  def draw_error(self, agent: base.Agent) -> float:
    """Returns 0: of finitely many actions the expectation is exact."""
    del agent
    return 0.0
