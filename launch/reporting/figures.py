"""Figures of panels: as files, and as small SVGs for the page.

A figure is a list of panels that draw themselves on axes. The files hold all
panels and a legend; on the page each panel stands alone, so that they stack on
a narrow screen, and the legend is the page's.
"""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import io
import math
import pathlib
from typing import Any

import matplotlib as mpl
from matplotlib import figure as mpl_figure
from matplotlib import lines, ticker

from dfiv_ope.launch.reporting import method_labels, svg

_GLYPHS = {
  'x': '✕',
  's': '■',
  '^': '▲',
  'o': '●',
  'D': '◆',
  'v': '▼',
  'P': '✚',
  '*': '★',
}
_OTHER_COLORS = ('#a6761d', '#7570b3', '#a0522d', '#4d9221')
# First, second, third ... variant of a method.
_DASHES = ('-', '--', ':', '-.')
# Inches; fixed margins, as a layout engine takes longer than all the rest.
_RIGHT, _BOTTOM = 0.12, 0.5
_LEGEND_LINE = 0.28
_DPI = 110
_SETTINGS: dict[Any, Any] = {
  # A fixed salt makes the same rows give the same file.
  'svg.hashsalt': 'dfiv-ope',
  'svg.fonttype': 'none',
  'text.parse_math': False,  # Labels are anyone's text, not formulas.
  'axes.spines.top': False,
  'axes.spines.right': False,
  'font.size': 10,
  'axes.titlesize': 10,
  'xtick.labelsize': 9,
  'ytick.labelsize': 9,
  'axes.grid': True,
  'axes.grid.axis': 'y',
  'grid.alpha': 0.25,
  'grid.linewidth': 0.5,
  'lines.markersize': 5,
  'path.simplify': True,
}


@dataclasses.dataclass(frozen=True)
class Style:
  """How a method is drawn, the same in every figure."""

  label: str
  color: str
  marker: str
  dash: Any

  @property
  def glyph(self) -> str:
    """The marker as a letter."""
    return _GLYPHS[self.marker]


@dataclasses.dataclass(frozen=True)
class Panel:
  """One pair of axes.

  Attributes:
    title: what it shows.
    draw: draws it.
    alternative: says it in words.
  """

  title: str
  draw: Callable[[Any], None]
  alternative: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
  """A figure; `columns` panels stand side by side in its files.

  Attributes:
    height: of a panel, in inches.
    width: of a panel.
    left: width of what stands left of the axes.
    top: height of what stands above them: the title, unless it is empty.
  """

  name: str
  caption: str
  panels: list[Panel]
  styles: list[Style]
  columns: int = 3
  height: float = 3.0
  width: float = 4.0
  left: float = 0.82
  top: float = 0.45

  def files(self) -> dict[str, bytes]:
    """Returns the figure as SVG and PNG."""
    columns = min(self.columns, len(self.panels))
    rows = math.ceil(len(self.panels) / columns)
    entries = max(1, min(len(self.styles), 2 * columns))
    legend = (
      0.0
      if not self.styles
      else (_LEGEND_LINE * math.ceil(len(self.styles) / entries) + 0.1)
    )
    with settings():
      figure = mpl_figure.Figure(
        figsize=(self.width * columns, self.height * rows + legend)
      )
      for index, panel in enumerate(self.panels):
        row, column = divmod(index, columns)
        self._draw(
          figure, panel, column, legend + (rows - 1 - row) * self.height
        )
      figure.legend(
        loc='lower center',
        frameon=False,
        ncols=entries,
        handles=[
          lines.Line2D(
            [],
            [],
            color=style.color,
            marker=style.marker,
            label=style.label,
            linestyle=style.dash,
          )
          for style in self.styles
        ],
      )
      return {
        f'figures/{self.name}.{kind}': save(figure, kind)
        for kind in ('svg', 'png')
      }

  def inline(self) -> list[str]:
    """Returns each panel as an SVG to stand in the page."""
    made = []
    with settings():
      for index, panel in enumerate(self.panels):
        figure = mpl_figure.Figure(figsize=(self.width, self.height))
        self._draw(figure, panel, 0, 0.0)
        made.append(inline(figure, f'{self.name}{index}', panel.alternative))
    return made

  def _draw(self, figure: Any, panel: Panel, column: int, below: float) -> None:
    """Draws a panel in its column, so far from the lower edge."""
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
      (
        (column * self.width + self.left) / width,
        (below + _BOTTOM) / height,
        (self.width - self.left - _RIGHT) / width,
        (self.height - _BOTTOM - self.top) / height,
      )
    )
    panel.draw(axes)
    # A title that is told its place does not look for one.
    axes.set_title(panel.title, loc='left', y=1.0, pad=14.0)


def styles(variants: Any, methods: dict[str, str]) -> dict[str, Style]:
  """Returns a style for each variant: colour by method, dashes by variant."""
  made: dict[str, Style] = {}
  seen: dict[str, int] = {}
  others: list[str] = []
  for variant in method_labels.order(variants):
    method = methods[variant]
    count = seen.get(method, 0)
    seen[method] = count + 1
    known = method_labels.style(method)
    if known is None and method not in others:
      others.append(method)
    color = (
      known.color
      if known
      else _OTHER_COLORS[others.index(method) % len(_OTHER_COLORS)]
    )
    made[variant] = Style(
      variant,
      color,
      known.marker if known else '*',
      _DASHES[count % len(_DASHES)],
    )
  return made


def log_scale(axis: Any) -> None:
  """Makes an axis logarithmic, with plain numbers at its ticks."""
  axis.axes.set(**{f'{axis.axis_name}scale': 'log'})
  axis.set_major_locator(ticker.LogLocator(numticks=6))
  axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f'{x:g}'))
  low, high = axis.get_view_interval()
  if high < 20.0 * low:  # Powers of ten alone may be no tick at all.
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
  if high < 4.0 * low:
    axis.set_major_locator(ticker.MaxNLocator(5))
  axis.set_minor_locator(ticker.NullLocator())


def write(figure: Any, name: str, out: pathlib.Path) -> list[pathlib.Path]:
  """Writes a figure as PNG and SVG, cut to what is drawn.

  Args:
    figure: the figure, made inside `settings()`, as this call must be.
    name: the stem of the files.
    out: their directory.

  Returns:
    The files.
  """
  paths = [out / f'{name}.{kind}' for kind in ('png', 'svg')]
  for path in paths:
    figure.savefig(
      path,
      bbox_inches='tight',
      dpi=150,
      metadata=({'Date': None} if path.suffix == '.svg' else None),
    )
  return paths


@contextlib.contextmanager
def settings() -> Iterator[None]:
  """Makes all that is drawn inside look alike, whoever draws it."""
  with mpl.rc_context():
    mpl.rcdefaults()
    mpl.rcParams.update(_SETTINGS)
    yield


def inline(figure: Any, name: str, alternative: str) -> str:
  """Returns a figure as an SVG to stand in a page, inside `settings()`.

  Args:
    figure: of matplotlib.
    name: that no other figure of the page has.
    alternative: what it shows, for those who do not see it.
  """
  return svg.inline(save(figure, 'svg').decode(), name, alternative)


def save(figure: Any, kind: str) -> bytes:
  """Returns a figure as a file, inside `settings()`."""
  buffer = io.BytesIO()
  figure.savefig(
    buffer,
    format=kind,
    dpi=_DPI,
    metadata={'Date': None} if kind == 'svg' else None,
  )
  return buffer.getvalue()
