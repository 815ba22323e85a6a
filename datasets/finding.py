"""Whether a path is a dataset, and if not, what to do; known at once."""

import pathlib
import shlex

from dfiv_ope import hints
from dfiv_ope.datasets import formats

# The record, without which a directory is no dataset.
METADATA = 'metadata.json'
# Siblings that are named where none is like what was asked for.
_SHOWN = 5


def is_log(path: pathlib.Path) -> bool:
  """Returns whether a path is a log rather than a dataset of ours."""
  if (path / METADATA).is_file() or not path.exists():
    return False
  return path.is_file() or formats.of_directory(path) is not None


def require(path: pathlib.Path) -> None:
  """Refuses what is no complete dataset.

  Args:
    path: what was given for the directory of a dataset.

  Raises:
    FileNotFoundError: there is nothing, or no complete dataset.
    ValueError: it is a log, which must be imported first, or another file.
  """
  if (path / METADATA).is_file():
    return
  if path.name == METADATA and path.is_file():
    raise ValueError(
      f'{path} is the record of a dataset. Name its directory: {path.parent}.'
    )
  if is_log(path):
    out = path.with_name(f'{path.name.lstrip(".").split(".")[0]}-dataset')
    raise ValueError(
      f'{path} is a log, not a dataset. Import it first: dfiv-ope dataset '
      f'import {shlex.quote(str(path))} --out {shlex.quote(str(out))}'
    )
  if path.exists():
    raise FileNotFoundError(
      f'{path} holds no complete dataset (no {METADATA}). Make one with '
      '`dfiv-ope dataset make`, or of a log with `dfiv-ope dataset import`.'
    )
  raise FileNotFoundError(_missing(path))


def _missing(path: pathlib.Path) -> str:
  """Returns what to say of a path where there is nothing."""
  start = f'There is no dataset {path}'
  siblings = _datasets(path.parent)
  guess = hints.near(path.name, siblings)
  if guess is not None:
    return f'{start}: did you mean {path.with_name(guess)}?'
  advice = (
    'Make one with `dfiv-ope dataset make`, or of a log with `dfiv-ope '
    'dataset import`.'
  )
  if not siblings:
    return f'{start}. {advice}'
  more = ', ...' if len(siblings) > _SHOWN else ''
  return (
    f'{start}. The datasets beside it are '
    f'{", ".join(siblings[:_SHOWN])}{more}. {advice}'
  )


def _datasets(folder: pathlib.Path) -> list[str]:
  """Returns the names of the datasets in a folder, none if it is not there."""
  try:
    return sorted(
      each.name for each in folder.iterdir() if (each / METADATA).is_file()
    )
  except OSError:
    return []
