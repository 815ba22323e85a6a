"""`--method` and `--set`: which methods, and what changes in their configs."""

import ast
from collections.abc import Iterable, Sequence
import dataclasses
import re
import types
import typing
from typing import Any, NamedTuple, TypeVar

Config = TypeVar('Config')

# What `--help` says of changes within `--method`.
SYNTAX = ('name:setting=value,... changes its config, so that several configs '
          'may stand side by side')


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


def methods(
    wanted: Iterable[str], known: Sequence[str], settings: Sequence[str],
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
      raise ValueError(
          f'There is no method {name!r}. Choose from {", ".join(known)}, all.')
    if colon and not changes:
      raise ValueError(
          f'{text!r} ends where settings should be. Write '
          f'{name}:setting=value, or {name} alone.')
    # A comma within a tuple is followed by no name.
    found += [
        Wanted(each, tuple(re.split(r',(?=\w+=)', changes)) if colon else ())
        for each in (known if text == 'all' else [name])]
  found = list(dict.fromkeys(found))
  if not settings:
    return found
  if len(found) > 1:
    raise ValueError(
        f'--set changes the config of one method, got {len(found)}. Write '
        'settings beside each name, as in --method '
        f'{found[0].method}:{",".join(settings)}.')
  return [Wanted(each.method, (*each.settings, *settings)) for each in found]
