"""Strip plots: what every run of each method has, by noise or by setting."""

from collections.abc import Mapping, Sequence
import math

import pandas as pd

from dfiv_ope.evaluation import result_rows
from dfiv_ope.launch.reporting import (
  charts,
  details,
  figures,
  method_labels,
  tables,
)

Styles = Mapping[str, figures.Style]
MARKS = 'Each run is a mark, a bar the median, a line their range.'
_ONE = 'One run of each method.'


def chart(
  name: str,
  columns: Mapping[str, pd.DataFrame],
  value: str,
  *,
  styles: Styles,
  axis: str,
  caption: str,
  title: str = '',
  percent: bool = False,
  last: Sequence[str] = (),
  logarithmic: bool = True,
  references: Sequence[charts.Reference] = (),
) -> charts.Chart:
  """Returns a chart of runs, a line a method and a column a noise or setting.

  Args:
    name: of the chart.
    columns: frames with `variant`, `method`, `failed` and the values, by the
      names of their columns; one without a name makes a chart of no columns.
    value: the column of the frames that is drawn.
    styles: of the methods.
    axis: what the values are.
    caption: what is shown.
    title: of the chart, if it stands with others.
    percent: whether values are shares.
    last: methods that are none, such as baselines: they stand below.
    logarithmic: whether the scale is; else it is one of shares, 0 to 1.
    references: vertical lines.
  """
  every = pd.concat(columns.values())
  kinds = dict(zip(every.variant, every.method, strict=True))
  names = sorted(
    method_labels.order(every.variant),
    key=lambda variant: kinds[variant] in last,
  )
  return charts.Chart(
    name=name,
    title=title,
    axis=axis,
    percent=percent,
    logarithmic=logarithmic,
    limits=None if logarithmic else (0.0, 1.0),
    columns=[each for each in columns if each],
    caption=caption,
    references=references,
    lanes=[
      charts.Lane(
        label=variant,
        color=styles[variant].color,
        hollow=styles[variant].dash != '-' or kinds[variant] in last,
        tracks=tuple(
          _track(part[part.variant == variant], value, percent=percent)
          for part in columns.values()
        ),
      )
      for variant in names
    ],
  )


def _track(runs: pd.DataFrame, value: str, *, percent: bool) -> charts.Track:
  if runs.empty:
    return charts.Track(text='not run')
  sound, failed = runs[value][~runs.failed], int(runs.failed.sum())
  words = (
    [
      tables.percent(sound.median()).text
      if percent
      else tables.digits(sound.median())
    ]
    if len(sound)
    else []
  )
  if failed:
    words.append(f'{failed} of {len(runs)} diverged')
  if len(runs) == 1 and len(sound):
    return charts.Track(middle=float(sound.iloc[0]), text=words[0])
  # A failure is an infinite value, so that a median may be one.
  ranked = sound.tolist() + [math.inf] * failed
  return charts.Track(
    middle=float(pd.Series(ranked).median()),
    low=sound.min() if len(sound) else math.nan,
    high=max(ranked),
    points=tuple(sound),
    text=', '.join(words),
  )


def errors(
  frame: pd.DataFrame, styles: Styles, mark: str = ''
) -> list[charts.Chart]:
  """Returns errors against action noise, a chart for each task.

  Errors are shares of the absolute true value, where it is not zero.

  Args:
    frame: of `frames.ope`, of one discount.
    styles: of the methods.
    mark: what sets names apart.
  """
  main = details.paper_policy(frame[frame.error.notna()])
  made = []
  for index, (panel, part) in enumerate(main.groupby('panel')):
    relative = bool(part.relative_error.notna().all())
    noises = sorted(part.action_noise.unique())
    chance = (
      2.0
      * (
        part.truth_standard_error / (part.truth.abs() if relative else 1.0)
      ).max()
    )
    shown = tables.percent(chance).text if relative else tables.digits(chance)
    made.append(
      chart(
        f'errors-{index + 1}{mark}',
        {
          f'noise {noise:g}': part[part.action_noise == noise]
          for noise in noises
        },
        'relative_error' if relative else 'error',
        styles=styles,
        title=panel,
        axis='relative error' if relative else 'absolute error',
        percent=relative,
        last=(result_rows.LOG,),
        caption=(_ONE if details.single_runs(part) else MARKS)
        + (
          ''
          if math.isnan(chance)
          else f' Errors below {shown} may be chance: two standard errors of '
          'the true value.'
        ),
      )
    )
  return made


def times(
  frame: pd.DataFrame, styles: Styles, mark: str = ''
) -> list[charts.Chart]:
  """Returns CPU seconds of runs, a chart for each task."""
  known = frame[(frame.cpu_seconds > 0.0) & ~frame.failed]
  return [
    chart(
      f'times-{index + 1}{mark}',
      {'': part},
      'cpu_seconds',
      styles=styles,
      axis='CPU seconds of a run',
      title=panel,
      caption=_ONE if details.single_runs(part) else MARKS,
    )
    for index, (panel, part) in enumerate(known.groupby('panel'))
  ]
