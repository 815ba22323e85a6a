"""How what a step changes depends on where it is taken: local slopes.

A step of a log that is some way off tells its own change of the state. To first
order the change here is that plus a slope times the offset, where the slope is
the ridge regression of the changes of near steps on where these were taken
(local linear regression: Cleveland, 1979; of dynamics: Atkeson et al., 1997).
Where the log is thin, errors of rollouts are then of second order in the
distance. Noise has no slope, so `worth` asks held-out episodes first.
"""

import numpy as np

from dfiv_ope import types

# Near steps that a slope is made of, and of how many columns at most.
COUNT, MOST_COLUMNS = 20, 8
# Relative to the mean variance of where near steps were taken.
_PENALTY = 1e-3
# Offsets are at most as many times the spread of near steps.
_REACH = 5.0
# Slopes are used if they take away at least this share of errors.
_GAIN = 0.1
# Of the largest change: such differences are those of float32.
_ROUNDING = 1e-3


def added(
  offset: types.FloatArray,
  points: types.FloatArray,
  changes: types.FloatArray,
  weights: types.FloatArray,
) -> types.FloatArray:
  """Returns what slopes add to the changes of other steps, [B, C].

  Args:
    offset: from the step whose change is taken to where it is needed, [B, D].
    points: where near steps were taken, [B, K, D].
    changes: by these, [B, K, C].
    weights: of each near step, not negative, [B, K].
  """
  total = np.maximum(np.sum(weights, axis=1), 1e-9)[:, None, None]
  share = weights[:, :, None] / total
  away = points - np.sum(share * points, axis=1, keepdims=True)
  apart = changes - np.sum(share * changes, axis=1, keepdims=True)
  spread = np.einsum('bki,bkj->bij', share * away, away)  # [B, D, D]
  mean = np.trace(spread, axis1=1, axis2=2) / points.shape[2]
  # Where all near steps are at one place, nothing is known of a slope.
  guard = _PENALTY * mean + 1e-12
  slopes = np.linalg.solve(
    spread + guard[:, None, None] * np.eye(points.shape[2]),
    np.einsum('bki,bkj->bij', share * away, apart),
  )  # [B, D, C]
  size = np.linalg.norm(offset, axis=1)
  most = _REACH * np.sqrt(mean * points.shape[2])
  short = np.minimum(1.0, most / np.maximum(size, 1e-12))
  found: types.FloatArray = np.einsum(
    'bi,bij->bj', short[:, None] * offset, slopes
  )
  return found


def worth(
  actual: types.FloatArray, plain: types.FloatArray, sloped: types.FloatArray
) -> bool:
  """Returns whether slopes predict changes of held-out steps better.

  Args:
    actual: changes, [M, C].
    plain: those of the nearest step of another episode, [M, C].
    sloped: the same with what slopes add, [M, C].
  """
  # Changes that differ by rounding, as those of a clock, say nothing.
  scale = np.std(actual, axis=0)
  varying = scale > _ROUNDING * np.max(np.abs(actual), axis=0, initial=0.0)
  if not len(actual) or not np.any(varying):
    return False
  # Medians: at a wall or a threshold neither is right.
  errors = [
    float(
      np.median(
        np.linalg.norm((actual - each)[:, varying] / scale[varying], axis=1)
      )
    )
    for each in (plain, sloped)
  ]
  return errors[1] < (1.0 - _GAIN) * errors[0]
