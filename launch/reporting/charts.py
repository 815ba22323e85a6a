"""Charts as data: a line for each method or policy, on one common scale.

The page draws a chart with its own text (`templates/chart.html.j2`), so that
it is readable at every width; `chart_figure` draws the same chart as a file.
"""

from collections.abc import Sequence
import dataclasses
import math
from typing import NamedTuple

from matplotlib import ticker

from dfiv_ope.launch.reporting import tables

# Kinds of references: what is true, what is compared with, where a rule says
# that something changes.
TRUTH, LOG, LIMIT = 'truth', 'log', 'limit'
# Colour of what is no method, readable on light and dark.
NEUTRAL = '#808080'
# More marks of a line hide each other: then only their range is drawn.
_MOST_POINTS = 40
# A label nearer to an edge than this share of the width stands inside.
_EDGE = 0.15
_TICKS = 5
# A logarithmic axis has no more of them: an error of 1e-9 hides all others.
_DECADES = 4.0
_MARGIN = 0.04


class Reference(NamedTuple):
  """A vertical line through all tracks.

  Attributes:
    value: where.
    label: what it is.
    kind: TRUTH, LOG or LIMIT.
    error: half the width of the band around it.
  """

  value: float
  label: str
  kind: str
  error: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Track:
  """What is drawn of one line in one column.

  Attributes:
    middle: the estimate, or a median; nan draws none.
    low: lower end of its interval or range; nan if there is none.
    high: upper end.
    points: single runs.
    text: the same in words.
  """

  middle: float = math.nan
  low: float = math.nan
  high: float = math.nan
  points: tuple[float, ...] = ()
  text: str = ''

  @property
  def numbers(self) -> list[float]:
    """All finite numbers that are drawn."""
    return [
      each
      for each in (self.middle, self.low, self.high, *self.points)
      if math.isfinite(each)
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lane:
  """A line of a chart.

  Attributes:
    label: what it is of.
    tracks: one for each column of the chart.
    color: of its marks, as #rrggbb.
    note: a word after its numbers, such as a verdict.
    strong: whether it stands out, as the answer does.
    hollow: whether its marks are open, as those of a method's variants.
  """

  label: str
  tracks: tuple[Track, ...]
  color: str = NEUTRAL
  note: str = ''
  strong: bool = False
  hollow: bool = False


class Tick(NamedTuple):
  """A number of the axis."""

  place: float
  text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
  """Lines on one scale.

  Attributes:
    name: the stem of its files, and its name on the page.
    caption: what it shows; two lines of text at most.
    axis: what the numbers are.
    lanes: its lines.
    title: a heading of its own, where several charts stand together.
    columns: names of its columns; one without a name if empty.
    references: vertical lines.
    limits: ends of the axis; found from the numbers if None.
    logarithmic: whether the scale is.
    percent: whether numbers are shares, shown in per cent.
  """

  name: str
  caption: str
  axis: str
  lanes: Sequence[Lane]
  title: str = ''
  columns: Sequence[str] = ()
  references: Sequence[Reference] = ()
  limits: tuple[float, float] | None = None
  logarithmic: bool = False
  percent: bool = False

  @property
  def ends(self) -> tuple[float, float]:
    """The ends of the axis; what is beyond a logarithmic one is an arrow."""
    if self.limits is not None:
      return self.limits
    every = [
      number
      for lane in self.lanes
      for track in lane.tracks
      for number in track.numbers
    ] + [each.value for each in self.references if math.isfinite(each.value)]
    if self.logarithmic:
      every = [math.log10(each) for each in every if each > 0.0] or [0.0]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    if self.logarithmic:
      low = max(low, high - _DECADES)
    margin = _MARGIN * (high - low) or 0.1 * abs(low) or 0.5
    if self.logarithmic:
      return 10.0 ** (low - margin), 10.0 ** (high + margin)
    return low - margin, high + margin

  def place(self, value: float) -> float:
    """Returns where a number stands, from 0 (left) to 1; beyond if outside."""
    low, high = self.ends
    if self.logarithmic:
      if value <= 0.0:
        return -math.inf
      low, high, value = map(math.log10, (low, high, value))
    return (value - low) / (high - low)

  def inside(self, value: float) -> bool:
    """Whether a number stands between the ends."""
    return math.isfinite(value) and -1e-9 <= self.place(value) <= 1.0 + 1e-9

  def ticks(self) -> list[Tick]:
    """Returns a few round numbers of the axis."""
    low, high = self.ends
    many = max(2, _TICKS if len(self.columns) < 3 else _TICKS // 2)
    locator: ticker.Locator = ticker.MaxNLocator(many, steps=[1, 2, 2.5, 5, 10])
    if self.logarithmic and high > 4.0 * low:
      locator = ticker.LogLocator(
        subs=(1.0,) if high > 50.0 * low else (1.0, 3.0), numticks=many
      )
    values = [
      each for each in locator.tick_values(low, high) if self.inside(each)
    ]
    return [Tick(self.place(each), self.shown(each)) for each in values]

  def shown(self, value: float) -> str:
    """Returns a number of the axis as text."""
    value = 0.0 if abs(value) < 1e-12 else value
    return f'{100.0 * value:g} %' if self.percent else f'{value:,.6g}'

  def clipped(self, low: float, high: float) -> tuple[float, float] | None:
    """Returns the part of a range that is seen, in places; None if none."""
    if math.isnan(low) or math.isnan(high):
      return None
    start, end = max(self.place(low), 0.0), min(self.place(high), 1.0)
    return (start, end) if start <= end else None

  def points(self, track: Track) -> list[float]:
    """Returns the places of single runs, if they can be told apart."""
    if len(track.points) > _MOST_POINTS:
      return []
    return [self.place(each) for each in track.points if self.inside(each)]

  def arrows(self, track: Track) -> list[bool]:
    """Returns on which sides, left and right, something goes on unseen."""
    numbers = [
      each
      for each in (track.middle, track.low, track.high, *track.points)
      if not math.isnan(each)
    ]
    return [
      any(self.place(each) < -1e-9 for each in numbers),
      any(self.place(each) > 1.0 + 1e-9 for each in numbers),
    ]

  @property
  def cut(self) -> bool:
    """Whether something goes on beyond the ends."""
    return any(
      any(self.arrows(track)) for lane in self.lanes for track in lane.tracks
    )


def anchor(place: float) -> str:
  """Returns where a text at a place begins: start, middle or end."""
  return (
    'start' if place < _EDGE else 'end' if place > 1.0 - _EDGE else 'middle'
  )


def interval_text(value: float, low: float, high: float) -> str:
  """Returns an estimate and its interval as text."""
  if math.isnan(value):
    return 'no result'
  if math.isnan(low):
    return f'{tables.digits(value)} (no interval)'
  return tables.interval(value, low, high).text
