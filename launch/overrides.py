"""`--set name=value`: changes fields of a config by name."""

import ast
from collections.abc import Iterable
import dataclasses
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
      field.name: getattr(config, field.name)
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
    changes[name] = _convert(name, text, fields[name])
  return dataclasses.replace(config, **changes)  # type: ignore[type-var]


def _convert(name: str, text: str, current: Any) -> Any:
  """Parses a value and checks it against the type of the current one."""
  try:
    value = ast.literal_eval(text)
  except (SyntaxError, ValueError):
    value = text
  if isinstance(current, float) and type(value) is int:
    value = float(value)
  if current is not None and type(value) is not type(current):
    raise ValueError(
        f'{name} is of type {type(current).__name__} (now {current!r}), got '
        f'{text!r}.')
  return value
