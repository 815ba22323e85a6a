"""Draws docs/figures/suite.svg: the suite's results, by kinds of logs.

    python docs/figures/suite.py

It reads dfiv_ope/evaluation/suite_results.csv and names it in the file.
"""

import csv
import hashlib
import pathlib

import matplotlib as mpl
from matplotlib import figure as mpl_figure

from dfiv_ope import agents
from dfiv_ope.launch.reporting import figures

_ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = _ROOT / 'dfiv_ope' / 'evaluation' / 'suite_results.csv'
PICTURE = pathlib.Path(__file__).with_suffix('.svg')
_ALL = 'all cases'
_HALVES = ('development', 'held_out')
# A median of fewer answers than this says little.
_ANSWERS = 3


def main() -> None:
  """Writes the picture."""
  with ROWS.open(encoding='utf-8', newline='') as file:
    rows = list(csv.DictReader(file))
  told = {row['group'] for row in rows if int(row['answered']) >= _ANSWERS}
  groups = [_ALL, *sorted(told - {_ALL})]
  used = {row['method'] for row in rows}
  methods = [name for name in agents.ENTRIES if name in used]
  with figures.settings(), mpl.rc_context({'svg.hashsalt': 'suite'}):
    drawn = mpl_figure.Figure(figsize=(9.0, 0.34 * len(groups) + 1.3))
    left, right = drawn.subplots(1, 2, sharey=True)
    for axes, column in ((left, 'median_error'), (right, 'coverage')):
      counted = 'answered' if axes is left else 'intervals'
      for name in methods:
        style = agents.ENTRIES[name].style
        for half in _HALVES:
          known = [
            (100.0 * float(row[column]), groups.index(row['group']))
            for row in rows
            if (row['method'], row['half']) == (name, half)
            and row['group'] in groups
            and int(row[counted]) >= _ANSWERS
          ]
          axes.plot(
            *zip(*known, strict=True),
            linestyle='none',
            marker=style.marker,
            color=style.color,
            markerfacecolor=style.color if half == _HALVES[1] else 'none',
            label=style.label if half == _HALVES[1] else None,
          )
    figures.log_scale(left.xaxis)
    left.set(xlabel='median error, % of the value')
    left.set_yticks(range(len(groups)), groups)
    left.invert_yaxis()
    right.axvline(95.0, color='black', linestyle=':')
    right.set(xlabel='95 % intervals that hold, %', xlim=(0.0, 103.0))
    for axes in (left, right):
      axes.grid(axis='y', alpha=0.3)
    drawn.legend(
      *left.get_legend_handles_labels(),
      loc='outside upper center',
      ncols=len(methods),
      frameon=False,
    )
    drawn.savefig(
      PICTURE,
      bbox_inches='tight',
      metadata={
        'Date': None,
        'Source': hashlib.sha256(ROWS.read_bytes()).hexdigest(),
      },
    )


if __name__ == '__main__':
  main()
