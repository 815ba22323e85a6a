"""A blend of unrelated estimators, by their estimated mean squared errors.

sum_j x_j theta_j, with the x of least x'(Omega + B)x on a simplex
(`ope.blending`). Omega comes from what the episodes add to each estimate, with
no refit; B from differences beyond what chance explains of them. The members
(`blend_members`) differ in what they assume, so that their biases are not the
same: LSTD-Q smooths and takes observations for states, rollouts in nearest
steps do only the latter, DR does neither. So where DR is there, differences to
it are the others' biases; elsewhere either may be wrong, and what they differ
by draws the blend to their mean.
"""

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import blend_members, direct
from dfiv_ope.agents.entries import blend as entry
from dfiv_ope.ope import blending
from dfiv_ope.ope import task as task_lib

# Known before this module is loaded.
Config = entry.Config
CONFIGS = entry.CONFIGS


def estimate(
  config: Config, task: task_lib.EvaluationTask, *, seed: types.Seed
) -> direct.Direct:
  """Returns the estimate; `..._share` in its metrics is each member's x."""
  return combine(blend_members.find(config, task, seed=seed))


def combine(members: dict[str, direct.Direct]) -> direct.Direct:
  """Returns the blend of members, by name (`blend_members`)."""
  names = list(members)
  values, unseen = (
    np.array(each)
    for each in zip(
      *((each.value, each.draw_error) for each in members.values()), strict=True
    )
  )
  added = np.stack([each.added for each in members.values()])  # [J, E]
  covariance = blending.covariance(added, unseen)
  biases = (
    blending.from_trusted(values, covariance, names.index(blend_members.DR))
    if blend_members.DR in names
    else blending.from_differences(values, covariance)
  )
  shares = blending.weights(covariance + biases)
  most = members[names[int(np.argmax(shares))]]
  return direct.Direct(
    float(shares @ values),
    shares @ added,
    {
      **{
        name: most.metrics[name]
        for name in ('effective_episodes', 'largest_weight_share')
      },
      'effective_share': members[blend_members.LSTD].metrics['effective_share'],
      **{
        f'{name}_share': float(share)
        for name, share in zip(names, shares, strict=True)
      },
      'root_mean_squared_error': float(
        np.sqrt(shares @ (covariance + biases) @ shares)
      ),
    },
    draw_error=float(np.linalg.norm(shares * unseen)),
  )
