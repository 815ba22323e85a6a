"""Double reinforcement learning (Kallus and Uehara, 2020).

E q(s0, pi) + sum w (r + gamma d q(s', pi) - q(s, a)), where q is LSTD-Q and w
are the target's visits (`visitation`), both of other episodes.

Deviation: w is solved for by the dual of LSTD-Q, with a penalty of its own
chosen by held-out episodes, where the paper leaves w open.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import cross_fitting, direct, visitation
from dfiv_ope.agents.entries import drl as entry
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate."""
  held_out = cross_fitting.folds(task, config.folds, seed=seed)
  values = cross_fitting.values(config, task, held_out, seed=seed)
  found = visitation.weights(
    config,
    task,
    held_out,
    seed=seed,
    penalties=(
      config.weight_prior_rows
      if cross_fitting.is_table(config, task)
      else config.weight_penalties
    ),
  )
  return cross_fitting.answer(
    task,
    values,
    found.rows,
    {
      'weight_penalty': found.penalty,
      'model_value': float(np.mean(values.initial)),
    },
  )
