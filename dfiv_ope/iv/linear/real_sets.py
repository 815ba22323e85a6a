"""Sets of real numbers that are unions of intervals, unbounded ones too."""

from collections.abc import Callable, Sequence
import dataclasses
import math

from scipy import optimize


@dataclasses.dataclass(frozen=True)
class RealSet:
  """Closed intervals in ascending order, apart from each other.

  Attributes:
    intervals: (low, high) each; ends may be infinite.
  """

  intervals: tuple[tuple[float, float], ...]

  @property
  def bounded(self) -> bool:
    """Whether it has finite ends, or is empty."""
    return all(math.isfinite(end) for each in self.intervals for end in each)

  @property
  def empty(self) -> bool:
    """Whether it holds nothing."""
    return not self.intervals

  def __contains__(self, value: float) -> bool:
    return any(low <= value <= high for low, high in self.intervals)

  def scaled(self, factor: float) -> 'RealSet':
    """Returns the set of each value times a positive factor."""
    return RealSet(
      tuple((factor * low, factor * high) for low, high in self.intervals)
    )

  def shifted(self, offset: float) -> 'RealSet':
    """Returns the set of each value plus an offset."""
    return RealSet(
      tuple((offset + low, offset + high) for low, high in self.intervals)
    )

  def text(self, form: str = '.4g') -> str:
    """Returns it in words: '[0.1, 0.3]', '(-inf, 1] or [2, inf)'."""
    if self.empty:
      return 'empty: no value fits'
    if self.intervals == WHOLE.intervals:
      return '(-inf, inf): every value fits'
    return ' or '.join(
      f'{"(" if math.isinf(low) else "["}{low:{form}}, '
      f'{high:{form}}{")" if math.isinf(high) else "]"}'
      for low, high in self.intervals
    )


WHOLE = RealSet(((-math.inf, math.inf),))
EMPTY = RealSet(())


def quadratic(square: float, slope: float, constant: float) -> RealSet:
  """Returns where square x^2 + slope x + constant <= 0."""
  if square == 0.0:
    if slope == 0.0:
      return WHOLE if constant <= 0.0 else EMPTY
    end = -constant / slope
    return RealSet(((-math.inf, end),) if slope > 0.0 else ((end, math.inf),))
  inner = slope * slope - 4.0 * square * constant
  if inner < 0.0:
    return EMPTY if square > 0.0 else WHOLE
  # Without cancellation of slope and root.
  larger = -0.5 * (slope + math.copysign(math.sqrt(inner), slope))
  ends = sorted((larger / square, constant / larger if larger else 0.0))
  if square > 0.0:
    return RealSet(((ends[0], ends[1]),))
  return RealSet(((-math.inf, ends[0]), (ends[1], math.inf)))


def not_positive(
  function: Callable[[float], float], crossings: Sequence[float]
) -> RealSet:
  """Returns where a function is <= 0, which changes sign near given points.

  Args:
    function: of a number.
    crossings: all points where it may change sign, roughly, ascending.
  """
  if not len(crossings):
    return WHOLE if function(0.0) <= 0.0 else EMPTY
  middles = [
    0.5 * (one + other)
    for one, other in zip(crossings, crossings[1:], strict=False)
  ]
  spread = 1.0 + abs(crossings[0]) + abs(crossings[-1])
  probes = [crossings[0] - spread, *middles, crossings[-1] + spread]
  inside = [function(probe) <= 0.0 for probe in probes]
  ends = [
    optimize.brentq(
      function, probes[place], probes[place + 1], xtol=1e-14, rtol=1e-14
    )
    for place in range(len(crossings))
    if inside[place] != inside[place + 1]
  ]
  if inside[0]:
    ends.insert(0, -math.inf)
  if inside[-1]:
    ends.append(math.inf)
  return RealSet(tuple(zip(ends[::2], ends[1::2], strict=True)))
