"""Names of columns and labels of rows, where users pass data frames.

Arrays and lists have neither: their rows and columns count by position. Frames
have both, and a position that contradicts a label is never used silently.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

Names = tuple[str, ...]


def names(name: str, values: Any) -> Names | None:
  """Returns the names of the columns; None where there are none.

  Args:
    name: what to call the values in an error.
    values: what a user passed.

  Raises:
    ValueError: two columns have one name.
  """
  if isinstance(values, pd.Series):
    return None if values.name is None else (str(values.name),)
  if not isinstance(values, pd.DataFrame):
    return None
  labels = tuple(str(label) for label in values.columns)
  twice = sorted({label for label in labels if labels.count(label) > 1})
  if twice:
    raise ValueError(
      f'{name} has several columns named {twice[0]!r}, so columns cannot be '
      'told apart by name. Rename or drop them.'
    )
  return labels


def check_rows(members: Mapping[str, Any]) -> None:
  """Raises a ValueError where frames of the same rows have other labels.

  Args:
    members: what a user passed, by name; those without labels go along.
  """
  labelled = [
    (name, values.index)
    for name, values in members.items()
    if isinstance(values, pd.Series | pd.DataFrame)
  ]
  for name, index in labelled[1:]:
    first, wanted = labelled[0]
    # Another number of rows is refused elsewhere, with the numbers.
    if len(index) != len(wanted) or index.equals(wanted):
      continue
    row = next(
      (
        row
        for row, (one, other) in enumerate(zip(index, wanted, strict=True))
        if one != other
      ),
      None,
    )
    if row is None:  # Equal labels of other types, such as time zones.
      continue
    same = sorted(map(str, index)) == sorted(map(str, wanted))
    raise ValueError(
      f'{name} and {first} have '
      f'{"the same labels in another order" if same else "other labels"}: '
      f'row {row} is {index[row]!r} in {name} and {wanted[row]!r} in '
      f'{first}. Pass {name}.loc[{first}.index], or {name}.to_numpy() if the '
      'rows correspond as they stand.'
    )


def aligned(name: str, values: Any, wanted: Names | None) -> Any:
  """Returns values with their columns in the order of the fit.

  Args:
    name: what to call the values in an error.
    values: what a user passed; without names they stay as they are.
    wanted: the names of the fit; None if it had none.

  Raises:
    ValueError: the names are not those of the fit.
  """
  if wanted is None:
    return values
  if isinstance(values, pd.Series):
    labels = [str(label) for label in values.index]
    if sorted(labels) == sorted(wanted):  # A row of a frame.
      return values.iloc[[labels.index(label) for label in wanted]].to_numpy()
  given = names(name, values)
  if given is None or given == wanted:
    return values
  missing = [label for label in wanted if label not in given]
  extra = [label for label in given if label not in wanted]
  if missing or extra:
    parts = [
      f'{what} {_listed(labels)}'
      for what, labels in (('lacks', missing), ('has the unknown', extra))
      if labels
    ]
    raise ValueError(
      f'{name} {" and ".join(parts)}; the fit had {_listed(wanted)}. Pass '
      f'{"it" if len(wanted) == 1 else "these"} by name, or an array in this '
      'order.'
    )
  return values.iloc[:, [given.index(label) for label in wanted]]


def shown(columns: Names | None, most: int) -> str:
  """Returns names for a summary, ' (a, b and 3 more)'; empty for None."""
  if not columns:
    return ''
  more = len(columns) - most
  return f' ({", ".join(columns[:most])}{f" and {more} more" * (more > 0)})'


def _listed(labels: list[str] | Names) -> str:
  return ', '.join(repr(label) for label in labels)


def kinds(values: Any) -> list[str]:
  """Returns numpy's letter for the type of each column of a frame or series."""
  if isinstance(values, pd.Series):
    return [values.dtype.kind]
  if not isinstance(values, pd.DataFrame):
    return []
  return [dtype.kind for dtype in values.dtypes]


def texts(values: Any) -> str:
  """Returns which columns of a frame are no numbers: ': region, firm'."""
  if not isinstance(values, pd.DataFrame):
    return ''
  found = [
    str(name)
    for name, column in values.items()
    if not pd.api.types.is_numeric_dtype(column)
  ]
  return f': {", ".join(found)}' if found else ''


def labels(member: str, given: Names | None, count: int) -> Names:
  """Returns names of columns: the given ones, or T, or T0, T1, ...

  Args:
    member: 'T' or another.
    given: names of a frame's columns; None for an array.
    count: number of columns.
  """
  if given is not None:
    return given
  if count == 1:
    return (member,)
  return tuple(f'{member}{place}' for place in range(count))
