"""Are observations of numbers the whole state? As metrics of a task."""

import numpy as np

from dfiv_ope import types
from dfiv_ope.evaluation import state_doubts
from dfiv_ope.ope import task as task_lib
from dfiv_ope.ope import whole_state

# First rows that are asked, and the least rows and episodes and the most
# columns of a log of which it can be told.
_ROWS, _FEWEST_ROWS, _FEWEST_EPISODES, _MOST_COLUMNS = 10_000, 500, 20, 64
# A change that is less, in spreads of its column, is none: that of a clock is
# its rounding.
_LEAST = 1e-4
# Of recorded probabilities' logarithms, and of the action of the step before,
# the share of the variance that has to be left for them to tell more than state
# and action.
_LEFT = 1e-3


def measure(
  task: task_lib.EvaluationTask, rows: np.ndarray
) -> dict[str, float]:
  """Returns how much more than the state others say; nothing of a short log.

  Others are what the step before left unexplained (`memory_...`) and its action
  (`acted_...`), where episodes have several, and recorded probabilities
  (`foreseen_...`). Of the changes of observations, the
  reward and the end, that of which they say most among those that are beyond
  chance.

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
  # Which of `state_doubts.OUTCOMES` each is.
  kinds = np.r_[np.zeros(now.shape[1]), 1.0, 2.0]
  varies = np.std(outcomes, axis=0) > np.where(kinds == 0.0, _LEAST, 0.0)
  if not np.any(varies):
    return {}
  logs = _logs(task, rows)
  acts = (
    np.eye(log.num_actions)[taken]
    if problem.vectors is None
    else np.asarray(problem.vectors.apply(taken), np.float64)
  )
  episodes = log.episodes[rows]
  before = acts[:, :0] if problem.one_step else _before(acts, episodes)
  left = whole_state.unexplained(
    now,
    acts,
    np.concatenate([outcomes[:, varies], before, logs], axis=1),
    episodes,
  )
  count = int(np.sum(varies))
  left, before, said = np.split(left, [count, count + before.shape[1]], axis=1)
  before = before[:, np.mean(np.square(before), axis=0) > _LEFT]
  found: dict[str, float] = {}
  if not problem.one_step:
    found |= _most(
      'memory', whole_state.remembered(left, episodes), kinds[varies]
    )
  if before.shape[1]:
    found |= _most(
      'acted', whole_state.acted(left, before, acts, episodes), kinds[varies]
    )
  if said.shape[1] and np.mean(np.square(said)) > _LEFT:
    found |= _most(
      'foreseen',
      whole_state.foreseen(left, said[:, 0], acts, episodes),
      kinds[varies],
    )
  return found


def _before(acts: types.FloatArray, episodes: np.ndarray) -> types.FloatArray:
  """Returns actions of the step before, [N, B], those of its columns that vary.

  The first step of an episode, which has none, has their mean.
  """
  follows = np.flatnonzero(np.diff(episodes, prepend=-1) == 0)
  if not len(follows) or acts.shape[1] > _MOST_COLUMNS:
    return acts[:, :0]
  before = np.tile(np.mean(acts[follows - 1], axis=0), (len(acts), 1))
  before[follows] = acts[follows - 1]
  return before[:, np.std(before, axis=0) > 0.0]


def _logs(task: task_lib.EvaluationTask, rows: np.ndarray) -> types.FloatArray:
  """Returns logarithms of recorded probabilities, [N, 1], if they vary."""
  recorded = task.log.behaviour_probabilities
  if recorded is None:
    return np.zeros((len(rows), 0))
  logs = np.log(np.asarray(recorded, np.float64)[rows])[:, None]
  return logs if np.std(logs) > _LEAST else logs[:, :0]


def _most(
  name: str, told: whole_state.Told, kinds: types.FloatArray
) -> dict[str, float]:
  """Returns, as metrics, the outcome of which most is told beyond chance."""
  certain = told.z > state_doubts.REMEMBERED_Z
  most = int(np.argmax(np.where(certain, told.share, -1)))
  return {
    f'{name}_share': float(told.share[most]),
    f'{name}_z': float(told.z[most]),
    f'{name}_outcome': float(kinds[most]),
  }
