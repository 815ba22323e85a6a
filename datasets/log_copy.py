"""A copy of a log's transitions on disk, and the log that it stands for.

Text cannot be read from its middle, and batches cannot be drawn from files at
all; from arrays on disk both can (`mapped_arrays`).
"""

from collections.abc import Iterator, Sequence
import dataclasses
import pathlib
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import mapped_arrays
from dfiv_ope.ope import streamed

_EPISODE, _START, _BEHAVIOUR = 'episode', 'start', 'behaviour'


class Writer(mapped_arrays.Writer):
  """Writes the transitions of blocks of whole episodes."""

  def __init__(self, folder: pathlib.Path):
    """Begins in a folder that is replaced."""
    super().__init__(folder)
    self._episodes = 0

  def add_log(self, log: log_lib.Log) -> None:
    """Adds the next whole episodes."""
    known = log.behaviour_probabilities
    self.add(
      {
        **log.transitions._asdict(),
        _EPISODE: log.episodes + self._episodes,
        _START: log.initial_observations,
        **({} if known is None else {_BEHAVIOUR: known}),
      }
    )
    self._episodes += log.num_episodes


def opened(
  folder: pathlib.Path, sample: log_lib.Log, **known: Any
) -> log_lib.Log:
  """Returns the log of a copy, whose arrays are mapped.

  Args:
    folder: of a `Writer`.
    sample: a log of some of its episodes.
    **known: fields that are others than in the sample.
  """
  arrays = mapped_arrays.opened(folder)
  return dataclasses.replace(
    sample,
    transitions=_transitions(arrays),
    episodes=arrays[_EPISODE],
    initial_observations=arrays[_START],
    behaviour_probabilities=None,
    recorded_targets=None,
    steps=None,
    **known,
  )


class Parts:
  """Reads a copy in parts, as `streamed.Parts` says."""

  def __init__(self, folder: pathlib.Path):
    """Opens the copy when a part is asked for."""
    self._folder = folder

  def __call__(self, marks: Sequence[int]) -> Iterator[streamed.Part]:
    arrays = mapped_arrays.opened(self._folder)
    transitions, episodes = _transitions(arrays), arrays[_EPISODE]
    for start, stop in zip(marks[:-1], marks[1:], strict=True):
      place = slice(start, stop)
      part = types.Transition(*(np.array(each[place]) for each in transitions))
      numbers = np.array(episodes[place])
      before = episodes[start - 1] if start else -1
      first = np.diff(numbers, prepend=before) > 0
      yield streamed.Part(
        part,
        numbers,
        part.observation[first],
        np.array(arrays[_BEHAVIOUR][place]) if _BEHAVIOUR in arrays else None,
      )


def _transitions(arrays: dict[str, np.memmap]) -> types.Transition:
  return types.Transition(*(arrays[name] for name in types.Transition._fields))
