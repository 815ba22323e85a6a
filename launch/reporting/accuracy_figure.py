"""The figure of `dfiv-ope benchmark time-to-accuracy`."""

from collections.abc import Sequence
import pathlib

from matplotlib import figure as mpl_figure

from dfiv_ope import agents
from dfiv_ope.evaluation import time_to_accuracy
from dfiv_ope.launch.reporting import figures

_DASHES = {'default': '-', 'paper': '--'}


def write(
  courses: Sequence[time_to_accuracy.Course],
  truth: float,
  within: float,
  out: pathlib.Path,
) -> list[pathlib.Path]:
  """Writes estimates against CPU seconds; returns the files.

  Args:
    courses: of the learners.
    truth: the true value.
    within: how far estimates may be from it, as a share of it.
    out: directory of the files.
  """
  with figures.settings():
    drawn = mpl_figure.Figure(figsize=(6.5, 3.4))
    axes = drawn.subplots()
    axes.axhline(truth, color='#000000', linewidth=1.2)
    room = within * abs(truth)
    axes.axhspan(
      truth - room, truth + room, color='#888888', alpha=0.25, linewidth=0.0
    )
    told = set()
    for each in courses:
      style = agents.ENTRIES[each.method].style
      label = f'{style.label}, {each.config}'
      axes.plot(
        each.cpu_seconds,
        each.estimates,
        color=style.color,
        marker=style.marker,
        markersize=4,
        linewidth=1.2,
        linestyle=_DASHES.get(each.config, ':'),
        label=None if label in told else label,
      )
      told.add(label)
    figures.log_scale(axes.xaxis)
    last = [each.estimates[-1] for each in courses if not each.failure]
    reach = max([4.0 * room, *(1.5 * abs(each - truth) for each in last)])
    axes.set(
      xlabel='CPU s of training',
      ylabel='estimate',
      ylim=(truth - reach, truth + reach),
    )
    axes.legend(frameon=False, loc='center left', bbox_to_anchor=(1.0, 0.5))
    return figures.write(drawn, 'time-to-accuracy', out)
