"""Weights of states and actions: how often the target visits them.

With w(s, a) the discounted visits of the target policy over those of the log,
the value is the sum of w r over the rows (minimax weight learning, MWL; Uehara
et al., 2020). On features psi the weights that balance them,

    sum w (psi(s, a) - gamma d E psi(s', pi)) = E psi(s0, pi),

are w = psi'A^-T v with the A and v of LSTD-Q, so that sum w r is its value: MWL
and MQL are one estimator there. Double reinforcement learning (Kallus and
Uehara, 2020) adds sum w (r + gamma d q(s', pi) - q(s, a)) to E q(s0, pi): it is
right if either q or w is. Its weights are fitted on other episodes than those
that they weigh, and have a penalty of their own.

How well weights balance episodes that they were not fitted on tells which
penalty to take.
"""

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv import ridge
from dfiv_ope.ope import tables

# Of the Gram matrix that imbalance is measured by, per row.
_BALANCE_PENALTY = 1e-4


def dense_weights(
  total: ridge.Sums, value: types.FloatArray, penalty: float
) -> types.FloatArray:
  """Returns c with w = psi'c, [D, 1]: (A + n penalty I)'c = v.

  Args:
    total: sums of psi and [psi - gamma d psi', r] over n rows.
    value: v, mean of E psi(s0, pi), [D, 1].
    penalty: per row.
  """
  return np.asarray(ridge.solve_dual(total, value, penalty))


def dense_imbalance(
  weights: types.FloatArray,
  halves: tuple[ridge.Sums, ridge.Sums],
  value: types.FloatArray,
  *,
  scale: float,
  gram: types.FloatArray,
) -> float:
  """Returns how far weights are from balancing held-out rows.

  It is r1'(G + guard)^-1 r2, with the residuals of two halves, so that their
  noise adds nothing: the square of the largest residual of an f = psi'c whose
  mean square is one, if c is not too large.

  Args:
    weights: c, [D, 1].
    halves: sums over two halves of the held-out rows.
    value: mean of E psi(s0, pi) over held-out episodes, [D, 1].
    scale: rows that the weights were fitted on, for each held out.
    gram: G, mean of psi psi', [D, D].
  """
  rows = sum(float(each.count) for each in halves)
  one, other = (
    scale
    * rows
    / float(each.count)
    * np.asarray(each.moment)[:, : len(weights)].T
    @ weights
    - value
    for each in halves
  )  # [D, 1]
  guard = _BALANCE_PENALTY * float(np.trace(gram)) / len(gram)
  return float(
    one[:, 0]
    @ linalg.solve(
      gram + guard * np.eye(len(gram)), other[:, 0], assume_a='pos'
    )
  )


def table_weights(
  fitted: tables.Rows,
  held: tables.Rows,
  policy: tables.TablePolicy,
  starts: types.FloatArray,
  *,
  prior_rows: float,
) -> types.FloatArray:
  """Returns weights of held-out rows by a table of others, [N].

  Those of the rows themselves are `tables.Solution.weigh`. The more prior
  rows, the less the weights of a state's actions differ.

  Args:
    fitted: rows that the table is made of.
    held: rows that are weighed.
    policy: the target policy.
    starts: shares of states that episodes start from, [C + 1].
    prior_rows: k of `tables`.
  """
  found = tables.solve(fitted, policy, starts, prior_rows=prior_rows)
  known, counts = np.unique(
    fitted.state * policy.num_actions + fitted.action, return_counts=True
  )
  pair = held.state * policy.num_actions + held.action
  place = np.minimum(np.searchsorted(known, pair), len(known) - 1)
  count = np.where(known[place] == pair, counts[place], 0)
  size = len(policy.actions)
  visits = np.bincount(fitted.state, minlength=size)[held.state]
  weights = found.visits(starts)[held.state] * (
    tables.probabilities(policy, pair) / (count + prior_rows)
    + found.left[held.state] / np.maximum(visits, 1)
  )
  return np.where(visits > 0, weights, 0.0)


def table_imbalance(
  weights: types.FloatArray,
  held: tables.Rows,
  halves: np.ndarray,
  policy: tables.TablePolicy,
  starts: types.FloatArray,
  *,
  scale: float,
  all_pairs: np.ndarray,
) -> float:
  """Returns how far weights are from balancing each state and action.

  As `dense_imbalance`, with an indicator for each pair of the log.

  Args:
    weights: of held-out rows, [N].
    held: these rows.
    halves: of two halves of them each row is in, 0 or 1, [N].
    policy: the target policy.
    starts: shares of states that held-out episodes start from, [C + 1].
    scale: as in `dense_imbalance`.
    all_pairs: s A + a of every row of the log, [M].
  """
  known, counts = np.unique(all_pairs, return_counts=True)
  taken = tables.probabilities(policy, known)
  place = np.searchsorted(known, held.state * policy.num_actions + held.action)
  residuals = []
  for half in (0, 1):
    part = halves == half
    factor = scale * len(part) / max(int(part.sum()), 1)
    inflow = starts + factor * np.bincount(
      held.next_state[part],
      minlength=len(starts),
      weights=(weights * held.continuation)[part],
    )
    residuals.append(
      factor
      * np.bincount(place[part], weights=weights[part], minlength=len(known))
      - taken * inflow[known // policy.num_actions]
    )
  return float(np.sum(residuals[0] * residuals[1] * len(all_pairs) / counts))
