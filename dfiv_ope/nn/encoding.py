"""What a state is to the methods: its raw columns, encoded.

A column of numbers is standardised, in float64, because a Unix time in float32
has steps of two minutes. A categorical column, whose values are names, becomes
one indicator for each of its categories. Policies see raw columns; networks,
features and distances see what this module makes of them.

    states = encoding.fit(observations, categorical=[0])
    states.apply(observation)          # float32 [B, K]
    states.invert(states.apply(s))     # s again, float64 [B, D]
"""

from collections.abc import Mapping, Sequence
import dataclasses

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.nn import scaling

# Where all columns are categorical and the log has at most as many different
# states, a state is a cell of a table. With 500 of them and 6 actions a Gram
# matrix of their indicators has 72 MB.
MOST_CELLS = 2_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoding:
  """A map from raw to encoded observations.

  Encoded are the columns of numbers first, then the indicators of each
  categorical column.

  Attributes:
    numbers: which raw columns are numbers.
    standardiser: of these.
    categories: the values of each categorical column, rising.
    cells: all different states of the log, encoded, [C, K], where these are
      few and all columns are categorical; else None.
  """
  numbers: tuple[int, ...]
  standardiser: scaling.Standardiser
  categories: Mapping[int, tuple[float, ...]] = dataclasses.field(
      default_factory=dict)
  cells: types.FloatArray | None = None

  @property
  def size(self) -> int:
    """Number of entries of an encoded observation, K."""
    return len(self.numbers) + sum(map(len, self.categories.values()))

  def apply(self, observation: tf.Tensor) -> tf.Tensor:
    """Returns raw observations [B, D] encoded, float32 [B, K].

    A value that is no category of its column has no indicator at all.
    """
    raw = tf.cast(observation, tf.float64)
    if not self.categories:
      return tf.cast(self.standardiser.apply(raw), tf.float32)
    parts = [tf.cast(self.standardiser.apply(
        tf.gather(raw, self.numbers, axis=1)), tf.float32)
    ] if self.numbers else []
    parts += [
        tf.cast(raw[:, column, None] == tf.constant(values, tf.float64),
                tf.float32)
        for column, values in self.categories.items()]
    return tf.concat(parts, axis=1)

  def invert(self, encoded: tf.Tensor) -> tf.Tensor:
    """Returns encoded observations [B, K] on their raw scale, float64 [B, D].

    Of a categorical column it is the category with the largest entry.
    """
    encoded = tf.cast(encoded, tf.float64)
    if not self.categories:
      return self.standardiser.invert(encoded)
    columns: dict[int, tf.Tensor] = {}
    if self.numbers:
      raw = self.standardiser.invert(encoded[:, :len(self.numbers)])
      columns = dict(zip(
          self.numbers, tf.unstack(raw, axis=1), strict=True))
    for column, part in self._indicators(encoded):
      columns[column] = tf.gather(
          tf.constant(self.categories[column], tf.float64),
          tf.argmax(part, axis=1))
    return tf.stack([columns[index] for index in sorted(columns)], axis=1)

  def nearest(self, encoded: tf.Tensor) -> tf.Tensor:
    """Returns [B, K] with one indicator in each categorical column.

    A model of the environment draws numbers; the largest is the category.
    """
    if not self.categories:
      return encoded
    return tf.concat([encoded[:, :len(self.numbers)], *(
        tf.one_hot(tf.argmax(part, axis=1), part.shape[1], dtype=encoded.dtype)
        for _, part in self._indicators(encoded))], axis=1)

  def _indicators(self, encoded: tf.Tensor) -> list[tuple[int, tf.Tensor]]:
    """Returns the categorical columns and their part of the entries."""
    sizes = [len(values) for values in self.categories.values()]
    parts = tf.split(encoded[:, len(self.numbers):], sizes, axis=1)
    return list(zip(self.categories, parts, strict=True))


class Cells(tf.Module):
  """The indicator of a state among finitely many: features of a table."""

  def __init__(self, cells: types.FloatArray, *, columns: int):
    """Initialises the features.

    Args:
      cells: encoded states, [C, K].
      columns: how many categorical columns they have.
    """
    super().__init__('cells')
    self._columns = columns
    self._cells = tf.Variable(cells, dtype=tf.float32, trainable=False)

  def __call__(self, encoded: tf.Tensor) -> tf.Tensor:
    """Returns which cell each of [B, K] is, float64 [B, C]."""
    equal = tf.matmul(encoded, self._cells, transpose_b=True)
    return tf.cast(equal > self._columns - 0.5, tf.float64)


def fit(
    *observations: types.FloatArray, categorical: Sequence[int] = (),
) -> Encoding:
  """Returns the encoding of a log's observations.

  Args:
    *observations: raw, [B, D] each. The first has the scales; categories are
      looked for in all of them.
    categorical: columns whose values are names.

  Raises:
    ValueError: there is no such column.
  """
  first = np.asarray(observations[0], np.float64)
  size = first.shape[1]
  for column in categorical:
    if not 0 <= column < size:
      raise ValueError(
          f'There is no observation column {column}; the log has {size}, '
          'counted from 0.')
  numbers = tuple(
      column for column in range(size) if column not in set(categorical))
  encoding = Encoding(
      numbers=numbers,
      standardiser=scaling.fit_standardiser(first[:, list(numbers)]),
      categories={
          column: tuple(np.unique(np.concatenate(
              [np.asarray(each)[:, column] for each in observations]
          ).astype(np.float64)).tolist())
          for column in sorted(set(categorical))})
  if numbers:
    return encoding
  states = np.unique(np.concatenate(
      [np.asarray(each, np.float64) for each in observations]), axis=0)
  if len(states) > MOST_CELLS:
    return encoding
  return dataclasses.replace(encoding, cells=encoding.apply(states).numpy())
