"""The average of several fitted closed forms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dfiv_ope import types
from dfiv_ope.iv import closed_form

_SHARES = 'shares'


class Average:
  """A structural function that is an average of those of other models.

  What needs features, such as intervals and diagnostics, has those of the
  first: of the curves the one with the largest share.

  Attributes:
    config: names the methods in their order.
    history: losses by name.
    parts: the models.
    shares: of each in the average, [K]; they add up to one.
  """

  def __init__(
    self,
    config: Any,
    parts: Sequence[closed_form.Model],
    shares: types.FloatArray,
  ):
    """Initialises the average."""
    self.config = config
    self.history: dict[str, list[float]] = {}
    self.parts = list(parts)
    self.shares = np.asarray(shares, np.float64)

  @property
  def linear(self) -> bool:
    """Whether both stages are linear in the raw columns."""
    return all(part.linear for part in self.parts)

  def features(self, batch: types.IVBatch) -> types.IVBatch:
    """Returns the batch with features of the first in place of columns."""
    return self.parts[0].features(batch)

  def instrument_features(
    self, instrument: types.FloatArray
  ) -> types.FloatArray:
    """Returns the first's phi(z, o), [B, d2]."""
    return self.parts[0].instrument_features(instrument)

  def structural_columns(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns what the first is linear in, without the constant, [B, D]."""
    return self.parts[0].structural_columns(treatment, covariate)

  def instrument_columns(
    self, instrument: types.FloatArray
  ) -> types.FloatArray:
    """Returns what the first's stage 1 is linear in, [B, d2]."""
    return self.parts[0].instrument_columns(instrument)

  def predict(
    self, treatment: types.FloatArray, covariate: types.FloatArray | None = None
  ) -> types.FloatArray:
    """Returns the structural function at the given points, [B, 1]."""
    return sum(
      share * part.predict(treatment, covariate)
      for share, part in zip(self.shares, self.parts, strict=True)
    )

  def state(self) -> closed_form.State:
    """Returns the numbers of a fitted model by name, for a file."""
    return {
      _SHARES: self.shares,
      **{
        f'{index}/{name}': values
        for index, part in enumerate(self.parts)
        for name, values in part.state().items()
      },
    }

  def restore(self, state: Mapping[str, types.FloatArray]) -> None:
    """Takes what `state` of a fitted model of the same config returned.

    Raises:
      KeyError: something is missing.
    """
    self.shares = state[_SHARES]
    for index, part in enumerate(self.parts):
      start = f'{index}/'
      part.restore(
        {
          name.removeprefix(start): values
          for name, values in state.items()
          if name.startswith(start)
        }
      )
