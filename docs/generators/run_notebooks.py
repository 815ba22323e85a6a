"""Runs notebooks in this process and stores what they print and show.

    python docs/generators/run_notebooks.py [NOTEBOOK...]

A cell's output is what it prints, and what its last expression shows. No
Jupyter is needed; the result is an ordinary .ipynb file.
"""

import ast
from collections.abc import Iterator
import contextlib
import io
import json
import pathlib
import sys
import tempfile
from typing import Any

import matplotlib as mpl

_DOCS = pathlib.Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(_DOCS.glob('notebooks/*.ipynb'))


@contextlib.contextmanager
def workplace() -> Iterator[None]:
  """A current directory that reads as docs/notebooks, and may be written to."""
  with tempfile.TemporaryDirectory() as directory:
    folder = pathlib.Path(directory)
    (folder / 'results').symlink_to(_DOCS / 'results')
    (folder / 'notebooks').mkdir()
    with contextlib.chdir(folder / 'notebooks'):
      yield


def run(notebook: dict[str, Any]) -> dict[str, Any]:
  """Returns a notebook with the outputs of its cells, run in order.

  Args:
    notebook: as its JSON has it; files that it writes go to the current
      directory.
  """
  space: dict[str, Any] = {'__name__': '__main__'}
  cells, count = [], 0
  with mpl.rc_context():  # What a notebook sets ends with it.
    for cell in notebook['cells']:
      if cell['cell_type'] == 'code':
        count += 1
        outputs = _run_cell(''.join(cell['source']), space, count)
        cell = {**cell, 'execution_count': count, 'outputs': outputs}
      cells.append(cell)
  return {**notebook, 'cells': cells}


def _run_cell(
  source: str, space: dict[str, Any], count: int
) -> list[dict[str, Any]]:
  tree = ast.parse(source)
  last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
  printed = io.StringIO()
  with contextlib.redirect_stdout(printed):
    exec(compile(tree, f'cell {count}', 'exec'), space)
    shown = (
      None
      if last is None
      else eval(
        compile(ast.Expression(last.value), f'cell {count}', 'eval'), space
      )
    )
  outputs: list[dict[str, Any]] = []
  if printed.getvalue():
    outputs.append(
      {
        'output_type': 'stream',
        'name': 'stdout',
        'text': printed.getvalue().splitlines(keepends=True),
      }
    )
  if shown is not None:
    data = {'text/plain': repr(shown).splitlines(keepends=True)}
    if hasattr(shown, 'savefig'):
      data['image/svg+xml'] = _svg(shown).splitlines(keepends=True)
    elif hasattr(shown, '_repr_html_'):
      data['text/html'] = shown._repr_html_().splitlines(keepends=True)
    outputs.append(
      {
        'output_type': 'execute_result',
        'metadata': {},
        'execution_count': count,
        'data': data,
      }
    )
  return outputs


def _svg(figure: Any) -> str:
  """Returns a figure of matplotlib as a file, the same each time."""
  from matplotlib import pyplot as plt

  buffer = io.StringIO()
  with plt.rc_context({'svg.hashsalt': 'notebook'}):
    figure.savefig(buffer, format='svg', metadata={'Date': None})
  plt.close(figure)
  return buffer.getvalue()


def main() -> None:
  """Runs the notebooks that are named, or all, and writes them back."""
  paths = [pathlib.Path(each).resolve() for each in sys.argv[1:]] or NOTEBOOKS
  with workplace():
    for path in paths:
      done = run(json.loads(path.read_text(encoding='utf-8')))
      path.write_text(
        json.dumps(done, indent=1, ensure_ascii=False) + '\n', encoding='utf-8'
      )
      print(path.name)


if __name__ == '__main__':
  main()
