"""Writes and reads checkpoints of Reverb without a server.

Reverb writes its checkpoints in a server, and its server listens on every
network interface. So this writes the same files by itself:

    chunks.tfrecord   a ChunkData for each column of each block
    items.tfrecord    a PrioritizedItem: which chunks an item of a table has
    tables.tfrecord   a PriorityTableCheckpoint: the options of a table
    DONE              empty; a checkpoint without it is not looked at

Records are compressed with zlib. Tensors must be snappy streams; these are
uncompressed ones (a single literal), since zlib follows. Keys are running
numbers, so the same blocks give the same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
import pathlib
from typing import Any, NamedTuple

import numpy as np
import reverb
from reverb.cc import schema_pb2
from reverb.cc.checkpointing import checkpoint_pb2
import tensorflow as tf
from tensorflow.python.saved_model import nested_structure_coder

CHUNKS, ITEMS, TABLES, DONE = (
  'chunks.tfrecord',
  'items.tfrecord',
  'tables.tfrecord',
  'DONE',
)
_OPTIONS = tf.io.TFRecordOptions(compression_type='ZLIB', compression_level=1)
_MAX_SIZE = 2**31 - 1
# A message of protocol buffers has less than 2 GiB.
_MOST_BYTES = 2**31 - 2**16
# Tag of a snappy literal whose length follows in four bytes.
_LITERAL = 63 << 2


class Table(NamedTuple):
  """A table of blocks.

  Attributes:
    name: of the table.
    signature: nest of tensor specs.
    at_random: blocks are drawn uniformly, rather than the first one always.
  """

  name: str
  signature: Any
  at_random: bool = False

  def empty(self) -> reverb.Table:
    """Returns the table for a server."""
    return reverb.Table(
      self.name,
      remover=reverb.selectors.Fifo(),
      max_size=_MAX_SIZE,
      sampler=(
        reverb.selectors.Uniform()
        if self.at_random
        else reverb.selectors.Fifo()
      ),
      signature=self.signature,
      rate_limiter=reverb.rate_limiters.MinSize(1),
    )

  def record(self, items: int) -> checkpoint_pb2.PriorityTableCheckpoint:
    """Returns what a checkpoint says of the table."""
    fifo = schema_pb2.KeyDistributionOptions(fifo=True, is_deterministic=True)
    limit = float(np.finfo(np.float64).max)
    return checkpoint_pb2.PriorityTableCheckpoint(
      table_name=self.name,
      max_size=_MAX_SIZE,
      rate_limiter=checkpoint_pb2.RateLimiterCheckpoint(
        samples_per_insert=1.0,
        min_diff=-limit,
        max_diff=limit,
        min_size_to_sample=1,
        insert_count=items,
      ),
      sampler=schema_pb2.KeyDistributionOptions(uniform=True)
      if self.at_random
      else fifo,
      remover=fifo,
      signature=nested_structure_coder.encode_structure(self.signature),
    )


class Writer:
  """Writes blocks into a new checkpoint; complete only after `finish`."""

  def __init__(self, path: pathlib.Path, tables: Sequence[Table]):
    """Begins a checkpoint.

    Args:
      path: its directory, which is made.
      tables: all tables.

    Raises:
      OSError: the files could not be written.
    """
    path.mkdir(parents=True)
    self._path, self._tables = path, tables
    self._counts = dict.fromkeys((table.name for table in tables), 0)
    self._keys = 0
    self._chunks = _Records(path / CHUNKS)
    self._items = _Records(path / ITEMS)

  def insert(self, tables: Iterable[str], block: Any) -> None:
    """Adds a block, a nest of arrays, as an item of each of some tables.

    Raises:
      OSError: the files could not be written.
      ValueError: a column is larger than Reverb takes.
    """
    episode = self._key()
    columns = []
    for array in tf.nest.flatten(block):
      if array.nbytes > _MOST_BYTES:
        raise ValueError(
          f'An episode has {array.nbytes / 2**30:.1f} GiB in one column, but '
          'Reverb takes less than 2 GiB. Cut it into shorter episodes.'
        )
      key = self._key()
      self._chunks.write(_chunk(array, key=key, episode=episode))
      columns.append(
        schema_pb2.FlatTrajectory.Column(
          squeeze=True,
          chunk_slices=[
            schema_pb2.FlatTrajectory.ChunkSlice(chunk_key=key, length=1)
          ],
        )
      )
    for table in tables:
      self._counts[table] += 1
      self._items.write(
        schema_pb2.PrioritizedItem(
          key=self._key(),
          table=table,
          priority=1.0,
          flat_trajectory=schema_pb2.FlatTrajectory(columns=columns),
        )
      )

  def finish(self) -> None:
    """Writes the tables and that all is done.

    Raises:
      OSError: the files could not be written.
    """
    self.close()
    records = _Records(self._path / TABLES)
    for table in self._tables:
      records.write(table.record(self._counts[table.name]))
    records.close()
    (self._path / DONE).touch()

  def close(self) -> None:
    """Closes the files; without `finish` they are no checkpoint."""
    self._chunks.close()
    self._items.close()

  def _key(self) -> int:
    self._keys += 1
    return self._keys


def blocks(path: pathlib.Path, table: Table) -> Iterator[Any]:
  """Yields the blocks of a table in order, as `Writer` was given them.

  Args:
    path: directory of the checkpoint.
    table: which one, with the signature of its blocks.

  Raises:
    ValueError: it is damaged, or was not written by `Writer`.
  """
  chunks: dict[int, np.ndarray] = {}
  try:
    source = _read(path / CHUNKS)
    for record in _read(path / ITEMS):
      item = schema_pb2.PrioritizedItem.FromString(record)
      if item.table != table.name:
        continue
      keys = [
        column.chunk_slices[0].chunk_key
        for column in item.flat_trajectory.columns
      ]
      # Chunks come in the order of items; what was passed is not needed.
      chunks = {key: chunks[key] for key in keys if key in chunks}
      while not all(key in chunks for key in keys):
        chunk = schema_pb2.ChunkData.FromString(next(source))
        chunks[chunk.chunk_key] = _array(chunk)
      yield tf.nest.pack_sequence_as(
        table.signature, [chunks[key] for key in keys]
      )
  except Exception as error:  # TensorFlow and protocol buffers raise many.
    raise ValueError(
      f'The Reverb checkpoint in {path} is not one that was written here '
      f'({type(error).__name__}). Make the dataset again.'
    ) from error


class _Records:
  """A file of records; what TensorFlow raises becomes an OSError."""

  def __init__(self, path: pathlib.Path):
    self._path = path
    self._writer = tf.io.TFRecordWriter(str(path), _OPTIONS)

  def write(self, message: Any) -> None:
    self._try(self._writer.write, message.SerializeToString())

  def close(self) -> None:
    self._try(self._writer.close)

  def _try(self, function: Any, *arguments: Any) -> None:
    try:
      function(*arguments)
    except tf.errors.OpError as error:
      raise OSError(
        f'{self._path} could not be written: {error.message}. Is the disk full?'
      ) from error


def _read(path: pathlib.Path) -> Iterator[bytes]:
  return tf.data.TFRecordDataset(
    str(path), compression_type='ZLIB'
  ).as_numpy_iterator()


def _chunk(
  array: np.ndarray, *, key: int, episode: int
) -> schema_pb2.ChunkData:
  """Returns a column of a block, a sequence of one step."""
  array = np.ascontiguousarray(array)
  chunk = schema_pb2.ChunkData(
    chunk_key=key,
    data_tensors_len=1,
    data_uncompressed_size=array.nbytes,
    sequence_range=schema_pb2.SequenceRange(episode_id=episode),
  )
  tensor = chunk.data.tensors.add()
  tensor.dtype = tf.as_dtype(array.dtype).as_datatype_enum
  for size in (1, *array.shape):
    tensor.tensor_shape.dim.add().size = size
  tensor.tensor_content = _head(array.nbytes) + array.tobytes()
  return chunk


def _array(chunk: schema_pb2.ChunkData) -> np.ndarray:
  """Returns the column that `_chunk` was given."""
  (tensor,) = chunk.data.tensors
  shape = [dim.size for dim in tensor.tensor_shape.dim][1:]
  dtype = tf.as_dtype(tensor.dtype).as_numpy_dtype
  head = _head(int(np.prod(shape)) * np.dtype(dtype).itemsize)
  if not tensor.tensor_content.startswith(head):
    raise ValueError('a tensor is compressed')
  return np.frombuffer(tensor.tensor_content, dtype, offset=len(head)).reshape(
    shape
  )


def _head(size: int) -> bytes:
  """Returns what stands before the bytes of a snappy stream of one literal."""
  if not size:
    return b'\0'
  varint, rest = b'', size
  while rest >= 0x80:
    varint += bytes([rest & 0x7F | 0x80])
    rest >>= 7
  return varint + bytes([rest, _LITERAL]) + (size - 1).to_bytes(4, 'little')
