"""Ridge regression of rewards with coefficients of each action's own.

Where every step ends its episode, Q is the regression of the reward on state
and action, and LSTD-Q is least squares. Many actions share what they can:

    q(s, a) = g(s, a)'theta + h(s)'beta_a

with P columns g that have the same coefficients for all actions and D columns h
of the state, such as its numbers and a constant. beta_a is drawn to zero, so
that an action of few rows has the values of all. It is eliminated action by
action, and the unknowns left are those of theta:

    P_a = (sum of h h' over the rows of a + penalty)^-1,
    (sum g g' + penalty - sum_a C_a'P_a C_a) theta = sum g r - sum_a C_a'P_a b_a

with C_a = sum of h g' and b_a = sum of h r over the rows of a.

The value of a policy is v'theta + sum_a V_a'beta_a with v = E sum_a pi(a|s) g
and V_a = E pi(a|s) h. The same system solved from v and V has the weights of
the rows: the value is the sum of w r with w = g'x + h'y_a.

    system = System(sums, penalties)
    system.solve(sums.moments)                 # theta and beta
    system.solve(Coefficients(v, V))           # x and y
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dfiv_ope import types

# What makes systems solvable where nothing is drawn to zero.
_NONE = 1e-3
# Leverages are below one, but not by rounding.
_MOST_LEVERAGE = 0.99
# Rows whose leverage is found at once.
_PART = 1_024
# Penalties are looked for by steps of this factor, within these bounds.
_STEP = np.sqrt(10.0)
_LEAST_PENALTY, _MOST_PENALTY = 1e-3, 1e6
# A penalty is moved while the held-out error falls by this share.
_GAIN = 1e-4
_SWEEPS = 4


class Coefficients(NamedTuple):
  """Of g and h, or what they are solved from.

  Attributes:
    shared: [P].
    own: of each action, [A, D].
  """

  shared: types.FloatArray
  own: types.FloatArray

  def dot(self, other: 'Coefficients') -> float:
    """Returns the sum of all products."""
    return float(self.shared @ other.shared + np.sum(self.own * other.own))

  def predict(self, rows: 'Rows') -> types.FloatArray:
    """Returns g'theta + h'beta_a of rows, [N]."""
    return rows.shared @ self.shared + np.einsum(
      'nd,nd->n', rows.own, self.own[rows.action]
    )


class Rows(NamedTuple):
  """Rows in the order of their actions.

  Attributes:
    shared: g, [N, P].
    own: h, [N, D].
    action: rising, [N].
    outcome: r, [N].
  """

  shared: types.FloatArray
  own: types.FloatArray
  action: np.ndarray
  outcome: types.FloatArray

  def blocks(self) -> list[tuple[int, slice]]:
    """Returns each action and where its rows are."""
    names, starts = np.unique(self.action, return_index=True)
    ends = [*starts[1:], len(self.action)]
    return [
      (int(name), slice(int(start), int(end)))
      for name, start, end in zip(names, starts, ends, strict=True)
    ]


class Sums(NamedTuple):
  """Sums over the rows of a log, of A actions.

  Attributes:
    shared: of g g', [P, P].
    cross: of h g' by action, [A, D, P].
    own: of h h' by action, [A, D, D].
    moments: of g r, and of h r by action.
  """

  shared: types.FloatArray
  cross: types.FloatArray
  own: types.FloatArray
  moments: Coefficients


class Penalties(NamedTuple):
  """How far coefficients are drawn to zero: noise over prior variance.

  Attributes:
    shared: of each column of g, [P].
    own: of each column of h, [D].
  """

  shared: types.FloatArray
  own: types.FloatArray


def numbered(rows: Rows) -> Rows:
  """Returns rows whose actions are numbered without gaps."""
  return rows._replace(action=np.unique(rows.action, return_inverse=True)[1])


def sums(parts: Iterable[Rows], num_actions: int) -> Sums:
  """Returns the sums over parts of a log.

  Args:
    parts: at least one.
    num_actions: A.
  """
  total: Sums | None = None
  for rows in parts:
    if total is None:
      shared, own = rows.shared.shape[1], rows.own.shape[1]
      total = Sums(
        np.zeros([shared, shared]),
        np.zeros([num_actions, own, shared]),
        np.zeros([num_actions, own, own]),
        Coefficients(np.zeros(shared), np.zeros([num_actions, own])),
      )
    total.shared[:] += rows.shared.T @ rows.shared
    total.moments.shared[:] += rows.outcome @ rows.shared
    for action, place in rows.blocks():
      h = rows.own[place]
      total.cross[action] += h.T @ rows.shared[place]
      total.own[action] += h.T @ h
      total.moments.own[action] += rows.outcome[place] @ h
  assert total is not None, 'There are no rows.'
  return total


class System:
  """The normal equations, with beta eliminated.

  Attributes:
    inverse: P of each action, [A, D, D].
  """

  def __init__(self, total: Sums, penalties: Penalties):
    """Factors the system."""
    self.inverse = np.linalg.inv(total.own + np.diag(penalties.own))
    self._solved = self.inverse @ total.cross  # P C, [A, D, P]
    columns = total.shared.shape[1]
    reduced = total.shared - (
      total.cross.reshape(-1, columns).T @ self._solved.reshape(-1, columns)
    )
    self._factor = linalg.cho_factor(
      (reduced + reduced.T) / 2.0 + np.diag(penalties.shared),
      check_finite=False,
    )

  def solve(self, right: Coefficients) -> Coefficients:
    """Returns x with (sum psi psi' + penalty) x = right, psi = [g, h (x) e]."""
    shared = linalg.cho_solve(
      self._factor,
      right.shared - np.einsum('adp,ad->p', self._solved, right.own),
      check_finite=False,
    )
    own = np.einsum('ade,ae->ad', self.inverse, right.own)
    return Coefficients(shared, own - self._solved @ shared)

  def leverage(self, rows: Rows) -> types.FloatArray:
    """Returns how far the fit of each row follows its own reward, [N]."""
    return np.concatenate(
      [
        self._leverage(Rows(*(each[start : start + _PART] for each in rows)))
        for start in range(0, len(rows.action), _PART)
      ]
    )

  def _leverage(self, rows: Rows) -> types.FloatArray:
    rest = np.array(rows.shared)
    found = np.empty(len(rest))
    for action, place in rows.blocks():
      h = rows.own[place]
      found[place] = np.einsum('nd,nd->n', h @ self.inverse[action], h)
      rest[place] -= h @ self._solved[action]
    upper, lower = self._factor
    half = linalg.solve_triangular(
      upper, rest.T, trans='T', lower=lower, check_finite=False
    )
    return np.minimum(found + np.einsum('pn,pn->n', half, half), _MOST_LEVERAGE)


def held_out_error(rows: Rows, penalties: Penalties, total: Sums) -> float:
  """Returns the mean squared error of each row by the fit to all others.

  An error is e / (1 - leverage), in closed form.

  Args:
    rows: all that were summed.
    penalties: of g and h.
    total: sums of the rows.
  """
  system = System(total, penalties)
  error = rows.outcome - system.solve(total.moments).predict(rows)
  return float(np.mean(np.square(error / (1.0 - system.leverage(rows)))))


class Groups(NamedTuple):
  """Which penalty each column has; -1 for none to speak of.

  Attributes:
    shared: of g, [P].
    own: of h, [D].
  """

  shared: np.ndarray
  own: np.ndarray

  @property
  def used(self) -> list[int]:
    """The groups that have columns."""
    return sorted({*self.shared.tolist(), *self.own.tolist()} - {-1})

  def penalties(self, values: Sequence[float]) -> Penalties:
    """Returns the penalties of columns from those of the groups."""
    known = np.append(values, _NONE)
    return Penalties(known[self.shared], known[self.own])


def choose(
  rows: Rows, groups: Groups, start: Sequence[float]
) -> tuple[list[float], float]:
  """Returns penalties of groups by the least held-out error, and that error.

  Each in turn is moved by half a decade while `held_out_error` falls. A
  penalty is a ratio of variances, whatever the number of rows: some of the rows
  of some actions will do.

  Args:
    rows: actions are numbered without gaps.
    groups: of the columns.
    start: where to look first.
  """
  total = sums([rows], int(rows.action[-1]) + 1)
  known: dict[tuple[float, ...], float] = {}

  def loss(values: Sequence[float]) -> float:
    key = tuple(round(float(np.log10(value)), 3) for value in values)
    if key not in known:
      known[key] = held_out_error(rows, groups.penalties(values), total)
    return known[key]

  found = list(start)
  least = loss(found)
  for _ in range(_SWEEPS):
    before = least
    for place in groups.used:
      for factor in (_STEP, 1.0 / _STEP):
        moved = False
        while _LEAST_PENALTY <= found[place] * factor <= _MOST_PENALTY:
          tried = [*found[:place], found[place] * factor, *found[place + 1 :]]
          if not loss(tried) < (1.0 - _GAIN) * least:
            break
          found, least, moved = tried, loss(tried), True
        if moved:
          break
    if not least < (1.0 - _GAIN) * before:
      break
  return found, least


def some_rows(
  action: np.ndarray, most: int, *, fewest: int = 200, seed: types.Seed = 0
) -> np.ndarray:
  """Returns places of about `most` rows that tell the penalties, rising.

  Where actions have more than `fewest` rows they are thinned to that; then
  some of the actions are left out.

  Args:
    action: of all rows, [N].
    most: how many rows are wanted.
    fewest: rows that an action keeps, if it has as many.
    seed: seeds the choice.
  """
  if len(action) <= most:
    return np.arange(len(action))
  generator = np.random.default_rng(seed)
  order = generator.permutation(len(action))
  order = order[np.argsort(action[order], kind='stable')]
  names, starts, counts = np.unique(
    action[order], return_index=True, return_counts=True
  )
  kept = np.minimum(counts, max(fewest, most // len(names)))
  chosen = generator.permutation(len(names))
  chosen = chosen[: max(2, np.searchsorted(np.cumsum(kept[chosen]), most))]
  return np.sort(
    np.concatenate(
      [order[starts[each] : starts[each] + kept[each]] for each in chosen]
    )
  )


def shrinkage_error(
  system: System, penalties: Penalties, own: types.FloatArray, variance: float
) -> float:
  """Returns the standard error of a value that comes with drawing beta to 0.

  What is left out of beta_a is P_a penalty beta_a, and beta_a varies over
  actions by variance / penalty, independently: so actions that the log seldom
  or never shows make a value uncertain that no resampling of rows does.

  Args:
    system: of the log.
    penalties: of g and h.
    own: V, [A, D].
    variance: of the noise of rewards.
  """
  seen = np.einsum('ade,ae->ad', system.inverse, own)
  return float(np.sqrt(variance * np.sum(np.square(seen) * penalties.own)))
