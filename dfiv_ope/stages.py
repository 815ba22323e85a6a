"""How long work is told of, without knowing who listens.

    with progress('Collecting', 1_000) as update:
      update(500, '500 transitions')

A command hands in its progress bars; a program that hands in nothing hears
nothing.
"""

from collections.abc import Callable
import contextlib

# Called with how much is done, and maybe a note.
Update = Callable[..., None]
# Called with the title of a stage and its amount of work; None if unknown.
Progress = Callable[
  [str, float | None], contextlib.AbstractContextManager[Update]
]


def silent(
  title: str, total: float | None = None
) -> contextlib.AbstractContextManager[Update]:
  """Tells nobody."""
  del title, total
  return contextlib.nullcontext(_ignore)


def _ignore(done: float, note: str = '') -> None:
  del done, note
