"""Reads the tables of Markdown pages, such as those of docs/results."""

import pathlib

Line = dict[str, str]


def read(path: pathlib.Path) -> list[list[Line]]:
  """Returns the tables of a page, each as lines by column name."""
  tables, lines = [], []
  for text in [*path.read_text(encoding='utf-8').splitlines(), '']:
    if text.startswith('|'):
      # A bar inside a cell is written \|.
      cells = text.replace('\\|', '\0').strip().strip('|').split('|')
      lines.append([cell.strip().replace('\0', '|') for cell in cells])
    elif lines:
      head, _, *rows = lines
      tables.append([dict(zip(head, row, strict=False)) for row in rows])
      lines = []
  return tables


def with_columns(path: pathlib.Path, *names: str) -> list[list[Line]]:
  """Returns the tables of a page that have all these columns."""
  return [
    table for table in read(path) if table and set(names) <= set(table[0])
  ]


def write(head: list[str], rows: list[list[str]], *, text: int = 1) -> str:
  """Returns a table in Markdown.

  Args:
    head: names of columns.
    rows: cells.
    text: how many columns from the left are text; the others are numbers.
  """
  rule = ['---' if place < text else '---:' for place in range(len(head))]
  return (
    '\n'.join(
      '|' + '|'.join(cells) + '|'
      if cells is rule
      else '| ' + ' | '.join(cells) + ' |'
      for cells in (head, rule, *rows)
    )
    + '\n'
  )
