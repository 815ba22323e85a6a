"""What a person sees: progress, tables, one-sentence errors."""

from collections.abc import Callable, Iterator
import contextlib

from rich import console as rich_console
from rich import progress as rich_progress
from rich import table as rich_table

# Results go to standard output, everything about the work to standard error.
OUTPUT = rich_console.Console()
NOTES = rich_console.Console(stderr=True)

# How often a log without a terminal hears of long work.
_LOG_LINES = 5


@contextlib.contextmanager
def progress(
    title: str, total: float | None = None
) -> Iterator[Callable[..., None]]:
  """Shows a progress bar on a terminal and a few log lines elsewhere.

  Args:
    title: what is being done.
    total: the amount of work, if it is known.

  Yields:
    A function `update(done, note='')`.
  """
  if not NOTES.is_terminal:
    yield _log_lines(title, total)
    return
  with rich_progress.Progress(
      '[bold]{task.description}', rich_progress.BarColumn(),
      rich_progress.TaskProgressColumn(),
      rich_progress.TimeRemainingColumn(),
      '{task.fields[note]}', console=NOTES) as bar:
    task = bar.add_task(title, total=total, note='')
    yield lambda done, note='': bar.update(task, completed=done, note=note)
    bar.update(task, total=total or 1., completed=total or 1.)


def _log_lines(title: str, total: float | None) -> Callable[..., None]:
  shown = 0

  def update(done: float, note: str = '') -> None:
    nonlocal shown
    share = min(done / total, 1.) if total else 0.
    if int(_LOG_LINES * share) > shown:
      shown = int(_LOG_LINES * share)
      NOTES.print(
          f'{title}: {100 * share:.0f} % {note}'.rstrip(), highlight=False)

  NOTES.print(f'{title} ...', highlight=False)
  return update


def card(title: str, rows: list[tuple[str, str]]) -> None:
  """Prints names and values below a title."""
  table = rich_table.Table(
      title=title, title_justify='left', show_header=False, box=None,
      padding=(0, 2, 0, 0))
  table.add_column(style='bold', no_wrap=True)
  table.add_column(overflow='fold')
  for name, value in rows:
    table.add_row(name, value)
  OUTPUT.print(table, highlight=False)


def fail(sentence: str) -> None:
  """Says what went wrong."""
  NOTES.print(f'[bold red]Error:[/] {_escape(sentence)}', highlight=False,
              soft_wrap=True)


def _escape(text: str) -> str:
  return text.replace('[', r'\[')
