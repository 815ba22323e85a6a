"""Notebooks as pages: their text, their code and what it printed."""

import json
import pathlib
from typing import Any


def markdown(path: pathlib.Path) -> str:
  """Returns a notebook as Markdown, with a link to download it."""
  parts = []
  for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
    source = ''.join(cell['source'])
    if cell['cell_type'] == 'markdown':
      parts.append(source)
    else:
      parts.append(f'```python\n{source}\n```')
      parts += [_output(each) for each in cell['outputs']]
  parts.insert(1, f'[Download this notebook]({path.name})')
  return '\n\n'.join(parts) + '\n'


def _output(output: dict[str, Any]) -> str:
  if output['output_type'] == 'stream':
    return f'```text\n{"".join(output["text"]).rstrip()}\n```'
  data = output['data']
  if 'text/html' in data:
    # A blank line would end the block of HTML.
    lines = ''.join(data['text/html']).splitlines()
    return '<div class="notebook-output">{}</div>'.format(
      '\n'.join(line for line in lines if line.strip())
    )
  return f'```text\n{"".join(data["text/plain"])}\n```'
