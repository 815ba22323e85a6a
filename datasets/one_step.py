"""Bandit logs: every row is an episode of one step, which terminates it."""

from collections.abc import Iterator, Sequence

from dfiv_ope.datasets.formats import source


class OneStep(source.Source):
  """Adds to the columns of a log that each row is an episode of its own."""

  def __init__(self, log: source.Source):
    """Takes a log without episodes."""
    self._log = log
    self.columns = [
      *(name for name in log.columns if name != source.EPISODE),
      source.EPISODE,
    ]
    self.actions, self.categories = log.actions, log.categories

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    wanted = [name for name in columns if name != source.EPISODE]
    kept = [name for name in text if name != source.EPISODE]
    for chunk in self._log.chunks(wanted, text=kept):
      yield chunk._replace(
        columns={**chunk.columns, source.EPISODE: chunk.rows}
      )

  def place(self, row: int) -> tuple[str, int]:
    return self._log.place(row)
