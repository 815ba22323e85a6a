"""Off-policy evaluation as instrumental-variable regression, Eq. (10).

    r = Q(s, a) - gamma d E_pi Q(s', .) + noise

The treatment is (s, a, s', d), the instrument is (s, a), the outcome is the
reward. This module turns transitions into such rows, and a regression on them
back into a Q-function (`values`). It is the only place that multiplies the
evaluation's discount by the transition's.

    problem = bellman.pose(transitions, policy, discount=0.99, num_actions=3)
    rows = problem.rows(transitions)                    # an IVBatch
    bellman.difference(network, rows.treatment)         # [B, D]

Values are learned on a scale of their own: Q = value_scale q, and rewards are
divided by the same number.
"""

from collections.abc import Sequence
import dataclasses
from typing import NamedTuple

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope import limits, types
from dfiv_ope.iv import features
from dfiv_ope.nn import encoding, tensors
from dfiv_ope.ope import decisions, targets, value_scale


class Step(NamedTuple):
  """The treatment: where a step starts and where it leads.

  Attributes:
    now: the logged state and action.
    later: the next state and what the target policy does there.
    continuation: gamma d, [B, 1]: 0 where the episode ended.
  """

  now: decisions.Decision
  later: decisions.Decision
  continuation: types.Array


def difference(function: decisions.Function, step: Step) -> types.Array:
  """Returns psi(s, a) - gamma d E_pi psi(s', .), Eq. (10), [B, D].

  A constant column of psi becomes 1 - gamma d.
  """
  return function(step.now) + change(function, step)


def change(function: decisions.Function, step: Step) -> types.Array:
  """Returns -gamma d E_pi psi(s', .), what is not known at (s, a), [B, D]."""
  later = function(step.later)
  return -tensors.cast(step.continuation, later.dtype) * later


def drawn_difference(function: decisions.Function, step: Step) -> types.Array:
  """Returns psi(s, a) - gamma d E_pi psi(s', .) at draws of s', [S, B, D].

  Args:
    function: psi.
    step: of `Problem.imagine`, S rows of `later` for each of `now`.
  """
  now = function(step.now)
  later = tensors.reshape(
    function(step.later), [-1, tensors.rows(now), now.shape[1]]
  )
  return now - tensors.cast(step.continuation, now.dtype) * later


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
  """What is asked of a log, and the scales of its variables.

  Attributes:
    policy: the target policy.
    discount: gamma.
    num_actions: A; 0 if actions are vectors.
    num_rows: transitions of the log.
    observations: encodes observations: standardised numbers, indicators of
      categories.
    distance: median distance between expanded observations.
    typical_distance: the root of the mean square of such distances.
    value_scale: how far values typically lie from their mean.
    value_mean: their mean, in units of `value_scale`: where a network of
      values should start.
    lowest: least value that rewards and discount allow.
    highest: greatest value that they allow.
    horizon: rewards that a value is worth at most (`horizon`).
    continuous: what an action is, if it is a vector; else None.
    vectors: encodes actions that are vectors; None if they are not.
    action_distance: median distance between expanded action vectors.
    one_step: whether every step of the log ends its episode.
    bandwidth_scale: of random features, as a multiple of `distance`; None
      until one was chosen (`agents.bandwidth_choice`).
  """

  policy: types.Policy | types.ContinuousPolicy
  discount: float
  num_actions: int
  num_rows: int
  observations: encoding.Encoding
  distance: float
  typical_distance: float
  value_scale: float
  value_mean: float
  lowest: float
  highest: float
  horizon: float
  continuous: actions_lib.Continuous | None = None
  vectors: encoding.Encoding | None = None
  action_distance: float = 1.0
  one_step: bool = False
  bandwidth_scale: float | None = None

  @property
  def num_observations(self) -> int:
    """Number of entries of an expanded observation."""
    return self.observations.size

  @property
  def spaces(self) -> decisions.Spaces:
    """What the states and actions of its decisions are."""
    return decisions.Spaces(
      states=self.observations,
      num_actions=self.num_actions,
      vectors=self.vectors,
    )

  @property
  def target(self) -> targets.Target:
    """What the target policy does."""
    return targets.Target(policy=self.policy, spaces=self.spaces)

  def rows(
    self,
    transition: types.Transition,
    *,
    support: int | None = None,
    later: decisions.Decision | None = None,
  ) -> types.IVBatch:
    """Returns transitions as rows of the regression.

    Args:
      transition: transitions, [B, ...].
      support: as in `Target.decide`.
      later: what the policy does next; None to ask it.

    Returns:
      treatment `Step`, instrument `Decision`, outcome [B, 1].
    """
    now = decisions.taken(
      self.observations.compact(transition.observation),
      transition.action
      if self.vectors is None
      else self.vectors.compact(transition.action),
    )
    continuation = (
      self.discount * tensors.cast(transition.discount, np.float32)[:, None]
    )
    if later is None:
      later = self.target.decide(transition.next_observation, support=support)
    return types.IVBatch(
      treatment=Step(now, later, continuation),
      instrument=now,
      outcome=self.outcome(transition.reward),
    )

  def outcome(self, reward: types.Array) -> types.Array:
    """Returns rewards [B] on the scale of the values, float32 [B, 1]."""
    return tensors.cast(
      tensors.cast(reward, np.float64)[:, None] / self.value_scale, np.float32
    )

  def log_rows(self, transitions: types.Transition) -> types.IVBatch:
    """Returns a whole log as rows, with as little of the policy as it needs.

    What the policy does next does not matter where every step ends its
    episode.

    Args:
      transitions: all of the log, [N, ...].
    """
    following = transitions.next_observation
    if np.any(transitions.discount):
      return self.rows(transitions, later=self.target.of_log(following))
    first = self.target.decide(following[:1], support=1)
    return self.rows(
      transitions,
      later=decisions.Decision(
        self.observations.compact(following),
        *(tensors.repeat(each, len(following)) for each in first[1:]),
      ),
    )

  def imagine(
    self,
    now: decisions.Decision,
    later: types.Array,
    going_on: types.Array,
    *,
    support: int | None = None,
  ) -> Step:
    """Returns steps to states that a model of the environment draws.

    Args:
      now: where the steps start, B rows.
      later: draws of expanded s' for each of them, [S, B, D]; in categorical
        columns the category with the largest entry is meant.
      going_on: probability that the episode does not end, [B, 1]. It takes
        the place of d, so that nothing has to be drawn for it.
      support: as in `rows`. If the policy takes more actions than that in a
        drawn state, the likeliest ones stand for all.

    Returns:
      A step whose `later` has S B rows, B for each draw.
    """
    later = self.observations.collapse(
      tensors.reshape(later, [-1, self.num_observations])
    )
    decision = self.target.decide(
      self.observations.invert(later), support=support
    )
    total = tensors.total(decision.probabilities, axis=1, keepdims=True)
    return Step(
      now,
      decisions.Decision(
        later, decision.actions, decision.probabilities / total
      ),
      self.discount * going_on,
    )

  def allows(self, value: float) -> bool:
    """Whether a value is possible, give or take a tenth of the range."""
    slack = 0.1 * (self.highest - self.lowest)
    return bool(self.lowest - slack <= value <= self.highest + slack)


def pose(
  transitions: types.Transition,
  policy: types.Policy | types.ContinuousPolicy,
  *,
  discount: float,
  num_actions: int,
  categorical: Sequence[int] = (),
  continuous: actions_lib.Continuous | None = None,
  longest: int | None = None,
  dropped: Sequence[int] = (),
  like: Problem | None = None,
) -> Problem:
  """Returns the problem of a policy's value, with scales from a log.

  Args:
    transitions: the log, or a part of it that is large enough for its scales.
    policy: the target policy.
    discount: gamma, in [0, 1]; with 1, all episodes should terminate.
    num_actions: A; 0 if actions are vectors.
    categorical: columns of the observations whose values are names.
    continuous: what an action is, if it is a vector.
    longest: steps of the log's longest episode; wanted with a discount of 1.
    dropped: columns of the observations that methods do not see.
    like: the problem of another policy on the same log, whose scales of states
      and actions are taken.

  Raises:
    ValueError: the log is empty, or does not fit the policy or the discount.
  """
  limits.share('discount', discount)
  if not len(transitions.action):
    raise ValueError('A log needs at least one transition, got none.')
  taken = 0 if continuous else int(np.max(transitions.action))
  if continuous is None and taken >= num_actions:
    raise ValueError(
      f'The log has action {taken}, but there are {num_actions} actions '
      f'(0 to {num_actions - 1}).'
    )
  rewards = np.asarray(transitions.reward, np.float64)
  # Rewards of at most one, so that nothing under- or overflows.
  unit = float(np.max(np.abs(rewards))) or 1.0
  if like is not None:
    return _scaled(
      dataclasses.replace(
        like,
        policy=policy,
        value_scale=unit,
        value_mean=0.0,
        bandwidth_scale=None,
      ),
      transitions,
    )
  most = horizon(discount, float(np.max(transitions.discount)), longest)
  states = encoding.fit(
    transitions.observation,
    transitions.next_observation,
    categorical=categorical,
    dropped=dropped,
  )
  vectors = (
    None
    if continuous is None
    else encoding.fit(
      transitions.action, categorical=tuple(continuous.categories)
    )
  )
  seen = tensors.array(
    states.apply(features.some_rows(transitions.observation))
  )
  return _scaled(
    Problem(
      policy=policy,
      discount=discount,
      num_actions=num_actions,
      num_rows=len(transitions.action),
      observations=states,
      distance=features.median_distance(seen),
      typical_distance=features.typical_distance(seen),
      value_scale=unit,
      value_mean=0.0,
      lowest=float(min(rewards.min(), rewards.min() * most)),
      highest=float(max(rewards.max(), rewards.max() * most)),
      horizon=most,
      continuous=continuous,
      vectors=vectors,
      action_distance=1.0
      if vectors is None
      else features.median_distance(
        tensors.array(vectors.apply(features.some_rows(transitions.action)))
      ),
      one_step=not np.any(transitions.discount),
    ),
    transitions,
  )


def _scaled(raw: Problem, transitions: types.Transition) -> Problem:
  """Returns a problem whose scale is that of its values, not its rewards."""
  mean, scale = _value_scale(raw, transitions)
  return dataclasses.replace(
    raw, value_scale=raw.value_scale * scale, value_mean=mean / scale
  )


def horizon(
  discount: float, step_discount: float, longest: int | None
) -> float:
  """Returns how many rewards a value is worth at most.

  Without any discount that is what the log's longest episode has.

  Args:
    discount: gamma.
    step_discount: the largest of the environment's own.
    longest: steps of the log's longest episode.

  Raises:
    ValueError: there is no discount, and nothing says how long episodes are.
  """
  # Where every step ends its episode, the discount has nothing to multiply.
  largest = discount * (step_discount or 1.0)
  if largest < 1.0:
    return 1.0 / (1.0 - largest)
  if longest is None:
    raise ValueError(
      'With a discount of 1 the horizon is that of the longest episode: pass '
      'its number of steps as longest.'
    )
  return float(longest)


def _value_scale(
  problem: Problem, transitions: types.Transition
) -> tuple[float, float]:
  """Returns mean and spread of the values, in units of the problem's scale."""
  spaces = problem.spaces
  # What follows the steps of a one-step log does not matter.
  make = problem.log_rows if problem.one_step else problem.rows
  size = value_scale.rows_at_once(spaces)
  return value_scale.measure(
    [
      make(
        types.Transition(*(each[start : start + size] for each in transitions))
      )
      for start in range(0, len(transitions.action), size)
    ],
    spaces,
    difference=difference,
    lowest=problem.lowest / problem.value_scale,
    highest=problem.highest / problem.value_scale,
  )
