"""What a log's actions are and how often or how far each was taken."""

from typing import Any

import numpy as np

from dfiv_ope import actions as actions_lib
from dfiv_ope.datasets import bounds as bounds_lib

# Actions, entries or labels that fit on a screen.
_SHOWN = 20


class Counts:
  """How often each of finitely many actions was taken."""

  def __init__(self, labels: tuple[str, ...]):
    """Begins with none; one label an action."""
    self._labels = labels
    self._counts = np.zeros(len(labels), np.int64)

  @property
  def never_taken(self) -> list[str]:
    """Labels of the actions that do not occur."""
    return [
      label
      for label, count in zip(self._labels, self._counts, strict=True)
      if not count
    ]

  def add(self, actions: np.ndarray) -> None:
    """Takes in actions, int32 [N]."""
    self._counts += np.bincount(actions, minlength=len(self._labels))

  def record(self) -> dict[str, Any]:
    """Returns the counts by label, for programs."""
    return dict(zip(self._labels, self._counts.tolist(), strict=True))

  def rows(self) -> list[tuple[str, str]]:
    """Returns names and values for a card."""
    result = [('actions', self.text())]
    if self.never_taken:
      result.append(('never taken', ', '.join(self.never_taken[:_SHOWN])))
    return result

  def text(self) -> str:
    """Returns the most frequent actions, in their order, with their shares."""
    total = max(self._counts.sum(), 1)
    order = np.argsort(-self._counts, kind='stable')[:_SHOWN]
    shown = ', '.join(
      f'{self._labels[each]}: {self._counts[each]:,} '
      f'({100 * self._counts[each] / total:.1f} %)'
      for each in sorted(order)
    )
    return shown + (', ...' if len(order) < len(self._labels) else '')


class Ranges:
  """How far the entries of actions reach that are vectors."""

  def __init__(self, continuous: actions_lib.Continuous):
    """Begins with none."""
    self._continuous = continuous
    self._least = np.full(continuous.size, np.inf)
    self._most = np.full(continuous.size, -np.inf)
    self._counts = {
      place: Counts(labels) for place, labels in continuous.categories.items()
    }

  def add(self, actions: np.ndarray) -> None:
    """Takes in actions, float64 [N, d]."""
    self._least = np.minimum(self._least, actions.min(axis=0))
    self._most = np.maximum(self._most, actions.max(axis=0))
    for place, counts in self._counts.items():
      counts.add(actions[:, place].astype(np.int64))

  def record(self) -> dict[str, Any]:
    """Returns range and bounds, or counts of names, by entry."""
    known = self._continuous
    return {
      known.entry(place): self._counts[place].record()
      if place in self._counts
      else {
        'least': float(self._least[place]),
        'most': float(self._most[place]),
        'bounds': [known.low[place], known.high[place]],
      }
      for place in range(known.size)
    }

  def rows(self) -> list[tuple[str, str]]:
    """Returns names and values for a card, a line for each entry."""
    known = self._continuous
    result = []
    for place in range(min(known.size, _SHOWN)):
      said = entry(known, place)
      if place in self._counts:
        said = self._counts[place].text()
      elif np.isfinite(self._least[place]):
        said = f'{self._least[place]:g} to {self._most[place]:g} ({said})'
      result.append((f'action {known.entry(place)}', said))
    if known.size > _SHOWN:
      result.append(('more entries', f'{known.size - _SHOWN:,}'))
    return result


def entry(continuous: actions_lib.Continuous, place: int) -> str:
  """Says what an entry of an action may be: its names or its bounds."""
  labels = continuous.categories.get(place)
  if labels is not None:
    more = ', ...' if len(labels) > _SHOWN else ''
    return f'one of {", ".join(labels[:_SHOWN])}{more}'
  within = bounds_lib.interval(continuous.low[place], continuous.high[place])
  return f'bounds {within}' if within else 'no bounds'
