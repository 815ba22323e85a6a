"""The gridworld of COBS: 8 x 8 squares from the left or upper edge to a goal.

A step costs 0.01, onto a field 0.005 and into a hole 0.5; the goal in the lower
right corner pays 1 and ends the episode, which is over after 25 steps. A
stochastic step goes in any direction with probability 0.2. Walls are the edges.
"""

import numpy as np

from dfiv_ope.cases import finite

# F field, H hole, G goal. The map is ours: COBS publishes the kinds of squares.
_MAP = (
  '........',
  '..FF....',
  '..FHH...',
  '...H.F..',
  '.H...F..',
  '.HH..H..',
  '....H...',
  '..F....G',
)
_COSTS = {'.': -0.01, 'F': -0.005, 'H': -0.5, 'G': 1.0}
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
_SLIP = 0.2


def gridworld(
  *, stochastic: bool, coordinates: bool = False, complete: bool = True
) -> finite.Finite:
  """Returns the gridworld.

  Args:
    stochastic: whether steps slip.
    coordinates: whether row and column are observed as numbers; otherwise the
      name of the square is.
    complete: whether the value is that of 25 steps; otherwise episodes are
      cut off there.
  """
  side, size = len(_MAP), len(_MAP) ** 2
  pay = np.array([_COSTS[each] for each in ''.join(_MAP)])
  steps = np.zeros((size, len(_MOVES), size))
  for state in range(size):
    row, column = divmod(state, side)
    places = [
      side * min(max(row + down, 0), side - 1)
      + min(max(column + right, 0), side - 1)
      for down, right in _MOVES
    ]
    for action, intended in enumerate(places):
      steps[state, action, intended] += 1.0 - _SLIP * stochastic
      for place in places:
        steps[state, action, place] += _SLIP * stochastic / len(places)
  ends = np.arange(size) == size - 1
  edge = np.array([0 in divmod(state, side) for state in range(size)], float)
  places = np.stack(np.divmod(np.arange(size), side), axis=1)
  return finite.Finite(
    discount=0.99,
    horizon=25,
    complete=complete,
    num_actions=len(_MOVES),
    categorical=() if coordinates else (0,),
    steps=steps,
    rewards=np.broadcast_to(pay, steps.shape),
    ends=ends,
    first=edge / edge.sum(),
    observations=places.astype(float) if coordinates else finite.numbers(size),
  )
