"""What an action is, where it is not one of finitely many.

A discrete action is stored as its place among the actions, int32 [N]. A dose, a
bid or a torque is `Continuous`: a vector, float64 [N, d]. An entry of it may be
a name as well (mixed actions: which drug, and how much of it); then its place
among the labels is stored.
"""

from collections.abc import Mapping
import dataclasses

import numpy as np

from dfiv_ope import types

# Of numbers that were float32: 0.1 becomes 0.10000000149.
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Continuous:
  """Actions that are vectors of d entries.

  Attributes:
    low: least value of each entry; None if it has none.
    high: greatest value of each entry; None if it has none.
    names: of the entries; empty if they are only numbered.
    categories: labels of the entries that are names, by the place of the entry.
  """

  low: tuple[float | None, ...]
  high: tuple[float | None, ...]
  names: tuple[str, ...] = ()
  categories: Mapping[int, tuple[str, ...]] = dataclasses.field(
    default_factory=dict
  )

  def __post_init__(self) -> None:
    if not self.low or len(self.low) != len(self.high):
      raise ValueError(
        'An action needs a least and a greatest value for each entry, got '
        f'{len(self.low)} and {len(self.high)}.'
      )
    for place, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
      if low is not None and high is not None and not low < high:
        raise ValueError(
          f'Entry {self.entry(place)} of the action should have bounds '
          f'low < high, got {low:g} and {high:g}.'
        )
    if self.names and len(self.names) != self.size:
      raise ValueError(
        f'There are {len(self.names)} names for {self.size} entries of an '
        'action.'
      )
    for place, labels in self.categories.items():
      if not 0 <= place < self.size or len(labels) < 2:
        raise ValueError(
          f'Entry {place} of {self.size} of the action cannot be a name '
          f'with {len(labels)} labels.'
        )

  @property
  def size(self) -> int:
    """Number of entries, d."""
    return len(self.low)

  @property
  def bounds(self) -> tuple[types.FloatArray, types.FloatArray]:
    """Least and greatest values, float64 [d]; infinite where there is none.

    Those of a name are the first and the last place of its labels.
    """
    low, high = (
      np.array(
        [outside if each is None else each for each in values], np.float64
      )
      for values, outside in ((self.low, -np.inf), (self.high, np.inf))
    )
    for place, labels in self.categories.items():
      low[place], high[place] = 0.0, len(labels) - 1.0
    return low, high

  def entry(self, place: int) -> str:
    """Returns what an entry is called."""
    return self.names[place] if self.names else str(place)

  def refuse_unbounded(self) -> None:
    """Refuses actions without least or greatest values.

    Raises:
      ValueError: an entry is unbounded.
    """
    low, high = self.bounds
    for place in np.flatnonzero(~np.isfinite(high - low)):
      raise ValueError(
        f'Entry {self.entry(int(place))} of the action has no bounds, so no '
        'policy is uniform over it. Give the log bounds, or name another '
        'policy.'
      )

  def snapped(self, actions: types.FloatArray) -> types.FloatArray:
    """Returns actions [N, d], those beyond a bound by rounding put on it."""
    low, high = self.bounds
    on_bounds = np.clip(actions, low, high)
    near = np.abs(actions - on_bounds) <= _ROUNDING * np.maximum(
      1.0, np.abs(on_bounds)
    )
    return np.where(near, on_bounds, actions)

  def refuse_others(self, actions: types.FloatArray, *, whose: str) -> None:
    """Refuses what is no such action.

    Args:
      actions: float64 [N, d].
      whose: begins the message, such as 'The policy'.

    Raises:
      ValueError: a number is not finite, outside its bounds, or no label.
    """
    if actions.ndim != 2 or actions.shape[1] != self.size:
      raise ValueError(
        f'{whose} gives actions of shape {list(actions.shape)}, but '
        f'[{len(actions)}, {self.size}] is wanted.'
      )
    low, high = self.bounds
    for place in range(self.size):
      column = actions[:, place]
      labels = self.categories.get(place)
      wrong = (
        ~np.isfinite(column) | (column < low[place]) | (column > high[place])
      )
      if labels is not None:
        wrong |= ~np.isin(column, np.arange(len(labels)))
      if wrong.any():
        row = int(np.argmax(wrong))
        wanted = (
          f'one of 0 to {len(labels) - 1}'
          if labels is not None
          else f'in [{low[place]:g}, {high[place]:g}]'
        )
        raise ValueError(
          f'{whose} gives {column[row]:g} for entry {self.entry(place)} of '
          f'the action in row {row}, but it should be {wanted}.'
        )
