"""Configs as JSON: nested dataclasses, tuples and plain values, and back."""

from collections.abc import Iterable, Mapping
import dataclasses
from typing import Any

from dfiv_ope import hints

_TYPE = 'type'


def encode(value: Any) -> Any:
  """Returns a config as JSON data; each dataclass names its type."""
  if dataclasses.is_dataclass(value) and not isinstance(value, type):
    fields = {
      field.name: encode(getattr(value, field.name))
      for field in dataclasses.fields(value)
    }
    return {_TYPE: type(value).__name__, **fields}
  if isinstance(value, tuple | list):
    return [encode(each) for each in value]
  if value is None or isinstance(value, bool | int | float | str):
    return value
  raise ValueError(
    f'A config may hold dataclasses, tuples, numbers and strings, got '
    f'{value!r} of type {type(value).__name__}.'
  )


def check_names(
  data: Mapping[Any, Any], kind: type, *, what: str, names: str
) -> None:
  """Refuses data with names that a dataclass has no fields for.

  Args:
    data: values by names.
    kind: the dataclass.
    what: the subject of the sentence, such as 'A sweep'.
    names: what the names are called, such as 'The keys'.

  Raises:
    ValueError: a name is unknown.
  """
  known = [field.name for field in dataclasses.fields(kind)]
  unknown = []
  for name in data:
    if name not in known:
      guess = hints.near(str(name), known)
      unknown.append(f'{name} (did you mean {guess}?)' if guess else str(name))
  if unknown:
    raise ValueError(
      f'{what} has no {", ".join(unknown)}. {names} are: {", ".join(known)}.'
    )


def check_at_least(config: Any, least: int, *names: str) -> None:
  """Raises a ValueError where an attribute of a config is too small."""
  for name in names:
    if not getattr(config, name) >= least:
      raise ValueError(
        f'{name} must be at least {least}, got {getattr(config, name)}.'
      )


def check_positive(config: Any, *names: str) -> None:
  """Raises a ValueError where an attribute of a config is not positive."""
  for name in names:
    if not getattr(config, name) > 0:
      raise ValueError(f'{name} must be positive, got {getattr(config, name)}.')


def decode(data: Any, known: Iterable[type]) -> Any:
  """Returns what `encode` was given.

  Args:
    data: the JSON data.
    known: the dataclasses that may occur in it.

  Raises:
    ValueError: the data names another type.
  """
  by_name = {each.__name__: each for each in known}
  if isinstance(data, Mapping):
    fields = {
      name: decode(value, by_name.values())
      for name, value in data.items()
      if name != _TYPE
    }
    if data.get(_TYPE) not in by_name:
      raise ValueError(
        f'The config names the type {data.get(_TYPE)!r}, but only '
        f'{sorted(by_name)} are known. It was written by another version.'
      )
    return by_name[data[_TYPE]](**fields)
  if isinstance(data, list):
    return tuple(decode(each, by_name.values()) for each in data)
  return data


def changes(before: Any, after: Any) -> dict[str, Any]:
  """Returns the fields in which two configs of one type differ, as in after."""
  return {
    field.name: getattr(after, field.name)
    for field in dataclasses.fields(before)
    if getattr(before, field.name) != getattr(after, field.name)
  }
