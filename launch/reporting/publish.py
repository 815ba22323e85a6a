"""Writes a report into a directory, whole, and replaces an older one."""

from collections.abc import Mapping
import dataclasses
import json
import pathlib
from typing import Any

from dfiv_ope import atomic_output, visible_text, whole_files
from dfiv_ope.launch.reporting import build, facts
from dfiv_ope.results import rows as rows_lib

# Says that a directory is a report, and which files of it are ours.
_RECORD = 'report.json'
_KIND = 'dfiv-ope report'
# All other files of a report are text.
_PICTURE = '.png'


def publish(
  rows: list[rows_lib.Row], source: str, out: pathlib.Path
) -> pathlib.Path:
  """Makes the report of result rows.

  Args:
    rows: the result rows.
    source: where they are from, to say so.
    out: directory of the report; new, empty, or an older report.

  Returns:
    The page.

  Raises:
    FileExistsError: the directory holds something else.
  """
  old = claimed(out)
  rows = [
    dataclasses.replace(
      row,
      **{
        name: _encodable(getattr(row, name))
        for name in ('problem', 'config', 'reason', 'command', 'versions')
      },
    )
    for row in rows
  ]
  _write(
    out,
    {
      name: content
      if name.endswith(_PICTURE)
      else visible_text.lines(content.decode()).encode()
      for name, content in build.files(rows, source, facts.today()).items()
    },
    old,
  )
  return out / 'index.html'


def _encodable(value: Any) -> Any:
  """Returns texts in which bytes of paths that are not UTF-8 are escapes."""
  if isinstance(value, str):
    return value.encode('utf-8', 'backslashreplace').decode()
  if isinstance(value, Mapping):
    return {_encodable(name): _encodable(each) for name, each in value.items()}
  if isinstance(value, list | tuple):
    return type(value)(map(_encodable, value))
  if dataclasses.is_dataclass(value) and not isinstance(value, type):
    return dataclasses.replace(
      value,
      **{
        field.name: _encodable(getattr(value, field.name))
        for field in dataclasses.fields(value)
      },
    )
  return value


def claimed(out: pathlib.Path) -> list[str]:
  """Returns the files of an older report, and refuses anything else."""
  if not out.exists():
    return []
  if not out.is_dir():
    raise FileExistsError(f'{out} is a file. Choose a directory as --out.')
  try:
    record = json.loads((out / _RECORD).read_text(encoding='utf-8'))
    if record['kind'] == _KIND:
      return [str(name) for name in record['files']]
  except FileNotFoundError:
    if all(path.name.startswith('.') for path in out.iterdir()):
      return []  # At most a lock.
  except (KeyError, TypeError, ValueError):
    pass
  raise FileExistsError(
    f'{out} holds something that is not a report, and nothing else is ever '
    'overwritten. Choose another --out or empty it.'
  )


def _write(
  out: pathlib.Path, content: Mapping[str, bytes], old: list[str]
) -> None:
  """Writes the files, each whole or not at all, and removes older ones.

  The record comes first and names old and new files, so that a report that
  was killed half way is still known as one.
  """
  with atomic_output.exclusive(out):
    whole_files.write(out / _RECORD, _record([*old, *content]))
    for name, data in content.items():
      path = out / name
      path.parent.mkdir(exist_ok=True)
      partial = path.with_name(f'{path.name}.partial')
      try:
        partial.write_bytes(data)
      except OSError:  # the disk is full, say
        partial.unlink()
        raise
      partial.replace(path)
    for name in old:
      path = out / name
      # A record may be anyone's text: only files of the report are removed.
      if name not in content and path.resolve().is_relative_to(out.resolve()):
        path.unlink(missing_ok=True)
    whole_files.write(out / _RECORD, _record([*content]))


def _record(names: list[str]) -> str:
  return json.dumps({'kind': _KIND, 'files': sorted(set(names))}, indent=1)
