"""Weighted doubly robust evaluation (Thomas and Brunskill, 2016).

1/E sum_i v(s_i0) + sum_t [sum_i c_it rho_it e_it / sum_i rho_it] with e = r +
gamma d v(s') - q(s, a), see `ope.weighing`; q is LSTD-Q of other episodes.
"""

from dfiv_ope import types
from dfiv_ope.agents import direct, doubly_robust
from dfiv_ope.agents.entries import wdr as entry
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate."""
  found = doubly_robust.prepare(config, task, seed=seed)
  return doubly_robust.answer(found, found.weigh(normalised=True))
