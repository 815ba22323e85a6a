"""The passes of closed forms over a log that is read in parts.

A pass does some work on each group of parts and merges what comes of it, two
neighbours at a time, in an order that the log alone decides. So the digits are
the same wherever groups are worked on, and whichever is done first.

    merged((work(context, group) for group in groups), merge)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents.entries import random_features
from dfiv_ope.iv import ridge
from dfiv_ope.ope import streamed

if TYPE_CHECKING:
  from dfiv_ope.agents import fixed_features
  from dfiv_ope.ope import bellman

# Parts of a group: half a million rows, as `agents.memory` cuts a log.
GROUP = 128
# Sums of seeds besides the first, which no diagnostic asks for by stages.
ALL = -1
_T = TypeVar('_T')


class Context(NamedTuple):
  """What a process needs to work on a group of parts.

  Attributes:
    parts: reads the log.
    problem: what is asked of it.
  """

  parts: streamed.Parts
  problem: 'bellman.Problem'


class Group(NamedTuple):
  """Parts of a log that follow each other.

  Attributes:
    first: number of the first part.
    marks: transitions that its parts begin with, and the end of the last.
  """

  first: int
  marks: tuple[int, ...]


class Reduce(Protocol):
  """Works on all groups, somewhere, and merges what comes of it."""

  def __call__(
    self,
    work: Callable[..., Any],
    merge: Callable[..., Any],
    problem: 'bellman.Problem',
    groups: Sequence[Group],
    *args: Any,
  ) -> Any:
    """Returns `merged` of work(context, group, *args) of each group.

    Args:
      work: a function of a module, so that any process finds it.
      merge: of two of its results, likewise.
      problem: of the context.
      groups: in the order of the log.
      *args: of the work.
    """


def here(
  parts: streamed.Parts, *, done: Callable[[], None] = lambda: None
) -> Reduce:
  """Returns what works on groups one after the other, in this process.

  Args:
    parts: reads the log.
    done: told that a group is done.
  """

  def reduce(
    work: Callable[..., Any],
    merge: Callable[..., Any],
    problem: 'bellman.Problem',
    groups: Sequence[Group],
    *args: Any,
  ) -> Any:
    context = Context(parts, problem)

    def found() -> Iterator[Any]:
      for group in groups:
        yield work(context, group, *args)
        done()

    return merged(found(), merge)

  return reduce


def groups(marks: Sequence[int], size: int = GROUP) -> list[Group]:
  """Returns the groups of the parts of a log.

  Args:
    marks: transitions that parts begin with, and the end of the last.
    size: parts of a group, an even number.
  """
  return [
    Group(first, tuple(marks[first : first + size + 1]))
    for first in range(0, len(marks) - 1, size)
  ]


def merged(found: Iterable[_T], merge: Callable[[_T, _T], _T]) -> _T:
  """Returns all of them merged, neighbours first, as a tree.

  Args:
    found: at least one, in the order of the log.
    merge: of two that follow each other.
  """
  waiting: list[tuple[int, _T]] = []
  for each in found:
    level = 0
    while waiting and waiting[-1][0] == level:
      each = merge(waiting.pop()[1], each)
      level += 1
    waiting.append((level, each))
  _, whole = waiting.pop()
  while waiting:
    whole = merge(waiting.pop()[1], whole)
  return whole


def rows_of(
  context: Context, group: Group
) -> Iterator[tuple[streamed.Part, types.IVBatch]]:
  """Yields parts, and their rows of the regression."""
  problem = context.problem
  # What follows the steps of a one-step log does not matter.
  make = problem.log_rows if problem.one_step else problem.rows
  for part in context.parts(group.marks):
    yield part, make(part.transitions)


class Key(NamedTuple):
  """Which rows and features sums are of.

  Attributes:
    seed: of the features.
    stage: of `shared_pass`, or `ALL`.
    fold: of the parts of the log (`fixed_features.Linear`).
  """

  seed: int
  stage: int
  fold: int


class Sums(NamedTuple):
  """What the weights of closed forms are solved from.

  Attributes:
    totals: sums by what they are of.
    value: sum of psi of seed 0 over what the policy does first, [D]; empty
      without that seed.
    looked_at: parts that the first stage is measured on, by their numbers.
  """

  totals: Mapping[Key, ridge.Sums]
  value: types.FloatArray
  looked_at: tuple[tuple[int, streamed.Part], ...]

  def of(
    self,
    seed: int,
    *,
    stages: Sequence[int] | None = None,
    fold: int | None = None,
  ) -> ridge.Sums:
    """Returns the sums of some of the rows.

    Args:
      seed: of the features.
      stages: of the parts; None for all.
      fold: of the parts; None for all.
    """
    return ridge.merge(
      *(
        total
        for key, total in self.totals.items()
        if key.seed == seed
        and (stages is None or key.stage in stages)
        and fold in (None, key.fold)
      )
    )


def sums(
  context: Context,
  group: Group,
  config: random_features.Config,
  seeds: Sequence[int],
  stages: Mapping[int, int],
  folds: int,
) -> Sums:
  """Returns the sums of a closed form's features of each seed.

  Args:
    context: log and problem.
    group: parts.
    config: of the method.
    seeds: of the features.
    stages: of parts that are used for more than the estimate, by number.
    folds: of the method, `fixed_features.Linear.folds`.
  """
  from dfiv_ope.agents import fixed_features
  from dfiv_ope.evaluation import shared_pass

  problem = context.problem
  made = {
    seed: fixed_features.make(problem, config.settings_of(problem), seed=seed)
    for seed in seeds
  }
  totals: dict[Key, _Total] = {}
  first = made.get(0)
  value: types.FloatArray = np.zeros(0 if first is None else first.output_size)
  looked_at = []
  for number, (part, rows) in enumerate(rows_of(context, group), group.first):
    stage = stages.get(number, shared_pass.NOTHING)
    if stage in (shared_pass.FIRST, shared_pass.SECOND):
      looked_at.append((number, part))
    for seed, psi in made.items():
      key = Key(seed, ALL if seed else stage, number % folds)
      if key not in totals:
        totals[key] = _Total(psi, squares=folds > 1)
      totals[key].add(rows)
    if first is not None:
      for decision in first_decisions(problem, part.starts):
        value = value + np.sum(np.asarray(first(decision)), axis=0)
  return Sums(
    {key: each.sums() for key, each in totals.items()}, value, tuple(looked_at)
  )


def merge_sums(first: Sums, second: Sums) -> Sums:
  """Returns those of both."""
  keys = dict.fromkeys((*first.totals, *second.totals))
  return Sums(
    {
      key: ridge.merge(
        *(each.totals[key] for each in (first, second) if key in each.totals)
      )
      for key in keys
    },
    first.value + second.value,
    first.looked_at + second.looked_at,
  )


class _Total:
  """Sums over rows, by the way that features are added fastest."""

  def __init__(self, psi: 'fixed_features.Features', *, squares: bool):
    from dfiv_ope.agents import outer_sums
    from dfiv_ope.ope import decisions

    self._psi = psi
    self._parts: list[ridge.Sums] = []
    self._outer = (
      outer_sums.OuterSums(psi, squares=squares)
      if isinstance(psi, decisions.Outer)
      else None
    )

  def add(self, rows: types.IVBatch) -> None:
    from dfiv_ope.agents import fixed_features, wave_features

    if self._outer is not None:
      self._outer.add(rows)
      return
    assert isinstance(self._psi, wave_features.Together)
    found = ridge.arrays(fixed_features.joint_sums(self._psi, rows))
    self._parts = [ridge.merge(*self._parts, found)]

  def sums(self) -> ridge.Sums:
    return self._parts[0] if self._outer is None else self._outer.total()


def first_decisions(
  problem: 'bellman.Problem', starts: types.FloatArray
) -> Any:
  """Yields what the policy does first, some thousand episodes at a time."""
  return problem.target.in_parts(starts) if len(starts) else ()
