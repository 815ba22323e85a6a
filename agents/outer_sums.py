"""LSTD-Q's sums of features for each action, several times faster than of psi.

Of psi(s, a) = [g(s) (x) e_a, e_a, 1] a row has only the block of its action.
With h = [g, 1] the sums are those of blocks,

    sum of 1{a} h(s) h(s)'    and    sum of 1{a} gamma d p(a'|s') h(s) h(s')'.

The policy makes few kinds of decisions p(.|s') in most problems: as many as
there are actions if it is greedy, whatever it explores. Rows of one action and
one kind share a product, which p(a') multiplies afterwards, so that the second
sum costs no more than one of a single next action. Where s' is the state of the
next row, its features are those of that row.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import shared_sums
from dfiv_ope.iv import ridge
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, choices, decisions


def states(
  function: decisions.Outer, step: bellman.Step, order: np.ndarray | None = None
) -> tuple[types.FloatArray, np.ndarray]:
  """Returns h of states, [S, H], and which of them rows lead to, [B].

  The first B are those that rows start from. Where an episode ended, what
  follows is multiplied by zero and may be any.

  Args:
    function: psi, made of h.
    step: the rows.
    order: in which the first B are; None for that of the rows.
  """
  now, later = map(
    tensors.array, (step.now.observation, step.later.observation)
  )
  place, others = leads_to(
    now, later, tensors.array(step.continuation)[:, 0] > 0.0
  )
  found = np.empty(
    (len(now) + len(others), function.output_size // function.num_actions)
  )
  found[:, -1] = 1.0
  if order is not None:
    # Few columns are moved, rather than all of h afterwards.
    now, moved = now[order], np.empty_like(order)
    moved[order] = np.arange(len(order))
    own = np.flatnonzero(place < len(now))
    place[own] = moved[place[own]]
  function.fill(now, found[: len(now), :-1])
  if len(others):
    function.fill(later[others], found[len(now) :, :-1])
  return found, place


def leads_to(
  now: types.FloatArray, later: types.FloatArray, going_on: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Returns which states rows lead to, [B], and the rows that lead elsewhere.

  The first B states are those that rows start from; those of rows that lead
  elsewhere follow. Where an episode ended, what follows may be any.

  Args:
    now: s, encoded, [B, D].
    later: s', encoded, [B, D].
    going_on: whether the episode goes on, [B].
  """
  place = np.arange(1, len(now) + 1)
  known = np.append(np.all(later[:-1] == now[1:], axis=1), False)
  others = np.flatnonzero(~known & going_on)
  place[others] = len(now) + np.arange(len(others))
  place[~known & ~going_on] = 0
  return place, others


def difference(
  function: decisions.Outer,
  weights: types.FloatArray,
  step: bellman.Step,
  also: types.FloatArray | None = None,
) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns `bellman.difference` of u'psi, [B], each state looked at once.

  Args:
    function: psi.
    weights: u, [D, 1].
    step: the rows.
    also: further weights, w, [D, 1]; those of psi if None.

  Returns:
    The difference, and w'psi(s, a), both [B].
  """
  found, place = states(function, step)
  actions = function.num_actions
  both = [
    shared_sums.blocks(each, actions)
    for each in (weights, weights if also is None else also)
  ]
  values = found @ np.concatenate(both).T  # [S, 2 A]
  action = tensors.array(step.now.actions)[:, 0]
  chosen = tensors.array(decisions.weights(step.later, actions))
  later = np.einsum('na,na->n', values[place, :actions], chosen)
  continuation = tensors.array(step.continuation)[:, 0].astype(np.float64)
  rows = np.arange(len(action))
  return (
    values[rows, action] - continuation * later,
    values[rows, actions + action],
  )


class OuterSums:
  """Sums over rows of psi(s, a) and [psi - gamma d psi', r], in blocks."""

  def __init__(self, function: decisions.Outer, *, squares: bool = False):
    """Initialises sums of zero.

    Args:
      function: psi.
      squares: whether sums of squares of the targets are made, which no solve
        asks for.
    """
    self._function = function
    self._squares = squares
    actions = function.num_actions
    size = function.output_size // actions
    self._own = shared_sums.OwnSums(actions=actions, size=size, policies=1)
    self._cross = np.zeros((actions, actions, size, size))
    # Of squares of gamma d p(a') h(s'), of gamma d sum p, and of the outcome.
    self._later_squares = np.zeros((actions, size))
    self._constant_square = self._outcome_square = 0.0

  def add(self, rows: types.IVBatch) -> None:
    """Adds rows of the regression, as `bellman.Problem.rows` makes them."""
    step = rows.treatment
    action = tensors.array(step.now.actions)[:, 0]
    outcome = tensors.array(rows.outcome).astype(np.float64)
    continuation = tensors.array(step.continuation)[:, 0].astype(np.float64)
    chosen = choices.Choices.of(
      tensors.array(decisions.weights(step.later, self._function.num_actions))
    )
    kinds = len(chosen.table) if chosen.codes is not None else 1
    code = 0 if chosen.codes is None else chosen.codes
    key = action.astype(np.int64) * kinds + code
    order = np.argsort(key, kind='stable')
    found, place = states(self._function, step, order)
    now = found[: len(order)]
    self._own.add_sorted(now, action[order], outcome[order])
    self._outcome_square += float(np.sum(np.square(outcome)))
    if not np.any(continuation):
      return
    later = np.take(found, place[order], axis=0)
    later *= continuation[order, None]
    ends = np.searchsorted(
      key[order], np.arange(self._function.num_actions * kinds), side='right'
    )
    starts = np.append(0, ends[:-1])
    for each, (start, end) in enumerate(zip(starts, ends, strict=True)):
      if start < end:
        self._add_kind(
          each // kinds,
          now[start:end],
          later[start:end],
          chosen.table[each % kinds].astype(np.float64)[None]
          if chosen.codes is not None
          else chosen.at(order[start:end]).astype(np.float64),
        )
    self._constant_square += float(
      np.sum(
        np.square(
          continuation * np.sum(chosen.at(slice(None)), axis=1, dtype=float)
        )
      )
    )

  def _add_kind(
    self,
    action: int,
    now: types.FloatArray,
    later: types.FloatArray,
    probabilities: types.FloatArray,
  ) -> None:
    """Adds rows of an action: h(s), gamma d h(s'), p(.|s') [1 or B, A]."""
    alike = len(probabilities) == 1
    product = now.T @ later if alike else None
    squares = np.square(later) if self._squares else None
    for other in range(self._function.num_actions):
      chance = probabilities[:, other, None]
      if not np.any(chance):
        continue
      self._cross[action, other] += (
        now.T @ (chance * later) if product is None else chance * product
      )
      if squares is not None:
        self._later_squares[other] += (
          chance[0] ** 2 * np.sum(squares, axis=0)
          if alike
          else np.sum(np.square(chance) * squares, axis=0)
        )

  def total(self) -> ridge.Sums:
    """Returns the sums over all rows."""
    gram = self._own.gram_of_features
    total = self._own.with_cross(gram, self._cross, 0)
    if not self._squares:
      return total
    # Squares of the constant's column are not sums of h's.
    later = shared_sums.features(self._later_squares)[:, 0]
    later[-1] = self._constant_square
    change = np.diag(gram) - np.diag(total.moment)
    return total._replace(
      square=np.append(
        np.diag(gram) - 2.0 * change + later, self._outcome_square
      )
    )


class PartSums:
  """Sums of the parts of a log, kept by what each of them is asked for."""

  def __init__(self, function: decisions.Outer, labels: Sequence[Hashable]):
    """Initialises sums of zero.

    Args:
      function: psi.
      labels: of each part of the log.
    """
    self.function = function
    self._labels = labels
    self._sums = {label: OuterSums(function) for label in labels}

  def add(self, parts: Iterable[types.IVBatch]) -> None:
    """Adds all parts of the log, in their order."""
    for label, rows in zip(self._labels, parts, strict=True):
      self._sums[label].add(rows)

  def of(
    self, wanted: Callable[[Any], bool] = lambda label: True
  ) -> ridge.Sums:
    """Returns the sums of parts whose labels are wanted, at least one."""
    return ridge.merge(
      *(each.total() for label, each in self._sums.items() if wanted(label))
    )
