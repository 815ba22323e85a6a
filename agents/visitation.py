"""Weights of rows by the target's visits, fitted on other episodes.

The maths are `ope.marginal`. Features are those of LSTD-Q, a table where states
are names; the penalty is the one under which held-out episodes are balanced
best.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import cross_fitting, fixed_features, table_lstd
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.iv import ridge
from dfiv_ope.ope import marginal, tables
from dfiv_ope.ope import task as task_lib


class Visitation(NamedTuple):
  """How often the target visits what the log shows.

  Attributes:
    rows: what a unit of each row's reward adds to the value, [N].
    penalty: that was chosen.
  """

  rows: types.FloatArray
  penalty: float


def weights(
  config: entry.Config,
  task: task_lib.EvaluationTask,
  held_out: Sequence[cross_fitting.Fold],
  *,
  seed: types.Seed,
  penalties: Sequence[float],
) -> Visitation:
  """Returns weights that no row had a part in.

  Args:
    config: of the features.
    task: the log and the target policy.
    held_out: folds of episodes.
    seed: of random features.
    penalties: candidates: rows of the prior of a table, else ridge penalties.
  """
  fit = (_Table if cross_fitting.is_table(config, task) else _Dense)(
    config, task, held_out, seed
  )
  best, least = None, np.inf
  for penalty in penalties:
    rows, losses = np.zeros(len(task.log)), 0.0
    for place, fold in enumerate(held_out):
      rows[fold.rows], loss = fit.weigh(place, penalty)
      # Each fold has been weighed as if it were the others.
      rows[fold.rows] *= 1.0 - len(fold.episodes) / task.log.num_episodes
      losses += loss * len(fold.episodes)
    if best is None or losses < least:
      best, least = Visitation(rows, penalty), losses
  assert best is not None
  return best


class _Table:
  """Weights by tables of other episodes."""

  def __init__(
    self,
    config: entry.Config,
    task: task_lib.EvaluationTask,
    held_out: Sequence[cross_fitting.Fold],
    seed: types.Seed,
  ):
    del config, seed
    problem = task.problem
    self._held_out = held_out
    self._count = task.log.num_episodes
    self._policy = table_lstd.policy_of(problem)
    self._rows = table_lstd.rows_of(
      problem, cross_fitting.parts(task, np.arange(len(task.log)))
    )
    self._starts = problem.observations.cell(
      problem.observations.compact(task.initial_observations)
    )
    self._size = table_lstd.cells(problem) + 1
    self._halves = task.log.episodes % 2

  def weigh(self, place: int, penalty: float) -> tuple[types.FloatArray, float]:
    """Returns the weights of a fold's rows, and their imbalance."""
    fold = self._held_out[place]
    fitted, held = (
      tables.Rows(*(each[rows] for each in self._rows))
      for rows in (fold.others, fold.rows)
    )
    others = np.setdiff1d(np.arange(self._count), fold.episodes)
    found = marginal.table_weights(
      fitted, held, self._policy, self._share(others), prior_rows=penalty
    )
    return found, marginal.table_imbalance(
      found,
      held,
      self._halves[fold.rows],
      self._policy,
      self._share(fold.episodes),
      scale=len(others) / len(fold.episodes),
      all_pairs=(
        self._rows.state * self._policy.num_actions + self._rows.action
      ),
    )

  def _share(self, episodes: np.ndarray) -> types.FloatArray:
    """Returns the shares of states that episodes start from, [C + 1]."""
    return np.bincount(self._starts[episodes], minlength=self._size) / len(
      episodes
    )


class _Dense:
  """Weights on random features, from the sums of each fold."""

  def __init__(
    self,
    config: entry.Config,
    task: task_lib.EvaluationTask,
    held_out: Sequence[cross_fitting.Fold],
    seed: types.Seed,
  ):
    config.require(task.log.num_actions)
    self._task, self._held_out = task, held_out
    self._psi = fixed_features.make(
      task.problem, config.settings_of(task.problem), seed=seed
    )
    self._halves = [
      fixed_features.half_sums(self._psi, cross_fitting.parts(task, each.rows))
      for each in held_out
    ]
    self._sums = [ridge.merge(*each) for each in self._halves]
    self._values = [self._value(each.episodes) for each in held_out]  # sums
    total = ridge.merge(*self._sums)
    self._gram = np.asarray(total.gram) / float(total.count)

  def weigh(self, place: int, penalty: float) -> tuple[types.FloatArray, float]:
    """Returns the weights of a fold's rows, and their imbalance."""
    others = [each for each in range(len(self._sums)) if each != place]
    count = sum(len(self._held_out[each].episodes) for each in others)
    fold = self._held_out[place]
    size = len(fold.episodes)
    found = marginal.dense_weights(
      ridge.merge(*(self._sums[each] for each in others)),
      np.sum([self._values[each] for each in others], axis=0) / count,
      penalty,
    )
    rows = np.concatenate(
      [
        self._psi.dot(each.instrument, found)[:, 0]
        for each in cross_fitting.parts(self._task, fold.rows)()
      ]
    )
    return rows, marginal.dense_imbalance(
      found,
      self._halves[place],
      self._values[place] / size,
      scale=count / size,
      gram=self._gram,
    )

  def _value(self, episodes: np.ndarray) -> types.FloatArray:
    """Returns the sum of E psi(s0, pi) over episodes, [D, 1]."""
    return np.sum(
      [
        np.sum(self._psi(each), axis=0)
        for each in self._task.problem.target.in_parts(
          self._task.initial_observations[episodes]
        )
      ],
      axis=0,
    )[:, None].astype(np.float64)
