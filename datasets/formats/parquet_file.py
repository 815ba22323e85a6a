"""Logs as Parquet files."""

from collections.abc import Iterator, Sequence
import json
import pathlib
from typing import Any

import numpy as np

from dfiv_ope.datasets.formats import source

# Where an exported file keeps the labels of its actions.
ACTION_LABELS = b'action_labels'
# And those of its categorical columns.
CATEGORIES = b'categories'
# And what actions are that are vectors.
CONTINUOUS = b'continuous'


class ParquetFile(source.Source):
  """A Parquet file; its rows are numbered from 1.

  Attributes:
    kinds: what each column holds, in a word or two.
  """

  def __init__(self, path: pathlib.Path):
    """Reads the schema."""
    try:
      import pyarrow as pa
      from pyarrow import parquet
    except ImportError as error:
      raise source.not_installed(error, 'Parquet') from error
    self._name = path.name
    try:
      self._file = parquet.ParquetFile(path)
      schema = self._file.schema_arrow
      self.columns = schema.names
      self._widths = {
        field.name: width
        for field in schema
        if (width := self._width(field.name, field.type)) is not None
      }
      self.kinds = {
        field.name: f'lists of {self._widths[field.name]}'
        if field.name in self._widths
        else _kind(field.type)
        for field in schema
      }
      labels = (schema.metadata or {}).get(ACTION_LABELS)
      self.categories = json.loads(
        (schema.metadata or {}).get(CATEGORIES, b'{}')
      )
      self.actions = None if labels is None else _labels(labels)
      described = (schema.metadata or {}).get(CONTINUOUS)
      if described is not None:
        self.continuous = source.described(json.loads(described))
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
      raise ValueError(
        f'{path.name} is not a whole Parquet file: {_words(error)}'
      ) from error

  @property
  def rows(self) -> int:
    """Number of rows."""
    return int(self._file.metadata.num_rows)

  def chunks(
    self,
    columns: Sequence[str],
    *,
    text: Sequence[str] = (),
    between: tuple[int, int] | None = None,
  ) -> Iterator[source.Chunk]:
    """Yields chunks in the order of the file.

    Args:
      columns: which ones to read.
      text: of no matter: columns have types.
      between: numbers of the first row to be read and of the one after the
        last; None for all.
    """
    start, end = between or (1, self.rows + 1)
    groups, first = self._groups(start, end)
    for chunk in self._batches(columns, groups, first):
      wanted = (chunk.rows >= start) & (chunk.rows < end)
      if wanted.all():
        yield chunk
      elif wanted.any():
        yield source.Chunk(
          {name: each[wanted] for name, each in chunk.columns.items()},
          chunk.rows[wanted],
          chunk.share,
        )

  def _groups(self, start: int, end: int) -> tuple[list[int], int]:
    """Returns groups of rows that have some, and the first one's number."""
    metadata, before, first = self._file.metadata, 0, 1
    found: list[int] = []
    for group in range(metadata.num_row_groups):
      after = before + metadata.row_group(group).num_rows
      if after >= start and before + 1 < end:
        if not found:
          first = before + 1
        found.append(group)
      before = after
    return found, first

  def _batches(
    self, columns: Sequence[str], groups: Sequence[int], first: int
  ) -> Iterator[source.Chunk]:
    """Yields the rows of some groups, numbered from the first one's."""
    import pyarrow as pa

    batches = self._file.iter_batches(
      batch_size=source.CHUNK_ROWS, columns=list(columns), row_groups=groups
    )
    while True:
      try:
        batch = next(batches, None)
        if batch is None:
          return
        values = {
          name: self._values(name, batch.column(name), first)
          for name in columns
        }
      except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(
          f'{self._name} is damaged after row {first - 1}: {_words(error)}'
        ) from error
      rows = np.arange(first, first + batch.num_rows)
      first += batch.num_rows
      yield source.Chunk(
        values, rows, (first - 1) / self._file.metadata.num_rows
      )

  def _width(self, name: str, kind: Any) -> int | None:
    """Returns how many numbers the lists of a column have, None if none are.

    Types of lists do not always say; then the first row does.
    """
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind):
      return int(kind.list_size)
    if not (
      (pa.types.is_list(kind) or pa.types.is_large_list(kind))
      and (
        pa.types.is_floating(kind.value_type)
        or pa.types.is_integer(kind.value_type)
      )
    ):
      return None
    first = next(self._file.iter_batches(batch_size=1, columns=[name]), None)
    if first is None or not len(first) or first.column(0).null_count:
      return None
    return len(first.column(0)[0])

  def _lists(self, name: str, column: Any, first: int) -> np.ndarray:
    """Returns lists of one length as an array, [N, width]."""
    width = self._widths[name]
    if not hasattr(column.type, 'list_size'):
      lengths = column.value_lengths().to_numpy(zero_copy_only=False)
      other = np.flatnonzero(lengths != width)
      if len(other):
        raise ValueError(
          f'{self._name}, row {first + other[0]}: {name} has '
          f'{lengths[other[0]]:.0f} numbers, but {width} in row 1. Write as '
          'many in each row.'
        )
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(
      len(column), width
    )

  def _values(self, name: str, column: Any, first: int) -> np.ndarray:
    import pyarrow as pa

    kind = column.type
    if name in self._widths and column.null_count == 0:
      return self._lists(name, column, first)
    if pa.types.is_dictionary(kind):
      column = column.dictionary_decode()
    elif pa.types.is_nested(kind):
      raise ValueError(
        f'{self._name}: {name} holds values of type {kind}. A column must '
        'have one number or text a row, or as many numbers in each row.'
      )
    elif pa.types.is_decimal(kind):
      column = column.cast(pa.float64())
    elif pa.types.is_integer(kind) and column.null_count:
      # Whole numbers with gaps come as floats, which is exact up to 2^53.
      column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _kind(kind: Any) -> str:
  """Returns what a column of an Arrow type holds, as a log tells it apart."""
  import pyarrow as pa

  if pa.types.is_dictionary(kind):
    kind = kind.value_type
  if pa.types.is_boolean(kind):
    return 'true or false'
  if (
    pa.types.is_integer(kind)
    or pa.types.is_floating(kind)
    or pa.types.is_decimal(kind)
  ):
    return 'numbers'
  if pa.types.is_string(kind) or pa.types.is_large_string(kind):
    return 'text'
  return f'values of type {kind}'


def _labels(text: bytes) -> list[str]:
  result = json.loads(text)
  if not isinstance(result, list) or not all(
    isinstance(each, str) for each in result
  ):
    raise ValueError('its labels of actions are not a list of text')
  return result


def _words(error: Exception) -> str:
  return ' '.join(str(error).split())
