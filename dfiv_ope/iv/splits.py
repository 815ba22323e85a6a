"""Repeated random splits of the rows into the halves of the two stages.

Methods that learn or choose something fit one half and judge it on the other,
so which row is in which half decides part of the answer. The mean over several
splits depends less on it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dfiv_ope import types

# Rows that all splits of a default fit have together, about.
_ROWS = 10_000
# With fewer rows, the split of a single fit is worth a warning.
FEW_ROWS = 1000
# Splits to propose where a fit had one.
PROPOSED = 5


class SplitWarning(UserWarning):
  """One random split of few rows decides part of the answer."""


class Split(NamedTuple):
  """One split.

  Attributes:
    seed: seeds what else is random in the fit.
    halves: the rows of each stage.
  """

  seed: int
  halves: tuple[types.FloatArray, types.FloatArray]


def number(rows: int, most: int) -> int:
  """Returns how many splits a fit averages by default.

  As many as have about 10,000 rows together, at most `most`, at least one: so
  the default costs about as much as one fit of 10,000 rows, or less.
  """
  return max(1, min(most, -(-_ROWS // rows)))


def checked(count: Any) -> int:
  """Returns a number of splits that a user asked for.

  Raises:
    ValueError: it is none.
  """
  if (
    isinstance(count, bool)
    or not isinstance(count, int | np.integer)
    or count < 1
  ):
    raise ValueError(
      'n_splits must be a positive int, or None for a number by the rows, '
      f'got {count!r}.'
    )
  return int(count)


def draw(rows: int, count: int, seed: int) -> Iterator[Split]:
  """Yields splits; the first is the same whatever their number.

  Args:
    rows: number of rows.
    count: number of splits.
    seed: seeds all of them.
  """
  for index in range(count):
    own = derived(seed, index)
    order = np.random.default_rng(own).permutation(rows)
    first, second = np.array_split(order, 2)
    yield Split(own, (first, second))


def derived(seed: int, index: int) -> int:
  """Returns the seed of one of several fits; the first has `seed` itself."""
  if not index:
    return seed
  return int(np.random.SeedSequence((seed, index)).generate_state(1)[0] >> 1)


def spread(predictions: types.FloatArray, scale: float) -> float:
  """Returns the standard deviation over splits as a share of a scale.

  Args:
    predictions: of each split at the same points, [splits, n].
    scale: of the outcome.

  Returns:
    The root of its mean square over the points; nan for one split.
  """
  if len(predictions) < 2:
    return float('nan')
  return float(np.sqrt(np.mean(np.var(predictions, axis=0, ddof=1))) / scale)


def lines(count: int, spread_of_one: float) -> list[str]:
  """Returns what a summary says of splits."""
  if count == 1:
    return [
      f'random splits       1; n_splits={PROPOSED} tells how far others differ'
    ]
  return [
    f'random splits       {count}, averaged',
    f'  sd over splits    {spread_of_one:.2g} of the sd of Y for one, about '
    f'{spread_of_one / np.sqrt(count):.2g} for their mean',
  ]


def few_rows(rows: int) -> str:
  """Says that one split of few rows decides part of the answer."""
  return (
    f'One random split of {rows} rows into two halves decides part of this '
    f'fit; another random_state may change it. n_splits={PROPOSED} averages '
    f'over splits, at {PROPOSED} times the cost, and summary() then tells '
    'how far they differ.'
  )
