"""Figures of the designs with pictures: the pictures, and the training.

image_figures.draw_sprites(out)
image_figures.draw_comparison(latents, real, out)
"""

from collections.abc import Sequence
import math
import pathlib
from typing import Any

from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines
import numpy as np
import pandas as pd

from dfiv_ope.benchmarks import sprites
from dfiv_ope.launch.reporting import designs, figures
from dfiv_ope.results import rows as rows_lib

# Panels of the training side by side.
_ACROSS = 3
# Inches of a picture.
_SIDE = 1.0
# What a method calls the length of its training.
_LENGTHS = ('iterations', 'steps')
# Scale, orientation, posX and posY of the pictures that are shown.
_SHOWN = (
  (0, 0, 4, 8),
  (1, 6, 26, 4),
  (2, 13, 10, 26),
  (3, 20, 21, 14),
  (4, 29, 6, 17),
  (5, 36, 27, 28),
)


def draw_sprites(out: pathlib.Path) -> list[pathlib.Path]:
  """Draws six hearts and six ellipses: 'sprites' as PNG and SVG.

  Returns:
    The files.
  """
  drawn = sprites.Rendered()
  return _draw_lines(
    'sprites',
    {
      name: drawn.images(shape, *zip(*_SHOWN, strict=True))
      for name, shape in (
        ('hearts', sprites.HEART),
        ('ellipses', sprites.ELLIPSE),
      )
    },
    [],
    out,
  )


def draw_comparison(
  latents: np.ndarray, real: np.ndarray, out: pathlib.Path
) -> list[pathlib.Path]:
  """Draws our pictures, real ones and where they differ: 'sprites-real'.

  Args:
    latents: classes of shape, scale, orientation, posX and posY, [m, 5].
    real: the real pictures of these classes, of 0 and 1, [m, 64, 64].
    out: directory of the files.

  Returns:
    The files.

  Raises:
    ValueError: the real pictures are not those of the classes.
  """
  latents, real = np.asarray(latents), np.asarray(real)
  wanted = (len(latents), sprites.WIDTH, sprites.WIDTH)
  if latents.shape != (len(latents), 5) or real.shape != wanted:
    raise ValueError(
      f'latents has the shape {latents.shape} and real {real.shape}; give '
      'the five classes of each picture, (m, 5), and the pictures, '
      f'(m, {sprites.WIDTH}, {sprites.WIDTH}).'
    )
  drawn = sprites.Rendered().images(*latents.T)
  differ = drawn.astype(bool) != real.astype(bool)
  counts = np.count_nonzero(differ, axis=(1, 2))
  return _draw_lines(
    'sprites-real',
    {'drawn': drawn, 'real': real, 'difference': differ},
    [f'{count} pixel{"s" * (count != 1)}' for count in counts],
    out,
  )


def instability(rows: Sequence[rows_lib.Row]) -> Any:
  """Returns the figure of errors during the training, a line for each seed.

  Args:
    rows: result rows; those of the same settings that were not watched give
      the error of a quadratic in the lit pixels.

  Raises:
    ValueError: no row was watched.
  """
  panels: list[tuple[str, pd.DataFrame]] = []
  for name, design in designs.DESIGNS.items():
    ours = designs.of(name, rows)
    if not any(_watched(row) for row in ours):
      continue
    lines = designs.frame(name, ours)
    lines['row'] = ours
    lines['watched'] = [_watched(row) for row in ours]
    panels += [
      (f'{design.title}: {designs.describe(setting)}', part)
      for setting, part in designs.settings(name, lines)
      if part.watched.any()
    ]
  if not panels:
    raise ValueError(
      'The instability figure needs rows with errors during the training: '
      'run `dfiv-ope iv dsprites --watch`, with --method deepgmm and with '
      '--method dfiv, into the same --out.'
    )
  seen = pd.concat([part[part.watched] for _, part in panels])
  styles = figures.styles(
    seen.variant, dict(zip(seen.variant, seen.method, strict=True))
  )
  across = min(len(panels), _ACROSS)
  down = math.ceil(len(panels) / across)
  figure = mpl_figure.Figure(figsize=(4.5 * across, 3.6 * down))
  grid = figure.subplots(down, across, squeeze=False)
  figure.subplots_adjust(hspace=0.4, wspace=0.25)
  for index, axes in enumerate(grid.flat):
    if index < len(panels):
      _training_panel(axes, *panels[index], styles)
    else:
      axes.set_visible(False)
  for axes in grid[:, 0]:
    axes.set_ylabel('out-of-sample mean squared error')
  grid[0, -1].legend(
    frameon=False,
    loc='upper left',
    bbox_to_anchor=(1.0, 1.0),
    handles=[
      mpl_lines.Line2D(
        [],
        [],
        color=style.color,
        linestyle=style.dash,
        label=_with_length(variant, seen.row[seen.variant == variant]),
      )
      for variant, style in styles.items()
    ],
  )
  return figure


def reference_line(axes: Any, part: pd.DataFrame) -> None:
  """Draws the median error of the method that learns nothing, if it is there.

  Args:
    axes: where errors go upwards.
    part: lines of a frame of `designs`.
  """
  error = part.mse[part.method == designs.REFERENCE].median()
  if math.isfinite(error):
    axes.axhline(error, color='#000000', linestyle=':', linewidth=1.0, zorder=0)


def _watched(row: rows_lib.Row) -> bool:
  return len(row.curves.get('watched_mse', ())) > 0


def _training_panel(
  axes: Any, title: str, part: pd.DataFrame, styles: dict[str, figures.Style]
) -> None:
  for line in part[part.watched].itertuples():
    style = styles[line.variant]
    errors = np.array(line.row.curves['watched_mse'], np.float64)
    errors[~np.isfinite(errors)] = np.nan
    share = 100.0 * np.arange(1, len(errors) + 1) / len(errors)
    axes.plot(
      share,
      errors,
      color=style.color,
      linestyle=style.dash,
      linewidth=0.9,
      marker='.',
      markersize=2.0,
    )
    if not line.failed:
      axes.plot(
        100.0,
        line.mse,
        color=style.color,
        marker='o',
        markersize=4.0,
        alpha=0.7,
        clip_on=False,
      )
  reference_line(axes, part)
  axes.set_title(title, loc='left')
  axes.set(xlabel='training (%)', xlim=(0.0, 100.0))
  figures.log_scale(axes.yaxis)


def _with_length(variant: str, rows: Sequence[rows_lib.Row]) -> str:
  """Returns a label with the length of the training, if all have the same."""
  found = {
    f'{variant}, {row.config[name]} {name}'
    for row in rows
    for name in _LENGTHS
    if name in row.config
  }
  return found.pop() if len(found) == 1 else variant


def _draw_lines(
  name: str,
  lines: dict[str, np.ndarray],
  notes: Sequence[str],
  out: pathlib.Path,
) -> list[pathlib.Path]:
  """Draws lines of pictures, each with its name, and notes below the last."""
  across = len(next(iter(lines.values())))
  with figures.settings():
    figure = mpl_figure.Figure(figsize=(_SIDE * across, _SIDE * len(lines)))
    grid = figure.subplots(len(lines), across, squeeze=False)
    figure.subplots_adjust(wspace=0.06, hspace=0.06)
    for line, (label, images) in zip(grid, lines.items(), strict=True):
      line[0].set_ylabel(label)
      for axes, image in zip(line, images, strict=True):
        axes.imshow(image, cmap='gray', vmin=0, vmax=1, interpolation='nearest')
        axes.set(xticks=(), yticks=())
    for axes, note in zip(grid[-1], notes, strict=False):
      axes.set_xlabel(note, fontsize=8)
    return figures.write(figure, name, out)
