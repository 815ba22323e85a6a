"""Files that are there whole or not at all, and directories to throw away."""

import pathlib
import shutil


def write(path: pathlib.Path, text: str) -> None:
  """Writes a file so that it is there whole or not at all."""
  partial = path.with_name(f'{path.name}.partial')
  partial.write_text(text, encoding='utf-8')
  partial.replace(path)


def remove(path: pathlib.Path) -> None:
  """Removes a directory of intermediate files, if it is there."""
  shutil.rmtree(path, ignore_errors=True)
