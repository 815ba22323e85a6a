"""The figure of one policy on one log: every method and its interval."""

from collections.abc import Callable
import math
from typing import Any

from dfiv_ope.launch.reporting import cases, figures, tables

# Inches for a line, and for the rest.
_LINE, _REST = 0.36, 1.05
# The axis shows the log and the answer with so much of their width on either
# side, where all intervals are wider than several times theirs.
_MARGIN, _WIDER = 1., 4.
_LOG = '#808080'
# Letters of a title.
_LONGEST = 44


def figure(name: str, case: cases.Case) -> figures.Figure:
  """Returns estimates with their intervals, the log's return for reference."""
  look = figures.styles(
      [each.variant for each in case.methods],
      {each.variant: each.method for each in case.methods})
  return figures.Figure(
      name=name,
      caption=(
          'Estimates and their 95 % intervals, and the average return of the '
          'log with its own, which the grey band repeats. The answer is '
          'filled, an arrow says that an interval goes on, and a method '
          'without a mark has no result to trust.'),
      panels=[figures.Panel(
          _title(case), _panel(case, look),
          'Estimate of each method with its interval: ' + '; '.join(
              _words(each) for each in case.methods) + '.')],
      styles=[], columns=1,
      height=_REST + _LINE * (len(case.methods) + 1))


def draw(case: cases.Case, axes: Any) -> None:
  """Draws the figure of a case on axes of the caller."""
  _panel(case, figures.styles(
      [each.variant for each in case.methods],
      {each.variant: each.method for each in case.methods}))(axes)
  axes.set_title(_title(case), loc='left', pad=14.)
  for side in ('top', 'right'):
    axes.spines[side].set_visible(False)


def _title(case: cases.Case) -> str:
  words = str(case.problem['policy'])
  if len(words) > _LONGEST:
    words = f'{words[:_LONGEST]}…'
  return words + case.note


def _words(result: cases.Result) -> str:
  found = result.interval
  if found is None:
    return f'{result.variant} none'
  return f'{result.variant} ' + tables.interval(
      found.estimate, found.low, found.high).text


def _panel(
    case: cases.Case, look: dict[str, figures.Style],
) -> Callable[[Any], None]:

  def draw(axes: Any) -> None:
    left, right = _limits(case)
    mean, low, high = case.log
    if math.isfinite(high - low):
      axes.axvspan(low, high, color=_LOG, alpha=0.15, linewidth=0.)
    _line(axes, 0, 'average return of the log', (mean, low, high),
          (left, right), color=_LOG, marker='x')
    for place, each in enumerate(case.methods, start=1):
      style, found = look[each.variant], each.interval
      _line(axes, -place, each.variant,
            (found.estimate, found.low, found.high) if found
            else (each.estimate, math.nan, math.nan), (left, right),
            color=style.color, marker=style.marker,
            fillstyle='full' if each is case.preferred else 'none')
    axes.set(xlim=(left, right), ylim=(-len(case.methods) - 0.4, 0.9),
             yticks=[], xlabel='discounted return of an episode')
    axes.spines['left'].set_visible(False)
    axes.grid(visible=True, axis='x')
    axes.locator_params(axis='x', nbins=5)

  return draw


def _line(
    axes: Any, place: float, label: str,
    found: tuple[float, float, float] | None, limits: tuple[float, float],
    **look: Any,
) -> None:
  """Draws one interval, its label above it."""
  axes.annotate(
      label, (0., place), xycoords=('axes fraction', 'data'), fontsize=8,
      xytext=(0., 5.), textcoords='offset points', va='bottom')
  if found is None:
    return
  estimate, low, high = found
  if math.isnan(low + high):  # An estimate without an interval.
    axes.plot(estimate, place, markersize=7, **look)
    return
  ends = [min(max(end, limits[0]), limits[1]) for end in (low, high)]
  axes.plot(ends, [place] * 2, color=look['color'], linewidth=1.6)
  for end, shown, arrow in zip((low, high), ends, '<>', strict=True):
    axes.plot(shown, place, color=look['color'], markersize=6,
              marker=arrow if end != shown else '|', clip_on=False)
  axes.plot(estimate, place, markersize=7, **look)


def _limits(case: cases.Case) -> tuple[float, float]:
  """Returns the ends of the axis."""
  best = case.preferred and case.preferred.interval
  core = [each for each in (*case.log, *(best[:3] if best else ()))
          if math.isfinite(each)] or [0.]
  every = core + [
      end for each in case.methods
      for end in (each.interval[:3] if each.interval else [each.estimate])
      if math.isfinite(end)]
  width = max(core) - min(core) or 0.1 * abs(core[0]) or 1.
  if max(every) - min(every) > _WIDER * width:
    every = [min(core) - _MARGIN * width, max(core) + _MARGIN * width]
  margin = 0.05 * (max(every) - min(every)) or 0.1 * width
  return min(every) - margin, max(every) + margin
