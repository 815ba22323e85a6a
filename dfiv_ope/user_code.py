"""Functions of the user, named as package.module:function.

Policies and environments may be such functions. They are looked for in the
current directory, too, and whatever they raise becomes a sentence.
"""

from collections.abc import Callable
import importlib
import inspect
import pathlib
import sys
import sysconfig
import traceback
from typing import Any

from dfiv_ope import hints, interrupts

# How such a function is named.
PATTERN = r'\w+(\.\w+)*:\w+'


def function(
  name: str, *, choices: str, accepts: Callable[[Any], bool] = callable
) -> Any:
  """Returns the function that package.module:function names.

  Args:
    name: of the function; its module is imported, which runs it.
    choices: a sentence on what may be named, for messages.
    accepts: whether what is found will do.

  Raises:
    ValueError: the module cannot be imported, or has no such function.
  """
  module_name, attribute = name.split(':')
  here = str(pathlib.Path.cwd())
  if here not in sys.path:  # as for `python -m`
    sys.path.insert(0, here)
  try:
    module = importlib.import_module(module_name)
  except BaseException as error:
    let_interrupts_pass(error)
    raise ValueError(
      f'{module_name} cannot be imported: {line(error)}. It is looked for '
      f'in {here} and among installed packages.'
    ) from error
  found = getattr(module, attribute, None)
  if not accepts(found):
    near = hints.near(
      attribute,
      (
        each
        for each, value in vars(module).items()
        if inspect.isfunction(value)
      ),
    )
    hint = f' Did you mean {module_name}:{near}?' if near else ''
    raise ValueError(
      f'{module_name} has no function {attribute}.{hint} {choices}'
    )
  return found


def let_interrupts_pass(error: BaseException) -> None:
  """Raises Ctrl-C again; foreign code may raise all else."""
  if interrupts.is_from_the_keyboard(error):
    raise error


def line(error: BaseException) -> str:
  """Returns an error of foreign code on one line, with where it was raised."""
  try:
    words = ' '.join(str(error).split())
  except Exception:  # its text is foreign code, too
    words = ''
  own = (
    sysconfig.get_paths()['stdlib'],
    '<frozen',
    str(pathlib.Path(__file__).parent),
  )
  frames = [
    each
    for each in traceback.extract_tb(error.__traceback__)
    if not each.filename.startswith(own)
    and 'site-packages' not in each.filename
  ]
  place = (
    f' ({pathlib.Path(frames[-1].filename).name}, line {frames[-1].lineno})'
    if frames
    else ''
  )
  return f'{type(error).__name__}{": " if words else ""}{words}{place}'
