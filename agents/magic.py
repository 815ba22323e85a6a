"""MAGIC: a blend of model and weights (Thomas and Brunskill, 2016).

WDR that stops weighing after j steps and leaves the rest to the model is
g_j; from g_-1, the model alone, to WDR itself. Their blend has the least
estimated mean squared error (`ope.blending`): the variance of each, and as bias
its distance from a 50 % interval of WDR, which has none in the limit.

Deviation: j are -1, 0, 1, 3, 7, ... rather than all; what episodes add comes by
the delta method. The model is no given one: it was learned from the log, so
g_j also varies by the errors of its rows, with the weights of LSTD-Q's dual,
as far as the model is what goes on after j.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import cross_fitting, direct, doubly_robust, visitation
from dfiv_ope.agents.entries import magic as entry
from dfiv_ope.ope import blending, weighing
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate; what WDR says beyond it widens the interval."""
  found = doubly_robust.prepare(config, task, seed=seed)
  where, values = found.weights.where, found.values
  marks = [0]
  while marks[-1] < where.longest:
    marks.append(min(2 * marks[-1] or 1, where.longest))
  every = [found.weigh(normalised=True, until=mark) for mark in marks]
  wdr = every[-1]
  left = weighing.remaining(found.weights.logs, found.weights.discounts, where)[
    marks
  ]
  learned = _centred(
    where.total(
      values.errors
      * visitation.weights(
        config,
        task,
        found.held_out,
        seed=seed,
        penalties=(_penalty(config, task),),
      ).rows
    )
  )
  bias = blending.biases(
    np.array([each.value for each in every]),
    wdr.value,
    float(np.sqrt(np.sum(np.square(wdr.added)))),
  )
  added = np.stack([each.added for each in every]) + np.outer(
    left, learned
  )  # [J, E]
  shares = blending.weights(blending.covariance(added) + np.outer(bias, bias))
  value = float(shares @ [each.value for each in every])
  blend = weighing.Weighed(
    value,
    shares @ added,
    wdr.effective_episodes,
    wdr.largest_share,
    wdr.mean_weight,
  )
  made = doubly_robust.answer(found, blend, correction=wdr.value - value)
  return made._replace(
    metrics={
      **made.metrics,
      'model_share': float(shares[0]),
      'values_share': max(made.metrics['values_share'], float(shares @ left)),
      'weighted_value': wdr.value,
    }
  )


def _penalty(config: Config, task: task_lib.EvaluationTask) -> float:
  """Returns that of LSTD-Q itself."""
  return (
    config.prior_rows
    if cross_fitting.is_table(config, task)
    else config.penalty
  )


def _centred(added: types.FloatArray) -> types.FloatArray:
  return added - added.mean()
