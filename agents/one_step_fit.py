"""The regression of one-step logs with many actions, and weights of its rows.

    q(s, a) = g(s)'theta + k bend(score(s, a)) + h(s)'beta_a

`one_step_lstd` is the agent that learns so.
"""

from collections.abc import Iterator
import dataclasses
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, one_step_columns
from dfiv_ope.nn import tensors
from dfiv_ope.ope import action_ridge, action_scores, bellman

# Rows that the penalties are chosen by, and states that the score of the
# target policy is projected in; probabilities asked for at once.
_CHOICE_ROWS, _SCORE_STATES, _AT_ONCE = 6_000, 2_048, 1_000_000
# Rows of a part.
_PART = 4_096
# The reward bends with the score where that makes the held-out error smaller by
# this share: elsewhere it only makes the value rough.
_BEND_GAIN = 0.01
# Where the search of penalties starts, by the groups of columns; those of
# weights are no larger.
_START = (1.0, 10.0, 1.0, 3.0)


class Form(NamedTuple):
  """A function of state and action, g'x + bent bend(h'l_a) + h'y_a.

  Attributes:
    shared: x, [P].
    own: y, [A, D].
    bent: how much more it rises with high scores.
  """

  shared: types.FloatArray
  own: types.FloatArray
  bent: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit:
  """The regression of a log, and the weights of its rows.

  Attributes:
    values: q.
    score: l of the target policy, [A, D].
    value: of the target policy, on the scale of the problem.
    weights: w of each row, [N]. With the penalties of q the value would be the
      sum of w r; theirs are no larger than where their search starts, so that
      the sum of w e tells what q leaves out.
    leverage: how far the fit of each row follows its own reward, [N].
    extrapolation: standard error that comes with drawing actions together.
    penalties: of the groups of columns.
  """

  values: Form
  score: types.FloatArray
  value: float
  weights: types.FloatArray
  leverage: types.FloatArray
  extrapolation: float
  penalties: dict[str, float]


class _Log(NamedTuple):
  """The rows of a log in the order of their actions.

  Attributes:
    states: encoded compactly, float32 [N, K].
    action: rising, [N].
    outcome: [N].
    order: where each was in the log, [N].
  """

  states: types.FloatArray
  action: np.ndarray
  outcome: types.FloatArray
  order: np.ndarray

  def take(self, rows: np.ndarray | slice) -> '_Log':
    """Returns some of the rows."""
    return _Log(*(each[rows] for each in self))

  def parts(self) -> Iterator['_Log']:
    """Yields the rows in parts."""
    for start in range(0, len(self.action), _PART):
      yield self.take(slice(start, start + _PART))


def _sorted(parts: base.Parts) -> _Log:
  """Returns the rows of a log in the order of their actions."""
  states, actions, outcomes = zip(
    *(
      (
        tensors.array(rows.instrument.observation),
        tensors.array(rows.instrument.actions)[:, 0],
        tensors.array(rows.outcome)[:, 0],
      )
      for rows in parts()
    ),
    strict=True,
  )
  action = np.concatenate(actions)
  order = np.argsort(action, kind='stable')
  return _Log(
    np.concatenate(states)[order],
    action[order],
    np.concatenate(outcomes)[order].astype(np.float64),
    order,
  )


def fit(
  problem: bellman.Problem,
  columns: one_step_columns.Columns,
  parts: base.Parts,
  initial_observations: types.Array,
) -> Fit:
  """Fits the rewards of a log.

  Args:
    problem: what is asked of the log.
    columns: g and h.
    parts: gives the log.
    initial_observations: raw, [E, D].
  """
  initial_observations = tensors.array(initial_observations)
  log, num_actions = _sorted(parts), problem.num_actions
  score = _score(problem, columns, initial_observations)
  habit = _habit(columns, log, num_actions)

  def rows(part: _Log, bent: bool) -> action_ridge.Rows:
    own = columns.own(part.states)
    scores = [
      np.einsum('nd,nd->n', own, each[part.action]) for each in (score, habit)
    ]
    extra = action_scores.bend(scores[0]) if bent else np.zeros(len(own))
    shared = columns.shared(part.states)
    return action_ridge.Rows(
      np.concatenate(
        [
          shared[:, :-1],
          extra[:, None],
          *(each[:, None] for each in scores),
          shared[:, -1:],
        ],
        axis=1,
      ),
      own,
      part.action,
      part.outcome,
    )

  chosen = log.take(action_ridge.some_rows(log.action, _CHOICE_ROWS))
  straight, curved = (
    action_ridge.numbered(rows(chosen, bent)) for bent in (False, True)
  )
  groups = columns.groups
  values, error = action_ridge.choose(straight, groups, _START)
  others, bent_error = action_ridge.choose(curved, groups, values)
  bent = bent_error < (1.0 - _BEND_GAIN) * error
  values = others if bent else values
  penalties = groups.penalties(values)
  total = action_ridge.sums(
    (rows(part, bent) for part in log.parts()), num_actions
  )
  # The last column is a constant, so that this is the sum of all.
  means = total.shared[-1] / len(log.action)
  asked = _asked(
    problem,
    columns,
    initial_observations,
    score,
    habit,
    bent,
    means if len(initial_observations) == len(log.action) else None,
  )
  # Where scores explain nearly all, actions are drawn to them hard, and what
  # they leave out would not be seen: the interval trusts them no more than so.
  weak = groups.penalties(
    [min(pair) for pair in zip(values, _START, strict=True)]
  )
  doubting = action_ridge.System(total, weak)
  dual = doubting.solve(asked)
  unseen = action_ridge.shrinkage_error(doubting, weak, asked.own, 1.0)
  del doubting
  system = action_ridge.System(total, penalties)
  q = system.solve(total.moments)
  del total
  weights, leverage, errors = (
    np.concatenate(each)
    for each in zip(
      *(
        (
          dual.predict(part),
          system.leverage(part),
          part.outcome - q.predict(part),
        )
        for part in (rows(part, bent) for part in log.parts())
      ),
      strict=True,
    )
  )
  back = np.argsort(log.order)
  extra, *multiples = q.shared[-one_step_columns.EXTRA : -1]
  return Fit(
    values=Form(
      np.append(q.shared[: -one_step_columns.EXTRA], q.shared[-1]),
      q.own + multiples[0] * score + multiples[1] * habit,
      float(extra),
    ),
    score=score,
    value=asked.dot(q),
    weights=weights[back],
    leverage=leverage[back],
    extrapolation=unseen
    * float(np.sqrt(np.mean(np.square(errors) / (1.0 - leverage)))),
    penalties=dict(
      zip(
        ('penalty_level', 'penalty_slope', 'penalty_shared', 'penalty_waves'),
        values,
        strict=True,
      )
    ),
  )


def _score(
  problem: bellman.Problem,
  columns: one_step_columns.Columns,
  initial_observations: types.Array,
) -> types.FloatArray:
  """Returns l of the target policy, from some of the states, [A, D]."""
  most = min(
    _SCORE_STATES, max(len(columns.groups.own), _AT_ONCE // problem.num_actions)
  )
  some = initial_observations[:: -(-len(initial_observations) // most)]
  return action_scores.of_target(
    problem.target.probabilities(some),
    columns.own(problem.observations.compact(some)),
  )


def _habit(
  columns: one_step_columns.Columns, log: _Log, num_actions: int
) -> types.FloatArray:
  """Returns l of the behaviour policy, [A, D]."""
  sums = np.zeros([num_actions, len(columns.groups.own)])
  for part in log.parts():
    names, starts = np.unique(part.action, return_index=True)
    sums[names] += np.add.reduceat(columns.own(part.states), starts)
  return action_scores.of_behaviour(
    sums, np.bincount(log.action, minlength=num_actions)
  )


def _asked(
  problem: bellman.Problem,
  columns: one_step_columns.Columns,
  initial_observations: types.Array,
  score: types.FloatArray,
  habit: types.FloatArray,
  bent: bool,
  means: types.FloatArray | None,
) -> action_ridge.Coefficients:
  """Returns E sum_a pi(a|s) g and E pi(a|s) h over the initial states.

  Args:
    problem: with the target policy.
    columns: g and h.
    initial_observations: raw, [E, D].
    score: l of the target policy, [A, D].
    habit: l of the behaviour policy, [A, D].
    bent: whether the reward bends with the score.
    means: of g over the rows of the log, if these are the initial states.
  """
  count, own, extra = len(initial_observations), np.zeros(score.shape), 0.0
  shared = np.zeros(len(columns.groups.shared) - one_step_columns.EXTRA + 1)
  rows = max(1, _AT_ONCE // problem.num_actions)
  for start in range(0, count, rows):
    raw = initial_observations[start : start + rows]
    states = problem.observations.compact(raw)
    probabilities = problem.target.probabilities(raw)
    h = columns.own(states)
    own += probabilities.T @ h
    if means is None:
      shared += np.sum(columns.shared(states), axis=0) / count
    if bent:
      extra += float(np.sum(probabilities * action_scores.bend(h @ score.T)))
  own /= count
  if means is not None:
    shared = np.append(means[: -one_step_columns.EXTRA], means[-1])
  return action_ridge.Coefficients(
    np.concatenate(
      [
        shared[:-1],
        [extra / count],
        [np.sum(own * score)],
        [np.sum(own * habit)],
        shared[-1:],
      ]
    ),
    own,
  )
