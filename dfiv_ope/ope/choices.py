"""What a policy does in many states, coded by the kinds of its decisions.

A deterministic policy of A actions makes A different decisions, and one that
adds a share of random actions no more. Their codes take a byte a state, and
states in which several policies decide alike can be found and counted once.
"""

from typing import NamedTuple, Self

import numpy as np

from dfiv_ope import types

# Kinds of decisions that are told apart; a policy with more has no codes.
_MOST_KINDS = 32
# States that show whether a policy has so few.
_TRIED = 1_000


class Choices(NamedTuple):
  """A policy's probabilities in N states.

  Attributes:
    table: of each kind of decision, [P, A]; of each state if there are no
      codes, [N, A].
    codes: which kind each state has, uint8 [N]; None if kinds are too many.
  """

  table: types.FloatArray
  codes: np.ndarray | None

  @classmethod
  def of(cls, probabilities: types.FloatArray) -> Self:
    """Returns probabilities [N, A] coded, if they are of few kinds."""
    stride = -(-len(probabilities) // _TRIED)
    if len(np.unique(probabilities[::stride], axis=0)) > _MOST_KINDS:
      return cls(probabilities, None)
    codes = np.zeros(len(probabilities), np.uint8)
    left = np.arange(len(probabilities))
    kinds: list[types.FloatArray] = []
    while len(left) and len(kinds) < _MOST_KINDS:
      kinds.append(probabilities[left[0]])
      same = np.all(probabilities[left] == kinds[-1], axis=1)
      codes[left[same]] = len(kinds) - 1
      left = left[~same]
    if len(left):
      return cls(probabilities, None)
    return cls(np.stack(kinds), codes)

  @property
  def size(self) -> int:
    """Bytes that it takes."""
    return self.table.nbytes + (0 if self.codes is None else self.codes.nbytes)

  def at(self, rows: np.ndarray | slice) -> types.FloatArray:
    """Returns the probabilities in some of the states, [B, A]."""
    if self.codes is None:
      return self.table[rows]
    return self.table[self.codes[rows]]
