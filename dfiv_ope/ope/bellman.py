"""Off-policy evaluation as instrumental-variable regression, Eq. (10).

    r = Q(s, a) - gamma d E_pi Q(s', .) + noise

The treatment is (s, a, s', d), the instrument is (s, a), the outcome is the
reward. This module turns transitions into such rows, and a regression on them
back into a Q-function. It is the only place that multiplies the evaluation's
discount by the transition's.

    problem = bellman.pose(transitions, policy, discount=0.99, num_actions=3)
    rows = problem.rows(transitions)                    # an IVBatch
    bellman.difference(network, rows.treatment)         # [B, D]
    q = bellman.QFunction(problem, lambda decision: ...)
    q.values(observation)                               # [B, A]

Values are learned on a scale of their own: Q = value_scale q, and rewards are
divided by the same number.
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dfiv_ope import limits, types
from dfiv_ope.iv import differentiable, features, ridge
from dfiv_ope.nn import encoding
from dfiv_ope.ope import decisions

# A function of decisions, [B, D] or [B, 1].
DecisionFunction = Callable[[decisions.Decision], tf.Tensor]

# Of the linear fit that finds the scale of the values.
_SCALE_PENALTY = 1e-4


class Step(NamedTuple):
  """The treatment: where a step starts and where it leads.

  Attributes:
    now: the logged state and action.
    later: the next state and what the target policy does there.
    continuation: gamma d, [B, 1]: 0 where the episode ended.
  """
  now: decisions.Decision
  later: decisions.Decision
  continuation: tf.Tensor


def difference(function: DecisionFunction, step: Step) -> tf.Tensor:
  """Returns psi(s, a) - gamma d E_pi psi(s', .), Eq. (10), [B, D].

  A constant column of psi becomes 1 - gamma d.
  """
  return function(step.now) + change(function, step)


def change(function: DecisionFunction, step: Step) -> tf.Tensor:
  """Returns -gamma d E_pi psi(s', .), what is not known at (s, a), [B, D]."""
  later = function(step.later)
  return -tf.cast(step.continuation, later.dtype) * later


def drawn_difference(function: DecisionFunction, step: Step) -> tf.Tensor:
  """Returns psi(s, a) - gamma d E_pi psi(s', .) at draws of s', [S, B, D].

  Args:
    function: psi.
    step: of `Problem.imagine`, S rows of `later` for each of `now`.
  """
  now = function(step.now)
  later = tf.reshape(
      function(step.later), tf.concat([[-1], tf.shape(now)], axis=0))
  return now - tf.cast(step.continuation, now.dtype) * later


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
  """What is asked of a log, and the scales of its variables.

  Attributes:
    policy: the target policy.
    discount: gamma.
    num_actions: A.
    observations: encodes observations: standardised numbers, indicators of
      categories.
    distance: median distance between encoded observations.
    value_scale: how far values typically lie from their mean.
    value_mean: their mean, in units of `value_scale`: where a network of
      values should start.
    lowest: least value that rewards and discount allow.
    highest: greatest value that they allow.
  """
  policy: types.Policy
  discount: float
  num_actions: int
  observations: encoding.Encoding
  distance: float
  value_scale: float
  value_mean: float
  lowest: float
  highest: float

  @property
  def num_observations(self) -> int:
    """Number of entries of an encoded observation."""
    return self.observations.size

  def rows(
      self, transition: types.Transition, *, support: int | None = None,
  ) -> types.IVBatch:
    """Returns transitions as rows of the regression.

    Args:
      transition: transitions, [B, ...].
      support: how many actions the policy takes in any state of these, at
        most; all actions if None. Fewer are cheaper.

    Returns:
      treatment `Step`, instrument `Decision`, outcome [B, 1].
    """
    now = decisions.taken(
        self.observations.apply(transition.observation), transition.action)
    continuation = self.discount * tf.cast(
        transition.discount, tf.float32)[:, None]
    reward = tf.cast(transition.reward, tf.float64)[:, None]
    return types.IVBatch(
        treatment=Step(
            now, self.decide(transition.next_observation, support=support),
            continuation),
        instrument=now,
        outcome=tf.cast(reward / self.value_scale, tf.float32))

  def decide(
      self, observation: tf.Tensor, *, support: int | None = None,
  ) -> decisions.Decision:
    """Returns what the target policy does at raw observations [B, D]."""
    probabilities, actions = tf.math.top_k(
        self._probabilities(observation), k=support or self.num_actions)
    return decisions.Decision(
        self.observations.apply(observation), actions, probabilities)

  def imagine(
      self,
      now: decisions.Decision,
      later: tf.Tensor,
      going_on: tf.Tensor,
      *,
      support: int | None = None,
  ) -> Step:
    """Returns steps to states that a model of the environment draws.

    Args:
      now: where the steps start, B rows.
      later: draws of encoded s' for each of them, [S, B, D]; in categorical
        columns the category with the largest entry is meant.
      going_on: probability that the episode does not end, [B, 1]. It takes
        the place of d, so that nothing has to be drawn for it.
      support: as in `rows`. If the policy takes more actions than that in a
        drawn state, the likeliest ones stand for all.

    Returns:
      A step whose `later` has S B rows, B for each draw.
    """
    later = self.observations.nearest(
        tf.reshape(later, [-1, self.num_observations]))
    decision = self.decide(self.observations.invert(later), support=support)
    total = tf.reduce_sum(decision.probabilities, axis=1, keepdims=True)
    return Step(
        now,
        decisions.Decision(
            later, decision.actions, decision.probabilities / total),
        self.discount * going_on)

  def support(self, observation: tf.Tensor) -> int:
    """Returns the largest number of actions taken at any of the states."""
    positive = self._probabilities(observation) > 0.
    return int(tf.reduce_max(
        tf.reduce_sum(tf.cast(positive, tf.int32), axis=1)))

  def allows(self, value: float) -> bool:
    """Whether a value is possible, give or take a tenth of the range."""
    slack = 0.1 * (self.highest - self.lowest)
    return bool(self.lowest - slack <= value <= self.highest + slack)

  def _probabilities(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns pi(.|s), [B, A]; the policy sees raw float64 observations."""
    return self.policy.action_probabilities(tf.cast(observation, tf.float64))


def pose(
    transitions: types.Transition,
    policy: types.Policy,
    *,
    discount: float,
    num_actions: int,
    categorical: Sequence[int] = (),
    longest: int | None = None,
) -> Problem:
  """Returns the problem of a policy's value, with scales from a log.

  Args:
    transitions: the log, or a part of it that is large enough for its scales.
    policy: the target policy.
    discount: gamma, in [0, 1]; with 1, all episodes should terminate.
    num_actions: A.
    categorical: columns of the observations whose values are names.
    longest: steps of the log's longest episode; wanted with a discount of 1.

  Raises:
    ValueError: the log is empty, or does not fit the policy or the discount.
  """
  limits.share('discount', discount)
  if not len(transitions.action):
    raise ValueError('A log needs at least one transition, got none.')
  taken = int(np.max(transitions.action))
  if taken >= num_actions:
    raise ValueError(
        f'The log has action {taken}, but there are {num_actions} actions '
        f'(0 to {num_actions - 1}).')
  rewards = np.asarray(transitions.reward, np.float64)
  horizon = _horizon(discount, transitions.discount, longest)
  states = encoding.fit(
      transitions.observation, transitions.next_observation,
      categorical=categorical)
  # Rewards of at most one, so that nothing under- or overflows.
  unit = float(np.max(np.abs(rewards))) or 1.
  raw = Problem(
      policy=policy, discount=discount, num_actions=num_actions,
      observations=states,
      distance=features.median_distance(states.apply(
          features.some_rows(transitions.observation)).numpy()),
      value_scale=unit, value_mean=0.,
      lowest=float(min(rewards.min(), rewards.min() * horizon)),
      highest=float(max(rewards.max(), rewards.max() * horizon)))
  mean, scale = _value_scale(raw, raw.rows(transitions))
  return dataclasses.replace(
      raw, value_scale=unit * scale, value_mean=mean / scale)


def _horizon(
    discount: float, step_discounts: tf.Tensor, longest: int | None) -> float:
  """Returns how many rewards a value is worth at most.

  Without any discount that is what the log's longest episode has.

  Raises:
    ValueError: there is no discount, and nothing says how long episodes are.
  """
  # Where every step ends its episode, the discount has nothing to multiply.
  largest = discount * (float(np.max(step_discounts)) or 1.)
  if largest < 1.:
    return 1. / (1. - largest)
  if longest is None:
    raise ValueError(
        'With a discount of 1 the horizon is that of the longest episode: pass '
        'its number of steps as longest.')
  return float(longest)


def _value_scale(problem: Problem, rows: types.IVBatch) -> tuple[float, float]:
  """Returns mean and spread of the values, by a linear Q-function.

  Both are in units of the problem's scale.
  """

  def linear(decision: decisions.Decision) -> tf.Tensor:
    weights = decisions.weights(decision, problem.num_actions)
    return differentiable.append_intercept(
        tf.concat([decision.observation, weights[:, 1:]], axis=1))

  design = linear(rows.instrument)
  fitted = ridge.solve_cross(
      ridge.sums(design, tf.concat(
          [difference(linear, rows.treatment), rows.outcome], axis=1)),
      _SCALE_PENALTY)
  values = np.clip(
      differentiable.predict(design, fitted),
      problem.lowest / problem.value_scale,
      problem.highest / problem.value_scale)
  mean, scale = float(values.mean()), float(values.std())
  # Rewards that never change have values that never change either.
  return mean, scale if scale > 1e-6 * max(1., abs(mean)) else 1.


class QFunction:
  """The values of a policy on their raw scale."""

  def __init__(self, problem: Problem, function: DecisionFunction):
    """Wraps a function of decisions on the scale of the problem, [B, 1]."""
    self._problem = problem
    self._function = function

  def values(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns Q(s, .), [B, A], of raw observations [B, D]."""
    decision = self._problem.decide(observation)
    columns = [
        self._function(decisions.taken(
            decision.observation, tf.fill([len(observation)], action)))
        for action in range(self._problem.num_actions)]
    return self._raw(tf.concat(columns, axis=1))

  def expected(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns E_pi Q(s, .), [B], of raw observations [B, D]."""
    decision = self._problem.decide(observation)
    return self._raw(self._function(decision))[:, 0]

  def _raw(self, value: tf.Tensor) -> tf.Tensor:
    return self._problem.value_scale * tf.cast(value, tf.float64)


def initial_value(
    q_function: types.QFunction, initial_observations: tf.Tensor) -> float:
  """Returns E Q(s0, pi) over initial states and the policy's actions.

  The expectation over actions is exact, the one over states the mean over
  those given.

  Args:
    q_function: values of the policy.
    initial_observations: raw observations [E, D].
  """
  return float(tf.reduce_mean(q_function.expected(initial_observations)))
