"""Weighted importance sampling of whole episodes (Precup et al., 2000).

sum_i rho_i G_i / sum_i rho_i, see `ope.weighing`.
"""

from dfiv_ope import types
from dfiv_ope.agents import direct, importance_sampling
from dfiv_ope.agents.entries import wis as entry
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS
# Whether weights are divided by their sum.
NORMALISED = True


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate; nothing in it is drawn."""
  del seed
  return importance_sampling.weigh(
    config, task, per_decision=False, normalised=NORMALISED
  )
