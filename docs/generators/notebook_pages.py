"""Notebooks as pages: their text, their code and what it printed."""

import json
import pathlib
from typing import Any

from dfiv_ope.launch.reporting import svg


def markdown(path: pathlib.Path) -> str:
  """Returns a notebook as Markdown, with a link to download it."""
  parts, title = [], path.stem
  cells = json.loads(path.read_text(encoding='utf-8'))['cells']
  for place, cell in enumerate(cells):
    source = ''.join(cell['source'])
    if cell['cell_type'] == 'markdown':
      parts.append(source)
      title = _title(source) or title
    else:
      parts.append(f'```python\n{source}\n```')
      parts += [
        _output(each, f'cell{place}', title) for each in cell['outputs']
      ]
  parts.insert(1, f'[Download this notebook]({path.name})')
  return '\n\n'.join(parts) + '\n'


def _title(source: str) -> str:
  """Returns the first heading of a text, if it has one."""
  return next(
    (line.lstrip('# ') for line in source.splitlines() if line[:1] == '#'), ''
  )


def _output(output: dict[str, Any], name: str, title: str) -> str:
  if output['output_type'] == 'stream':
    return f'```text\n{"".join(output["text"]).rstrip()}\n```'
  data = output['data']
  if 'image/svg+xml' in data:
    picture = svg.inline(''.join(data['image/svg+xml']), name, title)
    return f'<div class="notebook-output notebook-figure">{picture}</div>'
  if 'text/html' in data:
    # A blank line would end the block of HTML.
    lines = ''.join(data['text/html']).splitlines()
    return '<div class="notebook-output">{}</div>'.format(
      '\n'.join(line for line in lines if line.strip())
    )
  return f'```text\n{"".join(data["text/plain"])}\n```'
