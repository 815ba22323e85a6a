"""What a person sees: progress, tables, one-sentence errors.

Everything that is printed goes through here as text: what came from a user (a
label, a path, an error of foreign code) is never markup, holds no control
characters that a terminal would obey, and is cut where it is very long.
rich is imported with the first table or progress bar: a shell that completes a
word, and an error that is written to a file, do not wait for it.
"""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any, Literal

from dfiv_ope import visible_text

if TYPE_CHECKING:
  from rich import console as rich_console
  from rich import text as rich_text

# Results go to standard output, everything about the work to standard error.
# None until something is printed.
_OUTPUT: 'rich_console.Console | None' = None
_NOTES: 'rich_console.Console | None' = None
# Whether notes and progress are left out.
_quiet = False

# How often a log without a terminal hears of long work.
_LOG_LINES = 5


def be_quiet(quiet: bool = True) -> None:
  """Leaves out notes and progress from now on; never results or errors."""
  global _quiet
  _quiet = quiet


def _output() -> 'rich_console.Console':
  global _OUTPUT
  if _OUTPUT is None:
    from rich import console as rich_console

    _OUTPUT = rich_console.Console()
  return _OUTPUT


def _notes() -> 'rich_console.Console':
  global _NOTES
  if _NOTES is None:
    from rich import console as rich_console

    _NOTES = rich_console.Console(stderr=True)
  return _NOTES


def accept_all_characters() -> None:
  """Makes streams write what their encoding lacks as escapes, not fail."""
  for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):
      stream.reconfigure(errors='backslashreplace')


def say(text: object) -> None:
  """Prints a line of the result."""
  _print(_output(), visible_text.line(text))


def note(text: object) -> None:
  """Prints a line about the work, unless it shall be quiet."""
  if not _quiet:
    _print(_notes(), visible_text.line(text))


def _print(
  console: 'rich_console.Console', *parts: 'str | tuple[str, str]'
) -> None:
  """Prints a line of texts, and of texts with their styles."""
  from rich import text as rich_text

  console.print(
    rich_text.Text.assemble(*parts), highlight=False, soft_wrap=True
  )


def say_json(text: str) -> None:
  """Prints JSON in ASCII, whole, so that programs can read it."""
  ascii_only = re.sub(
    '[^\n -\x7f]', lambda found: json.dumps(found[0])[1:-1], text
  )
  _print(_output(), ascii_only.replace('\x7f', r'\u007f').rstrip('\n'))


def say_lines(text: str) -> None:
  """Prints many lines of a result, whole, so that programs can read them."""
  _output().file.write(visible_text.lines(text))


def fail(sentence: object, *, details: Iterable[object] = ()) -> None:
  """Says what went wrong, on one line, after a line for each detail."""
  for detail in details:
    print(visible_text.line(detail), file=sys.stderr)
  words = visible_text.line(' '.join(str(sentence).split()))
  if _NOTES is None and not sys.stderr.isatty():
    print(f'Error: {words}', file=sys.stderr)  # at once, and without colours
    return
  _print(_notes(), ('Error:', 'bold red'), f' {words}')


class Table:
  """A table whose title, names and cells are texts."""

  def __init__(self, title: str = '', *, caption: str = '', boxed: bool = True):
    """Makes an empty table.

    Args:
      title: stands above it; may have several lines.
      caption: stands below it.
      boxed: whether it has lines at its sides.
    """
    from rich import box
    from rich import table as rich_table

    style: dict[str, Any] = (
      {}
      if boxed
      else {
        'box': box.SIMPLE,
        'padding': (0, 1, 0, 0),
        'title_justify': 'left',
        'caption_justify': 'left',
      }
    )
    self._table = rich_table.Table(
      title=_lines(title, 'table.title'),
      caption=_lines(caption, 'table.caption'),
      **style,
    )

  def add_column(
    self,
    name: str,
    *,
    justify: Literal['left', 'right'] = 'left',
    no_wrap: bool = False,
    min_width: int | None = None,
  ) -> None:
    """Adds a column."""
    from rich import text as rich_text

    self._table.add_column(
      rich_text.Text(visible_text.line(name)),
      justify=justify,
      no_wrap=no_wrap,
      min_width=min_width,
      overflow='fold',
    )  # half of a number is another number

  def add_row(self, *cells: str) -> None:
    """Adds a row, a cell for each column."""
    from rich import text as rich_text

    self._table.add_row(
      *(rich_text.Text(visible_text.line(cell)) for cell in cells)
    )

  def show(self) -> None:
    """Prints the table as a result."""
    _output().print(self._table, highlight=False)


def _lines(text: str, style: str) -> 'rich_text.Text | None':
  """Returns lines of ours, in which texts of others may stand."""
  if not text:
    return None
  from rich import text as rich_text

  return rich_text.Text(
    '\n'.join(map(visible_text.line, text.split('\n'))), style=style
  )


def card(title: str, rows: list[tuple[str, str]]) -> None:
  """Prints names and values below a title."""
  from rich import table as rich_table
  from rich import text as rich_text

  table = rich_table.Table(
    title=_lines(title, 'table.title'),
    title_justify='left',
    show_header=False,
    box=None,
    padding=(0, 2, 0, 0),
  )
  table.add_column(style='bold', no_wrap=True)
  table.add_column(overflow='fold')
  for name, value in rows:
    table.add_row(
      *(rich_text.Text(visible_text.line(each)) for each in (name, value))
    )
  _output().print(table, highlight=False)


@contextlib.contextmanager
def progress(
  title: str, total: float | None = None
) -> Iterator[Callable[..., None]]:
  """Shows a progress bar on a terminal and a few log lines elsewhere.

  Nothing is shown where it shall be quiet.

  Args:
    title: what is being done.
    total: the amount of work, if it is known.

  Yields:
    A function `update(done, note='')`.
  """
  if _quiet:
    yield lambda done, note='': None
    return
  if not _notes().is_terminal:
    yield _log_lines(title, total)
    return
  from rich import progress as rich_progress

  with rich_progress.Progress(
    rich_progress.TextColumn('{task.description}', style='bold', markup=False),
    rich_progress.BarColumn(),
    rich_progress.TaskProgressColumn(),
    rich_progress.TimeRemainingColumn(),
    rich_progress.TextColumn('{task.fields[note]}', markup=False),
    console=_notes(),
  ) as bar:
    task = bar.add_task(visible_text.line(title), total=total, note='')
    yield lambda done, note='': bar.update(
      task, completed=done, note=visible_text.line(note)
    )
    bar.update(task, total=total or 1.0, completed=total or 1.0)


def _log_lines(title: str, total: float | None) -> Callable[..., None]:
  shown = 0

  def update(done: float, words: str = '') -> None:
    nonlocal shown
    share = min(done / total, 1.0) if total else 0.0
    if int(_LOG_LINES * share) > shown:
      shown = int(_LOG_LINES * share)
      note(f'{title}: {100 * share:.0f} % {words}'.rstrip())

  note(f'{title} ...')
  return update
