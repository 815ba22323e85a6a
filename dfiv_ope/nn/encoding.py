"""What a state, or an action that is a vector, is to the methods: encoded.

A column of numbers is standardised, in float64, because a Unix time in float32
has steps of two minutes, and its tails, if they are long, are drawn in. A
categorical column, whose values are names, is kept as the place of its
category, so that a log of 20,000 categories takes no more memory than one of
numbers; networks, features and distances expand it to one indicator for each
category. Policies see raw columns.

    states = encoding.fit(observations, categorical=[0])
    states.compact(observation)        # float32 [B, N + C]
    states.apply(observation)          # the same expanded, float32 [B, K]
    states.invert(states.compact(s))   # s again, float64 [B, D]
"""

from collections.abc import Mapping, Sequence
import dataclasses

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import scaling, tensors

# Keys of table cells are whole numbers below this.
_MOST_KEYS = 2**62


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoding:
  """A map from raw to encoded rows.

  Compact are the N columns of numbers first, then the place of the category in
  each of C categorical columns, -1 for a value that is none. Expanded are the
  numbers and the indicators of all categories.

  Attributes:
    numbers: which raw columns are numbers.
    standardiser: of these.
    categories: the values of each categorical column, rising.
    cells: keys of all different states of the log, rising, int64 [M], where
      all columns are categorical; else None.
    dropped: raw columns that are not encoded, with the value that they have
      where rows are inverted.
  """

  numbers: tuple[int, ...]
  standardiser: scaling.Standardiser
  categories: Mapping[int, tuple[float, ...]] = dataclasses.field(
    default_factory=dict
  )
  cells: np.ndarray | None = None
  dropped: Mapping[int, float] = dataclasses.field(default_factory=dict)

  @property
  def size(self) -> int:
    """Number of entries of an expanded row, K."""
    return len(self.numbers) + sum(self.category_sizes)

  @property
  def category_sizes(self) -> list[int]:
    """Number of categories of each categorical column."""
    return [len(values) for values in self.categories.values()]

  @property
  def raw_size(self) -> int:
    """Number of entries of a raw row, D."""
    return len(self.numbers) + len(self.categories) + len(self.dropped)

  def compact(self, raw: types.Array) -> types.Array:
    """Returns raw rows [B, D] as numbers and places, float32 [B, N + C]."""
    raw = tensors.cast(raw, np.float64)
    if not self.categories and not self.dropped:
      return tensors.cast(self.standardiser.apply(raw), np.float32)
    parts = (
      [
        tensors.cast(
          self.standardiser.apply(
            tensors.gather(raw, list(self.numbers), axis=1)
          ),
          np.float32,
        )
      ]
      if self.numbers
      else []
    )
    for column, values in self.categories.items():
      known = np.asarray(values, np.float64)
      place = tensors.minimum(
        tensors.search(known, raw[:, column]), len(values) - 1
      )
      found = tensors.gather(known, place) == raw[:, column]
      parts.append(
        tensors.cast(tensors.where(found, place, -1), np.float32)[:, None]
      )
    return tensors.concat(parts, axis=1)

  def require_known(self, raw: types.FloatArray) -> None:
    """Refuses raw rows [B, D] with a value that is no category of its column.

    Raises:
      ValueError: there is one, of which the log tells nothing.
    """
    for column, values in self.categories.items():
      asked = np.asarray(raw, np.float64)[:, column]
      unknown = ~np.isin(asked, values)
      if np.any(unknown):
        row = int(np.argmax(unknown))
        raise ValueError(
          f'Row {row} has {asked[row]:g} in column {column}, which is '
          f'categorical and has {len(values):,} '
          f'categor{"y" if len(values) == 1 else "ies"} in the log, not this '
          'one: the log tells nothing of it. Leave such rows out.'
        )

  def expand(self, compact: types.Array) -> types.Array:
    """Returns compact rows with indicators instead of places, [B, K].

    A value that is no category of its column has no indicator at all.
    """
    if not self.categories:
      return compact
    count = len(self.numbers)
    return tensors.concat(
      [
        compact[:, :count],
        *(
          tensors.one_hot(
            tensors.cast(compact[:, count + index], np.int32),
            size,
            dtype=compact.dtype,
          )
          for index, size in enumerate(self.category_sizes)
        ),
      ],
      axis=1,
    )

  def apply(self, raw: types.Array) -> types.Array:
    """Returns raw rows [B, D] expanded, float32 [B, K]."""
    return self.expand(self.compact(raw))

  def collapse(self, expanded: types.Array) -> types.Array:
    """Returns [B, K] compact: of a categorical column the largest entry.

    A model of the environment draws numbers; the largest is the category.
    """
    if not self.categories:
      return expanded
    start = len(self.numbers)
    parts = [expanded[:, :start]]
    for size in self.category_sizes:
      _, place = tensors.largest(expanded[:, start : start + size], 1)
      parts.append(tensors.cast(place, expanded.dtype))
      start += size
    return tensors.concat(parts, axis=1)

  def invert(self, compact: types.Array) -> types.Array:
    """Returns compact rows on their raw scale, float64 [B, D]."""
    compact = tensors.cast(compact, np.float64)
    if not self.categories and not self.dropped:
      return self.standardiser.invert(compact)
    count = len(self.numbers)
    columns: dict[int, types.Array] = {
      column: tensors.fill(compact, [tensors.rows(compact)], value, np.float64)
      for column, value in self.dropped.items()
    }
    if self.numbers:
      raw = self.standardiser.invert(compact[:, :count])
      columns.update(
        {column: raw[:, index] for index, column in enumerate(self.numbers)}
      )
    for index, (column, values) in enumerate(self.categories.items()):
      columns[column] = tensors.gather(
        np.asarray(values, np.float64),
        tensors.cast(compact[:, count + index], np.int32),
      )
    return tensors.stack([columns[index] for index in sorted(columns)], axis=1)

  def cell(self, compact: types.Array) -> types.Array:
    """Returns the place of states among the cells, int64 [B].

    It is the number of cells for a state that the log does not have.
    """
    assert self.cells is not None, 'A column is not categorical.'
    keys = _keys(tensors.cast(compact, np.int64), self.category_sizes)
    place = tensors.search(self.cells, keys)
    near = tensors.gather(
      self.cells, tensors.minimum(place, len(self.cells) - 1)
    )
    return tensors.where(near == keys, place, len(self.cells))

  def cell_states(self) -> types.FloatArray:
    """Returns the cells as compact rows, float32 [M, C]."""
    assert self.cells is not None, 'A column is not categorical.'
    rest, places = self.cells, []
    for size in reversed(self.category_sizes):
      rest, place = np.divmod(rest, size + 1)
      places.append(place - 1)
    return np.stack(places[::-1], axis=1).astype(np.float32)


def _keys(places: types.Nest, sizes: Sequence[int]) -> types.Nest:
  """Returns one number for places [B, C], -1 among them, of each row: [B]."""
  keys = 0 * places[:, 0]
  for index, size in enumerate(sizes):
    keys = keys * (size + 1) + places[:, index] + 1
  return keys


class Cells:
  """The indicator of a state among finitely many: features of a table."""

  def __init__(self, states: Encoding):
    """Initialises the features of states that have `cells`."""
    self._states = states

  def __call__(
    self, compact: types.Array, out: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns which cell each compact row is, float64 [B, M]."""
    assert self._states.cells is not None
    place = tensors.array(self._states.cell(compact))
    if out is None:
      out = np.empty((len(place), len(self._states.cells)))
    out[:] = tensors.one_hot(place, out.shape[1], np.float64)
    return out


def fit(
  *raw: types.FloatArray,
  categorical: Sequence[int] = (),
  dropped: Sequence[int] = (),
) -> Encoding:
  """Returns the encoding of a log's observations, or of its action vectors.

  Args:
    *raw: rows, [B, D] each. The first has the scales; categories are looked
      for in all of them.
    categorical: columns whose values are names.
    dropped: columns of numbers that are left out.

  Raises:
    ValueError: there is no such column.
  """
  first = np.asarray(raw[0], np.float64)
  size = first.shape[1]
  for column in categorical:
    if not 0 <= column < size:
      raise ValueError(
        f'There is no observation column {column}; the log has {size}, '
        'counted from 0.'
      )
  numbers = tuple(
    column for column in range(size) if column not in {*categorical, *dropped}
  )
  encoding = Encoding(
    numbers=numbers,
    dropped={column: float(np.median(first[:, column])) for column in dropped},
    standardiser=scaling.fit_standardiser(first[:, list(numbers)], tails=True),
    categories={
      column: tuple(
        np.unique(
          np.concatenate([np.asarray(each)[:, column] for each in raw]).astype(
            np.float64
          )
        ).tolist()
      )
      for column in sorted(set(categorical))
    },
  )
  keys = np.prod([float(each + 1) for each in encoding.category_sizes])
  if numbers or keys >= _MOST_KEYS:
    return encoding
  places = np.concatenate(
    [tensors.array(encoding.compact(each)).astype(np.int64) for each in raw]
  )
  return dataclasses.replace(
    encoding, cells=np.unique(_keys(places, encoding.category_sizes))
  )
