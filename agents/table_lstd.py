"""LSTD-Q with an indicator for each state and action (`ope.tables`)."""

from collections.abc import Mapping

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, decisions, tables


class TableLSTD(base.ClosedForm):
  """The table of values, for the pairs of state and action in the log.

  Others have the mean of their state and an offset of their action.
  """

  config: entry.Config
  solution = ('_pairs', '_q', '_means', '_offsets', '_has_rows')

  def __init__(self, config: entry.Config, problem: bellman.Problem):
    """Initialises the agent with values of zero."""
    self.config = config
    self._problem = problem
    self._pairs = np.zeros(1, np.int64)
    self._q: types.FloatArray = np.zeros(1)
    self._means: types.FloatArray = np.zeros(cells(problem) + 1)
    self._offsets: types.FloatArray = np.zeros(problem.num_actions)
    self._has_rows = np.zeros(cells(problem) + 1, bool)
    self._starts: types.FloatArray | None = None

  def start(self, initial_observations: types.Array) -> None:
    """Keeps what the value is one of."""
    self._starts = starts_of(self._problem, initial_observations)

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for the table on the whole log."""
    assert self._starts is not None, 'The agent was not started.'
    found = tables.solve(
      rows_of(self._problem, parts),
      policy_of(self._problem),
      self._starts,
      prior_rows=self.config.prior_rows,
    )
    self._pairs, self._q = found.pairs, found.q
    self._means, self._offsets = found.means, found.offsets
    self._has_rows = np.isin(
      np.arange(len(found.means)), found.pairs // self._problem.num_actions
    )
    return {}

  def predict(self, decision: decisions.Decision) -> types.FloatArray:
    """Returns the expectation of q over the actions, [B, 1]."""
    observation, actions, probabilities = map(tensors.array, decision)
    state = self._problem.observations.cell(observation)[:, None]
    wanted = state * self._problem.num_actions + actions  # [B, K]
    place = np.minimum(
      np.searchsorted(self._pairs, wanted), len(self._pairs) - 1
    )
    # A state that the log never leaves has no offsets.
    lacking = self._means[state] + np.where(
      self._has_rows[state], self._offsets[actions], 0.0
    )
    q = np.where(self._pairs[place] == wanted, self._q[place], lacking)
    return np.sum(q * probabilities, axis=1, keepdims=True)


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

  def entries(rows: types.IVBatch) -> tuple[np.ndarray, ...]:
    step = rows.treatment
    now, later, actions, outcome, continuation = map(
      tensors.array,
      (
        step.now.observation,
        step.later.observation,
        step.now.actions,
        rows.outcome,
        step.continuation,
      ),
    )
    return (
      problem.observations.cell(now),
      actions[:, 0].astype(np.int64),
      outcome[:, 0].astype(np.float64),
      continuation[:, 0].astype(np.float64),
      problem.observations.cell(later),
    )

  found = [entries(rows) for rows in parts()]
  return tables.Rows(
    *(np.concatenate(each) for each in zip(*found, strict=True))
  )


def policy_of(problem: bellman.Problem) -> tables.TablePolicy:
  """Returns what the target policy does in each state of the table."""
  states = problem.observations
  found = list(problem.target.in_parts(states.invert(states.cell_states())))
  return tables.TablePolicy(
    np.concatenate([each.actions for each in found]),
    np.concatenate([each.probabilities for each in found]),
    problem.num_actions,
  )


def starts_of(
  problem: bellman.Problem, initial_observations: types.Array
) -> types.FloatArray:
  """Returns the shares of states that episodes start from, [C + 1]."""
  place = problem.observations.cell(
    problem.observations.compact(tensors.array(initial_observations))
  )
  return np.bincount(place, minlength=cells(problem) + 1) / len(place)
