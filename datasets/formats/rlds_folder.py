"""Logs as RLDS datasets that TensorFlow Datasets built.

The last step of an episode holds the final observation; its action and reward
mean nothing. Whether the episode terminated is said there as well.
"""

from collections.abc import Iterator, Mapping, Sequence
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from dfiv_ope.datasets.formats import source

# An episode is one element of a tf.data pipeline.
_LONGEST = 2**20
_STEPS, _LAST, _TERMINAL = 'steps', 'is_last', 'is_terminal'


class RLDSFolder(source.Source):
  """An RLDS dataset; its rows are numbered through all episodes from 1."""

  def __init__(self, path: pathlib.Path):
    """Reads the description of the dataset."""
    try:
      import tensorflow_datasets as tfds
    except ImportError as error:
      raise source.not_installed(error, 'RLDS') from error
    self._name = path.name
    try:
      self._builder = tfds.builder_from_directory(path)
      self._steps = self._builder.info.features[_STEPS].feature
      names = [name for name, _ in _leaves(self._steps)]
      self._count = sum(
        each.num_examples for each in self._builder.info.splits.values()
      )
    except Exception as error:  # It raises several types.
      raise ValueError(
        f'{path.name} is not an RLDS dataset of TensorFlow Datasets: '
        f'{" ".join(str(error).split())}'
      ) from error
    if _LAST not in names:
      raise ValueError(
        f'{path.name}: its steps have no {_LAST!r}, so it is not RLDS.'
      )
    self.actions = None
    self.columns = [source.EPISODE, *names]
    if _TERMINAL in names:
      self.columns.append(source.TERMINATED)

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    import tensorflow_datasets as tfds

    given = {*columns, _LAST}
    if source.TERMINATED in columns:
      given.add(_TERMINAL)

    def steps(episode: Any) -> tf.data.Dataset:
      return (
        episode[_STEPS]
        .map(
          lambda step: {
            name: value for name, value in _leaves(step) if name in given
          }
        )
        .batch(_LONGEST)
      )

    episodes = self._builder.as_dataset(
      split='+'.join(self._builder.info.splits),
      shuffle_files=False,
      read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    numbered = enumerate(episodes.flat_map(steps).as_numpy_iterator(), 1)
    try:
      yield from source.in_chunks(
        (self._read(step, columns, number), number / self._count)
        for number, step in numbered
      )
    except tf.errors.OpError as error:
      raise ValueError(f'{self._name} is damaged: {error.message}') from error

  def _read(
    self, steps: Mapping[str, np.ndarray], columns: Sequence[str], number: int
  ) -> Mapping[str, np.ndarray]:
    """Empties what means nothing and moves the flag to the last action."""
    last = steps[_LAST].astype(bool)
    if len(last) == _LONGEST:
      raise ValueError(
        f'{self._name}: episode {number} has {_LONGEST:,} steps or more. '
        'Cut it into shorter ones.'
      )
    if last[:-1].any():
      raise ValueError(
        f'{self._name}: the last step of episode {number} is followed by '
        'others.'
      )
    result = {}
    for name in columns:
      if name == source.TERMINATED:
        values = np.zeros(len(last))
        values[-2:-1] = steps[_TERMINAL][-1] and last[-1]
        values[last] = np.nan
      elif name.split('/')[0] in (source.ACTION, source.REWARD) and last[-1]:
        values = source.with_empty_end(steps[name][:-1])
      elif name != source.EPISODE:
        values = steps[name]
      else:
        continue
      result[name] = values
    return result


def _leaves(features: Any, prefix: str = '') -> Iterator[tuple[str, Any]]:
  """Yields nested features with their names, joined by slashes."""
  for name in sorted(features):
    nested = hasattr(features[name], 'keys')
    if nested:
      yield from _leaves(features[name], f'{prefix}{name}/')
    else:
      yield f'{prefix}{name}', features[name]
