"""Logs as the bsuite files of RL Unplugged: single transitions.

A record is two steps in a row, without the episode it was cut from. So each
becomes an episode of one transition: terminated if its bootstrap is zero,
truncated otherwise.
"""

from collections.abc import Iterator, Sequence
import pathlib

import numpy as np
import tensorflow as tf

from dfiv_ope.datasets.formats import source

_LAST = 2  # dm_env.StepType.LAST
_RECORDS = 4096


class Transitions(source.Source):
  """TFRecords compressed with gzip, one file or a directory of shards.

  Its rows are numbered from 1, two a record; episodes are records.
  """

  def __init__(self, path: pathlib.Path):
    """Reads the first record."""
    self._name = path.name
    self._files = (
      sorted(path.glob('*-?????-of-?????')) if path.is_dir() else [path]
    )
    for file in self._files:
      with file.open('rb') as stream:
        if stream.read(2) != b'\x1f\x8b':
          raise ValueError(
            f'{file.name} is not compressed with gzip, as the files of RL '
            'Unplugged are.'
          )
    first = next(self._raw(1), None)
    if first is None:
      raise ValueError(f'{path.name} holds no record.')
    self._features = self._describe(first[1][0])
    self.actions = None
    self.columns = [
      source.EPISODE,
      source.OBSERVATION,
      source.ACTION,
      source.REWARD,
      source.TERMINATED,
      source.TRUNCATED,
    ]

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    done = 0
    for share, records in self._raw(_RECORDS):
      try:
        parsed = {
          name: value.numpy()
          for name, value in tf.io.parse_example(
            records, self._features
          ).items()
        }
      except tf.errors.InvalidArgumentError as error:
        raise ValueError(
          f'{self._name}: a record from {done + 1} on is not like the '
          f'first: {error.message}'
        ) from error
      count = len(records)
      discount = parsed['discount'][:, 0] * (parsed['step_type'][:, 1] != _LAST)
      odd = np.flatnonzero((discount != 0.0) & (discount != 1.0))
      if odd.size:
        raise ValueError(
          f'{self._name}, record {done + odd[0] + 1}: the discount is '
          f'{discount[odd[0]]:g}, but only 0 and 1 are supported.'
        )
      values = {
        source.EPISODE: np.repeat(np.arange(done, done + count) + 1, 2),
        source.OBSERVATION: parsed['observation'].reshape(2 * count, -1),
        source.ACTION: _with_gaps(parsed['action'][:, 0]),
        source.REWARD: _with_gaps(parsed['reward'][:, 0]),
        source.TERMINATED: _with_gaps(discount == 0.0),
        source.TRUNCATED: _with_gaps(discount == 1.0),
      }
      rows = 2 * done + np.arange(1, 2 * count + 1)
      done += count
      yield source.Chunk({name: values[name] for name in columns}, rows, share)

  def _raw(self, batch: int) -> Iterator[tuple[float, np.ndarray]]:
    """Yields records as bytes, and the share of the files that is done."""
    for index, file in enumerate(self._files):
      records = tf.data.TFRecordDataset(str(file), compression_type='GZIP')
      try:
        for each in records.batch(batch).as_numpy_iterator():
          yield index / len(self._files), each
      except tf.errors.OpError as error:
        raise ValueError(
          f'{file.name} is not a whole TFRecord file: {error.message}'
        ) from error

  def _describe(self, record: bytes) -> dict[str, tf.io.FixedLenFeature]:
    """Returns the features of a record, two steps of each."""
    try:
      features = tf.train.Example.FromString(record).features.feature
    except Exception as error:  # protobuf's own type
      raise ValueError(
        f'{self._name} does not hold examples of TensorFlow.'
      ) from error
    kinds = {
      'observation': tf.float32,
      'reward': tf.float32,
      'discount': tf.float32,
      'action': tf.int64,
      'step_type': tf.int64,
    }
    result = {}
    for name, kind in kinds.items():
      # A feature that is missing comes into being, empty, when asked for.
      values = (
        features[name].float_list
        if kind == tf.float32
        else features[name].int64_list
      ).value
      if (
        not values
        or len(values) % 2
        or (name != 'observation' and len(values) != 2)
      ):
        raise ValueError(
          f'{self._name}: the first record has {len(values)} entries of '
          f'{name!r} ({kind.name}), which are not those of two steps with '
          'discrete actions.'
        )
      result[name] = tf.io.FixedLenFeature([len(values)], kind)
    return result


def _with_gaps(values: np.ndarray) -> np.ndarray:
  """Puts an empty cell after each value, for the final observation."""
  result = np.full(2 * len(values), np.nan)
  result[::2] = values
  return result
