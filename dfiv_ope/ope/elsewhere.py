"""Does the target policy answer in states that the log does not have?

A function of a user may look states up that somebody wrote down, and fail in
others. Estimators that draw states of their own from a model cannot ask it.
"""

import numpy as np

from dfiv_ope.nn import tensors
from dfiv_ope.ope import propensities
from dfiv_ope.ope import task as task_lib

# States that are tried, and how far numbers are moved, in standard deviations.
_TRIED, _MOVED = 100, 0.1


def require(task: task_lib.EvaluationTask, method: str) -> None:
  """Refuses a policy that is known in the states of the log alone.

  It is tried in states of the log whose columns are shuffled, and numbers moved
  by a tenth of their standard deviation.

  Args:
    task: the log and the target policy.
    method: that asks it elsewhere.

  Raises:
    UnanswerableError: the policy failed.
  """
  generator = np.random.default_rng(0)
  log = task.log
  seen = np.asarray(log.transitions.observation, np.float64)
  spread = np.std(seen, axis=0)
  spread[list(log.categorical)] = 0.0
  seen = seen[generator.integers(len(seen), size=_TRIED)]
  tried = generator.permuted(seen, axis=0)
  tried += _MOVED * spread * generator.standard_normal(tried.shape)
  failures: tuple[type[Exception], ...] = (ValueError, *tensors.errors())
  try:
    task.problem.target.decide(tried)
  except failures as error:
    raise refusal(method, error) from error


def refusal(method: str, error: Exception) -> propensities.UnanswerableError:
  """Returns what to say of a policy that failed in a state of a method's own.

  Args:
    method: that asked it.
    error: that it raised.
  """
  return propensities.UnanswerableError(
    f'{method} asks the target policy in states that the log does not have, '
    f'and there it gives no answer ({error}). Use lstd, kiv, cme, fqe or dfiv, '
    'which ask it in states of the log alone.'
  )
