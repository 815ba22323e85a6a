"""Doubly robust evaluation (Jiang and Li, 2016).

1/E sum_i [v(s_i0) + sum_t c_it rho_it e_it] with e = r + gamma d v(s') -
q(s, a), see `ope.weighing`; q is LSTD-Q of other episodes.
"""

from dfiv_ope import types
from dfiv_ope.agents import direct, doubly_robust
from dfiv_ope.agents.entries import dr as entry
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate."""
  found = doubly_robust.prepare(config, task, seed=seed)
  return doubly_robust.answer(found, found.weigh(normalised=False))
