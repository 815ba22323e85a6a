"""Rows of a log in memory: batches drawn from them, or all of them in parts.

What `base.Data` asks for; `datasets.sampling` does the same from a server. Rows
that are `np.memmap`s are read from disk as they are asked for.
"""

from collections.abc import Callable, Iterator, Sequence
import functools
import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.agents import row_nests
from dfiv_ope.nn import tensors

if TYPE_CHECKING:
  from dfiv_ope.agents import row_sampling
  from dfiv_ope.ope import task as task_lib

# Rows of a part; even parts make one half of the data, odd parts the other.
_PART_ROWS = 4096
# Bytes of a log whose parts are kept.
_KEPT = 64_000_000


class Parts:
  """All rows in order, in an even number of about equal parts.

  Those of a short log are cut once, however often they are asked for.
  """

  def __init__(self, rows: types.Nest):
    """Initialises them with a nest of arrays or tensors [N, ...]."""
    self._rows = rows
    self._kept: dict[int, types.Nest] = {}
    flat = list(row_nests.leaves(rows))
    self._marks = marks(len(flat[0]))
    self._keep = sum(tensors.array(each).nbytes for each in flat) <= _KEPT

  @property
  def sizes(self) -> list[int]:
    """Rows of each part."""
    return [end - start for start, end in itertools.pairwise(self._marks)]

  def __call__(self) -> Iterator[types.Nest]:
    """Yields the parts."""
    return map(self._part, range(len(self._marks) - 1))

  def only(self, chosen: Sequence[int]) -> Callable[[], Iterator[types.Nest]]:
    """Returns what yields some of the parts, by their numbers."""
    return lambda: map(self._part, chosen)

  def _part(self, place: int) -> types.Nest:
    if place in self._kept:
      return self._kept[place]
    part = row_nests.map_rows(
      operator.itemgetter(slice(self._marks[place], self._marks[place + 1])),
      self._rows,
    )
    if self._keep:
      self._kept[place] = part
    return part


class InMemory:
  """All rows of a log in parts, and batches that are drawn from them.

  Attributes:
    parts: gives all rows.
  """

  def __init__(
    self,
    rows: types.Nest,
    *,
    batch_size: int,
    seed: int,
    parts: Parts | None = None,
  ):
    """Initialises the data.

    Args:
      rows: transitions, or what was made of them: a nest of arrays or tensors
        [N, ...].
      batch_size: rows of a batch.
      seed: same seed, same batches.
      parts: of the same rows, if they are there.
    """
    if batch_size < 1:
      raise ValueError(f'batch_size must be at least 1, got {batch_size}.')
    self._rows = rows
    self.parts: Parts = parts or Parts(rows)
    self._batch_size = batch_size
    self._seed = seed

  @functools.cached_property
  def sampler(self) -> 'row_sampling.Sampler':
    """What draws batches; its state can be saved."""
    from dfiv_ope.agents import row_sampling  # Imports TensorFlow.

    return row_sampling.Sampler(
      self._rows, batch_size=self._batch_size, seed=self._seed
    )

  def sample(self) -> types.Nest:
    """Returns rows drawn uniformly, also inside a `tf.function`."""
    return self.sampler.sample()


def marks(size: int) -> list[int]:
  """Returns where the parts of so many rows begin, and the end of the last."""
  count = 2 * -(-size // (2 * _PART_ROWS))
  return [size * mark // count for mark in range(count + 1)]


def take(rows: types.Nest, index: Any) -> Any:
  """Returns some of the rows, by their numbers."""
  return row_nests.map_rows(lambda x: tensors.gather(x, index), rows)


def of_task(task: 'task_lib.EvaluationTask', rows: np.ndarray) -> types.IVBatch:
  """Returns some rows of a task's regression.

  All rows of a long log are not made for a few of them.

  Args:
    task: the log and the target policy.
    rows: their numbers, rising.
  """
  if 'rows' in vars(task) or len(rows) == len(task.log):
    found: types.IVBatch = take(task.rows, rows)
    return found
  return task.problem.log_rows(
    types.Transition(*(each[rows] for each in task.transitions))
  )
