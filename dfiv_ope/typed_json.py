"""Dataclasses as JSON data, and back: strictly, by their type annotations."""

from collections.abc import Mapping
import dataclasses
import functools
import math
import types
import typing
from typing import Any

_LARGEST = 2**53  # beyond it JSON's numbers are not exact everywhere


def build(kind: Any, value: Any, *, name: str = '', gaps: bool = False) -> Any:
  """Returns JSON data as what a type annotation says.

  Args:
    kind: a dataclass, a plain type, a mapping, a tuple, or a union of these; a
      class that has `from_json` reads itself.
    value: the data.
    name: where it stands, for messages.
    gaps: whether a number may be missing (null), which is nan.

  Raises:
    ValueError: the data is of another type, or a number is not finite.
  """
  if kind is float and is_number(value):  # By far the most frequent.
    return float(value)
  origin, parts = typing.get_origin(kind), typing.get_args(kind)
  if kind is Any:
    check_numbers(value, name)
    return value
  if origin in (typing.Union, types.UnionType):
    return _union(parts, value, name, gaps)
  if hasattr(kind, 'from_json'):
    return kind.from_json(value, name=name)
  if dataclasses.is_dataclass(kind):
    return fields(kind, value, name=name, gaps=gaps)
  if origin is tuple and isinstance(value, list):
    return tuple(
      build(parts[0], each, name=f'{name}[{index}]', gaps=gaps)
      for index, each in enumerate(value)
    )
  if (
    origin is not None
    and issubclass(origin, Mapping)
    and isinstance(value, dict)
  ):
    return {
      _key(parts[0], key, name): build(
        parts[1], each, name=f'{name}.{key}', gaps=gaps
      )
      for key, each in value.items()
    }
  if kind is float and value is None and gaps:
    return math.nan
  if (
    isinstance(kind, type)
    and type(value) is kind
    and (kind not in (int, float) or is_number(value))
  ):
    return value
  wanted = getattr(kind, '__name__', str(kind))
  raise ValueError(f'{name} should be of type {wanted}, got {shown(value)}')


def is_number(value: Any) -> bool:
  """Returns whether a value is a finite number that JSON holds exactly."""
  if type(value) is int:
    return abs(value) <= _LARGEST
  return isinstance(value, float) and math.isfinite(value)


def check_numbers(value: Any, name: str) -> None:
  """Refuses a number that is not finite, however deep inside.

  Raises:
    ValueError: there is one.
  """
  if isinstance(value, dict):
    value = list(value.values())
  if isinstance(value, list):
    for each in value:
      check_numbers(each, name)
  elif (
    isinstance(value, int | float)
    and not isinstance(value, bool)
    and not is_number(value)
  ):
    raise ValueError(f'{name} should be finite, got {shown(value)}')


def shown(value: Any) -> str:
  """Returns a value for a message, cut where it is long."""
  text = repr(value)
  return text if len(text) <= 40 else f'{text[:40]}...'


def fields(kind: Any, value: Any, *, name: str = '', gaps: bool = False) -> Any:
  """Returns a dataclass of JSON data, each field as `build` does.

  Raises:
    ValueError: a field is missing, unknown or of another type.
  """
  if not isinstance(value, dict):
    raise ValueError(f'{name} should be an object, got {shown(value)}')
  hints = _hints(kind)
  known = {field.name: field for field in dataclasses.fields(kind)}
  unknown = [key for key in value if key not in known]
  missing = [
    key
    for key, field in known.items()
    if key not in value
    and field.default is dataclasses.MISSING
    and field.default_factory is dataclasses.MISSING
  ]
  if unknown or missing:
    raise ValueError(
      f'{name or "it"} misses a field or has one too many: '
      f'{", ".join(map(shown, [*missing, *unknown][:5]))}'
    )
  return kind(
    **{
      key: build(hints[key], each, name=f'{name}.{key}'.lstrip('.'), gaps=gaps)
      for key, each in value.items()
    }
  )


_hints = functools.cache(typing.get_type_hints)


def _union(parts: tuple[Any, ...], value: Any, name: str, gaps: bool) -> Any:
  """Takes the first option that the data fits."""
  if value is None and type(None) in parts:
    return None
  options = [part for part in parts if part is not type(None)]
  errors = []
  for option in options:
    try:
      return build(option, value, name=name, gaps=gaps)
    except ValueError as error:
      errors.append(error)
  raise errors[0]


def _key(kind: Any, key: str, name: str) -> Any:
  """Returns the key of a mapping: JSON writes numbers as texts."""
  if kind is not int:
    return key
  try:
    return int(key)
  except ValueError as error:
    raise ValueError(
      f'{name} should have whole numbers as keys, got {shown(key)}'
    ) from error
