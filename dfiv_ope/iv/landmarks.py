"""Features of the Gaussian kernel on given rows, by pivoted Cholesky."""

from collections.abc import Mapping

import numpy as np
from scipy import linalg

from dfiv_ope import types
from dfiv_ope.iv import directions

# Rows among which landmarks are picked.
_MOST_ROWS = 10_000


class Landmarks:
  """Features whose inner products are the Gaussian kernel on given rows.

  Exactly so if nothing of the kernel matrix is left; with fewer landmarks than
  that takes, as nearly as those can.
  """

  def __init__(self, columns: int):
    """Initialises the features of `columns` inputs; `adapt` fits them."""
    self._points = np.zeros([0, columns])
    self._bandwidth = np.ones(columns)
    self._factor = np.zeros([0, 0])

  def adapt(
    self,
    x: types.FloatArray,
    bandwidth: types.FloatArray,
    tolerance: float,
    most: int | None = None,
  ) -> None:
    """Picks landmarks among the rows of x [B, D] by pivoted Cholesky.

    Args:
      x: the rows on which the kernel is to be exact, in random order.
      bandwidth: of each column, [D], or of directions (`directions.turned`),
        [D, D].
      tolerance: the rest of the kernel's diagonal at which to stop.
      most: landmarks at which to stop; None for as many as it takes. With
        it, only the first 10,000 rows are looked at.
    """
    if most is not None:
      x = x[:_MOST_ROWS]
    most = len(x) if most is None else min(most, len(x))
    scaled = np.ascontiguousarray(directions.scaled(x, bandwidth).T)  # [D, B]
    rest = np.ones(len(x))
    factor = np.zeros((0, len(x)))
    picked: list[int] = []
    while rest.max() >= tolerance and len(picked) < most:
      if len(picked) == len(factor):
        factor = np.concatenate([factor, np.zeros((256, len(x)))])
      row, done = int(np.argmax(rest)), len(picked)
      distance = np.sum(np.square(scaled - scaled[:, row, None]), axis=0)
      column = np.exp(-distance / 2.0) - factor[:done, row] @ factor[:done]
      factor[done] = column / np.sqrt(rest[row])
      rest -= np.square(factor[done])
      rest[row] = -1.0
      picked.append(row)
    self._points = x[picked]
    self._bandwidth = bandwidth
    # The rows of the landmarks make the triangular factor of their kernel.
    self._factor = np.tril(factor[: len(picked), picked].T)

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, landmarks] of x [B, D], float64."""
    kernel, _, _ = self._kernel(x)
    return linalg.solve_triangular(
      self._factor, kernel, lower=True, check_finite=False
    ).T

  def gradients(
    self, x: types.FloatArray, weights: types.FloatArray
  ) -> types.FloatArray:
    """Returns how features @ weights [landmarks, 1] change with x: [B, D]."""
    kernel, scaled, points = self._kernel(x)
    of_points = linalg.solve_triangular(
      self._factor, weights, lower=True, trans='T', check_finite=False
    )
    weighed = (kernel * of_points).T  # [B, landmarks]
    slopes = weighed @ points - np.sum(weighed, axis=1)[:, None] * scaled
    if self._bandwidth.ndim == 1:
      return slopes / self._bandwidth
    return np.linalg.solve(self._bandwidth, slopes.T).T

  def _kernel(
    self, x: types.FloatArray
  ) -> tuple[types.FloatArray, types.FloatArray, types.FloatArray]:
    """Returns the kernel [landmarks, B], and rows and landmarks scaled."""
    scaled = directions.scaled(np.asarray(x, np.float64), self._bandwidth)
    points = directions.scaled(self._points, self._bandwidth)
    distance = (
      np.sum(np.square(scaled), axis=1)
      + np.sum(np.square(points), axis=1)[:, None]
      - 2.0 * points @ scaled.T
    )
    return np.exp(-np.maximum(distance, 0.0) / 2.0), scaled, points

  def state(self) -> Mapping[str, types.FloatArray]:
    """Returns what `restore` needs."""
    return {
      'points': self._points,
      'bandwidth': self._bandwidth,
      'factor': self._factor,
    }

  def restore(self, state: Mapping[str, types.FloatArray]) -> None:
    """Takes what `state` of other landmarks returned."""
    self._points = state['points']
    self._bandwidth = state['bandwidth']
    self._factor = state['factor']
