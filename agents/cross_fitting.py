"""Values of a log's rows by LSTD-Q on other episodes (cross-fitting).

What is learned of an episode never comes from it: then errors of the values
and errors of the weights are independent of its noise, and intervals need no
more than the spread of episodes (Chernozhukov et al., 2018).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, direct, lstd, memory, table_lstd
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.iv import ridge
from dfiv_ope.ope import propensities, weighing
from dfiv_ope.ope import task as task_lib


class Fold(NamedTuple):
  """Some episodes, and the rows of all others to learn from.

  Attributes:
    episodes: held out, their numbers.
    rows: of these, their numbers.
    others: all other rows, their numbers.
  """

  episodes: np.ndarray
  rows: np.ndarray
  others: np.ndarray


class Values(NamedTuple):
  """Values of a log that no row had a part in, on their raw scale.

  Attributes:
    initial: v(s0) of each episode, [E].
    errors: r + gamma d v(s') - q(s, a) of each row, [N].
  """

  initial: types.FloatArray
  errors: types.FloatArray


def folds(
  task: task_lib.EvaluationTask, count: int, *, seed: types.Seed
) -> list[Fold]:
  """Returns episodes in as many folds, drawn by a seed.

  Raises:
    UnanswerableError: the log has one episode.
  """
  log = task.log
  fold = propensities.folds(log.num_episodes, count, seed=seed)
  of_rows = fold[log.episodes]
  return [
    Fold(
      np.flatnonzero(fold == each),
      np.flatnonzero(of_rows == each),
      np.flatnonzero(of_rows != each),
    )
    for each in range(int(fold.max()) + 1)
  ]


def parts(task: task_lib.EvaluationTask, rows: np.ndarray) -> base.Parts:
  """Returns what gives some rows of a log."""
  return memory.InMemory(
    memory.take(task.rows, rows), batch_size=1, seed=0
  ).parts


def values(
  config: entry.Config,
  task: task_lib.EvaluationTask,
  held_out: list[Fold],
  *,
  seed: types.Seed,
) -> Values:
  """Returns values of every row by LSTD-Q on the other folds.

  Args:
    config: of LSTD-Q.
    task: the log and the target policy.
    held_out: of `folds`.
    seed: of random features.
  """
  log, problem = task.log, task.problem
  agent = lstd.make(config, problem, seed=seed)
  agent.start(task.initial_observations)
  sums: list[ridge.Sums] = []
  if isinstance(agent, lstd.LSTD):
    sums = [agent.sums(parts(task, each.rows)) for each in held_out]

  found = Values(np.zeros(log.num_episodes), np.zeros(len(log)))
  for place, each in enumerate(held_out):
    if isinstance(agent, lstd.LSTD):
      agent.solve_sums(
        ridge.merge(
          *(other for index, other in enumerate(sums) if index != place)
        )
      )
    else:
      agent.solve(parts(task, each.others))
    found.errors[each.rows] = np.concatenate(
      [agent.errors(rows) for rows in parts(task, each.rows)()]
    )
    found.initial[each.episodes] = np.concatenate(
      [
        agent.predict(decision)[:, 0]
        for decision in problem.target.in_parts(
          task.initial_observations[each.episodes]
        )
      ]
    )
  return Values(*(problem.value_scale * each for each in found))


def is_table(config: entry.Config, task: task_lib.EvaluationTask) -> bool:
  """Returns whether values are those of a table."""
  return table_lstd.fits(task.problem, config.settings)


def answer(
  task: task_lib.EvaluationTask,
  found: Values,
  weights: types.FloatArray,
  metrics: Mapping[str, float],
  *,
  value: float | None = None,
) -> direct.Direct:
  """Returns E v(s0) + sum w e, or what is added to another value.

  Args:
    task: the log and the target policy.
    found: v and e.
    weights: w of each row, [N].
    metrics: what is worth knowing beside the weights.
    value: the estimate itself, if it is another; the sum less it is then the
      correction.

  Raises:
    UnanswerableError: weights are too large for a number.
  """
  log = task.log
  where = weighing.layout(log.episodes)
  each = found.initial / log.num_episodes + where.total(weights * found.errors)
  total, episodes = float(np.sum(each)), np.abs(where.total(weights))
  return direct.answer(
    weighing.Weighed(
      value=total if value is None else value,
      added=each - each.mean(),
      effective_episodes=_effective(episodes),
      largest_share=float(episodes.max() / (episodes.sum() or 1.0)),
      # The weights of a discount of 0 would sum to one.
      mean_weight=float('nan'),
    ),
    {'effective_share': _effective(weights) / len(log), **metrics},
    0.0 if value is None else total - value,
  )


def _effective(weights: types.FloatArray) -> float:
  """Returns (sum w)^2 / sum w^2; 0 if all are 0."""
  squares = float(np.sum(np.square(weights)))
  return float(np.sum(weights)) ** 2 / squares if squares else 0.0
