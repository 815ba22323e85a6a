"""What share of the passes over a log in parts is done."""

from collections.abc import Callable

from dfiv_ope.agents import memory
from dfiv_ope.ope import streamed


class Count:
  """Counts groups of parts that are done."""

  def __init__(
    self,
    progress: Callable[[float], None],
    survey: streamed.Survey,
    group: int,
    *,
    passes: int,
  ):
    """Begins with none.

    Args:
      progress: told what share is done.
      survey: of the log.
      group: parts of a group.
      passes: over all parts.
    """
    parts = len(memory.marks(survey.transitions)) - 1
    self._total = passes * -(-parts // group)
    self._done = 0
    self._progress = progress

  def __call__(self) -> None:
    """Takes in that a group is done."""
    self._done += 1
    self._progress(min(1.0, self._done / self._total))
