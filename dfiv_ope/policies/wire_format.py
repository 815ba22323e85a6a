"""Messages of protocol buffers, and tables of variables, read as bytes.

TensorFlow's own readers are part of it, and importing it takes longer than most
evaluations. What a message means is not looked at here: fields have numbers.

    message = wire_format.Message(path.read_bytes())
    message.messages(2)[0].text(1)
"""

from collections.abc import Iterator
import struct

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# The end of a table of variables, as LevelDB writes them.
_FOOTER, _MAGIC = 48, 0xDB4775248B80FB57
# After each block: how it is compressed, and a checksum.
_TRAILER = 5


class Message:
  """The fields of a message by their numbers."""

  def __init__(self, content: bytes):
    """Reads a message.

    Raises:
      ValueError: it is none.
    """
    self._fields: dict[int, list[int | bytes]] = {}
    place = 0
    while place < len(content):
      key, place = varint(content, place)
      kind = key & 7
      value: int | bytes
      if kind == _VARINT:
        value, place = varint(content, place)
      else:
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _BYTES:
          size, place = varint(content, place)
        if size is None or place + size > len(content):
          raise ValueError(f'No message: field of kind {kind} at {place}.')
        value = content[place : place + size]
        place += size
      self._fields.setdefault(key >> 3, []).append(value)

  def numbers(self, field: int) -> list[int]:
    """Returns whole numbers, packed or one by one."""
    found: list[int] = []
    for each in self._fields.get(field, []):
      if isinstance(each, int):
        found.append(each)
        continue
      place = 0
      while place < len(each):
        value, place = varint(each, place)
        found.append(value)
    return found

  def number(self, field: int) -> int:
    """Returns a whole number; 0 if it is not there."""
    return (self.numbers(field) or [0])[-1]

  def contents(self, field: int) -> list[bytes]:
    """Returns the bytes of a field that may be repeated."""
    return [
      each for each in self._fields.get(field, []) if isinstance(each, bytes)
    ]

  def texts(self, field: int) -> list[str]:
    """Returns texts of a field that may be repeated."""
    return [each.decode() for each in self.contents(field)]

  def text(self, field: int) -> str:
    """Returns a text; empty if it is not there."""
    return (self.texts(field) or [''])[-1]

  def messages(self, field: int) -> list['Message']:
    """Returns messages of a field that may be repeated."""
    return [Message(each) for each in self.contents(field)]

  def message(self, field: int) -> 'Message':
    """Returns a message; an empty one if it is not there."""
    return (self.messages(field) or [Message(b'')])[-1]

  def mapped(self, field: int) -> dict[str, 'Message']:
    """Returns a map from texts to messages."""
    return {each.text(1): each.message(2) for each in self.messages(field)}

  def __contains__(self, field: int) -> bool:
    return field in self._fields


def varint(content: bytes, place: int) -> tuple[int, int]:
  """Returns the number that begins at a place, and where it ends.

  Raises:
    ValueError: the content ends before.
  """
  value = shift = 0
  while place < len(content):
    byte = content[place]
    place += 1
    value |= (byte & 0x7F) << shift
    shift += 7
    if byte < 0x80:
      return value, place
  raise ValueError('No message: it ends within a number.')


def table(content: bytes) -> dict[str, bytes]:
  """Returns the entries of a table by their keys.

  Raises:
    ValueError: it is none, or compressed.
  """
  footer = content[-_FOOTER:]
  if len(footer) < _FOOTER or struct.unpack('<Q', footer[-8:])[0] != _MAGIC:
    raise ValueError('No table of variables.')
  place = 0
  for _ in range(2):  # Where the block of other things is.
    _, place = varint(footer, place)
  result: dict[str, bytes] = {}
  for _, handle in _entries(content, footer[place:]):
    result.update(
      (key.decode(), value) for key, value in _entries(content, handle)
    )
  return result


def _entries(content: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
  """Yields keys and values of a block."""
  start, place = varint(handle, 0)
  size, _ = varint(handle, place)
  block = content[start : start + size]
  if len(content) < start + size + _TRAILER or content[start + size]:
    raise ValueError('The table of variables is cut off or compressed.')
  (restarts,) = struct.unpack('<I', block[-4:])
  end, place, key = len(block) - 4 * (restarts + 1), 0, b''
  while place < end:
    shared, place = varint(block, place)
    own, place = varint(block, place)
    length, place = varint(block, place)
    key = key[:shared] + block[place : place + own]
    place += own
    yield key, block[place : place + length]
    place += length
