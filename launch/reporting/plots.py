"""The figures of off-policy evaluation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dfiv_ope.launch.reporting import details, figures
from dfiv_ope.results import rows as rows_lib

Styles = dict[str, figures.Style]

# Points of a learning curve; more are not seen at this size.
_POINTS = 25
# At most so many panels of learning curves.
_MOST_CURVES = 18


def error_figure(
    frame: pd.DataFrame, styles: Styles, *, relative: bool,
) -> figures.Figure:
  """Returns the paper's figure: error against action noise, by task."""
  column = 'relative_error' if relative else 'error'
  main = details.paper_policy(frame[frame[column].notna()])
  kind = 'relative' if relative else 'absolute'
  runs = ('one run of each method' if details.single_runs(frame) else
          'mean over the runs that did not diverge, band from the least to the '
          'largest')
  panels = [
      figures.Panel(
          panel, _error_panel(part, column, styles),
          f'{panel}: {kind} error of each method against action noise. The '
          'numbers are in the tables below.')
      for panel, part in main.groupby('panel')]
  return figures.Figure(
      name=column.replace('_', '-'),
      caption=(
          f'{kind.capitalize()} error against action noise: {runs}. A cross '
          'at the upper edge counts runs that diverged. Inside the grey band '
          'an error is less than two standard errors of the simulated truth.'),
      panels=panels, styles=_used(main, styles))


def time_figure(frame: pd.DataFrame, styles: Styles) -> figures.Figure:
  """Returns CPU time against relative error, by task."""
  known = frame[frame.relative_error.notna() & (frame.cpu_seconds > 0.)]
  panels = [
      figures.Panel(
          panel, _time_panel(part, styles),
          f'{panel}: median relative error of each method against its median '
          'CPU time. The numbers are in the table of methods.')
      for panel, part in known.groupby('panel')]
  problems = known.cell.nunique()
  return figures.Figure(
      name='time',
      caption=(
          'CPU seconds of the one run of each method against its relative '
          'error. A run that diverged stands at the upper edge.'
          if problems == 1 and details.single_runs(known) else
          'CPU seconds of a run against its relative error: medians over all '
          'noise levels, bars over the middle half of the runs. A method '
          'whose median run diverged stands at the upper edge.'),
      panels=panels, styles=_used(known, styles))


def curves_figure(
    frame: pd.DataFrame, rows: list[rows_lib.Row], styles: Styles,
) -> figures.Figure | None:
  """Returns learning curves, one dataset for each panel and noise.

  None where no row has a curve.
  """
  has = pd.Series([bool(_curve(row)[0].size) for row in rows], frame.index)
  main = details.paper_policy(frame[frame.panel.isin(frame.panel[has])])
  panels = []
  for (panel, noise), part in main.groupby(['panel', 'action_noise']):
    counts = has[part.index].groupby(part.question).sum()
    if not counts.max():
      continue
    part = part[part.question == counts.idxmax()]
    dataset = part.dataset.iloc[0]
    panels.append(figures.Panel(
        f'{panel}, noise {noise:g}',
        _curves_panel(part, [rows[index] for index in part.index], styles),
        f'Estimates over training on {dataset}; the true value is '
        f'{part.truth.iloc[0]:.4g}.'))
  if not panels:
    return None
  shown = panels[:_MOST_CURVES]
  cut = (f' The first {_MOST_CURVES} of {len(panels)} are shown.'
         if len(panels) > len(shown) else '')
  noises = main.action_noise.nunique()
  return figures.Figure(
      name='curves',
      caption=(
          'Estimates over training on one dataset for each noise level'
          + ('' if details.single_runs(main) else
             ': median over seeds, band from the least to the largest')
          + '. The black line is the truth with two standard errors, the '
          'dotted line the return of the log; a method without updates is a '
          'mark at the right edge. Curves that leave the panel are cut '
          f'off.{cut}'),
      panels=shown, styles=_used(main, styles), columns=min(noises, 6))


def _used(frame: pd.DataFrame, styles: Styles) -> list[figures.Style]:
  present = set(frame.variant)
  return [style for name, style in styles.items() if name in present]


def _error_panel(
    part: pd.DataFrame, column: str, styles: Styles,
) -> Callable[[Any], None]:
  share = 100. if column == 'relative_error' else 1.

  def draw(axes: Any) -> None:
    failures: dict[float, int] = {}
    for variant, group in part.groupby('variant'):
      style = styles[variant]
      for noise, runs in group.groupby('action_noise'):
        failures[noise] = failures.get(noise, 0) + int(runs.failed.sum())
      sound = share * group[~group.failed].groupby('action_noise')[column].agg(
          ['mean', 'min', 'max'])
      axes.plot(
          sound.index, sound['mean'], color=style.color, linestyle=style.dash,
          marker=style.marker)
      axes.fill_between(
          sound.index, sound['min'], sound['max'], color=style.color,
          alpha=0.08, linewidth=0.)
    figures.log_scale(axes.yaxis)
    low, high = axes.get_ylim()
    scale = part.truth.abs() if column == 'relative_error' else 1.
    band = (2. * share * part.truth_standard_error / scale).groupby(
        part.action_noise).mean().dropna()
    places, heights = band.index.to_numpy(), band.to_numpy()
    if len(band) == 1:  # One noise level: across the panel.
      places, heights = np.array(axes.get_xlim()), heights.repeat(2)
    axes.fill_between(
        places, heights, low, where=heights > low, color='#888888',
        alpha=0.25, linewidth=0.)
    axes.set(
        ylim=(low, high), xlabel='action noise',
        xticks=sorted(part.action_noise.unique()),
        ylabel='relative error (%)' if share > 1. else 'absolute error')
    for noise, count in failures.items():
      if count:
        axes.annotate(
            f'✕{count}', (noise, 1.), xycoords=('data', 'axes fraction'),
            ha='center', va='bottom', fontsize=8, color='#d55e00')

  return draw


def _time_panel(
    part: pd.DataFrame, styles: Styles) -> Callable[[Any], None]:

  def draw(axes: Any) -> None:
    above = []
    for variant, group in part.groupby('variant'):
      style = styles[variant]
      look = {'color': style.color, 'marker': style.marker,
              'linestyle': 'none',
              'fillstyle': 'full' if style.dash == '-' else 'none'}
      seconds = group.cpu_seconds.median()
      low, middle, high = 100. * np.quantile(
          group.relative_error, (0.25, 0.5, 0.75), method='lower')
      if not np.isfinite(middle):
        above.append((seconds, look))
        continue
      axes.plot(seconds, middle, **look)
      axes.plot([seconds] * 2, [low, high if np.isfinite(high) else middle],
                color=style.color, linewidth=1.)
    figures.log_scale(axes.xaxis)
    figures.log_scale(axes.yaxis)
    for seconds, look in above:
      axes.plot(seconds, 1., **look, clip_on=False,
                transform=axes.get_xaxis_transform())
    axes.set(xlabel='CPU seconds', ylabel='relative error (%)')

  return draw


def _curve(row: rows_lib.Row) -> tuple[Any, Any]:
  """Returns the share of updates done and the estimates there."""
  steps = np.asarray(row.curves.get('updates', ()), np.float64)
  values = np.asarray(row.curves.get('estimate', ()), np.float64)
  if steps.ndim != 1 or len(steps) < 2 or steps.shape != values.shape:
    return np.zeros(0), np.zeros(0)
  kept = np.isfinite(values) & np.isfinite(steps)
  last = steps[kept].max() if kept.any() else 0.
  if last <= 0.:
    return np.zeros(0), np.zeros(0)
  return 100. * steps[kept] / last, values[kept]


def _curves_panel(
    part: pd.DataFrame, rows: list[rows_lib.Row], styles: Styles,
) -> Callable[[Any], None]:
  grid = np.linspace(0., 100., _POINTS)

  def draw(axes: Any) -> None:
    variants = part.variant.tolist()
    for variant in dict.fromkeys(variants):
      style = styles[variant]
      ours = [row for row, name in zip(rows, variants, strict=True)
              if name == variant]
      drawn = [curve for row in ours if (curve := _curve(row))[0].size]
      if drawn:
        values = np.array([np.interp(
            grid, *curve, left=np.nan) for curve in drawn])
        values = values[:, ~np.isnan(values).any(axis=0)]
        steps = grid[-values.shape[1]:]
        axes.plot(steps, np.median(values, axis=0), color=style.color,
                  linestyle=style.dash, linewidth=1.3)
        if len(values) > 1:
          axes.fill_between(steps, values.min(axis=0), values.max(axis=0),
                            color=style.color, alpha=0.12, linewidth=0.)
      elif style.marker != 'x':  # The log has a line of its own.
        sound = part[(part.variant == variant) & ~part.failed].estimate
        axes.plot([100.] * len(sound), sound, color=style.color,
                  marker=style.marker, linestyle='none', clip_on=False)
    _reference_lines(axes, part)

  return draw


def _reference_lines(axes: Any, part: pd.DataFrame) -> None:
  """Draws the truth and the log, and keeps the axes to where they matter."""
  first = part.iloc[0]
  seen = [*part.estimate[~part.failed], first.truth, first.log_return]
  seen = [value for value in seen if np.isfinite(value)]
  if np.isfinite(first.truth):
    error = 2. * np.nan_to_num(first.truth_standard_error)
    axes.axhline(first.truth, color='#000000', linewidth=1.2)
    axes.axhspan(first.truth - error, first.truth + error, color='#888888',
                 alpha=0.3, linewidth=0.)
  if np.isfinite(first.log_return):
    axes.axhline(first.log_return, color='#808080', linestyle=':')
  if seen:
    margin = 0.3 * (max(seen) - min(seen)) or 0.1 * abs(seen[0]) or 1.
    axes.set_ylim(min(seen) - margin, max(seen) + margin)
  axes.set(xlabel='updates (% of the run)', ylabel='estimate', xlim=(0., 100.),
           xticks=(0., 50., 100.))
  axes.locator_params(axis='y', nbins=5)
