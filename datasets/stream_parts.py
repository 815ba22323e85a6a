"""Parts of a log whose blocks of whole episodes can be read from anywhere."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import stream_sums
from dfiv_ope.ope import streamed

# Columns of rows by name.
_Rows = dict[str, np.ndarray]
_EPISODE, _FIRST, _BEHAVIOUR = 'episode', 'first', 'behaviour'


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
    held: list[_Rows] = []
    size = 0
    for start, stop in zip(marks[:-1], marks[1:], strict=True):
      while not held or position + size < stop:
        log = next(blocks)
        held.append(_rows(log, episode))
        size += len(log)
        episode += log.num_episodes
      if len(held) != 1:
        held = [
          {
            name: np.concatenate([each[name] for each in held])
            for name in held[0]
          }
        ]
      yield _part(_cut(held[0], slice(start - position, stop - position)))
      held = [_cut(held[0], slice(stop - position, None))]
      size -= stop - position
      position = stop


def _rows(log: log_lib.Log, episode: int) -> _Rows:
  """Returns the columns of a log whose first episode has a number."""
  known = log.behaviour_probabilities
  return {
    **log.transitions._asdict(),
    _EPISODE: log.episodes + episode,
    _FIRST: np.diff(log.episodes, prepend=-1) > 0,
    **({} if known is None else {_BEHAVIOUR: known}),
  }


def _cut(rows: _Rows, place: slice) -> _Rows:
  return {name: each[place] for name, each in rows.items()}


def _part(rows: _Rows) -> streamed.Part:
  return streamed.Part(
    types.Transition(*(rows[name] for name in types.Transition._fields)),
    rows[_EPISODE],
    rows['observation'][rows[_FIRST]],
    rows.get(_BEHAVIOUR),
  )
