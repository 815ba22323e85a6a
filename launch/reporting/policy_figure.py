"""The picture of several policies on one log: estimates, intervals, truths."""

import pathlib
from typing import Any

from matplotlib import figure as mpl_figure
import numpy as np

from dfiv_ope.launch.reporting import charts, figures, method_labels

_TRUTH = '#000000'
# Inches of a policy and of the rest; longer names are cut.
_LINE, _REST, _LONGEST = 0.24, 1.1, 40


def write(found: dict[str, Any], out: pathlib.Path) -> list[pathlib.Path]:
  """Draws the policies, the greatest estimate on top; returns the files.

  Args:
    found: an entry of `policy_comparison.data`.
    out: directory of the files, which are replaced.
  """
  lines = found['policies'][::-1]
  places = np.arange(len(lines))
  style = method_labels.style(found['method'])
  color = style.color if style else charts.NEUTRAL
  with figures.settings():
    figure = mpl_figure.Figure(figsize=(7.0, _REST + _LINE * len(lines)))
    axes = figure.add_subplot()
    for place, line in zip(places, lines, strict=True):
      if line['interval'] is not None:
        axes.plot(line['interval'], [place] * 2, color=color, linewidth=1.4)
    axes.plot(
      [line['estimate'] for line in lines],
      places,
      'o',
      color=color,
      markersize=4,
      label='estimate',
    )
    known = [
      (line['truth'], place)
      for place, line in zip(places, lines, strict=True)
      if line['truth'] is not None
    ]
    if known:
      axes.plot(
        *zip(*known, strict=True),
        'x',
        color=_TRUTH,
        markersize=5,
        label='true value',
      )
      axes.legend(frameon=False, loc='lower right')
    axes.set_yticks(places, [_short(line['policy']) for line in lines])
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.set_xlabel(
      f'value by {found["method"]}, {100 * found["level"]:g} % confidence '
      'interval'
    )
    return figures.write(figure, f'policies-{found["method"]}', out)


def _short(name: str) -> str:
  return name if len(name) <= _LONGEST else f'{name[: _LONGEST - 1]}…'
