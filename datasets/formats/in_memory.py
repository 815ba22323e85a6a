"""Logs as columns in memory: arrays by name, or a data frame."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dfiv_ope.datasets.formats import source


class InMemory(source.Source):
  """Columns by name; their rows are numbered from 0, as numpy does."""

  def __init__(
    self,
    columns: Mapping[str, source.Raw],
    *,
    rows: np.ndarray | None = None,
    actions: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
  ):
    """Takes the columns as they are.

    Args:
      columns: by name, [N] or [N, ...].
      rows: what the rows are called in messages, [N]; None for 0, 1, 2, ...
      actions: labels of all actions, if they are known.
      categorical: columns that are known to be so.

    Raises:
      ValueError: the columns have different lengths.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
      said = ', '.join(f'{name} {each:,}' for name, each in lengths.items())
      raise ValueError(
        f'The columns differ in length: {said}. Each row needs all of them.'
      )
    self.columns = list(columns)
    self.actions = actions
    self.categorical = categorical
    self._columns = columns
    self._rows = (
      np.arange(next(iter(lengths.values()), 0)) if rows is None else rows
    )

  def column(self, name: str) -> source.Raw:
    """Returns a whole column."""
    return self._columns[name]

  def chunks(
    self, columns: Sequence[str], *, text: Sequence[str] = ()
  ) -> Iterator[source.Chunk]:
    del text  # Arrays have types.
    count = len(self._rows)
    for start in range(0, count, source.CHUNK_ROWS):
      part = slice(start, start + source.CHUNK_ROWS)
      yield source.Chunk(
        {name: self._columns[name][part] for name in columns},
        self._rows[part],
        min(1.0, part.stop / count),
      )


def of_frame(frame: Any, *, labels: Sequence[str] = ()) -> InMemory:
  """Returns the columns of a pandas data frame.

  Args:
    frame: the rows.
    labels: columns that may be levels of its index instead.

  Raises:
    ValueError: it is not one, or a name is there twice.
  """
  if not hasattr(frame, 'columns') or not hasattr(frame, 'iloc'):
    raise ValueError(
      f'A data frame is wanted, got {type(frame).__name__}. For arrays use '
      'Log.from_arrays, for files Log.open after `dfiv-ope dataset import`.'
    )
  levels = [
    name
    for name in frame.index.names
    if name in labels and name not in frame.columns
  ]
  if levels:
    frame = frame.reset_index(levels)
  names = [str(name) for name in frame.columns]
  twice = sorted({name for name in names if names.count(name) > 1})
  if twice:
    raise ValueError(
      f'The frame has the column {twice[0]} more than once. Rename one.'
    )
  columns: dict[str, source.Raw] = {}
  categorical = []
  for place, name in enumerate(names):
    series = frame.iloc[:, place]
    if series.dtype.name == 'category':
      categorical.append(name)
      series = series.astype(object)
    # Types of pandas' own have missing values that numpy does not know.
    columns[name] = (
      series.to_numpy()
      if isinstance(series.dtype, np.dtype)
      else series.to_numpy(object, na_value=None)
    )
  return InMemory(columns, categorical=categorical)
