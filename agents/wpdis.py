"""Weighted importance sampling per decision (Precup et al., 2000).

sum_t [sum_i c_it rho_it r_it / sum_i rho_it], see `ope.weighing`.

Deviation: weights are normalised at each step, as Thomas and Brunskill (2016)
do, not over all steps together.
"""

from dfiv_ope import types
from dfiv_ope.agents import direct, importance_sampling
from dfiv_ope.agents.entries import wpdis as entry
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate; nothing in it is drawn."""
  del seed
  return importance_sampling.weigh(
    config, task, per_decision=True, normalised=True
  )
