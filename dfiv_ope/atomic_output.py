"""Output directories that are either complete or recognisably not.

A job writes into its output directory beside a marker file, and its record
file comes last. So a directory with a record is complete, one with a marker is
an unfinished job that the same command resumes, and anything else is not ours
and is left alone.
"""

from collections.abc import Iterator, Mapping
import contextlib
import fcntl
import hashlib
import json
import pathlib
from typing import IO, Any

from dfiv_ope import whole_files

_MARKER = 'unfinished.json'
_LOCK = '.lock'


@contextlib.contextmanager
def building(
  out: pathlib.Path, *, record: str, request: Mapping[str, Any]
) -> Iterator[pathlib.Path]:
  """Gives a job its output directory.

  An error removes the directory; a kill or Ctrl-C leaves it for the same
  command to go on with.

  Args:
    out: the directory; new, or left over from the same request.
    record: name of the file that the job writes last.
    request: what is being made; a left-over of another request is refused.

  Yields:
    The directory.

  Raises:
    FileExistsError: the directory holds something else, or another process is
      at work in it.
  """
  _claim(out, record=record, request=request)
  with (out / _MARKER).open('r+') as marker:
    _lock(marker, out)
    try:
      yield out
    except Exception:
      whole_files.remove(out)
      raise
  (out / _MARKER).unlink()


def name(readable: str, content: Any) -> str:
  """Returns a name of a directory that people can read and no other has.

  Args:
    readable: how it begins.
    content: what is made there, as JSON data.
  """
  text = json.dumps(content, sort_keys=True)
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{readable}-{digest}'.replace('.', 'p').replace(':', '-')


def _claim(
  out: pathlib.Path, *, record: str, request: Mapping[str, Any]
) -> None:
  """Makes the directory, or recognises it as left over from the request."""
  marker = out / _MARKER
  wanted = json.dumps(request, sort_keys=True)
  if not out.exists():
    # Under another name first: a kill must not leave it without its marker.
    fresh = out.with_name(f'.{out.name}.new')
    whole_files.remove(fresh)
    try:
      fresh.mkdir(parents=True)
      (fresh / _MARKER).write_text(wanted)
      fresh.rename(out)
    except OSError:
      whole_files.remove(fresh)
      raise
    return
  if (out / record).exists():
    marker.unlink(missing_ok=True)
  if not marker.is_file():
    raise FileExistsError(
      f'{out} exists, and nothing is ever overwritten. Choose another --out '
      'or remove it.'
    )
  if marker.read_text() != wanted:
    raise FileExistsError(
      f'{out} holds an unfinished job with other settings '
      f'({marker.read_text()}). Run that command again to finish it, choose '
      'another --out, or remove it.'
    )


@contextlib.contextmanager
def exclusive(out: pathlib.Path) -> Iterator[None]:
  """Keeps a run directory, which is made if it is missing, for one process.

  Raises:
    FileExistsError: another process is at work in it.
  """
  out.mkdir(parents=True, exist_ok=True)
  with (out / _LOCK).open('w') as file:
    _lock(file, out)
    yield


def _lock(file: IO[str], out: pathlib.Path) -> None:
  """Takes the lock of a directory until the file is closed."""
  try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except BlockingIOError as error:
    raise FileExistsError(
      f'Another process is working in {out}. Wait for it, or choose '
      'another --out.'
    ) from error
