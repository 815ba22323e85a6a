"""All methods as their registry entries describe them."""

from collections.abc import Mapping
from typing import Any

from dfiv_ope import agents, registry
from dfiv_ope.iv import methods
from dfiv_ope.launch import console

_ROOMS: Mapping[str, Mapping[str, registry.Entry]] = {
  'Off-policy evaluation': agents.ENTRIES,
  'Instrumental-variable regression': methods.ENTRIES,
}


def data() -> list[dict[str, Any]]:
  """Returns the methods of both rooms as JSON data."""
  return [
    {
      'for': room,
      'name': name,
      'label': entry.style.label,
      'family': entry.style.family,
      'when': entry.when,
      'cpu_seconds': round(entry.seconds(entry.configs['default']), 1),
      'version': entry.version,
    }
    for room, entries in _ROOMS.items()
    for name, entry in entries.items()
  ]


def show() -> None:
  """Prints a table for each room."""
  for room in _ROOMS:
    table = console.Table(
      room,
      caption='CPU s: of one run with the default config on a log of '
      'one of the three tasks, or on 5,000 rows, roughly.',
      boxed=False,
    )
    for column in ('name', 'label', 'family', 'CPU s', 'when to use it'):
      table.add_column(
        column,
        justify='right' if column == 'CPU s' else 'left',
        no_wrap=column == 'name',
      )
    for line in data():
      if line['for'] == room:
        table.add_row(
          line['name'],
          line['label'],
          line['family'],
          f'{line["cpu_seconds"]:g}',
          line['when'],
        )
    table.show()


def markdown() -> str:
  """Returns the tables of docs/methods.md."""
  parts = []
  for room in _ROOMS:
    lines = [
      f'| `{line["name"]}` | {line["label"]} | {line["family"]} | '
      f'{line["cpu_seconds"]:g} | {line["when"]} |'
      for line in data()
      if line['for'] == room
    ]
    parts.append(
      '\n'.join(
        [
          f'## {room}',
          '',
          '| name | method | family | CPU s | when to use it |',
          '|---|---|---|---|---|',
          *lines,
          '',
        ]
      )
    )
  return '\n'.join(parts)
