"""Tasks of the DeepMind Control Suite.

An episode of theirs ends with a time limit only, which is a truncation. To
read and compile a model takes as long as hundreds of steps, so environments
that were closed are used again: a new seed and a reset make them as new.
"""

import collections
import os
from typing import Any

import dm_env
import numpy as np

from dfiv_ope import hints
from dfiv_ope.envs import names, wrappers

# Closed environments with their random states, by task and limit.
_free: dict[tuple[str, bool], list[tuple[Any, np.random.RandomState]]] = (
  collections.defaultdict(list)
)


class Control(wrappers.Wrapper):
  """An environment of the suite, which is used again when it is closed."""

  def __init__(self, task: str, *, seed: int, limited: bool = True):
    """Builds the environment.

    Args:
      task: its name, control:DOMAIN-TASK.
      seed: of the initial states.
      limited: whether the suite's time limit truncates episodes.

    Raises:
      ValueError: DM Control is not installed, or has no such task.
    """
    self._kind = (task, limited)
    if _free[self._kind]:
      environment, self._random = _free[self._kind].pop()
      self._random.seed(seed)
    else:
      self._random = np.random.RandomState(seed)  # noqa: NPY002, theirs
      environment = _load(task, self._random, limited)
    super().__init__(environment)
    self._open = self._fresh = True

  def reset(self) -> dm_env.TimeStep:
    self._fresh = False
    return self._environment.reset()

  def step(self, action: np.ndarray) -> dm_env.TimeStep:
    return self.reset() if self._fresh else self._environment.step(action)

  def close(self) -> None:
    """Puts the environment back; this one must not be used any more."""
    if self._open:
      self._open = False
      _free[self._kind].append((self._environment, self._random))


def _load(
  task: str, random: np.random.RandomState, limited: bool
) -> dm_env.Environment:
  os.environ.setdefault('MUJOCO_GL', 'disable')  # Nothing is drawn.
  try:
    from dm_control import suite
  except ImportError as error:
    raise ValueError(
      f"{task} needs DM Control: pip install 'dfiv-ope[control]'."
    ) from error
  known = [
    f'{names.CONTROL_PREFIX}{domain}-{name}' for domain, name in suite.ALL_TASKS
  ]
  if task not in known:
    raise ValueError(hints.unknown('task', task, known))
  domain, _, name = task.removeprefix(names.CONTROL_PREFIX).partition('-')
  limit = {} if limited else {'time_limit': float('inf')}
  return suite.load(domain, name, task_kwargs={'random': random, **limit})
