"""Files of predictions beside the columns that they are for."""

from collections.abc import Sequence
import csv
import io
import pathlib
from typing import TYPE_CHECKING, Any

from dfiv_ope import whole_files
from dfiv_ope.datasets import table_files

if TYPE_CHECKING:
  import numpy as np

COLUMN = 'prediction'


def claim(names: Sequence[str], out: pathlib.Path | None) -> None:
  """Refuses a file that cannot be written, and a column that is there.

  Raises:
    FileExistsError: the file exists; nothing is ever overwritten.
    ValueError: there is a column named like that of predictions.
  """
  if COLUMN in names:
    raise ValueError(
      f'The file has a column named {COLUMN!r} already. Rename or drop it.'
    )
  if out is not None and out.exists():
    raise FileExistsError(
      f'{out} exists, and nothing is ever overwritten. Choose another --out '
      'or remove it.'
    )


def csv_text(table: table_files.Table, values: 'np.ndarray') -> str:
  """Returns the columns of a table and the predictions as CSV."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow([*table.order, COLUMN])
  parts = [
    _written(table.numbers[name])
    if name in table.numbers
    else ['' if _is_missing(cell) else cell for cell in table.others[name]]
    for name in table.order
  ]
  writer.writerows(zip(*parts, values.tolist(), strict=True))
  return text.getvalue()


def write(
  out: pathlib.Path, table: table_files.Table, values: 'np.ndarray'
) -> None:
  """Writes the same as a file, whole or not at all."""
  out.parent.mkdir(parents=True, exist_ok=True)
  whole_files.write(out, csv_text(table, values))


def _written(values: 'np.ndarray') -> list[float] | list[int]:
  """Returns numbers as they are written: whole ones without a point."""
  whole = (values % 1.0 == 0.0).all() and (abs(values) < 2.0**53).all()
  return values.astype(int).tolist() if whole else values.tolist()


def _is_missing(cell: Any) -> bool:
  return cell is None or cell != cell  # nan is not itself
