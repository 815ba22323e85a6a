"""The names of the tasks, known without importing any of them."""

from dfiv_ope import hints

TASKS = ('catch', 'mountain_car', 'cartpole')


def require(task: str) -> None:
  """Refuses a task that there is not.

  Raises:
    ValueError: the task is unknown.
  """
  if task not in TASKS:
    raise ValueError(hints.unknown('task', task, TASKS))
