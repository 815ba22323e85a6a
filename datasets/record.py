"""Records as JSON that tell when somebody has changed them.

A record is a dataclass. Its JSON carries a SHA-256 of everything else in it,
and is read back strictly (`typed_json.build`): numbers must be finite, and
nothing may be nested deeply. The digest tells accidents and careless edits;
whoever means harm can make a new one.
"""

from collections.abc import Mapping
import hashlib
import json
import math
import pathlib
from typing import Any

from dfiv_ope import typed_json

DIGEST = 'record_digest'
_MOST_BYTES = 2**26
_MOST_LEVELS = 20


def dump(fields: Mapping[str, Any]) -> str:
  """Returns fields as indented JSON with their digest; nan becomes null."""
  plain = _without_nan(fields)
  return (
    json.dumps({**plain, DIGEST: _digest(plain)}, indent=2, allow_nan=False)
    + '\n'
  )


def read(source: pathlib.Path) -> str:
  """Returns the text of a record's file.

  Raises:
    ValueError: it is too large, or not text.
  """
  if source.stat().st_size > _MOST_BYTES:
    raise ValueError(
      f'{source} has more than {_MOST_BYTES:,} bytes, so it is not the '
      'record of a dataset.'
    )
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
    f'{source} is not the record of a dataset: {words}. Make the dataset again.'
  )


def verify(fields: Mapping[str, Any]) -> None:
  """Compares a record with its digest.

  Raises:
    ValueError: the digest is not that of the fields.
  """
  plain = {name: value for name, value in fields.items() if name != DIGEST}
  if fields.get(DIGEST) != _digest(plain):
    raise ValueError('it was changed after it was written')


def _check(value: Any, level: int = 0) -> None:
  """Refuses numbers that are not finite or not exact, and deep nesting."""
  if level > _MOST_LEVELS:
    raise ValueError(f'it is nested more than {_MOST_LEVELS} levels deep')
  if isinstance(value, dict | list):
    for each in value.values() if isinstance(value, dict) else value:
      _check(each, level + 1)
  elif type(value) in (int, float) and not typed_json.is_number(value):
    raise ValueError(
      f'numbers must be finite and exact, got {typed_json.shown(value)}'
    )


def _refuse_constant(text: str) -> Any:
  raise ValueError(f'numbers must be finite, got {text}')


def _without_nan(value: Any) -> Any:
  if isinstance(value, Mapping):
    # Keys are sorted for the digest, and JSON has only text.
    return {str(key): _without_nan(each) for key, each in value.items()}
  if isinstance(value, list | tuple):
    return [_without_nan(each) for each in value]
  return None if isinstance(value, float) and math.isnan(value) else value


def _digest(fields: Mapping[str, Any]) -> str:
  text = json.dumps(
    fields, sort_keys=True, separators=(',', ':'), allow_nan=False
  )
  return hashlib.sha256(text.encode()).hexdigest()
