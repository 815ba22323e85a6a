"""Reads YAML of users: small, plain, and each key once."""

import contextlib
import pathlib
from typing import Any

import yaml

_MOST_BYTES = 1_000_000
_MOST_LEVELS = 20


class _Loader(yaml.SafeLoader):
  """Refuses what makes a small file huge, or one key win over another."""

  _level = 0

  def compose_node(self, parent: Any, index: Any) -> Any:
    if self.check_event(yaml.AliasEvent):
      raise _refusal('aliases (*name) are not allowed', self.peek_event())
    if self._level >= _MOST_LEVELS:
      raise _refusal(
        f'more than {_MOST_LEVELS} levels are not allowed', self.peek_event()
      )
    self._level += 1
    node = super().compose_node(parent, index)
    self._level -= 1
    return node

  def construct_mapping(self, node: Any, deep: bool = False) -> Any:
    seen = set()
    for key_node, _ in node.value:
      key = self.construct_object(key_node, deep=True)
      with contextlib.suppress(TypeError):  # no key; refused below
        if key in seen:
          raise _refusal(f'the key {key!r} comes twice', key_node)
        seen.add(key)
    return super().construct_mapping(node, deep)


def _refusal(words: str, place: Any) -> yaml.YAMLError:
  return yaml.MarkedYAMLError(problem=words, problem_mark=place.start_mark)


def read(path: pathlib.Path) -> dict[str, Any]:
  """Reads a YAML file of names and values; an empty one holds none.

  Raises:
    OSError: there is no such file, or it cannot be read.
    ValueError: it is too large, not YAML, has aliases, too many levels or a
      key twice, or is not a mapping with texts as keys.
  """
  with path.open('rb') as file:
    content = file.read(_MOST_BYTES + 1)
  if len(content) > _MOST_BYTES:
    raise ValueError(
      f'{path} has more than {_MOST_BYTES:,} bytes, which is too much for a '
      'file of options. Name another file.'
    )
  try:
    data = yaml.load(content.decode('utf-8'), _Loader)
  except UnicodeDecodeError as error:
    raise ValueError(f'{path} is not YAML: not UTF-8 ({error}).') from error
  except Exception as error:  # odd tags make it raise several types
    words = ' '.join(str(error).split()).replace(
      'in "<unicode string>", ', 'at '
    )
    raise ValueError(f'{path} is not YAML as wanted here: {words}.') from error
  if data is None:
    return {}
  if not isinstance(data, dict):
    raise ValueError(
      f'{path} should hold names and values, got {str(data)[:100]!r}.'
    )
  for name in data:
    if not isinstance(name, str):
      raise ValueError(
        f'{path} has the key {name!r}, which YAML reads as '
        f'{type(name).__name__}. Keys are names; write it in quotes.'
      )
  return data
