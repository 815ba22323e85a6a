"""`--method` and `--set`: which methods, and what changes in their configs."""

import ast
from collections.abc import Iterable, Mapping, Sequence
import contextlib
import dataclasses
import math
import re
import sys
import types
import typing
from typing import Any, NamedTuple, TypeVar

from dfiv_ope import hints

Config = TypeVar('Config')

# A number of a config is no larger, a text of one no longer.
_LARGEST = 1e9
_LONGEST = 1_000
# What only training needs; a closed form has no updates.
_TRAINING = ('updates', 'batch_size', 'checks')

# What `--help` says of changes within `--method`.
SYNTAX = (
  'name:setting=value,... changes its config, so that several configs '
  'may stand side by side'
)


class Wanted(NamedTuple):
  """A method with changes of its config, each name=value."""

  method: str
  settings: tuple[str, ...]


def apply(config: Config, settings: Iterable[str]) -> Config:
  """Returns a config with some fields changed.

  Args:
    config: a frozen dataclass.
    settings: texts of the form name=value; values are Python literals, and
      anything else is taken as a string.

  Raises:
    ValueError: a text has no '=', names no field or one that means nothing
      here, comes twice, or its value is of another type than the field.
  """
  fields = {field.name: field for field in dataclasses.fields(config)}  # type: ignore[arg-type]
  closed = 'updates' in fields and getattr(config, 'updates', 1) == 0
  if closed:
    fields = {
      name: field for name, field in fields.items() if name not in _TRAINING
    }
  changes: dict[str, Any] = {}
  for setting in settings:
    name, equals, text = setting.partition('=')
    if not equals:
      raise ValueError(f'{setting!r} should have the form name=value.')
    if closed and name in _TRAINING:
      raise ValueError(
        f'{name} means nothing here: the method is a closed form, which is '
        f'not trained. The settings are: {", ".join(sorted(fields))}.'
      )
    if name in changes:
      raise ValueError(f'{name} is set twice. Leave one of them out.')
    if name not in fields:
      raise ValueError(hints.unknown('setting', name, sorted(fields)))
    changes[name] = _convert(
      text, fields[name].type, name=name, current=getattr(config, name)
    )
  return dataclasses.replace(config, **changes)  # type: ignore[type-var]


def replaced(config: Config, changes: Mapping[str, Any]) -> Config:
  """Returns a config with other values of some fields.

  Args:
    config: a frozen dataclass.
    changes: values by the names of fields; numpy's numbers are numbers, lists
      are tuples.

  Raises:
    ValueError: a value is of another type than its field, or not valid.
  """
  fields = {field.name: field for field in dataclasses.fields(config)}  # type: ignore[arg-type]
  return dataclasses.replace(  # type: ignore[type-var]
    config,
    **{
      name: _checked(
        value.item()
        if _of_numpy(value)
        else tuple(value)
        if isinstance(value, list)
        else value,
        fields[name].type,
        name=name,
        current=getattr(config, name),
        given=value,
      )
      for name, value in changes.items()
    },
  )


def _of_numpy(value: Any) -> bool:
  """Returns whether a value is one of numpy's numbers, without loading it."""
  numpy = sys.modules.get('numpy')
  return numpy is not None and isinstance(value, numpy.generic)


def _convert(text: str, annotation: Any, *, name: str, current: Any) -> Any:
  """Parses a value and checks it against the annotation of its field."""
  try:
    value = ast.literal_eval(text) if len(text) <= _LONGEST else text
  except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
    value = text
  return _checked(value, annotation, name=name, current=current, given=text)


def _checked(
  value: Any, annotation: Any, *, name: str, current: Any, given: Any
) -> Any:
  """Returns a value of a field; refuses another type, and huge numbers."""
  try:
    value = _fit(value, annotation)
  except TypeError as error:
    raise ValueError(
      f'{name} is of type {_named(annotation)} (now {current!r}), got '
      f'{given!r}.'
    ) from error
  for number in value if isinstance(value, tuple) else (value,):
    if isinstance(number, int | float) and not abs(number) <= _LARGEST:
      raise ValueError(
        f'{name} must lie within -{_LARGEST:g} and {_LARGEST:g}, got {given!r}.'
      )
  return value


def _fit(value: Any, annotation: Any) -> Any:
  """Returns a value as a type has it.

  Raises:
    TypeError: it is of another type.
  """
  if isinstance(annotation, types.UnionType):
    for each in typing.get_args(annotation):
      with contextlib.suppress(TypeError):
        return _fit(value, each)
  elif typing.get_origin(annotation) is tuple:
    if type(value) is tuple:
      return tuple(_fit(each, typing.get_args(annotation)[0]) for each in value)
  elif annotation is float and type(value) is int:
    return float(value) if abs(value) <= _LARGEST else math.inf
  elif type(value) is annotation:
    return value
  raise TypeError


def _named(annotation: Any) -> str:
  """Returns what a type is called."""
  if isinstance(annotation, types.UnionType):
    return ' or '.join(_named(each) for each in typing.get_args(annotation))
  if typing.get_origin(annotation) is tuple:
    return f'tuple of {_named(typing.get_args(annotation)[0])}'
  return str(annotation.__name__)


def methods(
  wanted: Iterable[str], known: Sequence[str], settings: Sequence[str]
) -> list[Wanted]:
  """Returns the methods asked for, each once.

  Args:
    wanted: names, names with changes (name:setting=value,setting=value), or
      'all'.
    known: the names there are.
    settings: changes of `--set`, which are for one method only.

  Raises:
    ValueError: a name is not known, or the settings are for several methods.
  """
  found: list[Wanted] = []
  for text in wanted:
    name, colon, changes = text.partition(':')
    if name not in known and text != 'all':
      raise ValueError(hints.unknown('method', name, [*known, 'all']))
    if colon and not changes:
      raise ValueError(
        f'{text!r} ends where settings should be. Write '
        f'{name}:setting=value, or {name} alone.'
      )
    # A comma within a tuple is followed by no name.
    found += [
      Wanted(each, tuple(re.split(r',(?=\w+=)', changes)) if colon else ())
      for each in (known if text == 'all' else [name])
    ]
  found = list(dict.fromkeys(found))
  if not settings:
    return found
  if len(found) > 1:
    raise ValueError(
      f'--set changes the config of one method, got {len(found)}. Write '
      'settings beside each name, as in --method '
      f'{found[0].method}:{",".join(settings)}.'
    )
  return [Wanted(each.method, (*each.settings, *settings)) for each in found]


def from_mapping(name: str, value: Any) -> tuple[str, ...]:
  """Returns a mapping of YAML as texts name=value, which `apply` takes.

  Args:
    name: what the mapping is of, as the user wrote it.
    value: what the user gave as the mapping.

  Raises:
    ValueError: it is not a mapping.
  """
  texts = []
  for key, each in mapping(name, value).items():
    texts.append(f'{key}={_written(each)}')
  return tuple(sorted(texts))


def _written(value: Any) -> str:
  if isinstance(value, list):
    comma = ',' if len(value) == 1 else ''
    return f'({", ".join(map(_written, value))}{comma})'
  # YAML reads 1e-5 as a string; as it is written, it is a number.
  return value if isinstance(value, str) else repr(value)


def mapping(name: str, value: Any) -> Mapping[str, Any]:
  """Returns a mapping that a user gave.

  Raises:
    ValueError: it is none.
  """
  if not isinstance(value, Mapping):
    raise ValueError(f'{name} should hold names and values, got {value!r}.')
  return value


def items(value: Any) -> Sequence[Any]:
  """Returns the items of a list that a user gave: with commas, or as YAML."""
  if isinstance(value, str):
    return [each.strip() for each in value.split(',') if each.strip()]
  return value if isinstance(value, list | tuple) else [value]


def number(name: str, value: Any, kind: type[float] | type[int]) -> float:
  """Returns a number that a user gave.

  Args:
    name: of what it is for, as the user wrote it.
    value: what the user gave.
    kind: of the number.

  Raises:
    ValueError: it is no number of this kind.
  """
  try:
    found = kind(value)
    if isinstance(value, bool) or float(value) != found:
      raise ValueError
  except (TypeError, ValueError, OverflowError) as error:
    wanted = 'numbers' if kind is float else 'a whole number'
    raise ValueError(f'{name} should be {wanted}, got {value!r}.') from error
  return found
