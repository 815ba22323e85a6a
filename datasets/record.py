"""Records as JSON that tell when somebody has changed them.

A record is a dataclass. Its JSON carries a SHA-256 of everything else in it,
and is read back strictly: every field must have the type that the dataclass
says, numbers must be finite, and nothing may be nested deeply. The digest tells
accidents and careless edits; whoever means harm can make a new one.
"""

from collections.abc import Mapping
import dataclasses
import hashlib
import json
import math
import pathlib
import types
import typing
from typing import Any

DIGEST = 'record_digest'
_MOST_BYTES = 2**26
_MOST_LEVELS = 20
_LARGEST = 2**53  # beyond it JSON's numbers are not exact everywhere


def dump(fields: Mapping[str, Any]) -> str:
  """Returns fields as indented JSON with their digest; nan becomes null."""
  plain = _without_nan(fields)
  return json.dumps(
      {**plain, DIGEST: _digest(plain)}, indent=2, allow_nan=False) + '\n'


def read(source: pathlib.Path) -> str:
  """Returns the text of a record's file.

  Raises:
    ValueError: it is too large, or not text.
  """
  if source.stat().st_size > _MOST_BYTES:
    raise ValueError(
        f'{source} has more than {_MOST_BYTES:,} bytes, so it is not the '
        'record of a dataset.')
  try:
    return source.read_text(encoding='utf-8')
  except UnicodeDecodeError as error:
    raise _not_a_record(source, error) from error


def parse(text: str, *, source: pathlib.Path) -> dict[str, Any]:
  """Reads the JSON of a record.

  Args:
    text: what `dump` returned.
    source: the file it comes from, for messages.

  Raises:
    ValueError: it is not a JSON object, nested too deeply, or has numbers
      that are not finite.
  """
  try:
    fields = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(fields, dict):
      raise ValueError('it is not a JSON object')
    _check(fields)
  except ValueError as error:
    raise _not_a_record(source, error) from error
  except (RecursionError, MemoryError) as error:
    raise _not_a_record(source, 'it is nested too deeply') from error
  return fields


def _not_a_record(source: pathlib.Path, words: object) -> ValueError:
  return ValueError(
      f'{source} is not the record of a dataset: {words}. Make the dataset '
      'again.')


def verify(fields: Mapping[str, Any]) -> None:
  """Compares a record with its digest.

  Raises:
    ValueError: the digest is not that of the fields.
  """
  plain = {name: value for name, value in fields.items() if name != DIGEST}
  if fields.get(DIGEST) != _digest(plain):
    raise ValueError('it was changed after it was written')


def build(kind: Any, value: Any, *, name: str = '') -> Any:
  """Returns JSON data as what a type annotation says.

  Args:
    kind: a dataclass, a plain type, a mapping, a tuple, or a union of these.
    value: the data.
    name: where it stands, for messages.

  Raises:
    ValueError: the data is of another type.
  """
  origin, parts = typing.get_origin(kind), typing.get_args(kind)
  if kind is Any:
    return value
  if origin in (typing.Union, types.UnionType):
    return _union(parts, value, name)
  if dataclasses.is_dataclass(kind):
    return _dataclass(kind, value, name)
  if origin is tuple and isinstance(value, list):
    return tuple(
        build(parts[0], each, name=f'{name}[{index}]')
        for index, each in enumerate(value))
  if origin is not None and issubclass(origin, Mapping) and isinstance(
      value, dict):
    return {
        key: build(parts[1], each, name=f'{name}.{key}')
        for key, each in value.items()}
  if kind is float and value is None:
    return math.nan
  if kind is float and _is_number(value):
    return float(value)
  if isinstance(kind, type) and type(value) is kind:
    return value
  wanted = getattr(kind, '__name__', str(kind))
  raise ValueError(f'{name} should be of type {wanted}, got {_shown(value)}')


def _union(parts: tuple[Any, ...], value: Any, name: str) -> Any:
  """Takes the first option that the data fits."""
  if value is None and type(None) in parts:
    return None
  options = [part for part in parts if part is not type(None)]
  errors = []
  for option in options:
    try:
      return build(option, value, name=name)
    except ValueError as error:
      errors.append(error)
  raise errors[0]


def _dataclass(kind: Any, value: Any, name: str) -> Any:
  if not isinstance(value, dict):
    raise ValueError(f'{name} should be an object, got {_shown(value)}')
  hints = typing.get_type_hints(kind)
  fields = {field.name: field for field in dataclasses.fields(kind)}
  unknown = [key for key in value if key not in fields]
  missing = [key for key, field in fields.items() if key not in value
             and field.default is dataclasses.MISSING
             and field.default_factory is dataclasses.MISSING]
  if unknown or missing:
    raise ValueError(
        f'{name or "it"} misses a field or has one too many: '
        f'{", ".join(map(_shown, [*missing, *unknown][:5]))}')
  return kind(**{
      key: build(hints[key], each, name=f'{name}.{key}'.lstrip('.'))
      for key, each in value.items()})


def _check(value: Any, level: int = 0) -> None:
  """Refuses numbers that are not finite or not exact, and deep nesting."""
  if level > _MOST_LEVELS:
    raise ValueError(f'it is nested more than {_MOST_LEVELS} levels deep')
  if isinstance(value, dict | list):
    for each in value.values() if isinstance(value, dict) else value:
      _check(each, level + 1)
  elif type(value) in (int, float) and not _is_number(value):
    raise ValueError(f'numbers must be finite and exact, got {_shown(value)}')


def _is_number(value: Any) -> bool:
  if type(value) is int:
    return abs(value) <= _LARGEST
  return type(value) is float and math.isfinite(value)


def _refuse_constant(text: str) -> Any:
  raise ValueError(f'numbers must be finite, got {text}')


def _shown(value: Any) -> str:
  text = repr(value)
  return text if len(text) <= 40 else f'{text[:40]}...'


def _without_nan(value: Any) -> Any:
  if isinstance(value, Mapping):
    return {key: _without_nan(each) for key, each in value.items()}
  if isinstance(value, list | tuple):
    return [_without_nan(each) for each in value]
  return None if isinstance(value, float) and math.isnan(value) else value


def _digest(fields: Mapping[str, Any]) -> str:
  text = json.dumps(
      fields, sort_keys=True, separators=(',', ':'), allow_nan=False)
  return hashlib.sha256(text.encode()).hexdigest()
