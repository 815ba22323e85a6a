"""Directories of `iv fit`: a model, its summary, its table, its page.

`summary.json` says that a directory is one, and has the SHA-256 of each other
file. A directory is made under another name and put in its place whole.
"""

from collections.abc import Mapping
import hashlib
import json
import os
import pathlib
from typing import TYPE_CHECKING, Any

from dfiv_ope import whole_files
from dfiv_ope.iv import methods, roles

if TYPE_CHECKING:
  from dfiv_ope.iv import iv_estimator

SUMMARY, EFFECTS, PAGE = 'summary.json', 'effects.csv', 'index.html'
_MODEL = 'model'
_KIND, _FORMAT = 'dfiv-ope iv fit', 1


def claim(out: pathlib.Path) -> None:
  """Refuses a directory that holds anything but an older fit.

  Raises:
    FileExistsError: it does; nothing else is ever overwritten.
    PermissionError: it cannot be made.
  """
  above = next(each for each in out.resolve().parents if each.exists())
  if not above.is_dir() or not os.access(above, os.W_OK):
    raise PermissionError(
      f'{out} cannot be made, because nothing can be written in {above}. '
      'Choose another --out.'
    )
  if not out.exists():
    return
  if not out.is_dir():
    raise FileExistsError(f'{out} is a file. Choose a directory as --out.')
  if out.resolve() == pathlib.Path.cwd():
    raise FileExistsError(
      '--out is the current directory. Name a new directory in it.'
    )
  files = _files(out)
  if not files:
    return
  try:
    record = _record(out)
  except (OSError, ValueError) as error:
    raise FileExistsError(
      f'{out} holds something that is not a fit, and nothing else is ever '
      'overwritten. Choose another --out or empty it.'
    ) from error
  foreign = sorted(set(files) - {SUMMARY, *record['files']})
  if foreign:
    raise FileExistsError(
      f'{out} holds {foreign[0]}, which `iv fit` did not write, and nothing '
      'else is ever overwritten. Move it away or choose another --out.'
    )


def write(
  out: pathlib.Path,
  estimator: 'iv_estimator.IVEstimator',
  summary: Mapping[str, Any],
  files: Mapping[str, bytes],
) -> None:
  """Writes a fit, and replaces an older one.

  Args:
    out: new, empty, or of an older fit.
    estimator: fitted.
    summary: JSON data.
    files: other files by name.

  Raises:
    FileExistsError: the directory holds something else.
  """
  out = out.resolve()
  fresh, old = (
    out.with_name(f'.{out.name}.{os.getpid()}.{what}')
    for what in ('new', 'old')
  )
  try:
    fresh.mkdir(parents=True)
    estimator.save(fresh / _MODEL)
    for name, content in files.items():
      (fresh / name).write_bytes(content)
    record = {
      'kind': _KIND,
      'format': _FORMAT,
      **summary,
      'files': {name: _digest(fresh / name) for name in _files(fresh)},
    }
    (fresh / SUMMARY).write_text(
      json.dumps(record, indent=1, allow_nan=False) + '\n', encoding='utf-8'
    )
    claim(out)
    if out.exists():
      out.rename(old)
    fresh.rename(out)
  finally:
    if old.exists() and not out.exists():  # It was stopped in between.
      old.rename(out)
    whole_files.remove(fresh)
    whole_files.remove(old)


def read(directory: pathlib.Path) -> tuple[dict[str, Any], roles.Roles]:
  """Returns the summary of a fit and the roles of its columns.

  Raises:
    FileNotFoundError: there is no such directory, or it holds no fit.
    ValueError: its summary, or a file of its model, is damaged.
  """
  if not directory.exists():
    raise FileNotFoundError(f'There is no model {directory}.')
  if not (directory / SUMMARY).is_file():
    raise FileNotFoundError(
      f'{directory} is no model: {SUMMARY} is missing. Name the directory '
      'given to `dfiv-ope iv fit` as --out.'
    )
  record = _record(directory)
  try:
    names = record['columns']
    columns = roles.Roles(
      outcome=_text(names['outcome']),
      treatment=_texts(names['treatment']),
      instrument=_texts(names['instrument']),
      covariate=_texts(names['covariate']),
    )
    if record['method'] not in methods.NAMES:
      raise ValueError(f'there is no method {record["method"]!r}')
    for each in record['statistics']:
      float(each['least']), float(each['greatest']), _text(each['name'])
  except (AttributeError, KeyError, TypeError, ValueError) as error:
    raise ValueError(
      f'{directory / SUMMARY} is damaged ({error}). Fit once more, or copy '
      'the directory again.'
    ) from error
  return record, columns


def load(
  directory: pathlib.Path, record: Mapping[str, Any]
) -> 'iv_estimator.IVEstimator':
  """Returns the fitted estimator of a directory.

  Args:
    directory: of a fit.
    record: its summary.

  Raises:
    ValueError: a file of the model is missing or is another one.
  """
  wanted = {
    name: digest
    for name, digest in record['files'].items()
    if name.startswith(f'{_MODEL}/')
  }
  present = {
    name: _digest(directory / name)
    for name in _files(directory)
    if name.startswith(f'{_MODEL}/')
  }
  for name in sorted({*wanted, *present}):
    if wanted.get(name) != present.get(name):
      what = (
        'is missing'
        if name not in present
        else ('is not the file that `iv fit` wrote')
      )
      raise ValueError(
        f'{directory / name} {what}. Copy the whole directory once more, or '
        'fit again.'
      )
  from dfiv_ope.iv import estimators

  return estimators.load(directory / _MODEL)


def _record(directory: pathlib.Path) -> dict[str, Any]:
  """Returns the summary of a directory.

  Raises:
    ValueError: it is none, or of another version.
  """
  path = directory / SUMMARY
  try:
    record = json.loads(path.read_text(encoding='utf-8'))
  except ValueError as error:
    raise ValueError(f'{path} is not JSON: {error}.') from error
  if (
    not isinstance(record, dict)
    or record.get('kind') != _KIND
    or (not isinstance(record.get('files'), dict))
  ):
    raise ValueError(f'{path} is not the summary of a `dfiv-ope iv fit`.')
  if record.get('format') != _FORMAT:
    raise ValueError(
      f'{path} has format {record.get("format")!r}; this version reads '
      f'{_FORMAT}.'
    )
  return record


def _text(value: Any) -> str:
  if not isinstance(value, str):
    raise TypeError(f'{value!r} is not the name of a column')
  return value


def _texts(values: Any) -> tuple[str, ...]:
  if not isinstance(values, list):
    raise TypeError(f'{values!r} is not a list of names')
  return tuple(map(_text, values))


def _files(directory: pathlib.Path) -> list[str]:
  """Returns the files in a directory and below, by their path inside it."""
  return sorted(
    path.relative_to(directory).as_posix()
    for path in directory.rglob('*')
    if not path.is_dir()
  )


def _digest(path: pathlib.Path) -> str:
  with path.open('rb') as file:
    return hashlib.file_digest(file, 'sha256').hexdigest()
