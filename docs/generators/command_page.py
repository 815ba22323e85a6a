"""The page of all commands, from the commands themselves."""

import html
import re
from typing import Any

import typer

from dfiv_ope.launch import main

# Of a paragraph that shows a command.
_EXAMPLE = 'dfiv-ope '
_MARKUP = re.compile(r'\[/?(?:bold|italic|dim)\]')


def markdown() -> str:
  """Returns the page."""
  parts = [
    '# Commands',
    '',
    'What `dfiv-ope COMMAND --help` says. `-h` works on every command, '
    '`--version` says which one it is, `--quiet` leaves out notes and '
    'progress, and `dfiv-ope --install-completion` teaches the shell all '
    'names.',
    '',
  ]
  _add(parts, typer.main.get_command(main.app), ['dfiv-ope'])
  return '\n'.join(parts)


def _add(parts: list[str], command: Any, path: list[str]) -> None:
  if hasattr(command, 'commands'):
    if len(path) > 1:
      parts += [f'## {" ".join(path)}', '', _text(command.help), '']
    for name, inner in command.commands.items():
      _add(parts, inner, [*path, name])
    return
  context = command.make_context(path[-1], [], resilient_parsing=True)
  usage = ' '.join(command.collect_usage_pieces(context))
  parts += [
    f'{"#" * len(path)} {" ".join(path)}',
    '',
    _text(command.help),
    '',
    '```text',
    f'{" ".join(path)} {usage}',
    '```',
    '',
    '| option | default | meaning |',
    '|---|---|---|',
  ]
  for each in command.params:
    if each.name == 'help' or getattr(each, 'hidden', False):
      continue
    names = ' '.join(
      f'`{name}`'
      for name in (
        each.opts if each.param_type_name == 'option' else [each.name.upper()]
      )
    )
    parts.append(
      f'| {names} | {_default(each)} | '
      f'{_cell(getattr(each, "help", None) or "")} |'
    )
  parts.append('')


def _default(each: Any) -> str:
  if each.required:
    return 'needed'
  value = each.default
  if value in (None, False, (), []) or callable(value):
    return ''
  if isinstance(value, list | tuple):
    value = ', '.join(map(str, value))
  return f'`{value}`'


def _text(text: str | None) -> str:
  """Returns help as paragraphs."""
  paragraphs = re.split(r'\n\s*\n', (text or '').replace('\b', '').strip())
  return '\n\n'.join(
    f'    {" ".join(each.split())}'
    if each.strip().startswith(_EXAMPLE)
    else _cell(each)
    for each in paragraphs
  )


def _cell(text: str) -> str:
  """Returns text on one line that is safe in a table."""
  plain = html.escape(' '.join(_MARKUP.sub('', text).split()), quote=False)
  return plain.replace('|', '\\|').replace('*', '\\*').replace('[', '\\[')
