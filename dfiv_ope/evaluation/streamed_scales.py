"""The scales of a problem, from a log that is read in parts.

They are those of `bellman.pose` on all rows: two passes, one for the sums of a
linear Q-function and some observations, one for the spread of its values.
"""

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.evaluation import streamed_choices, streamed_passes
from dfiv_ope.iv import features, ridge
from dfiv_ope.nn import encoding, scaling
from dfiv_ope.ope import streamed

if TYPE_CHECKING:
  from dfiv_ope.ope import bellman
  from dfiv_ope.ope import task as task_lib


class NamesAloneError(ValueError):
  """No column of numbers is left: values are a table, no sum of parts."""


class Scales(NamedTuple):
  """What the scale of values and bandwidths are made of.

  Attributes:
    sums: of `value_scale.sums`.
    observations: raw ones of every so many rows.
  """

  sums: ridge.Sums
  observations: types.FloatArray


def scales(
  context: streamed_passes.Context, group: streamed_passes.Group, stride: int
) -> Scales:
  """Returns the sums of a linear Q-function, and observations for distances.

  Args:
    context: whose problem has the scale of rewards.
    group: parts.
    stride: one observation of as many rows is kept.
  """
  from dfiv_ope.ope import bellman, value_scale

  columns = value_scale.linear(context.problem.spaces)
  sums, kept, start = [], [], group.marks[0]
  for part, rows in streamed_passes.rows_of(context, group):
    sums.append(value_scale.sums(rows, columns, bellman.difference))
    kept.append(part.transitions.observation[-start % stride :: stride])
    start += len(part.episodes)
  return Scales(ridge.merge(*sums), np.concatenate(kept))


def merge_scales(first: Scales, second: Scales) -> Scales:
  """Returns those of both."""
  return Scales(
    ridge.merge(first.sums, second.sums),
    np.concatenate([first.observations, second.observations]),
  )


class Spread(NamedTuple):
  """Number of rows, mean, and squares about the mean."""

  rows: float
  mean: float
  squares: float


def spread(
  context: streamed_passes.Context,
  group: streamed_passes.Group,
  fitted: types.FloatArray,
) -> Spread:
  """Returns how values of a linear Q-function are spread.

  Args:
    context: as for `scales`.
    group: parts.
    fitted: of `value_scale.fit`.
  """
  from dfiv_ope.ope import value_scale

  problem = context.problem
  columns = value_scale.linear(problem.spaces)
  total = Spread(0.0, 0.0, 0.0)
  for _, rows in streamed_passes.rows_of(context, group):
    found = np.clip(
      value_scale.values(rows, columns, fitted),
      problem.lowest / problem.value_scale,
      problem.highest / problem.value_scale,
    )
    if len(found):
      mean = float(found.mean())
      total = merge_spread(
        total, Spread(len(found), mean, float(np.sum(np.square(found - mean))))
      )
  return total


def merge_spread(first: Spread, second: Spread) -> Spread:
  """Returns that of both (Chan et al., 1983)."""
  count = first.rows + second.rows
  if not count:
    return first
  change = second.mean - first.mean
  share = second.rows / count
  return Spread(
    count,
    first.mean + change * share,
    first.squares + second.squares + change**2 * first.rows * share,
  )


def encode(
  survey: streamed.Survey, *, dropped: tuple[int, ...]
) -> encoding.Encoding:
  """Returns how observations are encoded, as `encoding.fit` of all rows.

  Args:
    survey: of the log.
    dropped: columns of numbers that are left out.

  Raises:
    NamesAloneError: all columns that are left are names of states.
  """
  size = len(survey.scales.mean)
  numbers = tuple(
    column
    for column in range(size)
    if column not in survey.categories and column not in dropped
  )
  if not numbers:
    left = ', beside those that nobody needs,' if dropped else ''
    keep = (
      'Keep all columns (--all-columns, all_columns=True), or import it'
      if dropped
      else 'Import it'
    )
    raise NamesAloneError(
      f'All observations{left} are names of states, so that LSTD-Q is a table, '
      f'which is not made of a log in parts. {keep} with dfiv-ope dataset '
      'import, and give that to dfiv-ope evaluate, or to Log.open in Python.'
    )
  chosen = list(numbers)
  # Where rows are inverted; nothing here does.
  middle = np.median(survey.sample.transitions.observation, axis=0)
  return encoding.Encoding(
    numbers=numbers,
    dropped={column: float(middle[column]) for column in dropped},
    standardiser=scaling.Standardiser(
      *(np.asarray(each)[chosen] for each in survey.scales)
    ),
    categories=dict(sorted(survey.categories.items())),
  )


def settle(
  survey: streamed.Survey,
  task: 'task_lib.EvaluationTask',
  reduce: streamed_passes.Reduce,
  group: int,
) -> list[streamed_passes.Group]:
  """Gives a task the problem of the whole log, once; returns the log's groups.

  Args:
    survey: of the log.
    task: a sample of the log, and the policy.
    reduce: works on the groups.
    group: parts of a group, an even number.
  """
  from dfiv_ope.agents import memory

  groups = streamed_passes.groups(memory.marks(survey.transitions), group)
  if 'problem' not in vars(task):
    task.problem = pose(survey, task, groups, reduce)
    streamed_choices.settle(survey, task)
  return groups


def pose(
  survey: streamed.Survey,
  task: 'task_lib.EvaluationTask',
  groups: list[streamed_passes.Group],
  reduce: streamed_passes.Reduce,
) -> 'bellman.Problem':
  """Returns the problem of a policy's value, with scales from all rows.

  Args:
    survey: of the log.
    task: a sample of the log, and the policy.
    groups: of the parts of the log.
    reduce: works on the groups.
  """
  from dfiv_ope.ope import bellman, value_scale

  log = task.log
  states = encode(survey, dropped=task.dropped)
  unit = max(abs(survey.lowest), abs(survey.highest)) or 1.0
  most = bellman.horizon(log.discount, survey.largest_discount, survey.longest)
  raw = bellman.Problem(
    policy=task.policy,
    discount=log.discount,
    num_actions=log.num_actions,
    num_rows=survey.transitions,
    observations=states,
    distance=1.0,
    typical_distance=1.0,
    value_scale=unit,
    value_mean=0.0,
    lowest=float(min(survey.lowest, survey.lowest * most)),
    highest=float(max(survey.highest, survey.highest * most)),
    horizon=most,
    one_step=not survey.largest_discount,
  )
  found = reduce(
    scales, merge_scales, raw, groups, features.stride(survey.transitions)
  )
  seen = np.asarray(states.apply(found.observations))
  fitted = value_scale.fit(found.sums)
  values = reduce(spread, merge_spread, raw, groups, fitted)
  mean, scale = value_scale.settled(
    values.mean, float(np.sqrt(values.squares / values.rows))
  )
  return dataclasses.replace(
    raw,
    distance=features.median_distance(seen),
    typical_distance=features.typical_distance(seen),
    value_scale=unit * scale,
    value_mean=mean / scale,
  )
