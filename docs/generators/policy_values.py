"""The runs of the paper's experiment, which several pages quote.

    dfiv-ope reproduce ope --budget full --out runs
    dfiv-ope report runs --out report
    python docs/generators/policy_values.py report/results.csv
    python docs/generators/quotes.py --write
    python docs/figures/policy_values.py

The first argument is the table of a report. What is quoted of it is kept in
docs/results/policy_values.csv, a line for each run; lines of other runs stay.
"""

import argparse
import math
import operator
import pathlib
import statistics
from typing import NamedTuple

import kept_runs
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

# What tells a run from all others.
_NAMES = ('task', 'action_noise', 'preset', 'method', 'seed')


class Cell(NamedTuple):
  """What the runs of a method say of a task at one level of noise.

  Attributes:
    runs: those that did not diverge, by seed.
    diverged: how many others there are.
  """

  runs: list[kept_runs.Run]
  diverged: int

  @property
  def errors(self) -> list[float]:
    """Errors in % of the true value."""
    return [
      100.0 * abs(float(run['estimate']) / float(run['truth']) - 1.0)
      for run in self.runs
    ]

  @property
  def error(self) -> float:
    """Their mean; nan if all diverged."""
    return statistics.fmean(self.errors) if self.runs else math.nan

  @property
  def seconds(self) -> float:
    """Median CPU seconds of a run."""
    return statistics.median(float(run['cpu_seconds']) for run in self.runs)

  @property
  def interval(self) -> tuple[float, float] | None:
    """Ends of the 95 % interval of all seeds together, if there is one."""
    run = self.runs[0]
    return (float(run['low']), float(run['high'])) if run['low'] else None

  @property
  def holds(self) -> bool:
    """Whether that interval has the true value in it."""
    low, high = self.interval or (math.nan, math.nan)
    return low <= float(self.runs[0]['truth']) <= high


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


def policy_noise(task: str) -> str:
  """Returns a table of the errors on a task, by noise."""
  rows = []
  for method in METHODS:
    found = [cell(method, task, noise) for noise in noises()]
    if any(each.runs for each in found):
      rows.append([label(method), *(_spread(each) for each in found)])
  return markdown_tables.write(
    ['method', *(f'noise {noise}' for noise in noises())], rows
  )


def policy_paper() -> str:
  """Returns a table of the errors of the paper's configs, by noise."""
  rows = []
  for task in TASKS:
    for method in METHODS:
      found = [cell(method, task, noise, 'paper') for noise in noises()]
      seconds = [each.seconds for each in found if each.runs]
      if seconds:
        rows.append(
          [
            task,
            label(method),
            *(_spread(each) for each in found),
            f'{statistics.median(seconds):.1f}',
          ]
        )
  return markdown_tables.write(
    ['task', 'method', *(f'noise {noise}' for noise in noises()), 'CPU s'],
    rows,
    text=2,
  )


def policy_summary() -> str:
  """Returns a table of the methods over all logs."""
  rows = []
  for method in METHODS:
    found = [
      (task, noise, each)
      for task in TASKS
      for noise in noises()
      if (each := cell(method, task, noise)).runs
    ]
    if not found:
      continue
    errors = [each.error for _, _, each in found]
    naive = [cell('log', task, noise).error for task, noise, _ in found]
    with_ends = [each for _, _, each in found if each.interval]
    held = sum(each.holds for each in with_ends)
    told = method != 'log'
    rows.append(
      [
        label(method),
        f'{statistics.median(errors):.2f}',
        f'{max(errors):.1f}',
        f'{sum(map(operator.lt, errors, naive))} of {len(found)}'
        if told
        else '',
        f'{held} of {len(with_ends)}' if told else '',
        f'{sum(each.diverged for _, _, each in found)}' if told else '',
        f'{statistics.median(each.seconds for _, _, each in found):.1f}'
        if told
        else '',
      ]
    )
  return markdown_tables.write(
    [
      'method',
      'median error in %',
      'largest',
      'better than the average of the log',
      'intervals that hold',
      'diverged',
      'CPU s',
    ],
    rows,
  )


def label(method: str) -> str:
  """Returns what tables call a method."""
  return (
    '(average of the log)'
    if method == 'log'
    else agents.ENTRIES[method].style.label
  )


def _spread(found: Cell) -> str:
  """Returns mean and standard deviation of the errors, in %."""
  if not found.runs:
    return 'diverged' if found.diverged else ''
  told = f'{found.error:.2f}'
  if len(found.runs) > 1:
    told += f' ± {statistics.stdev(found.errors):.2f}'
  return told + (f' ({found.diverged} diverged)' if found.diverged else '')


def _told(found: Cell) -> list[str]:
  """Returns estimates, mean error, interval and time of a cell."""
  estimates = ', '.join(f'{float(run["estimate"]):.4g}' for run in found.runs)
  if found.diverged:
    estimates += f' ({found.diverged} diverged)'
  ends, holds = '', ''
  if found.interval is not None and found.runs[0]['method'] != 'log':
    low, high = found.interval
    ends = f'{low:.4g} to {high:.4g}'
    holds = 'yes' if found.holds else '**no**'
  return [estimates, f'{found.error:.2f}', ends, holds, f'{found.seconds:.1f}']


def _known(value: str, error: str) -> str:
  return f'{float(value):.4f} ± {float(error):.4f}'


def _runs() -> list[kept_runs.Run]:
  return kept_runs.read(_KEPT)


def main() -> None:
  """Keeps the lines of a report's results.csv that pages quote."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('results', type=pathlib.Path, help='of a report')
  lines = kept_runs.read(parser.parse_args().results)
  new = [
    kept_runs.chosen(line, _COPIED)
    for line in lines
    if line['kind'] == 'simulated_task'
    and line['task'] in TASKS
    and line['method'] in METHODS
  ]
  kept = kept_runs.merged(_runs(), new, _NAMES)
  logs: dict[tuple[str, str], str] = {}
  for line in kept:
    place = line['task'], line['action_noise']
    if logs.setdefault(place, line['digest']) != line['digest']:
      raise ValueError(f'Runs on {place} are of two logs.')
  kept_runs.write(
    _KEPT,
    kept,
    lambda line: (
      TASKS.index(line['task']),
      float(line['action_noise']),
      line['preset'],
      METHODS.index(line['method']),
      int(line['seed'] or 0),
    ),
  )
  print(f'{len(new)} runs of {len(lines)} lines are kept, {len(kept)} in all.')


if __name__ == '__main__':
  main()
