"""What a regression of one-step logs leaves out where the policy goes.

Features that are few or too wide draw rewards to the average of the log, and
so do all other draws of such features: nothing differs, and the value is wrong.
What is missing from it is told in one of two ways:

- 'weighed', the mean of the errors by weights pi / b, where the behaviour
  policy's probabilities are recorded, or actions are finitely many, so that a
  clone has them. With it the value is the doubly robust one.
- 'curve', where actions are vectors and there are no such weights: a Gaussian
  process of the rewards whose columns have lengths of their own
  (`iv.gaussian_process`), at the policy's actions.
"""

from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import base, one_step_lstd
from dfiv_ope.evaluation import inference
from dfiv_ope.iv import gaussian_process
from dfiv_ope.nn import encoding, tensors
from dfiv_ope.ope import importance, propensities
from dfiv_ope.ope import task as task_lib

# What is within so many standard errors is chance.
_CHANCE = 2.0
# Probabilities of actions that are asked for.
_MOST_PROBABILITIES = 20_000_000
# Weights that average something else are wrong, or the policy acts where the
# log does not.
_MEAN_WEIGHTS = (0.8, 1.25)
# Rows and start states of a curve, and its columns, at most.
_ROWS, _MOST_COLUMNS = 20_000, 64


class Missing(NamedTuple):
  """What the value leaves out.

  Attributes:
    name: of the way that told it.
    value: to be added.
    standard_error: of that.
  """

  name: str
  value: float
  standard_error: float

  @property
  def beyond_chance(self) -> float:
    """The value; 0 if it may be chance."""
    certain = abs(self.value) > _CHANCE * self.standard_error
    return self.value if certain else 0.0


def errors(learner: base.OPELearner, parts: base.Parts) -> types.FloatArray:
  """Returns what LSTD-Q leaves of the rewards of rows, on the raw scale, [N].

  Regressions of each action could fit single rows: of them it is what the fit
  to all other rows leaves.

  Args:
    learner: that is done.
    parts: gives the rows it was fitted to.
  """
  agent = learner.agent
  found = learner.problem.value_scale * np.concatenate(
    [base.left(rows, agent.predict(rows.treatment.now)) for rows in parts()]
  )
  if isinstance(agent, one_step_lstd.OneStepLSTD):
    assert agent.fitted is not None, 'The agent has not learned.'
    return found / (1.0 - agent.fitted.leverage)
  return found


def measure(
  task: task_lib.EvaluationTask,
  rows: np.ndarray,
  value: float,
  left: types.FloatArray,
) -> Missing | None:
  """Returns what is missing from a value; None where nothing tells.

  Args:
    task: the log, of one-step episodes, and the target policy.
    rows: of the log, [N].
    value: of a regression of their rewards.
    left: of the rewards (`errors`), [N].
  """
  if not np.std(task.transitions.reward[rows]):
    return None
  logs = _log_ratios(task)
  if logs is not None:
    found = importance.average(left, logs[rows])
    low, high = _MEAN_WEIGHTS
    if (
      found.effective >= inference.FEW_EFFECTIVE
      and low <= found.mean_weight <= high
    ):
      return Missing('weighed', found.value, found.standard_error)
  other = _by_curve(task, rows)
  if other is None:
    return None
  return Missing('curve', other.value - value, other.standard_error)


def _log_ratios(task: task_lib.EvaluationTask) -> types.FloatArray | None:
  """Returns log pi(a|s) - log b(a|s) of the log; None where there is none."""
  log = task.log
  known = (
    log.num_actions * len(log) <= _MOST_PROBABILITIES
    if log.continuous is None
    else log.behaviour_probabilities is not None
  )
  # Weights are of the states of the log, not of others.
  if not known or log.starts is not None:
    return None
  try:
    return importance.log_ratios(
      task.log_target,
      task.behaviour.probabilities,
      densities=log.continuous is not None,
    )
  except propensities.UnanswerableError:
    return None


def _by_curve(
  task: task_lib.EvaluationTask, rows: np.ndarray
) -> gaussian_process.Mean | None:
  """Returns the value by a curve of rewards; None if actions are no vectors."""
  problem = task.problem
  states, vectors = problem.observations, problem.vectors
  if vectors is None or states.size + vectors.size > _MOST_COLUMNS:
    return None
  some = rows[:: -(-len(rows) // _ROWS)]
  x = _joined(
    states.apply(task.transitions.observation[some]),
    vectors.apply(task.transitions.action[some]),
  )
  groups = np.unique(
    np.concatenate([_groups(states), states.size + _groups(vectors)]),
    return_inverse=True,
  )[1]
  rewards = np.asarray(task.transitions.reward[some], np.float64)
  level, scale = float(np.mean(rewards)), float(np.std(rewards))
  y = (rewards - level) / scale
  found = gaussian_process.mean(
    gaussian_process.choose(x, y, groups), x, y, _decisions(task, vectors)
  )
  return gaussian_process.Mean(
    level + scale * found.value, scale * found.standard_error
  )


def _decisions(
  task: task_lib.EvaluationTask, vectors: encoding.Encoding
) -> types.FloatArray:
  """Returns start states, each with a draw of the policy's, encoded, [P, K]."""
  starts = task.initial_observations
  decision = task.problem.target.decide(starts[:: -(-len(starts) // _ROWS)])
  actions = tensors.array(decision.actions)
  places = np.arange(len(actions))
  return _joined(
    task.problem.observations.expand(tensors.array(decision.observation)),
    vectors.expand(actions[places, places % actions.shape[1]]),
  )


def _joined(states: types.Array, actions: types.Array) -> types.FloatArray:
  return np.concatenate(
    [tensors.array(states), tensors.array(actions)], axis=1
  ).astype(np.float64)


def _groups(rows: encoding.Encoding) -> np.ndarray:
  """Returns a number for each column; indicators of a category share one."""
  numbers = len(rows.numbers)
  return np.concatenate(
    [
      np.arange(numbers),
      np.repeat(
        numbers + np.arange(len(rows.category_sizes)), rows.category_sizes
      ),
    ]
  ).astype(int)
