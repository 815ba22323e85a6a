"""Rows as named tuples of named tuples, whose members are arrays or tensors."""

from collections.abc import Callable, Iterator
from typing import Any

from dfiv_ope import types


def map_rows(
  function: Callable[[types.Array], types.Array], rows: types.Nest
) -> Any:
  """Applies a function to every member of tuples; some are missing."""
  if isinstance(rows, tuple):
    members = tuple(map_rows(function, each) for each in rows)
    return type(rows)(*members) if hasattr(rows, '_fields') else members
  return None if rows is None else function(rows)


def leaves(rows: types.Nest) -> Iterator[types.Array]:
  """Yields every array of nested named tuples."""
  if isinstance(rows, tuple):
    for each in rows:
      yield from leaves(each)
  elif rows is not None:
    yield rows
