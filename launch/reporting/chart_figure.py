"""Charts as figures: SVG and PNG files for papers, axes for notebooks."""

from collections.abc import Sequence
import math
from typing import Any

from matplotlib import figure as mpl_figure

from dfiv_ope.launch.reporting import charts, figures

# Inches: of a line, of what is above and below the lines, of the width, of
# the names.
_LINE, _REST, _WIDTH, _NAMES = 0.27, 1.15, 10.0, 2.6
_NARROW = 5.6
# Letters of a name, beside its line.
_LONGEST = 36
_SIDES = {'start': 'left', 'middle': 'center', 'end': 'right'}
_LOOKS = {
  charts.TRUTH: {'color': '#000000', 'linewidth': 1.2},
  charts.LOG: {'color': charts.NEUTRAL, 'linestyle': '--', 'linewidth': 1.2},
  charts.LIMIT: {'color': charts.NEUTRAL, 'linestyle': ':', 'linewidth': 1.0},
}


def files(name: str, drawn: Sequence[charts.Chart]) -> dict[str, bytes]:
  """Returns charts below each other as SVG and PNG.

  Args:
    name: the stem of the files.
    drawn: at least one.
  """
  heights = [_REST + _LINE * len(each.lanes) for each in drawn]
  with figures.settings():
    figure = mpl_figure.Figure(figsize=(_WIDTH, sum(heights)))
    above = sum(heights)
    for each, height in zip(drawn, heights, strict=True):
      above -= height
      _draw(figure, each, above, height)
    return {
      f'figures/{name}.{kind}': figures.save(figure, kind)
      for kind in ('svg', 'png')
    }


def inline(chart: charts.Chart) -> str:
  """Returns a chart of one column as an SVG to stand in a notebook."""
  height = _REST + _LINE * len(chart.lanes)
  with figures.settings():
    figure = mpl_figure.Figure(figsize=(_NARROW, height))
    axes = figure.add_axes((0.36, 0.5 / height, 0.6, (height - _REST) / height))
    draw(chart, axes)
    return figures.inline(figure, chart.name, words(chart))


def words(chart: charts.Chart) -> str:
  """Returns a chart in words."""
  said = '; '.join(
    f'{lane.label} {", ".join(each.text for each in lane.tracks)}'
    for lane in chart.lanes
  )
  return f'{chart.caption} {said}.'


def draw(chart: charts.Chart, axes: Any, column: int = 0) -> None:
  """Draws a column of a chart on axes of the caller, with all names."""
  places = [-place for place in range(len(chart.lanes))]
  for each in chart.references:
    if chart.inside(each.value):
      axes.axvline(each.value, zorder=0, **_LOOKS[each.kind])
      if each.error:
        axes.axvspan(
          each.value - each.error,
          each.value + each.error,
          color='#888888',
          alpha=0.3,
          linewidth=0.0,
          zorder=0,
        )
  for place, lane in zip(places, chart.lanes, strict=True):
    _line(axes, chart, lane, lane.tracks[column], place)
  axes.set(ylim=(places[-1] - 0.6, 0.6), xlabel=chart.axis)
  if chart.logarithmic:
    axes.set_xscale('log')
  axes.set_xlim(chart.ends)
  low, high = chart.ends
  ticks = chart.ticks()
  axes.set_xticks(
    [
      low * (high / low) ** each.place
      if chart.logarithmic
      else low + each.place * (high - low)
      for each in ticks
    ],
    [each.text for each in ticks],
  )
  if chart.columns:  # Those of the next column begin where these end.
    for text, tick in zip(axes.get_xticklabels(), ticks, strict=True):
      text.set_horizontalalignment(_SIDES[charts.anchor(tick.place)])
  axes.minorticks_off()
  axes.set_yticks(places, [_short(lane.label) for lane in chart.lanes])
  axes.tick_params(axis='y', length=0)
  for side in ('top', 'right', 'left'):
    axes.spines[side].set_visible(False)
  axes.grid(visible=False)
  if not chart.columns:
    _label_references(axes, chart)


def _draw(
  figure: Any, chart: charts.Chart, below: float, height: float
) -> None:
  """Draws all columns of a chart, so far above the lower edge."""
  whole = figure.get_size_inches()[1]
  count = max(1, len(chart.columns))
  width = (_WIDTH - _NAMES - 0.1) / count
  for column in range(count):
    axes = figure.add_axes(
      (
        (_NAMES + column * width) / _WIDTH,
        (below + 0.5) / whole,
        (width - 0.15) / _WIDTH,
        (height - _REST) / whole,
      )
    )
    draw(chart, axes, column)
    if column:
      axes.set_yticks([])
    if chart.columns:
      axes.set_title(chart.columns[column], loc='left', y=1.0, pad=6.0)
  if chart.title:
    figure.text(
      0.01,
      (below + height - 0.25) / whole,
      chart.title,
      fontsize=10,
      fontweight='bold',
    )


def _label_references(axes: Any, chart: charts.Chart) -> None:
  for index, each in enumerate(chart.references):
    if chart.inside(each.value):
      axes.annotate(
        each.label,
        (each.value, 1.0),
        xycoords=('data', 'axes fraction'),
        xytext=(0.0, 2.0 + 11.0 * index),
        textcoords='offset points',
        va='bottom',
        fontsize=9,
        ha=_SIDES[charts.anchor(chart.place(each.value))],
      )


def _line(
  axes: Any,
  chart: charts.Chart,
  lane: charts.Lane,
  track: charts.Track,
  place: float,
) -> None:
  low, high = chart.ends
  look = {
    'color': lane.color,
    'linestyle': 'none',
    'marker': 'o',
    'fillstyle': 'none' if lane.hollow else 'full',
  }
  if chart.clipped(track.low, track.high):
    axes.plot(
      [max(track.low, low), min(track.high, high)],
      [place] * 2,
      color=lane.color,
      linewidth=1.8,
    )
  shown = [each for each in track.points if chart.inside(each)]
  if chart.points(track):
    axes.plot(shown, [place] * len(shown), markersize=4, alpha=0.7, **look)
  if chart.inside(track.middle):
    if track.points:
      axes.plot(
        [track.middle] * 2,
        [place - 0.3, place + 0.3],
        color=lane.color,
        linewidth=2.2,
      )
    else:
      axes.plot(track.middle, place, markersize=8 if lane.strong else 6, **look)
  for beyond, end, marker in zip(
    chart.arrows(track), (low, high), '<>', strict=True
  ):
    if beyond:
      axes.plot(
        end, place, color=lane.color, marker=marker, markersize=5, clip_on=False
      )
  if not track.numbers and math.isnan(track.middle):
    axes.annotate(
      'no result',
      (0.0, place),
      xycoords=('axes fraction', 'data'),
      xytext=(4.0, 0.0),
      va='center',
      textcoords='offset points',
      fontsize=8,
      color=lane.color,
    )


def _short(label: str) -> str:
  return label if len(label) <= _LONGEST else f'{label[: _LONGEST - 1]}…'
