"""The runs of the paper's experiment, which several pages quote.

    dfiv-ope reproduce ope --budget full --out runs
    python docs/generators/policy_values.py runs/report/results.csv
    python docs/generators/quotes.py --write

The first argument is the table of a report. What is quoted of it is kept in
docs/results/policy_values.csv, a line for each run.
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
from typing import NamedTuple

import markdown_tables

from dfiv_ope import agents

_KEPT = pathlib.Path(__file__).parents[1] / 'results' / 'policy_values.csv'
TASKS = ('catch', 'mountain_car', 'cartpole')
METHODS = ('log', *agents.LEARNERS)
_COPIED = (
  'task',
  'action_noise',
  'method',
  'preset',
  'seed',
  'estimate',
  'low',
  'high',
  'truth',
  'truth_standard_error',
  'log_return',
  'log_standard_error',
  'transitions',
  'digest',
  'outcome',
  'cpu_seconds',
)

Run = dict[str, str]


class Cell(NamedTuple):
  """What the runs of a method say of a task at one level of noise.

  Attributes:
    runs: those that did not diverge, by seed.
    diverged: how many others there are.
  """

  runs: list[Run]
  diverged: int

  @property
  def error(self) -> float:
    """Mean error in % of the true value; nan if all diverged."""
    errors = [
      abs(float(run['estimate']) / float(run['truth']) - 1.0)
      for run in self.runs
    ]
    return 100.0 * statistics.fmean(errors) if errors else math.nan

  @property
  def seconds(self) -> float:
    """Median CPU seconds of a run."""
    return statistics.median(float(run['cpu_seconds']) for run in self.runs)

  @property
  def interval(self) -> tuple[float, float] | None:
    """Ends of the 95 % interval of all seeds together, if there is one."""
    run = self.runs[0]
    return (float(run['low']), float(run['high'])) if run['low'] else None


def cell(method: str, task: str, noise: str, preset: str = 'default') -> Cell:
  """Returns the runs of a method on one log."""
  found = sorted(
    (
      run
      for run in _runs()
      if (run['method'], run['task'], run['preset']) == (method, task, preset)
      and float(run['action_noise']) == float(noise)
    ),
    key=lambda run: int(run['seed']),
  )
  sound = [run for run in found if run['outcome'] == 'finished']
  return Cell(sound, len(found) - len(sound))


def noises() -> list[str]:
  """Returns the levels of noise, the least first."""
  return [
    f'{each:g}'
    for each in sorted({float(run['action_noise']) for run in _runs()})
  ]


def policy_logs() -> str:
  """Returns a table of the logs, their values and the policies' values."""
  rows = []
  for noise in noises():
    for task in TASKS:
      runs = cell('log', task, noise).runs
      if runs:
        run = runs[0]
        rows.append(
          [
            task,
            noise,
            _known(run['truth'], run['truth_standard_error']),
            _known(run['log_return'], run['log_standard_error']),
            f'{int(float(run["transitions"])):,}',
            run['digest'][:12],
          ]
        )
  return markdown_tables.write(
    [
      'task',
      'action noise',
      'true value',
      'average return of the log',
      'transitions',
      'digest',
    ],
    rows,
  )


def policy_errors(preset: str = 'default') -> str:
  """Returns a table with every seed."""
  rows = []
  for noise in noises():
    for task in TASKS:
      for method in METHODS:
        found = cell(method, task, noise, preset)
        if found.runs:
          rows.append([noise, task, method, *_told(found)])
  return markdown_tables.write(
    [
      'noise',
      'task',
      'method',
      'estimates of the seeds',
      'in %',
      '95 % interval',
      'holds',
      'CPU s',
    ],
    rows,
    text=4,
  )


def policy_errors_paper() -> str:
  """Returns the same of the paper's configs."""
  return policy_errors('paper')


def _told(found: Cell) -> list[str]:
  """Returns estimates, mean error, interval and time of a cell."""
  estimates = ', '.join(f'{float(run["estimate"]):.4g}' for run in found.runs)
  if found.diverged:
    estimates += f' ({found.diverged} diverged)'
  ends, holds = '', ''
  if found.interval is not None and found.runs[0]['method'] != 'log':
    low, high = found.interval
    ends = f'{low:.4g} to {high:.4g}'
    holds = 'yes' if low <= float(found.runs[0]['truth']) <= high else '**no**'
  return [estimates, f'{found.error:.2f}', ends, holds, f'{found.seconds:.1f}']


def _known(value: str, error: str) -> str:
  return f'{float(value):.4f} ± {float(error):.4f}'


def _runs() -> list[Run]:
  with _KEPT.open(encoding='utf-8', newline='') as file:
    return list(csv.DictReader(file))


def main() -> None:
  """Keeps the lines of a report's results.csv that pages quote."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('results', type=pathlib.Path, help='of a report')
  with parser.parse_args().results.open(encoding='utf-8', newline='') as file:
    lines = list(csv.DictReader(file))
  kept = sorted(
    (
      {
        **{name: line[name] for name in _COPIED},
        'version': json.loads(line['versions']).get('dfiv-ope', ''),
      }
      for line in lines
      if line['kind'] == 'simulated_task' and line['task'] in TASKS
    ),
    key=lambda line: (
      TASKS.index(line['task']),
      float(line['action_noise']),
      line['preset'],
      METHODS.index(line['method']),
      int(line['seed'] or 0),
    ),
  )
  with _KEPT.open('w', encoding='utf-8', newline='') as file:
    writer = csv.DictWriter(file, [*_COPIED, 'version'], lineterminator='\n')
    writer.writeheader()
    writer.writerows(kept)
  print(f'{len(kept)} runs of {len(lines)} lines are kept.')


if __name__ == '__main__':
  main()
