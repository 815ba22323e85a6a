"""Off-policy evaluation of finite problems, by sparse linear algebra.

With an indicator for each state and action, LSTD-Q is a table of means:
Q(s, a) is the mean of y = r + gamma d V(s') over the rows of (s, a), and
V(s) = sum_a pi(a|s) Q(s, a). So the unknowns are one number a state, whatever
the number of actions, and

    V(s) = sum over the rows i of s of weight_i y_i

is a sparse system. An action that the log seldom takes in a state is known
badly, and one that it never takes not at all. Deviation: k = `prior_rows` rows
of the state's own mean are added to each (s, a):

    Q(s, a) = (sum of y over (s, a) + k mean of y over s) / (n(s, a) + k)

with fewer rows where the log shows that actions differ more than chance does
(`_fitting_prior`): a step without chance needs none. An action that the log
lacks in a state is no chance choice of its actions, so it has that mean and
what the same action differs by in other states (`_offsets`). A state that the
log never leaves has the mean value of all states.

    found = tables.solve(rows, policy, prior_rows=1.)
    found.weigh(starts)               # what each row's reward counts, [N]
"""

import functools
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from dfiv_ope import types

# More states than this are solved for by iterations instead of elimination.
_DENSE_STATES = 3_000
_TOLERANCE = 1e-11
_ITERATIONS = 2_000
# The prior follows from the values, and these from the prior, in turns, until
# it stays within a tenth.
_ROUNDS, _SAME_PRIOR = 4, 0.9
_LEAST = 0.01
# Offsets stay within so much of their standard errors; those of actions that
# fewer states have are zero.
_SAME_OFFSET, _LEAST_STATES = 0.1, 5


class Rows(NamedTuple):
  """A log of N steps in a table of C states and A actions.

  Attributes:
    state: int64 [N].
    action: int64 [N].
    outcome: the reward, [N].
    continuation: gamma d, [N].
    next_state: int64 [N].
  """

  state: np.ndarray
  action: np.ndarray
  outcome: types.FloatArray
  continuation: types.FloatArray
  next_state: np.ndarray


class TablePolicy(NamedTuple):
  """What the target policy does in each of C states.

  Attributes:
    actions: int64 [C, K].
    probabilities: of these, [C, K].
    num_actions: A.
  """

  actions: np.ndarray
  probabilities: types.FloatArray
  num_actions: int


class _Offsets(NamedTuple):
  """What actions add to their state's mean, with standard errors, [A] each."""

  mean: types.FloatArray
  error: types.FloatArray


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
    offset may be wrong by.

    Args:
      starts: as in `weigh`.
    """
    visits = self.visits(starts)[:-1]
    return float(
      np.sqrt(
        np.sum(np.square(self.spread * visits * self.left))
        + np.sum(np.square(self.lacking.T @ visits * self.offset_errors))
      )
    )

  def visits(self, starts: types.FloatArray) -> types.FloatArray:
    """Returns the discounted visits of the policy to each state, [C + 1]."""
    return _solve(self.system.T.tocsc(), starts)


def solve(rows: Rows, policy: TablePolicy, *, prior_rows: float) -> Solution:
  """Solves for the values of a policy.

  Args:
    rows: the log.
    policy: the target policy.
    prior_rows: k at most, positive.

  Raises:
    ValueError: `prior_rows` is not positive.
  """
  if not prior_rows > 0.0:
    raise ValueError(f'prior_rows must be positive, got {prior_rows}.')
  none = np.zeros(policy.num_actions)
  found = _solve_with(
    rows, policy, prior_rows=prior_rows, offsets=_Offsets(none, none)
  )
  for _ in range(_ROUNDS):
    fitting = min(prior_rows, _fitting_prior(rows, policy, found.values))
    offsets = _offsets(rows, policy, found.values)
    if (
      fitting >= _SAME_PRIOR * found.prior_rows
      and (fitting * _SAME_PRIOR <= found.prior_rows)
      and np.all(
        np.abs(offsets.mean - found.offsets) <= _SAME_OFFSET * offsets.error
      )
    ):
      break
    found = _solve_with(rows, policy, prior_rows=fitting, offsets=offsets)
  return found


def _offsets(
  rows: Rows, policy: TablePolicy, values: types.FloatArray
) -> _Offsets:
  """Returns how far each action lies from the other rows of its states.

  The mean over the states that have it, drawn to zero as far as chance
  explains it (James and Stein).

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
  """
  y, pairs, pair, counts = _by_pair(rows, policy, values)
  state, action = np.divmod(pairs, policy.num_actions)
  sums = np.bincount(pair, weights=y)
  others = np.bincount(state, weights=counts)[state] - counts
  known = others > 0  # Elsewhere there is nothing to compare with.
  gaps = (
    sums / counts
    - (np.bincount(state, weights=sums)[state] - sums) / np.maximum(others, 1)
  )[known]  # [P]
  by_action = functools.partial(
    np.bincount, action[known], minlength=policy.num_actions
  )
  states = by_action()
  mean = by_action(weights=gaps) / np.maximum(states, 1)
  error = np.sqrt(
    by_action(weights=np.square(gaps - mean[action[known]]))
    / (np.maximum(states, 1) * np.maximum(states - 1, 1))
  )
  kept = np.where(
    states >= _LEAST_STATES,
    np.maximum(
      0.0, 1.0 - np.square(error / np.where(mean == 0.0, np.inf, mean))
    ),
    0.0,
  )
  return _Offsets(kept * mean, np.where(states >= _LEAST_STATES, error, 0.0))


def _by_pair(
  rows: Rows, policy: TablePolicy, values: types.FloatArray
) -> tuple[types.FloatArray, np.ndarray, np.ndarray, np.ndarray]:
  """Returns y [N], the pairs s A + a [P], that of each row [N], their rows [P].

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
  """
  return rows.outcome + rows.continuation * values[rows.next_state], *np.unique(
    rows.state * policy.num_actions + rows.action,
    return_inverse=True,
    return_counts=True,
  )


def _fitting_prior(
  rows: Rows, policy: TablePolicy, values: types.FloatArray
) -> float:
  """Returns the prior rows that fit what the log shows, at least _LEAST.

  With y = r + gamma d V(s') of mean q(s, a) and variance sigma^2 within each
  pair, and q(s, .) of variance tau^2 around the mean of its state, the best
  estimate of q(s, a) has k = sigma^2 / tau^2. Both are found as in an analysis
  of variance.

  Args:
    rows: the log.
    policy: the target policy.
    values: V of each state, [C + 1].
  """
  y, pairs, pair, counts = _by_pair(rows, policy, values)
  means = np.bincount(pair, weights=y) / counts
  states, place = np.unique(pairs // policy.num_actions, return_inverse=True)
  totals = np.bincount(place, weights=counts)
  centres = np.bincount(place, weights=counts * means) / totals
  within = np.sum(np.square(y - means[pair])) / max(len(y) - len(pairs), 1)
  # Rows that tell actions of one state apart.
  size = np.sum(
    totals
    - np.bincount(place, weights=np.square(counts.astype(np.float64))) / totals
  )
  between = np.sum(counts * np.square(means - centres[place])) - within * (
    len(pairs) - len(states)
  )
  if between <= 0.0 or size <= 0.0:
    return np.inf
  return max(_LEAST, float(within * size / between))


def _solve_with(
  rows: Rows, policy: TablePolicy, *, prior_rows: float, offsets: _Offsets
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
  constant[:-1] += lacking @ offsets.mean
  values = _solve(system, constant)
  targets = rows.outcome + rows.continuation * values[rows.next_state]
  sums = np.bincount(pair, weights=targets)
  means = np.where(
    visits > 0.0, by_state(weights=sums) / np.maximum(visits, 1.0), values[-1]
  )
  prior = means[pairs // policy.num_actions]
  q = (sums + prior_rows * prior) / (counts + prior_rows)
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


def probabilities(policy: TablePolicy, pairs: np.ndarray) -> types.FloatArray:
  """Returns pi(a|s) of pairs s A + a, [P]."""
  states, choices = policy.actions.shape
  keys = np.repeat(
    np.arange(states), choices
  ) * policy.num_actions + policy.actions.reshape(-1)
  known, place = np.unique(keys, return_inverse=True)
  total = np.bincount(
    place, weights=policy.probabilities.reshape(-1).astype(np.float64)
  )
  index = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
  return np.where(known[index] == pairs, total[index], 0.0)


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
