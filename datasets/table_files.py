"""Columns of numbers from a CSV or Parquet file, by name.

file = table_files.TableFile(path)     # reads the header only
file.check(['price', 'sales'])
file.read(['price', 'sales']).numbers['price']      # float64 [n]
"""

from collections.abc import Callable, Sequence
import difflib
import hashlib
import pathlib
from typing import TYPE_CHECKING, Any, NamedTuple

from dfiv_ope.datasets import csv_text

# Arrays are needed once a header is right; a wrong one is told at once.
if TYPE_CHECKING:
  import numpy as np

_CSV, _PARQUET = ('.csv', '.csv.gz'), ('.parquet', '.pq')
# Names and characters of a cell that a sentence has room for.
_SHOWN, _LONGEST = 20, 40
_MISSING = ('', 'na', 'nan', 'none', 'null')


class Table(NamedTuple):
  """What was read.

  Attributes:
    numbers: the columns that were asked for, float64 [n] each.
    others: all others, as the file has them, [n]; empty if not asked for.
    order: names of both, in the order of the file.
    labels: of groups, [n] each.
  """

  numbers: dict[str, 'np.ndarray']
  others: dict[str, 'np.ndarray']
  order: list[str]
  labels: dict[str, 'np.ndarray']

  def digest(self) -> str:
    """Returns the SHA-256 of names and values, whatever file they are from."""
    total = hashlib.sha256()
    for name, values in self.numbers.items():
      total.update(repr(name).encode('utf-8', 'backslashreplace'))
      total.update(values.astype('<f8').tobytes())
    for name, labels in self.labels.items():
      if name not in self.numbers:
        text = repr((name, [str(label) for label in labels]))
        total.update(text.encode('utf-8', 'backslashreplace'))
    return total.hexdigest()


class TableFile:
  """A file whose columns have names."""

  def __init__(self, path: pathlib.Path):
    """Reads the names of the columns.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: it is neither CSV nor Parquet.
    """
    self.path = path
    if not path.exists():
      raise FileNotFoundError(f'There is no file {path}.')
    if path.is_dir():
      raise ValueError(f'{path} is a directory. Name a CSV or Parquet file.')
    name = path.name.lower()
    if name.endswith(_PARQUET):
      from dfiv_ope.datasets.formats import parquet_file

      self._parquet: Any = parquet_file.ParquetFile(path)
      self.columns = list(self._parquet.columns)
    elif name.endswith(_CSV):
      self._parquet = None
      self.columns = csv_text.header(path)
    else:
      raise ValueError(
        f'{path} is neither CSV nor Parquet by its name. The name should end '
        f'in {", ".join((*_CSV, *_PARQUET))}.'
      )

  def check(self, names: Sequence[str]) -> None:
    """Refuses names that the file does not have, or has twice.

    Raises:
      ValueError: says which, and which ones there are.
    """
    missing = [name for name in names if name not in self.columns]
    if missing:
      raise ValueError(
        f'{self.path.name} has no column '
        f'{", ".join(map(repr, missing))}.{self._hint(missing[0])} Its '
        f'columns are: {_listed(self.columns)}.'
      )
    twice = [name for name in names if self.columns.count(name) > 1]
    if twice:
      raise ValueError(
        f'{self.path.name} has {self.columns.count(twice[0])} columns named '
        f'{twice[0]!r}, so it is not clear which one is meant. Rename them.'
      )

  def read(
    self,
    names: Sequence[str],
    *,
    labels: Sequence[str] = (),
    keep_others: bool = False,
    progress: Callable[[float], None] | None = None,
  ) -> Table:
    """Reads columns of numbers.

    Args:
      names: which ones, each once.
      labels: columns whose values only tell rows apart; they may be text, or
        be among `names`.
      keep_others: whether to return the other columns as well.
      progress: called with the share of the file that has been read.

    Raises:
      ValueError: a cell is missing, or is not a finite number; the message
        names its row, as an editor counts those of a CSV, from 1 in Parquet.
    """
    import numpy as np

    self.check([*names, *labels])
    texts = [name for name in labels if name not in names]
    others = [name for name in self.columns if name not in (*names, *texts)]
    if keep_others:
      self.check(others)
    wanted = [*names, *texts, *(others if keep_others else ())]
    parts: dict[str, list[Any]] = {name: [] for name in wanted}
    gaps: dict[str, list[int]] = {}
    source = self._parquet
    if source is None:
      from dfiv_ope.datasets.formats import csv_file

      source = csv_file.CSVFile(self.path)
    for chunk in source.chunks(wanted, text=wanted[len(names) :]):
      for name in names:
        numbers = self._numbers(name, chunk.columns[name], chunk.rows)
        empty = np.isnan(numbers)
        if empty.any():
          gaps.setdefault(name, []).extend(chunk.rows[empty].tolist())
        parts[name].append(numbers)
      for name in wanted[len(names) :]:
        values = np.asarray(chunk.columns[name], object)
        if name in texts:
          empty = np.array([_is_missing(each) for each in values], bool)
          if empty.any():
            gaps.setdefault(name, []).extend(chunk.rows[empty].tolist())
        parts[name].append(values)
      if progress is not None:
        progress(chunk.share)
    self._refuse_gaps(gaps)
    if not parts[wanted[0]] or not len(parts[wanted[0]][0]):
      raise ValueError(f'{self.path.name} has no rows below its header.')
    whole = {name: np.concatenate(each) for name, each in parts.items()}
    return Table(
      {name: whole[name] for name in names},
      {name: whole[name] for name in wanted[len(names) + len(texts) :]},
      [name for name in self.columns if name in whole and name not in texts],
      {name: whole[name] for name in labels},
    )

  def _numbers(
    self, name: str, values: Any, rows: 'np.ndarray'
  ) -> 'np.ndarray':
    """Returns a column as float64 [n], nan where cells are missing."""
    import numpy as np

    values = np.asarray(values)
    if values.ndim != 1 or values.dtype.kind not in 'biufO':
      raise ValueError(
        f'{self.path.name}: {name} holds values of type {values.dtype}'
        f'{" with several numbers a row" * (values.ndim > 1)}, not numbers. '
        'Make numbers of it first.'
      )
    if values.dtype.kind != 'O':
      numbers = values.astype(np.float64)
    else:
      numbers = np.empty(len(values))
      for place, value in enumerate(values):
        numbers[place] = self._number(name, value, int(rows[place]))
    if np.isinf(numbers).any():
      place = int(np.argmax(np.isinf(numbers)))
      raise ValueError(
        f'{self.path.name}, row {rows[place]}: {name} is infinite. Correct '
        'or drop this row.'
      )
    return numbers

  def _number(self, name: str, value: Any, row: int) -> float:
    """Returns a cell as a number, nan where it is missing."""
    if _is_missing(value):
      return float('nan')
    try:
      # Python would take 1_000 for a number, which no other program does.
      if '_' not in str(value):
        return float(value)
    except (TypeError, ValueError):
      pass
    raise ValueError(
      f'{self.path.name}, row {row}: {name} is {str(value)[:_LONGEST]!r}, '
      'which is not a number. Correct it, or encode categories as numbers '
      'first, such as a column of 0 and 1 for each.'
    )

  def _refuse_gaps(self, gaps: dict[str, list[int]]) -> None:
    """Refuses missing values, with how many there are of each column."""
    if not gaps:
      return
    rows = sorted({row for each in gaps.values() for row in each})
    counts = ', '.join(f'{name}: {len(each)}' for name, each in gaps.items())
    raise ValueError(
      f'{self.path.name} has missing values in {len(rows):,} '
      f'{"row" if len(rows) == 1 else "rows"} ({counts}; the first in row '
      f'{rows[0]}). Drop these rows or fill the cells; nothing is dropped '
      'silently.'
    )

  def _hint(self, name: str) -> str:
    """Says which column may be meant."""
    if len(self.columns) == 1 and any(
      mark in self.columns[0] for mark in ';\t|'
    ):
      return ' Its cells should be separated by commas.'
    lower = {each.lower().strip(): each for each in reversed(self.columns)}
    near = difflib.get_close_matches(name.lower().strip(), lower, n=1)
    return f' Did you mean {lower[near[0]]!r}?' if near else ''


def _is_missing(value: Any) -> bool:
  return value is None or str(value).strip().lower() in _MISSING


def _listed(names: Sequence[str]) -> str:
  more = len(names) - _SHOWN
  return ', '.join(names[:_SHOWN]) + (f' and {more} more' if more > 0 else '')
