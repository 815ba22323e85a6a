"""Dictionaries beside each other, without products of their functions.

    functions = Beside(Part(first, slice(2)), Part(second, slice(2, None)))
    functions.adapt(x)
    functions(x)                                   # [B, size]

Each sees the columns that its part names.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import dictionaries


class Part(NamedTuple):
  """Functions of some columns, times a factor.

  Attributes:
    functions: of these columns.
    columns: which they are.
    factor: with a large one a ridge penalty hardly shrinks their weights.
  """

  functions: dictionaries.Dictionary
  columns: slice
  factor: float = 1.0


class Beside:
  """Functions of some columns beside functions of others."""

  def __init__(self, *parts: Part):
    """Initialises the functions; `adapt` then sets the knots."""
    self._parts = parts

  def adapt(self, x: types.FloatArray) -> None:
    """Sets knots and products from the rows of x [B, D]."""
    for part in self._parts:
      part.functions.adapt(x[:, part.columns])

  @property
  def size(self) -> int:
    """Number of functions."""
    return sum(part.functions.size for part in self._parts)

  def __call__(self, x: types.FloatArray) -> types.FloatArray:
    """Returns features [B, size] of inputs [B, D], float64."""
    return np.concatenate(
      [
        part.factor * part.functions(x[:, part.columns]) for part in self._parts
      ],
      axis=1,
    )

  def state(self) -> Mapping[str, types.FloatArray]:
    """Returns what `restore` needs."""
    return {
      f'part{index}/{name}': values
      for index, part in enumerate(self._parts)
      for name, values in part.functions.state().items()
    }

  def restore(self, state: Mapping[str, types.FloatArray]) -> None:
    """Takes what `state` of the same functions returned."""
    for index, part in enumerate(self._parts):
      start = f'part{index}/'
      part.functions.restore(
        {
          name.removeprefix(start): values
          for name, values in state.items()
          if name.startswith(start)
        }
      )
