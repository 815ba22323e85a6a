"""Several models of DFIV whose answers are averaged.

Each was trained on its own, every second one with the halves of the rows
swapped: what one network makes of chance, and of outcomes that only one half
has seen, is another in the next.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.iv.methods import dfiv_model
from dfiv_ope.iv.methods.entries import dfiv as entry


class Average(tf.Module):
  """The mean of several models: f and its features.

  Attributes:
    config: that of the members.
    members: at least one.
    history: that of the first member.
  """

  def __init__(
    self, config: entry.Config, members: Sequence[dfiv_model.DFIV]
  ) -> None:
    """Initialises the mean of fitted models, or of models to be filled."""
    super().__init__()
    self.config = config
    self.members = list(members)
    self.history: dict[str, list[float]] = self.members[0].history

  def predict(
    self, treatment: types.Nest, covariate: types.Nest | None = None
  ) -> types.FloatArray:
    """Returns the structural function at the given points, [B, 1]."""
    return np.mean(
      [each.predict(treatment, covariate) for each in self.members], axis=0
    )

  def structural_columns(
    self, treatment: types.Nest, covariate: types.Nest | None = None
  ) -> types.FloatArray:
    """Returns what f is linear in, without the constant, [B, D]."""
    return np.concatenate(
      [each.structural_columns(treatment, covariate) for each in self.members],
      axis=1,
    )

  def instrument_columns(self, instrument: types.Nest) -> types.FloatArray:
    """Returns phi of all members side by side, [B, D]."""
    return np.concatenate(
      [each.instrument_columns(instrument) for each in self.members], axis=1
    )
