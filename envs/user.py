"""Environments of the user: functions of a seed, as module:function."""

import dm_env

from dfiv_ope import user_code

_WANTED = (
  'An environment is a function of a seed that returns a dm_env.Environment.'
)


def make(task: str, *, seed: int) -> dm_env.Environment:
  """Builds the environment that a user names.

  Args:
    task: package.module:function, looked for in the current directory, too.
    seed: handed to the function.

  Raises:
    ValueError: it cannot be imported, fails, or returns something else.
  """
  function = user_code.function(task, choices=_WANTED)
  try:
    environment = function(seed)
  except BaseException as error:
    user_code.let_interrupts_pass(error)
    raise ValueError(
      f'{task} failed: {user_code.line(error)}. {_WANTED}'
    ) from error
  if not isinstance(environment, dm_env.Environment):
    raise ValueError(f'{task} returned {type(environment).__name__}. {_WANTED}')
  return environment
