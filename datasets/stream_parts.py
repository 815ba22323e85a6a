"""Parts of a log in Parquet files, read from the files."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dfiv_ope import types
from dfiv_ope.ope import streamed

if TYPE_CHECKING:
  from dfiv_ope.datasets import streams


class Parts:
  """Reads a log in parts, as `streamed.Parts` says."""

  def __init__(self, stream: 'streams.Stream', survey: 'streams.Survey'):
    """Reads nothing yet.

    Args:
      stream: the log.
      survey: of the same files.
    """
    self._stream = stream
    self._survey = survey
    self._starts = [each.transition for each in survey.starts]

  def __call__(self, marks: Sequence[int]) -> Iterator[streamed.Part]:
    starts = self._survey.starts
    place = int(np.searchsorted(self._starts, marks[0], side='right')) - 1
    after = int(np.searchsorted(self._starts, marks[-1], side='left'))
    _, position, episode = starts[place]
    end = (
      starts[after].row if after < len(starts) else sum(self._survey.counts) + 1
    )
    blocks = self._stream.blocks(self._survey, starts[place].row, end)
    held: list[tuple[types.Transition, np.ndarray, np.ndarray]] = []
    size = 0
    for start, stop in zip(marks[:-1], marks[1:], strict=True):
      while not held or position + size < stop:
        log = next(blocks)
        held.append(
          (
            log.transitions,
            log.episodes + episode,
            np.diff(log.episodes, prepend=-1) > 0,
          )
        )
        size += len(log)
        episode += log.num_episodes
      if len(held) != 1:
        held = [_joined(held)]
      yield _part(held[0], slice(start - position, stop - position))
      rest = slice(stop - position, None)
      transitions, episodes, first = held[0]
      held = [
        (
          types.Transition(*(each[rest] for each in transitions)),
          episodes[rest],
          first[rest],
        )
      ]
      size -= stop - position
      position = stop


def _joined(
  held: Sequence[tuple[types.Transition, np.ndarray, np.ndarray]],
) -> tuple[types.Transition, np.ndarray, np.ndarray]:
  transitions, episodes, first = zip(*held, strict=True)
  return (
    types.Transition(*map(np.concatenate, zip(*transitions, strict=True))),
    np.concatenate(episodes),
    np.concatenate(first),
  )


def _part(
  held: tuple[types.Transition, np.ndarray, np.ndarray], place: slice
) -> streamed.Part:
  transitions, episodes, first = held
  observation = transitions.observation[place]
  return streamed.Part(
    types.Transition(*(each[place] for each in transitions)),
    episodes[place],
    observation[first[place]],
  )
