"""LSTD-Q of one-step logs with many actions (`ope.action_ridge`).

    q(s, a) = g(s)'theta + k bend(score(s, a)) + h(s)'beta_a

g are random Fourier features of the state, h its numbers and categories, and
waves of its own where actions are few enough.
"""

from collections.abc import Mapping

import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents import base, one_step_columns, one_step_fit
from dfiv_ope.agents.entries import lstd as entry
from dfiv_ope.agents.entries import random_features
from dfiv_ope.ope import action_scores, bellman, decisions


class OneStepLSTD(base.Agent):
  """Least squares with coefficients of each action's own.

  Attributes:
    fitted: what `solve` found; None before.
    seed: of the features.
  """

  config: entry.Config

  def __init__(
    self, config: entry.Config, problem: bellman.Problem, *, seed: types.Seed
  ):
    """Initialises the agent with values of zero."""
    super().__init__('lstd')
    self.config = config
    self.seed = seed
    self.fitted: one_step_fit.Fit | None = None
    self._problem = problem
    self._columns = one_step_columns.Columns(
      problem, config.settings, seed=seed
    )
    self._initial_observations: tf.Tensor | None = None
    groups = self._columns.groups
    size = [problem.num_actions, len(groups.own)]
    shared = len(groups.shared) - one_step_columns.EXTRA + 1
    self._shared = tf.Variable(tf.zeros([shared], tf.float64), trainable=False)
    self._own = tf.Variable(tf.zeros(size, tf.float64), trainable=False)
    self._score = tf.Variable(tf.zeros(size, tf.float64), trainable=False)
    self._bent = tf.Variable(tf.zeros([], tf.float64), trainable=False)

  def start(self, initial_observations: tf.Tensor) -> None:
    """Keeps what the value is one of."""
    self._initial_observations = initial_observations

  def solve(self, parts: base.Parts) -> Mapping[str, float]:
    """Solves for all coefficients on the whole log."""
    assert self._initial_observations is not None, 'The agent was not started.'
    self.fitted = one_step_fit.fit(
      self._problem, self._columns, parts, self._initial_observations
    )
    self._shared.assign(self.fitted.values.shared)
    self._own.assign(self.fitted.values.own)
    self._score.assign(self.fitted.score)
    self._bent.assign(self.fitted.values.bent)
    return self.fitted.penalties

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns the expectation of q over the actions, [B, 1]."""
    own = self._columns.own(decision.observation)
    shared = tf.linalg.matvec(
      self._columns.shared(decision.observation), self._shared
    )
    probabilities = tf.cast(decision.probabilities, tf.float64)

    def expect(coefficients: tf.Variable, bent: bool) -> tf.Tensor:
      if decision.actions.shape[1] == 1:
        each = tf.reduce_sum(
          own * tf.gather(coefficients, decision.actions[:, 0]),
          axis=1,
          keepdims=True,
        )
      else:
        each = _of_actions(
          tf.matmul(own, coefficients, transpose_b=True), decision.actions
        )
      if bent:
        each = tf.nn.relu(each - action_scores.KNOT)
      return tf.reduce_sum(each * probabilities, axis=1)

    value = (
      shared
      + expect(self._own, False)
      + tf.cond(
        self._bent != 0.0,
        lambda: self._bent * expect(self._score, True),
        lambda: tf.zeros_like(shared),
      )
    )
    return value[:, None]


def _of_actions(values: tf.Tensor, actions: tf.Tensor) -> tf.Tensor:
  """Returns entries [B, K] of values [B, A]; all in order cost nothing."""

  def gather() -> tf.Tensor:
    return tf.gather(values, actions, batch_dims=1)

  count = values.shape[1]
  if actions.shape[1] != count:
    return gather()
  return tf.cond(
    tf.reduce_all(actions == tf.range(count)), lambda: values, gather
  )


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
