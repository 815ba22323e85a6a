"""LSTD-Q with an indicator for each state and action (`ope.tables`)."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.ope import bellman, decisions, tables


class TableLSTD(base.Agent):
  """The table of values, for the pairs of state and action in the log.

  Others have the mean of their state and an offset of their action.
  """

  config: entry.Config

  def __init__(self, config: entry.Config, problem: bellman.Problem):
    """Initialises the agent with values of zero."""
    super().__init__('lstd')
    self.config = config
    self._problem = problem
    self._pairs = tf.Variable(
      tf.zeros([1], tf.int64), shape=[None], trainable=False
    )
    self._q = tf.Variable(
      tf.zeros([1], tf.float64), shape=[None], trainable=False
    )
    self._means = tf.Variable(
      tf.zeros([cells(problem) + 1], tf.float64), trainable=False
    )
    self._offsets = tf.Variable(
      tf.zeros([problem.num_actions], tf.float64), trainable=False
    )
    self._has_rows = tf.Variable(
      tf.zeros([cells(problem) + 1], tf.bool), trainable=False
    )

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for the table on the whole log."""
    found = tables.solve(
      rows_of(self._problem, parts),
      policy_of(self._problem),
      prior_rows=self.config.prior_rows,
    )
    self._pairs.assign(found.pairs)
    self._q.assign(found.q)
    self._means.assign(found.means)
    self._offsets.assign(found.offsets)
    self._has_rows.assign(
      np.isin(
        np.arange(len(found.means)), found.pairs // self._problem.num_actions
      )
    )
    return {}

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns the expectation of q over the actions, [B, 1]."""
    state = self._problem.observations.cell(decision.observation)[:, None]
    wanted = state * self._problem.num_actions + tf.cast(
      decision.actions, tf.int64
    )  # [B, K]
    place = tf.searchsorted(self._pairs, tf.reshape(wanted, [-1]))
    place = tf.reshape(
      tf.minimum(place, tf.shape(self._pairs)[0] - 1), tf.shape(wanted)
    )
    # A state that the log never leaves has no offsets.
    lacking = tf.gather(self._means, state) + tf.where(
      tf.gather(self._has_rows, state),
      tf.gather(self._offsets, decision.actions),
      0.0,
    )
    q = tf.where(
      tf.gather(self._pairs, place) == wanted,
      tf.gather(self._q, place),
      lacking,
    )
    return tf.reduce_sum(
      q * tf.cast(decision.probabilities, q.dtype), axis=1, keepdims=True
    )


def fits(problem: bellman.Problem, settings: random_features.Settings) -> bool:
  """Returns whether values are those of a table.

  Raises:
    ValueError: a table is wanted, but a column is not categorical.
  """
  tabular = problem.observations.cells is not None
  wanted = settings.kind(num_actions=problem.num_actions, tabular=tabular)
  if wanted == random_features.TABLE and not (tabular and problem.num_actions):
    raise ValueError(
      f'features={random_features.TABLE} needs observations that are all '
      'categorical and actions that are not vectors. Import the log with '
      '--categorical, or leave the features auto.'
    )
  return wanted == random_features.TABLE


def cells(problem: bellman.Problem) -> int:
  """Returns the number of states of the table."""
  assert problem.observations.cells is not None
  return len(problem.observations.cells)


def rows_of(problem: bellman.Problem, parts: base.Parts) -> tables.Rows:
  """Returns the rows of the log as entries of the table."""

  # Not a graph: making one takes longer than the entries of a log.
  def entries(rows: types.IVBatch) -> tuple[tf.Tensor, ...]:
    step = rows.treatment
    return (
      problem.observations.cell(step.now.observation),
      tf.cast(step.now.actions[:, 0], tf.int64),
      tf.cast(rows.outcome[:, 0], tf.float64),
      tf.cast(step.continuation[:, 0], tf.float64),
      problem.observations.cell(step.later.observation),
    )

  found = [entries(rows) for rows in parts()]
  return tables.Rows(
    *(np.concatenate(each) for each in zip(*found, strict=True))
  )


def policy_of(problem: bellman.Problem) -> tables.TablePolicy:
  """Returns what the target policy does in each state of the table."""
  states = problem.observations
  found = list(
    problem.target.in_parts(states.invert(tf.constant(states.cell_states())))
  )
  return tables.TablePolicy(
    np.concatenate([each.actions for each in found]),
    np.concatenate([each.probabilities for each in found]),
    problem.num_actions,
  )


def starts_of(
  problem: bellman.Problem, initial_observations: tf.Tensor
) -> types.FloatArray:
  """Returns the shares of states that episodes start from, [C + 1]."""
  place = problem.observations.cell(
    problem.observations.compact(initial_observations)
  ).numpy()
  return np.bincount(place, minlength=cells(problem) + 1) / len(place)
