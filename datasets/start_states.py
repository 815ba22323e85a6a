"""Start states in a file of their own: CSV, Parquet or npz.

The file has the columns of the observations of a log, by name; an npz may have
one array of all, `observations`. Other columns are of no matter.
"""

from collections.abc import Mapping, Sequence
import pathlib

import numpy as np

from dfiv_ope.datasets import table_files

_ALL = 'observations'


def read(
  path: pathlib.Path,
  names: Sequence[str],
  categories: Mapping[int, Sequence[str]],
) -> np.ndarray:
  """Returns the start states of a file, [M, D].

  Args:
    path: the file.
    names: of the columns of the observations.
    categories: labels of categorical columns, by their place.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it lacks a column, or has a value that is none.
  """
  columns = (
    _npz(path, names)
    if path.name.lower().endswith('.npz')
    else _table(path, names, categories)
  )
  for place, known in categories.items():
    columns[place] = _places(path, names[place], columns[place], known)
  return np.stack([np.asarray(each, np.float64) for each in columns], axis=1)


def _table(
  path: pathlib.Path,
  names: Sequence[str],
  categories: Mapping[int, Sequence[str]],
) -> list[np.ndarray]:
  """Returns the columns of a CSV or Parquet file."""
  file = table_files.TableFile(path)
  file.check(names)
  numbers = [
    name for place, name in enumerate(names) if place not in categories
  ]
  table = file.read(numbers, keep_others=bool(categories))
  return [
    table.numbers[name] if name in numbers else table.others[name]
    for name in names
  ]


def _npz(path: pathlib.Path, names: Sequence[str]) -> list[np.ndarray]:
  """Returns the columns of an npz, together or by name."""
  if not path.is_file():
    raise FileNotFoundError(f'There is no file {path}.')
  with np.load(path, allow_pickle=False) as found:
    if _ALL in found:
      whole = found[_ALL]
      if whole.ndim != 2 or whole.shape[1] != len(names):
        raise ValueError(
          f'{_ALL} of {path.name} has shape {whole.shape}, but start states '
          f'have {len(names)} columns: {", ".join(names)}.'
        )
      return list(whole.T)
    missing = [name for name in names if name not in found]
    if missing:
      raise ValueError(
        f'{path.name} has no array {missing[0]!r} of the start states, and '
        f'no {_ALL!r} with all of them. It has {", ".join(found.files)}.'
      )
    return [found[name] for name in names]


def _places(
  path: pathlib.Path, name: str, values: np.ndarray, known: Sequence[str]
) -> np.ndarray:
  """Returns the places of labels among those that the log has."""
  places = {label: place for place, label in enumerate(known)}
  texts = [_text(value) for value in values]
  unknown = [text for text in texts if text not in places]
  if unknown:
    raise ValueError(
      f'{path.name} has {unknown[0]!r} in the column {name}, which no row of '
      f'the log has. It has {", ".join(known[:20])}.'
    )
  return np.array([places[text] for text in texts], np.float64)


def _text(value: object) -> str:
  """Returns a label as logs have it: whole numbers without a fraction."""
  if isinstance(value, float | np.floating) and float(value).is_integer():
    return str(int(value))
  return str(value).strip()
