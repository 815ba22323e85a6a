"""`--method` and `--set name=value`: which methods, with what of a config."""

import ast
from collections.abc import Iterable, Sequence
import dataclasses
import types
import typing
from typing import Any, TypeVar

Config = TypeVar('Config')


def apply(config: Config, settings: Iterable[str]) -> Config:
  """Returns a config with some fields changed.

  Args:
    config: a frozen dataclass.
    settings: texts of the form name=value; values are Python literals, and
      anything else is taken as a string.

  Raises:
    ValueError: a text has no '=', names no field, or its value is of another
      type than the field.
  """
  fields = {
      field.name: field
      for field in dataclasses.fields(config)}  # type: ignore[arg-type]
  changes: dict[str, Any] = {}
  for setting in settings:
    name, equals, text = setting.partition('=')
    if not equals:
      raise ValueError(f'{setting!r} should have the form name=value.')
    if name not in fields:
      raise ValueError(
          f'There is no setting {name!r}. The settings are: '
          f'{", ".join(sorted(fields))}.')
    changes[name] = _convert(
        text, fields[name].type, name=name, current=getattr(config, name))
  return dataclasses.replace(config, **changes)  # type: ignore[type-var]


def _convert(text: str, annotation: Any, *, name: str, current: Any) -> Any:
  """Parses a value and checks it against the annotation of its field."""
  members = (
      typing.get_args(annotation) if isinstance(annotation, types.UnionType)
      else (annotation,))
  allowed = [typing.get_origin(member) or member for member in members]
  try:
    value = ast.literal_eval(text)
  except (SyntaxError, ValueError):
    value = text
  if float in allowed and type(value) is int:
    value = float(value)
  if type(value) not in allowed:
    names = ' or '.join(each.__name__ for each in allowed)
    raise ValueError(
        f'{name} is of type {names} (now {current!r}), got {text!r}.')
  return value


def method_names(
    wanted: Iterable[str], known: Sequence[str], settings: Sequence[str],
) -> list[str]:
  """Returns the methods asked for, each once.

  Args:
    wanted: names, or 'all'.
    known: the names there are.
    settings: changes of a config, which are for one method only.

  Raises:
    ValueError: a name is not known, or the settings are for several methods.
  """
  names: list[str] = []
  for name in wanted:
    if name != 'all' and name not in known:
      raise ValueError(
          f'There is no method {name!r}. Choose from {", ".join(known)}, all.')
    names += known if name == 'all' else [name]
  names = list(dict.fromkeys(names))
  if settings and len(names) > 1:
    raise ValueError(
        f'--set changes the config of one method, got {len(names)} '
        f'({", ".join(names)}). Run them one by one.')
  return names
