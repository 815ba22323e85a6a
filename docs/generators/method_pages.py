"""Parts of the pages of methods: when, config and measured numbers.

A page, docs/methods/ROOM/NAME.md, has what only a person can write: what the
method does, its equation and its paper. `<!-- when -->`, `<!-- config -->` and
`<!-- measured -->` stand where its registry entry and docs/results go on.
"""

import dataclasses
import inspect
import re
from typing import Any

import demand_errors
import markdown_tables
import quotes

from dfiv_ope import agents, registry
from dfiv_ope.iv import methods as iv_methods

_ROOMS = {'ope': agents.ENTRIES, 'iv': iv_methods.ENTRIES}
_ATTRIBUTE = re.compile(r'^    (\w+): (.*(?:\n {6,}.*)*)', re.MULTILINE)
# Longest default that fits a table.
_SHORT = 60


def labels(room: str) -> dict[str, str]:
  """Returns the labels of a room's methods by name."""
  return {name: entry.style.label for name, entry in _ROOMS[room].items()}


def linked(markdown: str) -> str:
  """Returns the list of all methods with links to their pages."""
  for room, heading in (
    ('ope', '## Off-policy evaluation'),
    ('iv', '## Instrumental-variable regression'),
  ):
    before, line, after = markdown.partition(heading)
    table, next_heading, rest = after.partition('\n## ')
    table = re.sub(
      r'^\| `(\w+)` \|',
      rf'| [`\1`](methods/{room}/\1.md) |',
      table,
      flags=re.MULTILINE,
    )
    markdown = before + line + table + next_heading + rest
  return markdown


def filled(uri: str, markdown: str) -> str:
  """Returns a method's page with the parts that are made."""
  _, room, file = uri.split('/')
  name = file.removesuffix('.md')
  entry = _ROOMS[room][name]
  parts = {
    'when': _when(entry),
    'config': _config(room, name, entry),
    'measured': _measured(room, name),
  }
  for part, text in parts.items():
    markdown = markdown.replace(f'<!-- {part} -->', text)
  return markdown


def attributes(config: type) -> dict[str, str]:
  """Returns what the docstrings of a config and its bases say of fields."""
  found: dict[str, str] = {}
  for each in reversed(config.__mro__):
    words = inspect.cleandoc(each.__doc__ or '')
    _, _, section = words.partition('Attributes:\n')
    for name, text in _ATTRIBUTE.findall(
      '\n'.join('  ' + line for line in section.splitlines())
    ):
      found[name] = ' '.join(text.split())
  return found


def _when(entry: registry.Entry) -> str:
  seconds = entry.seconds(entry.configs['default'])
  return (
    f'!!! tip "When to use it"\n    {entry.when}\n\n'
    f'Family: {entry.style.family}. About {seconds:.2g} CPU seconds a run '
    f'with the default config. Version {entry.version} of its numbers.'
  )


def _config(room: str, name: str, entry: registry.Entry) -> str:
  default = entry.configs['default']
  others = {
    preset: config
    for preset, config in entry.configs.items()
    if preset != 'default'
  }
  words = attributes(type(default))
  rows = []
  for field in dataclasses.fields(default):
    value = getattr(default, field.name)
    told = [f'`{field.name}`', _value(value), words.get(field.name, '')]
    for config in others.values():
      other = getattr(config, field.name)
      told.append('' if other == value else _value(other))
    rows.append([each.replace('|', '\\|') for each in told])
  table = markdown_tables.write(
    ['field', 'default', 'meaning', *(f'`{each}`' for each in others)],
    rows,
    text=3 + len(others),
  )
  how = (
    f'`dfiv-ope evaluate DATA --method {name} --set NAME=VALUE`, or '
    f'`configs={{"{name}": {{...}}}}` of `dfiv_ope.evaluate`.'
    if room == 'ope'
    else f'`dfiv-ope iv fit FILE --method {name} --set NAME=VALUE`, or '
    'arguments of the estimator.'
  )
  variants = ''.join(
    f'\n`{field}={value}` is called "{label}" in tables.\n'
    for field, each in entry.variants.items()
    for value, label in each.items()
  )
  return f'{how}\n\n{table}{variants}'


def _value(value: Any) -> str:
  text = str(value)
  return f'`{text}`' if len(text) <= _SHORT else f'`{text[:_SHORT]}...`'


def _measured(room: str, name: str) -> str:
  parts = _ope(name) if room == 'ope' else _iv(name)
  return (
    '\n'.join(parts)
    if parts
    else (
      'There is no table of this method by itself yet; '
      '[results](../../results/index.md) has comparisons where it takes part.'
    )
  )


def _ope(name: str) -> list[str]:
  parts = []
  errors = quotes.ope_errors(name)
  if errors:
    parts += [
      "Error in % of the truth on the paper's tasks, mean of the seeds "
      '([every seed](../../results/ope.md)):',
      '',
      markdown_tables.write(
        ['task', 'action noise', 'error in %', 'CPU s'],
        [
          [task, noise, line['in %'], line['CPU s']]
          for (task, noise), line in errors.items()
        ],
      ),
    ]
  halves = quotes.suite_lines(name)
  if halves:
    parts += [
      'On the logs with known answers, one log and seed each, intervals of '
      'version 3 '
      '([all of it](../../results/suite.md)):',
      '',
      markdown_tables.write(
        ['half', 'answered', 'median error', 'intervals', 'that hold', 'CPU s'],
        [
          [
            half.replace('_', ' '),
            f'{line["answered"]} of {line["logs"]}',
            f'{100.0 * float(line["median_error"]):.3g} %',
            line['intervals'],
            f'{100.0 * float(line["coverage"]):.3g} %',
            f'{float(line["cpu_seconds"]):.2g}',
          ]
          for half, line in halves.items()
        ],
      ),
    ]
  return parts


def _iv(name: str) -> list[str]:
  found = demand_errors.cells(name)
  if not found:
    return []
  return [
    'Mean squared error on the demand design '
    '([with its range](../../results/demand.md); '
    '[31 other designs](../../results/iv.md)):',
    '',
    markdown_tables.write(
      ['rho', 'n', 'seeds', 'median', 'CPU s'],
      [
        [
          f'{cell.rho:g}',
          f'{cell.n}',
          f'{len(cell.errors)}',
          cell.median,
          f'{cell.seconds:.2g}',
        ]
        for cell in found
      ],
    ),
  ]
