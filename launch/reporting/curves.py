"""Learning curves: estimates over the training, beside truth and log."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from dfiv_ope.launch.reporting import details, figures
from dfiv_ope.results import rows as rows_lib

Styles = dict[str, figures.Style]

# Points of a learning curve; more are not seen at this size.
_POINTS = 25
# At most so many panels of learning curves; of more, those at a middle noise.
_MOST_CURVES = 6


def figure(
  frame: pd.DataFrame, rows: list[rows_lib.Row], styles: Styles
) -> figures.Figure | None:
  """Returns learning curves, one dataset for each panel and noise.

  None where no row has a curve.
  """
  has = pd.Series([bool(_curve(row)[0].size) for row in rows], frame.index)
  main = details.paper_policy(frame[frame.panel.isin(frame.panel[has])])
  count = main.groupby(['panel', 'action_noise']).ngroups
  if count > _MOST_CURVES:
    main = main[
      main.action_noise
      == main.groupby('panel').action_noise.transform(
        lambda noises: sorted(set(noises))[noises.nunique() // 2]
      )
    ]
  panels = []
  for (panel, noise), part in main.groupby(['panel', 'action_noise']):
    counts = has[part.index].groupby(part.question).sum()
    if not counts.max():
      continue
    part = part[part.question == counts.idxmax()]
    dataset = part.dataset.iloc[0]
    panels.append(
      figures.Panel(
        f'{panel}, noise {noise:g}',
        _curves_panel(part, [rows[index] for index in part.index], styles),
        f'Estimates over training on {dataset}; the true value is '
        f'{part.truth.iloc[0]:.4g}.',
      )
    )
  if not panels:
    return None
  shown = panels[:_MOST_CURVES]
  cut = (
    f' {len(shown)} of {count} problems are shown.'
    if count > len(shown)
    else ''
  )
  noises = main.action_noise.nunique()
  return figures.Figure(
    name='curves',
    caption=(
      'Estimates over training'
      + (
        ''
        if details.single_runs(main)
        else ': median over seeds, band from the least to the largest'
      )
      + '. The black line is the truth with two standard errors, the '
      'dotted line the return of the log; closed forms are marks at the '
      f'right edge.{cut}'
    ),
    panels=shown,
    styles=_used(main, styles),
    columns=min(noises, 6),
  )


def _used(frame: pd.DataFrame, styles: Styles) -> list[figures.Style]:
  present = set(frame.variant)
  return [style for name, style in styles.items() if name in present]


def _curve(row: rows_lib.Row) -> tuple[Any, Any]:
  """Returns the share of updates done and the estimates there."""
  steps = np.asarray(row.curves.get('updates', ()), np.float64)
  values = np.asarray(row.curves.get('estimate', ()), np.float64)
  if steps.ndim != 1 or len(steps) < 2 or steps.shape != values.shape:
    return np.zeros(0), np.zeros(0)
  kept = np.isfinite(values) & np.isfinite(steps)
  last = steps[kept].max() if kept.any() else 0.0
  if last <= 0.0:
    return np.zeros(0), np.zeros(0)
  return 100.0 * steps[kept] / last, values[kept]


def _curves_panel(
  part: pd.DataFrame, rows: list[rows_lib.Row], styles: Styles
) -> Callable[[Any], None]:
  grid = np.linspace(0.0, 100.0, _POINTS)

  def draw(axes: Any) -> None:
    variants = part.variant.tolist()
    for variant in dict.fromkeys(variants):
      style = styles[variant]
      ours = [
        row for row, name in zip(rows, variants, strict=True) if name == variant
      ]
      drawn = [curve for row in ours if (curve := _curve(row))[0].size]
      if drawn:
        values = np.array(
          [np.interp(grid, *curve, left=np.nan) for curve in drawn]
        )
        values = values[:, ~np.isnan(values).any(axis=0)]
        steps = grid[-values.shape[1] :]
        axes.plot(
          steps,
          np.median(values, axis=0),
          color=style.color,
          linestyle=style.dash,
          linewidth=1.3,
        )
        if len(values) > 1:
          axes.fill_between(
            steps,
            values.min(axis=0),
            values.max(axis=0),
            color=style.color,
            alpha=0.12,
            linewidth=0.0,
          )
      elif style.marker != 'x':  # The log has a line of its own.
        sound = part[(part.variant == variant) & ~part.failed].estimate
        axes.plot(
          [100.0] * len(sound),
          sound,
          color=style.color,
          marker=style.marker,
          linestyle='none',
          clip_on=False,
        )
    _reference_lines(axes, part)

  return draw


def _reference_lines(axes: Any, part: pd.DataFrame) -> None:
  """Draws the truth and the log, and keeps the axes to where they matter."""
  first = part.iloc[0]
  seen = [*part.estimate[~part.failed], first.truth, first.log_return]
  seen = [value for value in seen if np.isfinite(value)]
  if np.isfinite(first.truth):
    error = 2.0 * np.nan_to_num(first.truth_standard_error)
    axes.axhline(first.truth, color='#000000', linewidth=1.2)
    axes.axhspan(
      first.truth - error,
      first.truth + error,
      color='#888888',
      alpha=0.3,
      linewidth=0.0,
    )
  if np.isfinite(first.log_return):
    axes.axhline(first.log_return, color='#808080', linestyle=':')
  if seen:
    margin = 0.3 * (max(seen) - min(seen)) or 0.1 * abs(seen[0]) or 1.0
    axes.set_ylim(min(seen) - margin, max(seen) + margin)
  axes.set(
    xlabel='updates (% of the run)',
    ylabel='estimate',
    xlim=(0.0, 100.0),
    xticks=(0.0, 50.0, 100.0),
  )
  axes.locator_params(axis='y', nbins=5)
