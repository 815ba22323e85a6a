"""Parts of a log whose blocks of whole episodes can be read from anywhere."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import stream_sums
from dfiv_ope.ope import streamed


class Parts:
  """Reads a log in parts, as `streamed.Parts` says."""

  def __init__(
    self,
    blocks: Callable[[int, int], Iterator[log_lib.Log]],
    starts: Sequence[stream_sums.Start],
    rows: int,
  ):
    """Reads nothing yet.

    Args:
      blocks: yields whole episodes from a row that one starts with, to the row
        after the last.
      starts: of blocks of whole episodes.
      rows: of the whole log, with those that are no transitions.
    """
    self._blocks, self._starts, self._rows = blocks, starts, rows
    self._transitions = [each.transition for each in starts]

  def __call__(self, marks: Sequence[int]) -> Iterator[streamed.Part]:
    starts = self._starts
    place = int(np.searchsorted(self._transitions, marks[0], side='right')) - 1
    after = int(np.searchsorted(self._transitions, marks[-1], side='left'))
    row, position, episode = starts[place]
    end = starts[after].row if after < len(starts) else self._rows + 1
    blocks = self._blocks(row, end)
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
