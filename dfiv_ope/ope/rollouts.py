"""What happened in a model of the environment."""

import dataclasses

import numpy as np

from dfiv_ope import types

# Parts of an episode that are looked at on their own.
PARTS = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Rollouts:
  """What happened in a model.

  Attributes:
    returns: discounted, of each rollout, [K].
    weights: of each step of the log: the mean over rollouts of gamma^t d at the
      times it was taken, [N]. Their sum with the rewards is the mean return.
    beyond: share of the discounted visits, in each tenth of them by time, that
      have no near step of the log, [PARTS]; nan for one without visits.
    left: mean of gamma^t d after the last step: what was not rolled out.
    visits: mean of gamma^t d before each step, [T].
    far: the part of `visits` that has no near step of the log, [T].
  """

  returns: types.FloatArray
  weights: types.FloatArray
  beyond: types.FloatArray
  left: float
  visits: types.FloatArray
  far: types.FloatArray


def beyond(visits: types.FloatArray, far: types.FloatArray) -> types.FloatArray:
  """Returns `Rollouts.beyond` of `visits` and `far`."""
  # Tenths of what counts, not of the steps: late ones may hardly matter.
  before = np.cumsum(visits) - visits
  part = np.minimum((PARTS * before / np.sum(visits)).astype(int), PARTS - 1)
  with np.errstate(invalid='ignore'):
    share: types.FloatArray = np.bincount(
      part, far, minlength=PARTS
    ) / np.bincount(part, visits, minlength=PARTS)
  return share
