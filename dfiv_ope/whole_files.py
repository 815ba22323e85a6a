"""Files that are there whole or not at all, and directories to throw away."""

import pathlib
import shutil


def write(path: pathlib.Path, content: str | bytes) -> None:
  """Writes a file so that it is there whole or not at all; text as UTF-8."""
  partial = path.with_name(f'{path.name}.partial')
  partial.write_bytes(content.encode() if isinstance(content, str) else content)
  partial.replace(path)


def remove(path: pathlib.Path) -> None:
  """Removes a directory of intermediate files, if it is there."""
  shutil.rmtree(path, ignore_errors=True)
