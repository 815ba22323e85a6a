"""What policies prefer, as columns of state and action for `action_ridge`.

A target policy that prefers the better actions makes an error of one direction
out of drawing every action's coefficients to zero. So coefficients are drawn to
a multiple of what the policies prefer instead, and how large that is, is one
more unknown that all actions share: the reward may rise with log pi(a|s), or
with its difference to the behaviour policy's. The idea is that of the clever
covariate of targeted maximum likelihood (van der Laan and Rubin, 2006).

Scores are linear in the columns h of the state, score(s, a) = h(s)'l_a, so that
nobody has to ask the policy for one.
"""

import numpy as np

from dfiv_ope import types

# Probabilities below this share of 1 / A are as good as none. A floor that many
# fall below bends the score, and with it the value.
_FLOOR = 1e-8
# Of the projection, for each row: columns may depend on each other.
_PENALTY = 1e-6
# From this score on the reward may rise by another slope.
KNOT = 1.5


def of_target(
  probabilities: types.FloatArray, own: types.FloatArray
) -> types.FloatArray:
  """Returns l of the target policy, [A, D]: log pi(a|s) projected on h.

  Scores of all actions have mean zero in a state, and unit variance over the
  states and actions.

  Args:
    probabilities: pi in some states, [N, A].
    own: h of these, [N, D].
  """
  logs = np.log(np.maximum(probabilities, _FLOOR / probabilities.shape[1]))
  logs = logs - np.mean(logs, axis=1, keepdims=True)
  gram = own.T @ own + _PENALTY * len(own) * np.eye(own.shape[1])
  found = np.linalg.solve(gram, own.T @ logs).T
  spread = float(np.std(own @ found.T))
  return found / spread if spread > 1e-6 else np.zeros_like(found)


def of_behaviour(
  sums: types.FloatArray, counts: np.ndarray
) -> types.FloatArray:
  """Returns l of the behaviour policy, [A, D].

  The constant has the log of an action's frequency; the other columns have
  their mean where the action was taken, which for normal states and a softmax
  of linear scores is the slope of the score.

  Args:
    sums: of h over the rows of each action, [A, D]; the last is the constant.
    counts: rows of each action, [A].
  """
  found = sums / (counts + sums.shape[1])[:, None]
  frequency = np.log((counts + 0.5) / np.sum(counts))
  found[:, -1] = frequency - np.mean(frequency)
  return found


def bend(score: types.FloatArray) -> types.FloatArray:
  """Returns the part of scores above `KNOT`."""
  return np.maximum(score - KNOT, 0.0)
