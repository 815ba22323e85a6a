"""The runs of the demand design, which several pages quote.

    dfiv-ope reproduce demand --budget full --out runs
    dfiv-ope report runs --out report
    python docs/generators/demand_errors.py report/results.csv
    python docs/generators/quotes.py --write

The first argument is the table of a report. What is quoted of it is kept in
docs/results/demand.csv, a line for each run; lines of other runs stay.
"""

import argparse
import pathlib
import statistics
from typing import NamedTuple

import kept_runs
import markdown_tables

from dfiv_ope.iv import methods

_KEPT = pathlib.Path(__file__).parents[1] / 'results' / 'demand.csv'
_NAMES = ('method', 'preset', 'n', 'rho', 'seed')
_COPIED = (*_NAMES, 'mse', 'outcome', 'cpu_seconds')
_PRESETS = ('default', 'paper')


class Cell(NamedTuple):
  """The runs of a method on data of one size and level of confounding.

  Attributes:
    n: rows.
    rho: confounding.
    errors: mean squared errors of the seeds.
    seconds: median CPU seconds.
    diverged: how many other seeds there are.
  """

  n: int
  rho: float
  errors: list[float]
  seconds: float
  diverged: int

  @property
  def median(self) -> str:
    """The median error, with three digits."""
    return _told(statistics.median(self.errors))


def cells(method: str, preset: str = 'default') -> list[Cell]:
  """Returns what is kept of a method, the fewest rows first."""
  found: dict[tuple[int, float], list[kept_runs.Run]] = {}
  for run in kept_runs.read(_KEPT):
    if (run['method'], run['preset']) == (method, preset):
      found.setdefault((int(run['n']), float(run['rho'])), []).append(run)
  made = []
  for (n, rho), runs in sorted(found.items()):
    sound = [run for run in runs if run['outcome'] == 'finished']
    made.append(
      Cell(
        n,
        rho,
        [float(run['mse']) for run in sound],
        statistics.median(float(run['cpu_seconds']) for run in runs),
        len(runs) - len(sound),
      )
    )
  return made


def table(preset: str = 'default') -> str:
  """Returns a table of all that is kept of a preset."""
  rows = []
  for method in methods.NAMES:
    for cell in cells(method, preset):
      if not cell.errors:
        continue
      seeds = f'{len(cell.errors)}'
      if cell.diverged:
        seeds += f' ({cell.diverged} diverged)'
      rows.append(
        [
          method,
          f'{cell.n}',
          f'{cell.rho:g}',
          seeds,
          cell.median,
          f'{_told(min(cell.errors))} to {_told(max(cell.errors))}',
          f'{cell.seconds:.2g}',
        ]
      )
  return markdown_tables.write(
    ['method', 'n', 'rho', 'seeds', 'median', 'range', 'CPU s, median'], rows
  )


def _told(error: float) -> str:
  return f'{error:,.0f}' if error >= 1000.0 else f'{error:.3g}'


def main() -> None:
  """Keeps the lines of a report's results.csv that pages quote."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('results', type=pathlib.Path, help='of a report')
  new = [
    kept_runs.chosen(line, _COPIED)
    for line in kept_runs.read(parser.parse_args().results)
    if line['problem'].startswith('demand n=') and line['custom'] == 'False'
  ]
  old = kept_runs.read(_KEPT) if _KEPT.exists() else []
  kept = kept_runs.merged(old, new, _NAMES)
  kept_runs.write(
    _KEPT,
    kept,
    lambda line: (
      _PRESETS.index(line['preset']),
      methods.NAMES.index(line['method']),
      int(line['n']),
      float(line['rho']),
      int(line['seed']),
    ),
  )
  print(f'{len(new)} runs are kept, {len(kept)} in all.')


if __name__ == '__main__':
  main()
