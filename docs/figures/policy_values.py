"""Draws docs/figures/policy-values.svg: errors against action noise.

    python docs/figures/policy_values.py

It reads docs/results/policy_values.csv and names it in the file. A report of
the same runs has the same charts.
"""

import pathlib

import pandas as pd

from dfiv_ope import agents
from dfiv_ope.launch.reporting import chart_figure, figures, strips

_HERE = pathlib.Path(__file__).parent
ROWS = _HERE.parent / 'results' / 'policy_values.csv'
PICTURE = _HERE / 'policy-values.svg'
_NAIVE = 'Average of the log'


def main() -> None:
  """Writes the picture."""
  runs = pd.read_csv(ROWS)
  runs = runs[runs.preset == 'default']
  runs = runs.assign(
    variant=[
      _NAIVE if name == 'log' else agents.ENTRIES[name].style.label
      for name in runs.method
    ],
    failed=runs.outcome != 'finished',
    error=(runs.estimate / runs.truth - 1.0).abs(),
  )
  styles = figures.styles(
    runs.variant, dict(zip(runs.variant, runs.method, strict=True))
  )
  charts = [
    strips.chart(
      f'errors-{task}',
      {
        f'noise {noise:g}': part
        for noise, part in runs[runs.task == task].groupby('action_noise')
      },
      'error',
      styles=styles,
      title=task,
      axis='relative error',
      percent=True,
      last=('log',),
      caption=strips.MARKS,
    )
    for task in dict.fromkeys(runs.task)
  ]
  drawn = chart_figure.files(PICTURE.stem, charts)
  PICTURE.write_bytes(drawn[f'figures/{PICTURE.name}'])


if __name__ == '__main__':
  main()
