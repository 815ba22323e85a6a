"""Off-policy evaluation of finite problems, by sparse linear algebra.

With an indicator for each state and action, LSTD-Q is a table of means:
Q(s, a) is the mean of y = r + gamma d V(s') over the rows of (s, a), and
V(s) = sum_a pi(a|s) Q(s, a). So the unknowns are one number a state, whatever
the number of actions, and

    V(s) = sum over the rows i of s of weight_i y_i

is a sparse system. An action that the log seldom takes in a state is known
badly, and one that it never takes not at all. Deviation: k = `prior_rows` rows
of a prior are added to each (s, a) of the log:

    Q(s, a) = (sum of y over (s, a) + k prior(s, a)) / (n(s, a) + k)
    prior(s, a) = mean of y over s + slope (pi(a|s) - its mean over the rows)

with fewer rows where the log shows that actions differ more than chance does: a
step without chance needs none. With the mean alone every state's value would be
drawn to that of the behaviour policy; the slope is what actions differ by that
the target policy prefers. An action that the log lacks in a state is no chance
choice of its actions, so it has the state's mean and what the same action
differs by in other states. All three are told by the log (`table_priors`). A
state that the log never leaves has the mean value of all states.

    found = tables.solve(rows, policy, starts, prior_rows=1.)
    found.weigh(starts)               # what each row's reward counts, [N]
"""

import functools
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from dfiv_ope import types
from dfiv_ope.ope import table_priors, table_rows

# Parts of the interface.
Rows = table_rows.Rows
TablePolicy = table_rows.TablePolicy
probabilities = table_rows.probabilities

# More states than this are solved for by iterations instead of elimination.
_DENSE_STATES = 3_000
_TOLERANCE = 1e-11
_ITERATIONS = 2_000
# The prior follows from the values, and these from the prior, in turns, until
# it stays within a tenth.
_ROUNDS, _SAME_PRIOR = 4, 0.9
# Offsets and slopes stay within so much of their standard errors.
_SAME_OFFSET = 0.1


class Solution(NamedTuple):
  """The values of a policy in a table.

  Attributes:
    values: V of each state, and at the end that of an unknown one, [C + 1].
    pairs: s A + a of the pairs that the log has, rising, int64 [P].
    q: values of these, [P].
    means: value in each state of all rows that leave it, [C + 1].
    offsets: what each action adds to it where the log lacks the action, [A].
    row_weights: what a row counts in the value of its state, [N].
    left: share of the policy in each state that falls to the state's mean,
      [C].
    spread: how far values of actions typically lie from their state's mean.
    system: I - M of the values, [C + 1, C + 1].
    state: of each row, [N].
    prior_rows: k that was used.
    lacking: probabilities of the policy's actions that the log lacks, by
      state and action, sparse [C, A].
    offset_errors: standard errors of the offsets, [A].
    preferred: what a slope of one adds to the value of each state, [C].
    slope: that was used.
    slope_error: its standard error.
  """

  values: types.FloatArray
  pairs: np.ndarray
  q: types.FloatArray
  means: types.FloatArray
  offsets: types.FloatArray
  row_weights: types.FloatArray
  left: types.FloatArray
  spread: float
  system: sparse.csc_matrix
  state: np.ndarray
  prior_rows: float
  lacking: sparse.csr_matrix
  offset_errors: types.FloatArray
  preferred: types.FloatArray
  slope: float
  slope_error: float

  def weigh(self, starts: types.FloatArray) -> types.FloatArray:
    """Returns what a unit of each row's outcome adds to the value, [N].

    Args:
      starts: shares of the states among those that episodes start from,
        [C + 1].
    """
    return self.visits(starts)[self.state] * self.row_weights

  def extrapolation(self, starts: types.FloatArray) -> float:
    """Returns what the prior may be wrong by, in the value.

    Where the mean of a state stands for actions that the log does not have,
    these may be better or worse by the typical spread of actions, in each
    state independently of the others, and an action in all states by what its
    offset may be wrong by, as all of them by what the slope may.

    Args:
      starts: as in `weigh`.
    """
    visits = self.visits(starts)[:-1]
    return float(
      np.sqrt(
        np.sum(np.square(self.spread * visits * self.left))
        + np.sum(np.square(self.lacking.T @ visits * self.offset_errors))
        + (visits @ self.preferred * self.slope_error) ** 2
      )
    )

  def visits(self, starts: types.FloatArray) -> types.FloatArray:
    """Returns the discounted visits of the policy to each state, [C + 1]."""
    return _solve(self.system.T.tocsc(), starts)


def solve(
  rows: Rows,
  policy: TablePolicy,
  starts: types.FloatArray,
  *,
  prior_rows: float,
) -> Solution:
  """Solves for the values of a policy.

  Args:
    rows: the log.
    policy: the target policy.
    starts: shares of the states among those that episodes start from, [C + 1];
      the slope is that of the states which the policy visits from there.
    prior_rows: k at most, positive.

  Raises:
    ValueError: `prior_rows` is not positive.
  """
  if not prior_rows > 0.0:
    raise ValueError(f'prior_rows must be positive, got {prior_rows}.')
  none = np.zeros(policy.num_actions)
  found = _solve_with(
    rows,
    policy,
    prior_rows=prior_rows,
    offsets=table_priors.Offsets(none, none),
    preference=table_priors.no_preference(policy),
  )
  for _ in range(_ROUNDS):
    fitting = min(
      prior_rows, table_priors.fitting_rows(rows, policy, found.values)
    )
    offsets = table_priors.offsets(rows, policy, found.values)
    preference = table_priors.preference(
      rows, policy, found.values, found.visits(starts)[:-1]
    )
    if (
      fitting >= _SAME_PRIOR * found.prior_rows
      and (fitting * _SAME_PRIOR <= found.prior_rows)
      and np.all(
        np.abs(offsets.mean - found.offsets) <= _SAME_OFFSET * offsets.error
      )
      and abs(preference.slope - found.slope) <= _SAME_OFFSET * preference.error
    ):
      break
    found = _solve_with(
      rows, policy, prior_rows=fitting, offsets=offsets, preference=preference
    )
  return found


def _solve_with(
  rows: Rows,
  policy: TablePolicy,
  *,
  prior_rows: float,
  offsets: table_priors.Offsets,
  preference: table_priors.Preference,
) -> Solution:
  """Solves for the values of a policy with a prior that is known."""
  size = len(policy.actions)
  pairs, pair, counts = np.unique(
    rows.state * policy.num_actions + rows.action,
    return_inverse=True,
    return_counts=True,
  )
  by_state = functools.partial(
    np.bincount, pairs // policy.num_actions, minlength=size
  )
  visits = by_state(weights=counts)  # [C]
  taken = probabilities(policy, pairs)  # pi(a|s) of the pairs, [P]
  kept = taken / (counts + prior_rows)
  away = taken - preference.mean[pairs // policy.num_actions]
  preferred = by_state(weights=prior_rows * kept * away)
  # What falls to the mean of a state: unseen actions and the prior's share.
  left = 1.0 - by_state(weights=kept * counts)
  row_weights = kept[pair] + (left / np.maximum(visits, 1.0))[rows.state]
  ones = np.ones(1, np.int64)
  unseen = np.flatnonzero(visits == 0.0)
  matrix = sparse.csc_matrix(
    (
      np.concatenate(
        [
          row_weights * rows.continuation,
          visits / len(rows.state),
          np.ones(len(unseen)),
        ]
      ),
      (
        np.concatenate([rows.state, np.repeat(size * ones, size), unseen]),
        np.concatenate(
          [rows.next_state, np.arange(size), np.repeat(size, len(unseen))]
        ),
      ),
    ),
    shape=(size + 1, size + 1),
  )
  system = (sparse.identity(size + 1, format='csc') - matrix).tocsc()
  constant = np.bincount(
    rows.state, weights=row_weights * rows.outcome, minlength=size + 1
  )
  lacking = _lacking(policy, pairs, visits > 0.0)
  constant[:-1] += lacking @ offsets.mean + preference.slope * preferred
  values = _solve(system, constant)
  targets = rows.outcome + rows.continuation * values[rows.next_state]
  sums = np.bincount(pair, weights=targets)
  means = np.where(
    visits > 0.0, by_state(weights=sums) / np.maximum(visits, 1.0), values[-1]
  )
  prior = means[pairs // policy.num_actions]
  q = (sums + prior_rows * (prior + preference.slope * away)) / (
    counts + prior_rows
  )
  return Solution(
    values=values,
    pairs=pairs,
    q=q,
    means=np.append(means, values[-1]),
    offsets=offsets.mean,
    lacking=lacking,
    offset_errors=offsets.error,
    row_weights=row_weights,
    left=np.where(visits > 0.0, left, 1.0),
    spread=float(np.sqrt(np.average(np.square(q - prior), weights=counts))),
    system=system,
    state=rows.state,
    prior_rows=prior_rows,
    preferred=preferred,
    slope=preference.slope,
    slope_error=preference.error,
  )


def _lacking(
  policy: TablePolicy, pairs: np.ndarray, visited: np.ndarray
) -> sparse.csr_matrix:
  """Returns pi(a|s) where the log has s [C] but not the pair, [C, A]."""
  states, choices = policy.actions.shape
  state = np.repeat(np.arange(states), choices)
  action = policy.actions.reshape(-1)
  absent = visited[state] & ~np.isin(state * policy.num_actions + action, pairs)
  return sparse.csr_matrix(
    (
      policy.probabilities.reshape(-1)[absent].astype(np.float64),
      (state[absent], action[absent]),
    ),
    shape=(states, policy.num_actions),
  )


def _solve(
  system: sparse.csc_matrix, right: types.FloatArray
) -> types.FloatArray:
  """Returns x with system x = right."""
  if len(right) <= _DENSE_STATES:
    return linalg.solve(system.toarray(), right, check_finite=False)
  found, status = sparse_linalg.lgmres(
    system, right, rtol=_TOLERANCE, atol=0.0, maxiter=_ITERATIONS
  )
  return found if status == 0 else sparse_linalg.spsolve(system, right)
