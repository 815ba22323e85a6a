"""The figure of interval coverage: one interval for each log, and the truth."""

from collections.abc import Sequence
import dataclasses
import statistics
from typing import Any, NamedTuple

from dfiv_ope.launch.reporting import figures, tables

_HELD, _MISSED = '#4477aa', '#cc3311'
# Inches of a panel: for each interval, for the rest, and at most.
_LINE, _REST, _MOST = 0.07, 1.2, 5.0
# An interval that goes on so many times further than half of them is cut.
_FURTHER = 4.0
# Letters of a title.
_LONGEST = 38


class Interval(NamedTuple):
  """An interval, and whether it holds the truth."""

  estimate: float
  low: float
  high: float
  held: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
  """The intervals of one method on logs of one kind.

  Attributes:
    title: what they are of.
    truth: what they should hold.
    logs: how many logs there are; some may have no interval.
    intervals: of the others.
  """

  title: str
  truth: float
  logs: int
  intervals: Sequence[Interval]

  def draw(self, axes: Any) -> None:
    """Draws the intervals from the lowest estimate to the highest."""
    left, right = self._limits()
    ordered = sorted(self.intervals)
    thin = len(ordered) > 100
    for place, each in enumerate(ordered):
      color = _HELD if each.held else _MISSED
      ends = [min(max(end, left), right) for end in (each.low, each.high)]
      axes.plot(
        ends,
        [place] * 2,
        color=color,
        linewidth=0.6 if thin and each.held else 1.4,
        solid_capstyle='butt',
      )
      for end, shown, arrow in zip(each[1:3], ends, '<>', strict=True):
        if end != shown:
          axes.plot(
            shown, place, color=color, marker=arrow, markersize=4, clip_on=False
          )
      if left <= each.estimate <= right:
        axes.plot(
          each.estimate,
          place,
          color=color,
          linestyle='none',
          marker='o' if each.held else 'x',
          markersize=1.5 if thin else 2.5 if each.held else 5.0,
        )
    axes.axvline(self.truth, color='#000000', linewidth=1.2, zorder=3)
    axes.set(
      xlim=(left, right),
      ylim=(-1.0, len(ordered)),
      yticks=[],
      xlabel='discounted return of an episode',
    )
    axes.spines['left'].set_visible(False)
    axes.grid(visible=False, axis='y')
    axes.grid(visible=True, axis='x')
    axes.locator_params(axis='x', nbins=5)

  @property
  def words(self) -> str:
    """The panel in words."""
    held = sum(each.held for each in self.intervals)
    return (
      f'{self.title}: {held} of {self.logs} intervals hold the true '
      f'value {tables.digits(self.truth)}.'
    )

  def _limits(self) -> tuple[float, float]:
    """Returns the ends of the axis; few very wide intervals are cut."""
    reach = [
      max(abs(each.low - self.truth), abs(each.high - self.truth))
      for each in self.intervals
    ]
    most = _FURTHER * statistics.median(reach)
    ends = [
      self.truth,
      *(
        min(max(end, self.truth - most), self.truth + most)
        for each in self.intervals
        for end in each[:3]
      ),
    ]
    margin = 0.04 * (max(ends) - min(ends)) or 0.1 * abs(self.truth) or 1.0
    return min(ends) - margin, max(ends) + margin


def figure(name: str, panels: Sequence[Panel]) -> figures.Figure:
  """Returns the figure of some studies, a panel each."""
  most = max((len(panel.intervals) for panel in panels), default=0)
  return figures.Figure(
    name=name,
    caption=(
      'One confidence interval for each log, sorted by its estimate; the '
      'vertical line is the true value. An arrow says that an interval '
      'goes on.'
    ),
    panels=[
      figures.Panel(
        panel.title
        if len(panel.title) <= _LONGEST
        else f'{panel.title[:_LONGEST]}…',
        panel.draw,
        panel.words,
      )
      for panel in panels
    ],
    styles=[
      figures.Style('holds the true value', _HELD, 'o', '-'),
      figures.Style('misses it', _MISSED, 'x', '-'),
    ],
    height=min(_REST + _LINE * most, _MOST),
  )
