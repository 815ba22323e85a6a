"""What a text may name as a policy, told at once: neither numpy nor a log.

naming.check('offers:generous')                 # refuses what is no policy
"""

from collections.abc import Iterable, Sequence
import math
import pathlib
import re
from typing import Any

from dfiv_ope import hints, user_code
from dfiv_ope.policies import saved_models, trained

# What a log itself has; any other policy is a file, a directory or a function.
UNIFORM, CLONE, COLUMNS = WORDS = 'uniform', 'behaviour-clone', 'columns'
CHOICES = (
  'Name a directory with a SavedModel, a file that ends in .onnx, a Python '
  f'function as package.module:function, {UNIFORM}, {CLONE}, or {COLUMNS} '
  '(target probabilities in the log).'
)
SAVED_MODEL, ONNX, FUNCTION = 'SavedModel', 'ONNX model', 'function'
# What an object has that is a policy.
_PROBABILITIES, _DENSITY = 'action_probabilities', ('sample', 'log_prob')


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
  if policy in WORDS:
    return policy
  if path.is_dir():
    return SAVED_MODEL
  if path.suffix == '.onnx' and path.is_file():
    return ONNX
  if path.exists():
    raise ValueError(
      f'{path} is neither a SavedModel nor an ONNX model; pickles are not '
      f'loaded, because they may run anything. {CHOICES}'
    )
  if re.fullmatch(user_code.PATTERN, policy):
    return FUNCTION
  near = hints.near(policy, WORDS)
  raise FileNotFoundError(
    (
      f'There is no policy {policy!r}: did you mean {near}? '
      if near
      else f'There is no file or directory {policy!r}. '
    )
    + CHOICES
  )


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


def several(policies: Iterable[str]) -> dict[str, str]:
  """Returns policies by name as `named` does, at least two.

  Raises:
    ValueError: they are fewer, or `named` refuses them.
  """
  found = named(policies)
  if len(found) < 2:
    raise ValueError(
      f'A comparison needs at least two policies, got {len(found)}. Name '
      'each with --policy NAME=SPEC, or ask `dfiv-ope evaluate` for the '
      'value of one.'
    )
  return found


def truths(texts: Iterable[str], names: Sequence[str]) -> dict[str, float]:
  """Returns known values of policies by their names.

  Args:
    texts: as `--truth` takes them: NAME=VALUE, or VALUE if there is one policy.
    names: of the policies.

  Raises:
    ValueError: a text is none, or names a policy twice or one that is not
      there.
  """
  found: dict[str, float] = {}
  for text in texts:
    name, _, value = text.rpartition('=')
    if not name and len(names) == 1:
      name = names[0]
    try:
      number = float(value)
    except ValueError:
      number = math.nan
    if not name or not math.isfinite(number):
      raise ValueError(
        f'--truth should be NAME=VALUE with a finite number, got {text!r}.'
        + (' VALUE alone is for one policy.' if len(names) > 1 else '')
      )
    if name not in names:
      raise ValueError(
        f'--truth {text} is of the policy {name!r}, but the policies are '
        f'{", ".join(names) or "none"}.'
      )
    if name in found:
      raise ValueError(f'--truth was given twice for {name!r}. Give it once.')
    found[name] = number
  return found


def check(*policies: str) -> None:
  """Refuses at once what cannot be a policy, whatever the log is.

  A function's module is imported, which runs it.

  Args:
    *policies: each a path of a SavedModel or of an ONNX model,
      package.module:function, 'uniform', 'behaviour-clone' or 'columns'.

  Raises:
    FileNotFoundError: there is nothing of this name.
    ValueError: it is not a policy.
  """
  for policy in policies:
    found = kind(policy)
    if found == SAVED_MODEL:
      path = pathlib.Path(policy)
      made_here = (path / trained.RECORD).is_file()
      saved_models.require(path / trained.SAVED_MODEL if made_here else path)
    elif found == FUNCTION:
      import_function(policy)


def import_function(policy: str, *, vectors: bool | None = None) -> Any:
  """Returns the function that package.module:function names.

  It may be an object as well: with `action_probabilities`, which is returned,
  or with `sample` and `log_prob` where actions are vectors.

  Args:
    policy: its name.
    vectors: whether actions are vectors; None if that is not known yet.

  Raises:
    ValueError: the module cannot be imported, has no such function, or its
      actions are of the other kind.
  """
  found = user_code.function(policy, choices=CHOICES, accepts=_is_policy)
  if vectors is None or callable(found):
    return found
  if vectors and not _has(found, *_DENSITY):
    raise ValueError(
      f'{policy} has action_probabilities, but the actions of the log are '
      'vectors, of which a policy has a density. Give it sample and '
      'log_prob, or name a function that returns actions.'
    )
  if not vectors and not _has(found, _PROBABILITIES):
    raise ValueError(
      f'{policy} has sample and log_prob, a density of vectors, but the '
      'actions of the log are finitely many. Give it action_probabilities, '
      'or import the log with --continuous.'
    )
  return found if vectors else getattr(found, _PROBABILITIES)


def _is_policy(value: Any) -> bool:
  return (
    callable(value) or _has(value, *_DENSITY) or _has(value, _PROBABILITIES)
  )


def _has(value: Any, *methods: str) -> bool:
  return all(callable(getattr(value, each, None)) for each in methods)


def of_object(policy: Any) -> str:
  """Returns what to call a policy that is handed in."""
  name = getattr(policy, '__name__', type(policy).__name__)
  return 'the given function' if name == '<lambda>' else name
