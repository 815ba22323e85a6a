"""Figures of the instrumental-variable benchmarks, drawn from result rows."""

from collections.abc import Sequence
import pathlib
from typing import Any

from matplotlib import figure as mpl_figure
from matplotlib import lines as mpl_lines
import numpy as np
import pandas as pd

from dfiv_ope import hints
from dfiv_ope.benchmarks import demand
from dfiv_ope.launch.reporting import designs, figures, image_figures
from dfiv_ope.results import rows as rows_lib

Rows = Sequence[rows_lib.Row]

# What stands below the errors of a design: a part of its setting, or methods.
_BELOW = {
  'demand': 'rho',
  'demand_mnist': 'rho',
  'mnist': 'case',
  'dsprites': 'variant',
}


def draw(name: str, rows: Rows, out: pathlib.Path) -> list[pathlib.Path]:
  """Draws a figure as PNG and SVG.

  Args:
    name: 'ate', 'cate', 'joint' or 'mse' for the demand design; 'errors' of
      every design among the rows; 'instability' of those that were watched.
    rows: result rows; those that the figure does not show are left out.
    out: directory of the files.

  Returns:
    The files.

  Raises:
    ValueError: the rows lack what the figure shows.
  """
  if name not in _FIGURES:
    raise ValueError(hints.unknown('figure', name, list(_FIGURES)))
  if name in _OF_DEMAND:
    rows = designs.of('demand', rows)
  with figures.settings():
    return figures.write(_FIGURES[name](rows), name, out)


def _ate(rows: Rows) -> Any:
  return _curves(
    rows, 'ate', demand.PRICES, demand.true_ate(), 'price p', 'E[Y | do(P=p)]'
  )


def _cate(rows: Rows) -> Any:
  return _curves(
    rows,
    'cate',
    demand.TIMES,
    demand.true_cate(),
    'time of year t',
    f'E[Y | do(P={demand.CATE_PRICE:g}), T=t]',
  )


def _curves(
  rows: Rows, curve: str, x: Any, truth: Any, x_label: str, y_label: str
) -> Any:
  """Draws the mean curve of each method, a band of its seeds, and the truth."""
  lines = designs.frame('demand', list(rows))
  if lines.empty:
    raise ValueError('There are no rows of the demand design to draw.')
  # Curves of different designs do not belong on one another: the largest.
  setting, lines = designs.settings('demand', lines)[-1]
  figure = mpl_figure.Figure(figsize=(6.0, 4.0))
  axes = figure.subplots()
  axes.plot(x, truth, color='#000000', linestyle='--', label='truth', zorder=3)
  for variant, style in _styles(lines).items():
    values = np.array(
      [
        rows[index].curves[curve]
        for index in lines.index[lines.variant == variant]
      ],
      np.float64,
    )
    axes.plot(
      x,
      values.mean(axis=0),
      color=style.color,
      label=variant,
      linestyle=style.dash,
    )
    axes.fill_between(
      x,
      values.min(axis=0),
      values.max(axis=0),
      color=style.color,
      alpha=0.15,
      linewidth=0.0,
    )
  axes.set(xlabel=x_label, ylabel=y_label, title=designs.describe(setting))
  axes.legend(frameon=False)
  return figure


def _errors(rows: Rows) -> Any:
  """Draws the error of every seed: a line of panels for each design."""
  found = {
    name: designs.frame(name, ours)
    for name in designs.DESIGNS
    if (ours := designs.of(name, rows))
  }
  if not found:
    raise ValueError(
      'There are no rows to draw the errors of: they may be of '
      f'{", ".join(designs.DESIGNS)}.'
    )
  panels = {name: _panels(name, lines) for name, lines in found.items()}
  across = max(map(len, panels.values()))
  figure = mpl_figure.Figure(figsize=(4.0 * across + 1.0, 4.0 * len(found)))
  grid = figure.subplots(len(found), across, sharey='row', squeeze=False)
  figure.subplots_adjust(hspace=0.6)
  for line, (name, lines) in zip(grid, found.items(), strict=True):
    styles = _styles(lines)
    for axes, (title, part) in zip(line, panels[name].items(), strict=False):
      _error_panel(axes, part, lines, styles, _BELOW[name])
      axes.set_title(
        f'{designs.DESIGNS[name].title}: {title}' if len(found) > 1 else title,
        loc='left',
        y=1.0,
        pad=14.0,
      )  # Failures stand below.
    figures.log_scale(line[0].yaxis)
    line[0].set_ylabel('mean squared error (bars: medians)')
    for axes in line[len(panels[name]) :]:
      axes.set_visible(False)
    if _BELOW[name] != 'variant':  # Else the names stand below.
      line[len(panels[name]) - 1].legend(
        frameon=False,
        loc='upper left',
        bbox_to_anchor=(1.0, 1.0),
        handles=[
          mpl_lines.Line2D(
            [], [], color=style.color, label=variant, **_marks(style)
          )
          for variant, style in styles.items()
        ],
      )
  return figure


def _panels(name: str, lines: pd.DataFrame) -> dict[str, pd.DataFrame]:
  """Returns the lines of each panel of a design, by its title."""
  made: dict[str, list[pd.DataFrame]] = {}
  for setting, part in designs.settings(name, lines):
    setting.pop(_BELOW[name], None)
    made.setdefault(designs.describe(setting), []).append(part)
  return {title: pd.concat(parts) for title, parts in made.items()}


def _error_panel(
  axes: Any,
  part: pd.DataFrame,
  lines: pd.DataFrame,
  styles: dict[str, figures.Style],
  below: str,
) -> None:
  """Draws errors; what stands below is that of all panels of the design."""
  if below == 'variant':
    ticks = [*styles]
  else:
    ticks = sorted(
      lines[below].unique(),
      key=lambda tick: (len(tick) if below == 'case' else 0, tick),
    )
  for (tick, variant), group in part.groupby(
    [below, part.variant.rename('label')]
  ):
    style = styles[variant]
    place = ticks.index(tick) + (
      0.0
      if below == 'variant'
      else 0.8 * (([*styles].index(variant) + 0.5) / len(styles) - 0.5)
    )
    sound, middle = group.mse[~group.failed], group.mse.median()
    axes.plot(
      [place] * len(sound), sound, color=style.color, alpha=0.6, **_marks(style)
    )
    if np.isfinite(middle):
      axes.plot(
        place + np.array([-0.08, 0.08]),
        [middle] * 2,
        color=style.color,
        linewidth=2.5,
      )
    if group.failed.any():
      axes.annotate(
        f'✕{group.failed.sum()}',
        (place, 1.0),
        ha='center',
        va='bottom',
        xycoords=('data', 'axes fraction'),
        fontsize=8,
        color=style.color,
      )
  image_figures.reference_line(axes, part)
  labels = [tick if isinstance(tick, str) else f'{tick:g}' for tick in ticks]
  axes.set(
    xlim=(-0.5, len(ticks) - 0.5),
    xlabel=({'case': 'scenario', 'variant': ''}.get(below, below)),
  )
  axes.set_xticks(
    range(len(ticks)),
    labels,
    **(
      {'rotation': 30.0, 'ha': 'right', 'rotation_mode': 'anchor'}
      if below == 'variant'
      else {}
    ),
  )


def _joint(rows: Rows) -> Any:
  """Draws losses and test error of joint and of alternating minimisation."""
  by_kind = {
    joint: [
      row
      for row in rows
      if row.method == 'dfiv'
      and row.config.get('joint') is joint
      and row.seed == 0
    ]
    for joint in (True, False)
  }
  if not all(by_kind.values()):
    raise ValueError(
      'The joint figure needs rows of dfiv with and without joint '
      'minimisation: run `dfiv-ope iv demand --method dfiv`, with and '
      'without `--set joint=True`, into the same --out. Runs with several '
      '`--set iterations=...` draw the test error over training.'
    )
  figure = mpl_figure.Figure(figsize=(9.0, 4.0))
  panels = figure.subplots(1, 2, sharey=True)
  titles = {True: 'joint minimisation', False: 'DFIV'}
  for axes, (joint, group) in zip(panels, by_kind.items(), strict=True):
    longest = max(group, key=lambda row: row.config['iterations'])
    for label in ('stage1_loss', 'stage2_loss'):
      losses = longest.curves[label]
      steps = np.linspace(0.0, longest.config['iterations'], len(losses) + 1)
      axes.plot(steps[1:], losses, label=label.replace('_', ' '))
    tests = sorted(
      (row.config['iterations'], row.metrics['mse'])
      for row in group
      if row.problem == longest.problem and not row.failed
    )
    # The losses are those of a standardised outcome; so is this.
    said = designs.parameters(longest)
    scale = np.var(demand.sample(said['n'], rho=said['rho'], seed=0).outcome)
    axes.plot(
      [step for step, _ in tests],
      [error / scale for _, error in tests],
      'ko-',
      label='test error',
    )
    axes.set(title=titles[joint], xlabel='iterations')
  figures.log_scale(panels[0].yaxis)
  panels[0].set_ylabel('loss (standardised outcome)')
  panels[1].legend(frameon=False)
  return figure


def _styles(lines: pd.DataFrame) -> dict[str, figures.Style]:
  """Returns the styles of the methods of a frame, in their order."""
  return figures.styles(
    lines.variant, dict(zip(lines.variant, lines.method, strict=True))
  )


def _marks(style: figures.Style) -> dict[str, Any]:
  """Returns how a run is marked: filled, or open in a method's variants."""
  return {
    'marker': style.marker,
    'linestyle': 'none',
    'fillstyle': 'full' if style.dash == '-' else 'none',
  }


_OF_DEMAND = {'ate': _ate, 'cate': _cate, 'joint': _joint, 'mse': _errors}
_FIGURES = {
  **_OF_DEMAND,
  'errors': _errors,
  'instability': image_figures.instability,
}
