"""Are observations of numbers the whole state? As metrics of a task."""

import numpy as np

from dfiv_ope.evaluation import doubts
from dfiv_ope.ope import task as task_lib
from dfiv_ope.ope import whole_state

# First rows that are asked, and the least rows and episodes and the most
# columns of a log of which it can be told.
_ROWS, _FEWEST_ROWS, _FEWEST_EPISODES, _MOST_COLUMNS = 10_000, 500, 20, 64
# A change that is less, in spreads of its column, is none: that of a clock is
# its rounding.
_LEAST = 1e-4


def measure(
  task: task_lib.EvaluationTask, rows: np.ndarray
) -> dict[str, float]:
  """Returns how much more the step before says; nothing of a short log.

  Of the changes of observations, the reward and the end, that of which it says
  most among those that are beyond chance.

  Args:
    task: the log and the target policy.
    rows: that may be looked at, in order.
  """
  log, rows = task.log, rows[:_ROWS]
  problem = task.problem
  if (
    log.num_episodes < _FEWEST_EPISODES
    or len(rows) < _FEWEST_ROWS
    or problem.observations.size > _MOST_COLUMNS
  ):
    return {}
  now, later = (
    np.asarray(problem.observations.apply(each[rows]), np.float64)
    for each in (log.transitions.observation, log.transitions.next_observation)
  )
  taken = np.asarray(log.transitions.action)[rows]
  outcomes = np.c_[
    later - now,
    np.asarray(log.transitions.reward, np.float64)[rows],
    np.asarray(log.transitions.discount, np.float64)[rows],
  ]
  # Which of `doubts.OUTCOMES` each is.
  kinds = np.r_[np.zeros(now.shape[1]), 1.0, 2.0]
  varies = np.std(outcomes, axis=0) > np.where(kinds == 0.0, _LEAST, 0.0)
  if not np.any(varies):
    return {}
  found = whole_state.remembered(
    now,
    np.eye(log.num_actions)[taken]
    if problem.vectors is None
    else np.asarray(problem.vectors.apply(taken), np.float64),
    outcomes[:, varies],
    log.episodes[rows],
  )
  most = int(
    np.argmax(np.where(found.z > doubts.REMEMBERED_Z, found.share, -1))
  )
  return {
    'memory_share': float(found.share[most]),
    'memory_z': float(found.z[most]),
    'memory_outcome': float(kinds[varies][most]),
  }
