"""The behaviour policy of a log whose states are cells of a table.

It is a table of frequencies. Those of a state that is seldom seen are drawn to
those of the whole log: b(a|s) = (n(s, a) + k f(a)) / (n(s) + k), with the k
under which whole episodes that were held out are likeliest.
"""

from collections.abc import Sequence

import numpy as np

from dfiv_ope import types
from dfiv_ope.nn import encoding, tensors

# Candidates of k, in rows; the last is nearly the frequencies of the log.
PRIORS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e9)


class TablePolicy:
  """Probabilities by state, and the frequencies in states not in the log."""

  def __init__(
    self, states: encoding.Encoding, probabilities: types.FloatArray
  ):
    """Initialises the policy.

    Args:
      states: encodes observations, all of them categorical.
      probabilities: of the actions in each cell and, at the end, in others,
        [M + 1, A].
    """
    self._states = states
    self._table = np.asarray(probabilities, np.float32)

  def action_probabilities(self, observation: types.Array) -> types.Array:
    """Returns the estimate of b(.|s), [B, A]."""
    return tensors.gather(
      self._table, self._states.cell(self._states.compact(observation))
    )


def clone(
  cells: np.ndarray,
  actions: np.ndarray,
  held_out: np.ndarray,
  frequencies: types.FloatArray,
  states: encoding.Encoding,
  priors: Sequence[float] = PRIORS,
) -> tuple[TablePolicy, float]:
  """Returns the table and its mean log loss on held-out rows.

  Args:
    cells: of each row's state, [N].
    actions: of each row, [N].
    held_out: which rows choose the prior, [N].
    frequencies: of the actions, [A].
    states: encodes observations.
    priors: candidates of k.
  """
  assert states.cells is not None
  shape = (len(states.cells) + 1, len(frequencies))

  def table(rows: np.ndarray, prior: float) -> types.FloatArray:
    counts = (
      np.bincount(
        cells[rows] * shape[1] + actions[rows], minlength=shape[0] * shape[1]
      ).reshape(shape)
      + prior * frequencies
    )
    return counts / counts.sum(axis=1, keepdims=True)

  def loss(prior: float) -> float:
    taken = table(~held_out, prior)[cells[held_out], actions[held_out]]
    return float(-np.mean(np.log(taken)))

  losses = {prior: loss(prior) for prior in priors}
  best = min(losses, key=lambda prior: losses[prior])
  everything = np.ones(len(cells), bool)
  return TablePolicy(states, table(everything, best)), losses[best]
