"""What a text may name as a policy, told at once: neither numpy nor a log.

    naming.check('offers:generous')                 # refuses what is no policy
"""

from collections.abc import Iterable
import importlib
import inspect
import pathlib
import re
import sys
import sysconfig
import traceback
from typing import Any

from dfiv_ope import hints, interrupts
from dfiv_ope.policies import saved_models, trained

UNIFORM, CLONE, COLUMNS = 'uniform', 'behaviour-clone', 'columns'
CHOICES = (
    'Name a directory with a SavedModel, a file that ends in .onnx, a Python '
    f'function as package.module:function, {UNIFORM}, {CLONE}, or {COLUMNS} '
    '(target probabilities in the log).')
SAVED_MODEL, ONNX, FUNCTION = 'SavedModel', 'ONNX model', 'function'


def kind(policy: str) -> str:
  """Returns what a text names: a word, SAVED_MODEL, ONNX or FUNCTION.

  Nothing is loaded or imported.

  Raises:
    FileNotFoundError: there is nothing of this name.
    ValueError: it is not a policy.
  """
  path = pathlib.Path(policy)
  if not policy:
    raise ValueError(f'The policy has no name. {CHOICES}')
  if policy in (UNIFORM, CLONE, COLUMNS):
    return policy
  if path.is_dir():
    return SAVED_MODEL
  if path.suffix == '.onnx' and path.is_file():
    return ONNX
  if path.exists():
    raise ValueError(
        f'{path} is neither a SavedModel nor an ONNX model; pickles are not '
        f'loaded, because they may run anything. {CHOICES}')
  if re.fullmatch(r'\w+(\.\w+)*:\w+', policy):
    return FUNCTION
  near = hints.near(policy, (UNIFORM, CLONE, COLUMNS))
  raise FileNotFoundError(
      (f'There is no policy {policy!r}: did you mean {near}? ' if near
       else f'There is no file or directory {policy!r}. ') + CHOICES)


def named(policies: Iterable[str]) -> dict[str, str]:
  """Returns policies by what tables call them.

  Args:
    policies: as `--policy` takes them: what `kind` takes, or NAME=SPEC.

  Raises:
    ValueError: a name or a policy is empty, or two have the same name.
  """
  found: dict[str, str] = {}
  for text in policies:
    name, equals, spec = text.partition('=')
    if not equals or pathlib.Path(text).exists():
      name, spec = text, text
    if not name or not spec:
      raise ValueError(f'--policy should be SPEC or NAME=SPEC, got {text!r}.')
    if name in found:
      raise ValueError(f'Two policies are called {name!r}. Name each once.')
    found[name] = spec
  return found


def check(policy: str) -> None:
  """Refuses at once what cannot be a policy, whatever the log is.

  A function's module is imported, which runs it.

  Args:
    policy: path of a SavedModel or of an ONNX model, package.module:function,
      'uniform', 'behaviour-clone' or 'columns'.

  Raises:
    FileNotFoundError: there is nothing of this name.
    ValueError: it is not a policy.
  """
  found = kind(policy)
  if found == SAVED_MODEL:
    path = pathlib.Path(policy)
    made_here = (path / trained.RECORD).is_file()
    saved_models.require(path / trained.SAVED_MODEL if made_here else path)
  elif found == FUNCTION:
    import_function(policy)


def import_function(policy: str) -> Any:
  """Returns the function that package.module:function names.

  It may be an object with `sample` and `log_prob` as well.

  Raises:
    ValueError: the module cannot be imported, or has no such function.
  """
  module_name, name = policy.split(':')
  here = str(pathlib.Path.cwd())
  if here not in sys.path:  # as for `python -m`
    sys.path.insert(0, here)
  try:
    module = importlib.import_module(module_name)
  except BaseException as error:
    let_interrupts_pass(error)
    raise ValueError(
        f'{module_name} cannot be imported: {line(error)}. It is looked for '
        f'in {here} and among installed packages.') from error
  function = getattr(module, name, None)
  samples = all(callable(getattr(function, method, None))
                for method in ('sample', 'log_prob'))
  if not callable(function) and not samples:
    near = hints.near(name, (each for each, value in vars(module).items()
                             if inspect.isfunction(value)))
    hint = f' Did you mean {module_name}:{near}?' if near else ''
    raise ValueError(f'{module_name} has no function {name}.{hint} {CHOICES}')
  return function


def of_object(policy: Any) -> str:
  """Returns what to call a policy that is handed in."""
  name = getattr(policy, '__name__', type(policy).__name__)
  return 'the given function' if name == '<lambda>' else name


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
  own = (sysconfig.get_paths()['stdlib'], '<frozen',
         str(pathlib.Path(__file__).parent))
  frames = [each for each in traceback.extract_tb(error.__traceback__)
            if not each.filename.startswith(own)
            and 'site-packages' not in each.filename]
  place = (f' ({pathlib.Path(frames[-1].filename).name}, line '
           f'{frames[-1].lineno})' if frames else '')
  return f'{type(error).__name__}{": " if words else ""}{words}{place}'
