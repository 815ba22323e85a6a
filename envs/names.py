"""The names of the tasks, known without importing any of them."""

from collections.abc import Sequence
import re

from dfiv_ope import hints, user_code

# Of bsuite: the paper's.
TASKS = ('catch', 'mountain_car', 'cartpole')
# Of DM Control: the follow-up paper's. Others of its suite can be named, too.
CONTROL = tuple(
  f'control:{name}'
  for name in ('cartpole-swingup', 'cheetah-run', 'walker-walk', 'humanoid-run')
)
GYM_PREFIX, CONTROL_PREFIX = 'gym:', 'control:'
# What a shell offers.
OFFERED = (
  *TASKS,
  *CONTROL,
  'gym:Pendulum-v1',
  'gym:MountainCarContinuous-v0',
  'gym:FrozenLake-v1',
)
# What may be named beside those that have names here.
FORMS = ('gym:ID', 'module:function')


def require(task: str, *, also: Sequence[str] = ()) -> None:
  """Refuses what cannot be a task.

  Whether Gymnasium, DM Control or a module of the user has it is known when it
  is made.

  Args:
    task: its name.
    also: what else may be named in its place, for the message.

  Raises:
    ValueError: the task is unknown.
  """
  known = (*TASKS, *CONTROL)
  if (
    task in known
    or re.fullmatch(rf'{GYM_PREFIX}\S+', task)
    or re.fullmatch(rf'{CONTROL_PREFIX}\w+-\w+', task)
  ):
    return
  if re.fullmatch(user_code.PATTERN, task) and not task.startswith(
    (GYM_PREFIX, CONTROL_PREFIX)
  ):
    return
  raise ValueError(hints.unknown('task', task, (*known, *FORMS, *also)))
