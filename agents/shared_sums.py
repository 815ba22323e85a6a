"""The sums of LSTD-Q that policies of a log share, in blocks.

Of psi(s, a) = [g(s) (x) e_a, e_a, 1] a row has only the block of its action.
With h = [g, 1], products of h(s) with itself and with outcomes are the same for
all policies; `cross_sums` has those that differ.
"""

from collections.abc import Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import ridge

# Rows of which a copy is made at a time.
PIECE = 8_192


class OwnSums:
  """Sums over rows of what the log did, the same for all policies.

  Attributes:
    gram: of h(s) e_a with itself, [A, H, H].
    outcome: of h(s) e_a and the outcomes of K policies, [A, H, K].
    count: number of rows.
  """

  def __init__(self, *, actions: int, size: int, policies: int):
    """Initialises sums of zero."""
    self.gram = np.zeros((actions, size, size))
    self.outcome = np.zeros((actions, size, policies))
    self.count = 0

  def add(
    self, now: types.FloatArray, actions: np.ndarray, outcome: types.FloatArray
  ) -> None:
    """Adds rows: h(s) [B, H], logged actions [B], outcomes [B, K]."""
    self.count += len(now)
    for action in range(len(self.gram)):
      chosen = np.flatnonzero(actions == action)
      for start in range(0, len(chosen), PIECE):
        some = chosen[start : start + PIECE]
        self._add(action, now[some], outcome[some])

  def add_sorted(
    self, now: types.FloatArray, actions: np.ndarray, outcome: types.FloatArray
  ) -> None:
    """Adds rows as `add` does, in the order of their actions."""
    self.count += len(now)
    ends = np.searchsorted(actions, np.arange(len(self.gram)), side='right')
    for action, (start, end) in enumerate(
      zip(np.append(0, ends[:-1]), ends, strict=True)
    ):
      self._add(action, now[start:end], outcome[start:end])

  def _add(
    self, action: int, here: types.FloatArray, outcome: types.FloatArray
  ) -> None:
    self.gram[action] += here.T @ here
    self.outcome[action] += here.T @ outcome

  @property
  def gram_of_features(self) -> types.FloatArray:
    """The Gram matrix of psi, [D, D]."""
    actions, size, _ = self.gram.shape
    whole = np.zeros((actions, size, actions, size))
    for action in range(actions):
      whole[action, :, action] = self.gram[action]
    return _both(whole)

  def with_cross(
    self, gram: types.FloatArray, cross: types.FloatArray, policy: int
  ) -> ridge.Sums:
    """Returns the sums of psi and [psi - gamma d psi', r] of one policy.

    Sums of squares of the targets, which no solve asks for, are left out.

    Args:
      gram: of `gram_of_features`.
      cross: of `cross_sums`, of this policy, [A, A, H, H].
      policy: its number.
    """
    change = _both(np.moveaxis(cross, 1, 2))  # a, h(s), a', h(s')
    outcome = features(self.outcome[:, :, policy])
    return ridge.Sums(
      gram=gram,
      moment=np.concatenate([gram - change, outcome], axis=1),
      square=np.zeros(0),
      count=np.float64(self.count),
    )


def merge(parts: Sequence[OwnSums]) -> OwnSums:
  """Returns the sums over the rows of all parts."""
  actions, size, policies = parts[0].outcome.shape
  total = OwnSums(actions=actions, size=size, policies=policies)
  for each in parts:
    total.gram += each.gram
    total.outcome += each.outcome
    total.count += each.count
  return total


def features(blocks_: types.FloatArray) -> types.FloatArray:
  """Returns sums of h e_a [A, H] as those of psi, [D, 1]."""
  return np.concatenate(
    [
      blocks_[:, :-1].reshape(-1),
      blocks_[1:, -1],
      np.sum(blocks_[:, -1], keepdims=True),
    ]
  )[:, None]


def blocks(weights: types.FloatArray, actions: int) -> types.FloatArray:
  """Returns weights of psi [D, 1] as those of h for each action, [A, H]."""
  flat = np.asarray(weights)[:, 0]
  # The first action has no column of its own, the constant is shared.
  own = np.append(0.0, flat[-actions:-1]) + flat[-1]
  return np.concatenate(
    [flat[:-actions].reshape(actions, -1), own[:, None]], axis=1
  )


def _both(whole: types.FloatArray) -> types.FloatArray:
  """Takes [A, H, A, H] from h (x) e_a to psi on both sides, [D, D]."""
  actions, size = whole.shape[:2]
  first = _rows(whole.reshape(actions, size, -1))
  return _rows(first.T.reshape(actions, size, -1)).T


def _rows(blocks_: types.FloatArray) -> types.FloatArray:
  """Takes rows [A, H, C] from h (x) e_a to psi, [D, C]."""
  return np.concatenate(
    [
      blocks_[:, :-1].reshape(-1, blocks_.shape[2]),
      blocks_[1:, -1],
      np.sum(blocks_[:, -1], axis=0, keepdims=True),
    ]
  )
