"""LSTD-Q of one-step logs with many actions (`ope.action_ridge`).

    q(s, a) = g(s)'theta + k bend(score(s, a)) + h(s)'beta_a

g are random Fourier features of the state, h its numbers and categories, and
waves of its own where actions are few enough.
"""

from collections.abc import Mapping

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, one_step_columns, one_step_fit
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.nn import tensors
from dfiv_ope.ope import action_scores, bellman, decisions


class OneStepLSTD(base.ClosedForm):
  """Least squares with coefficients of each action's own.

  Attributes:
    fitted: what `solve` found; None before.
    seed: of the features.
  """

  config: entry.Config
  solution = ('_shared', '_own', '_score', '_bent')

  def __init__(
    self, config: entry.Config, problem: bellman.Problem, *, seed: types.Seed
  ):
    """Initialises the agent with values of zero."""
    self.config = config
    self.seed = seed
    self.fitted: one_step_fit.Fit | None = None
    self._problem = problem
    self._columns = one_step_columns.Columns(
      problem, config.settings_of(problem), seed=seed
    )
    self._initial_observations: types.Array | None = None
    groups = self._columns.groups
    size = [problem.num_actions, len(groups.own)]
    shared = len(groups.shared) - one_step_columns.EXTRA + 1
    self._shared: types.FloatArray = np.zeros(shared)
    self._own: types.FloatArray = np.zeros(size)
    self._score: types.FloatArray = np.zeros(size)
    self._bent: types.FloatArray = np.zeros(())

  def start(self, initial_observations: types.Array) -> None:
    """Keeps what the value is one of."""
    self._initial_observations = initial_observations

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for all coefficients on the whole log."""
    assert self._initial_observations is not None, 'The agent was not started.'
    self.fitted = one_step_fit.fit(
      self._problem, self._columns, parts, self._initial_observations
    )
    self._shared, self._own = self.fitted.values.shared, self.fitted.values.own
    self._score = self.fitted.score
    self._bent = np.asarray(self.fitted.values.bent)
    return self.fitted.penalties

  def predict(self, decision: decisions.Decision) -> types.FloatArray:
    """Returns the expectation of q over the actions, [B, 1]."""
    observation, actions, probabilities = map(tensors.array, decision)
    own = self._columns.own(observation)
    value = self._columns.shared(observation) @ self._shared

    def each(coefficients: types.FloatArray) -> types.FloatArray:
      if actions.shape[1] == 1:
        return np.sum(own * coefficients[actions[:, 0]], axis=1, keepdims=True)
      return _of_actions(own @ coefficients.T, actions)

    value = value + np.sum(each(self._own) * probabilities, axis=1)
    if self._bent != 0.0:
      high = action_scores.bend(each(self._score))
      value = value + self._bent * np.sum(high * probabilities, axis=1)
    return value[:, None]


def _of_actions(
  values: types.FloatArray, actions: np.ndarray
) -> types.FloatArray:
  """Returns entries [B, K] of values [B, A]; all in order cost nothing."""
  count = values.shape[1]
  if actions.shape[1] == count and np.all(actions == np.arange(count)):
    return values
  return np.take_along_axis(values, actions, axis=1)


def fits(problem: bellman.Problem, settings: random_features.Settings) -> bool:
  """Returns whether values are those of one-step logs with many actions.

  Raises:
    ValueError: they are wanted, but steps follow each other, or actions are
      vectors.
  """
  wanted = settings.kind(
    num_actions=problem.num_actions,
    one_step=problem.one_step,
    tabular=problem.observations.cells is not None,
  )
  if wanted == random_features.ONE_STEP and not (
    problem.one_step and problem.num_actions
  ):
    raise ValueError(
      f'features={random_features.ONE_STEP} needs a log whose episodes all '
      'have one step, and actions that are not vectors. Leave the features '
      'auto.'
    )
  return wanted == random_features.ONE_STEP
