"""The outlines of dSprites' shapes and which pixels lie inside them.

Every picture is a shape moved by its latent classes, and a pixel is lit if its
centre is inside. The rows of pixels cross an outline in a few points that do
not depend on the horizontal position but for a shift: a table of them is made
once a shape, and a row of pixels is one 64-bit word made from it.
"""

from collections.abc import Iterator
import functools

import numpy as np

from dfiv_ope import types

SQUARE, ELLIPSE, HEART = range(3)
# The value of each class.
SCALES = np.linspace(0.5, 1.0, 6)
ORIENTATIONS = np.linspace(0.0, 2.0 * np.pi, 40)
POSITIONS = np.linspace(0.0, 1.0, 32)
WIDTH = 64

# A centre is 16 + 32 k / 31 pixels from the corner for class k. In units of
# 1/31 pixel that is 496 + 32 k, so sums of borders and centres are exact.
_UNITS = 31
_CENTRES = 16 * _UNITS + 32 * np.arange(32)
# The last orientation is a whole turn: the same picture as the first.
_TURN = 39
# No outline is farther than 13.6 pixels from its centre.
_REACH = 14
_ROWS = 2 * _REACH + 1
# A horizontal line crosses a heart at most four times.
_CROSSINGS = 4
# Entry b has the bits of the pixels of a row whose centre is left of b/31 + 1/2
# pixels. The exclusive or of the entries of all crossings fills the row.
_PREFIX = (
  np.uint64(1)
  << (-(-np.arange((WIDTH - 1) * _UNITS + 1) // _UNITS)).astype(np.uint64)
) - np.uint64(1)
# Half the side of the square and half the axes of the ellipse; found, like the
# numbers of the heart, by matching real pictures.
_HALF_SIDE = 9.598
_HALF_AXES = (12.766, 7.2135)
_VERTICES = 2**14


def row_masks(
  shape: int,
  scale: np.ndarray,
  orientation: np.ndarray,
  pos_x: np.ndarray,
  pos_y: np.ndarray,
) -> np.ndarray:
  """Returns the lit pixels of each row, bit j for column j: uint64 [n, 64].

  Args:
    shape: SQUARE, ELLIPSE or HEART.
    scale: classes 0 to 5, int64 [n].
    orientation: classes 0 to 39, int64 [n].
    pos_x: classes 0 to 31, int64 [n].
    pos_y: classes 0 to 31, int64 [n].
  """
  masks = np.zeros((len(scale), WIDTH), np.uint64)
  borders = _crossings(shape)[orientation % _TURN, scale, pos_y]
  masks[
    np.arange(len(scale))[:, None],
    _first_row(pos_y)[:, None] + np.arange(_ROWS),
  ] = np.bitwise_xor.reduce(
    _PREFIX[borders + 32 * pos_x[:, None, None]], axis=1
  )
  return masks


def _outline(shape: int) -> tuple[types.FloatArray, types.FloatArray]:
  """Returns the corners (u, v) of a shape of scale 1, v downwards."""
  if shape == SQUARE:
    side = _HALF_SIDE
    return (
      np.array([-side, side, side, -side]),
      np.array([-side, -side, side, side]),
    )
  # A polygon so fine that it is within 1e-6 pixels of the curve.
  t = np.arange(_VERTICES) * (2.0 * np.pi / _VERTICES)
  if shape == ELLIPSE:
    return _HALF_AXES[0] * np.cos(t), _HALF_AXES[1] * np.sin(t)
  u = 9.5941 * np.sin(t) ** 3
  v = (
    -10.5950
    / 16.0
    * (
      13.0 * np.cos(t)
      - 5.0 * np.cos(2.0 * t)
      - 2.0 * np.cos(3.0 * t)
      - np.cos(4.0 * t)
    )
    - 1.43666
  )
  return u, v


def _first_row(pos_y: np.ndarray) -> np.ndarray:
  """Returns the topmost row of pixels that a shape can reach."""
  return _CENTRES[pos_y] // _UNITS - _REACH


@functools.cache
def _crossings(shape: int) -> np.ndarray:
  """Returns where the rows of pixels cross the outline, for pos_x = 0.

  Returns:
    int16 [39 orientations, 6 scales, 32 pos_y, 4 crossings, 29 rows] of
    entries of the prefixes, 1.7 MB. Rows with fewer crossings repeat an entry
    an even number of times, which lights nothing.
  """
  u, v = _outline(shape)
  rows = _first_row(np.arange(32))[:, None] + np.arange(_ROWS) + 0.5
  heights = rows - (_CENTRES / _UNITS)[:, None]  # [32, 29]
  heights = heights / SCALES[:, None, None]  # [6, 32, 29]
  table = np.zeros((_TURN, len(SCALES), 32, _CROSSINGS, _ROWS), np.int16)
  for turn in range(_TURN):
    cosine, sine = np.cos(ORIENTATIONS[turn]), np.sin(ORIENTATIONS[turn])
    x, y = cosine * u + sine * v, cosine * v - sine * u
    count = np.zeros(heights.shape, np.int64)
    for branch_x, branch_y in _branches(x, y):
      hit = np.nonzero((heights >= branch_y[0]) & (heights < branch_y[-1]))
      border = np.interp(heights[hit], branch_y, branch_x) * SCALES[hit[0]]
      table[turn, hit[0], hit[1], count[hit], hit[2]] = (
        np.ceil(_UNITS * (border - 0.5)) + _CENTRES[0]
      )
      count[hit] += 1
  return table


def _branches(
  x: types.FloatArray, y: types.FloatArray
) -> Iterator[tuple[types.FloatArray, types.FloatArray]]:
  """Yields the parts of a closed outline where y rises or falls, as rising."""
  start = np.argmin(y)
  x, y = (np.append(np.roll(each, -start), each[start]) for each in (x, y))
  direction = np.sign(np.diff(y))
  turns = np.flatnonzero(np.diff(direction)) + 1
  for first, last in zip([0, *turns], [*turns, len(direction)], strict=True):
    if direction[first]:
      order = int(direction[first])
      yield x[first : last + 1][::order], y[first : last + 1][::order]
