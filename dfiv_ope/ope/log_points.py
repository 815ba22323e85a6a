"""Steps of a log as points, and the nearest of them."""

from collections.abc import Mapping
import functools

import numpy as np
from scipy import spatial

from dfiv_ope import types

# Trees are slower than products of matrices beyond as many columns.
TREE_COLUMNS = 20
# States whose neighbours are looked for at once.
_CHUNK = 1_000
# Steps of the log whose own neighbours tell what is near: nearer than the
# third of another episode is to this share of them.
_SAMPLE = 2_000
_THIRD, _NEAR = 3, 0.95
# Neighbours to find three of other episodes among.
_CANDIDATES = 16


class Points:
  """Points [M, D] that hold the steps of a log with equal rows."""

  def __init__(self, rows: types.FloatArray, steps: np.ndarray):
    """Initialises them with rows [n, D] of the log's steps [n]."""
    # By the first column, then the second and so on; equal rows as they come.
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.append(True, np.any(ordered[1:] != ordered[:-1], axis=1))
    self.points = ordered[new]
    self._steps = steps[order]
    self._ends = np.append(np.flatnonzero(new)[1:], len(rows))

  def query(
    self, rows: types.FloatArray, count: int
  ) -> tuple[types.FloatArray, np.ndarray]:
    """Returns distances and places of the nearest points, [B, count]."""
    count = min(count, len(self.points))
    if self._tree is not None:
      distance, place = self._tree.query(rows, k=count)
      return distance.reshape(-1, count), place.reshape(-1, count)
    found = [
      self._dense(rows[start : start + _CHUNK], count)
      for start in range(0, len(rows), _CHUNK)
    ]
    return (
      np.concatenate([each[0] for each in found]),
      np.concatenate([each[1] for each in found]),
    )

  def _dense(
    self, rows: types.FloatArray, count: int
  ) -> tuple[types.FloatArray, np.ndarray]:
    """Returns what `query` does, by a product of matrices."""
    square = np.sum(np.square(rows), axis=1)[:, None] + self._squares
    square -= 2.0 * rows @ self.points.T
    place = np.argpartition(square, count - 1, axis=1)[:, :count]
    near = np.take_along_axis(square, place, axis=1)
    order = np.argsort(near, axis=1)
    place = np.take_along_axis(place, order, axis=1)
    # Rounding keeps equal rows from being at a distance of 0.
    distance = np.linalg.norm(rows[:, None] - self.points[place], axis=2)
    return distance, place

  @functools.cached_property
  def _tree(self) -> spatial.cKDTree | None:
    return (
      spatial.cKDTree(self.points)
      if self.points.shape[1] <= TREE_COLUMNS
      else None
    )

  @functools.cached_property
  def _squares(self) -> types.FloatArray:
    return np.sum(np.square(self.points), axis=1)

  def draw(self, place: np.ndarray, uniforms: types.FloatArray) -> np.ndarray:
    """Returns a step of each point, all of them as likely, [B]."""
    ends = self._ends[place]
    starts = np.where(place > 0, self._ends[place - 1], 0)
    return self._steps[starts + (uniforms * (ends - starts)).astype(np.int64)]

  def any_step(self, place: np.ndarray) -> np.ndarray:
    """Returns the first step of each point."""
    return self._steps[np.where(place > 0, self._ends[place - 1], 0)]


class Named(Points):
  """Points whose entries are names, written as numbers.

  They are as far from each other as indicators of the names: sqrt(2) for one
  entry that differs. Equal ones are looked up at once, however many there are.
  """

  def __init__(self, rows: types.FloatArray, steps: np.ndarray):
    """Initialises them with rows [n, C] of the log's steps [n]."""
    super().__init__(rows, steps)
    self._place = {
      tuple(point): place for place, point in enumerate(self.points)
    }

  def query(
    self, rows: types.FloatArray, count: int
  ) -> tuple[types.FloatArray, np.ndarray]:
    """Returns distance and place of the nearest point, [B, 1]."""
    assert count == 1, 'Of names one point is found.'
    place = np.array(
      [self._place.get(tuple(row), -1) for row in rows], np.int64
    )
    distance = np.zeros(len(rows))
    for row in np.flatnonzero(place < 0):
      different = np.sum(self.points != rows[row], axis=1)
      place[row] = np.argmin(different)
      distance[row] = np.sqrt(2.0 * different[place[row]])
    return distance[:, None], place[:, None]


def own_distance(
  neighbours: Mapping[int, Points],
  rows: types.FloatArray,
  *,
  group: np.ndarray,
  steps: np.ndarray,
  episodes: np.ndarray,
  seed: types.Seed,
) -> float:
  """Returns what distance is near: that of the log's own neighbours.

  Args:
    neighbours: the steps of each group.
    rows: all of these steps, [M, D].
    group: of each, [M].
    steps: their places in the log, [M].
    episodes: of the steps of the log, [N].
    seed: seeds which steps are looked at.
  """
  generator = np.random.default_rng(seed)
  chosen = generator.choice(len(rows), min(_SAMPLE, len(rows)), replace=False)
  found = []
  for name, points in neighbours.items():
    mine = chosen[group[chosen] == name]
    if not len(mine):
      continue
    distance, place = points.query(rows[mine], _CANDIDATES)
    others = episodes[points.any_step(place)] != episodes[steps[mine]][:, None]
    third = np.argmax(np.cumsum(others, axis=1) >= _THIRD, axis=1)
    enough = np.sum(others, axis=1) >= _THIRD
    found.append(
      np.where(
        enough,
        np.take_along_axis(distance, third[:, None], axis=1)[:, 0],
        distance[:, -1],
      )
    )
  return float(np.quantile(np.concatenate(found), _NEAR))
