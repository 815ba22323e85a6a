"""`dfiv-ope evaluate`: what a policy is worth, by one method or by all."""

import collections
from collections.abc import Callable, Mapping
import functools
import pathlib
import statistics
from typing import TYPE_CHECKING, Annotated

from rich import box
from rich import table as rich_table
import typer

from dfiv_ope import agents
from dfiv_ope.launch import console, overrides, runtime, workspace
from dfiv_ope.launch import rows as rows_lib

if TYPE_CHECKING:
  from dfiv_ope import results
  from dfiv_ope.launch import cells

PRESETS = ('default', 'paper')


def evaluate(
    dataset: Annotated[pathlib.Path, typer.Argument(
        help='Directory of a dataset.', metavar='DATASET')],
    out: Annotated[pathlib.Path, typer.Option(
        help='Directory of the result rows; a run that has its row there is '
             'not run again.')],
    method: Annotated[list[str] | None, typer.Option(
        help=f'{", ".join(agents.NAMES)}, or all; may be repeated.')] = None,
    seeds: Annotated[int, typer.Option(
        help='Runs seeds 0 to this number, less one.', min=1)] = 3,
    config: Annotated[str, typer.Option(
        help="default: the best we know; paper: the paper's networks and "
             'hyper-parameters.')] = 'default',
    settings: Annotated[list[str] | None, typer.Option(
        '--set', help="name=value of the method's config; may be repeated.",
        metavar='NAME=VALUE')] = None,
    target_epsilon: Annotated[float, typer.Option(
        help='Evaluate the policy of the dataset with this probability of a '
             'uniform action. The epsilon of the dataset gives the policy '
             'that the log was made with.', min=0., max=1.)] = 0.,
    truth_episodes: Annotated[int, typer.Option(
        help='With --target-epsilon, simulate at most as many episodes for '
             'the true value.', min=2)] = 40_000,
) -> None:
  """Estimate the value of a policy from a log, and compare with the truth.

  Each method prints its estimate, averaged over seeds, beside the true value
  (by simulation) and the naive answer, the average return of the log. Rows
  with learning curves, configs and versions go to --out. A killed command
  goes on where it was when it is given again, and gives the same numbers.

      dfiv-ope evaluate data/catch --method all --out runs/catch
  """
  if not method:
    raise ValueError(
        f'Name a --method: {", ".join(agents.NAMES)}, or all.')
  names = overrides.method_names(method, agents.NAMES, settings or [])
  if config not in PRESETS:
    raise ValueError(
        f'There is no config {config!r}. Choose one of {", ".join(PRESETS)}.')
  runtime.start()
  from dfiv_ope import results
  from dfiv_ope.launch import cells
  command = functools.partial(
      rows_lib.command, dataset, out, preset=config, settings=settings or [],
      target_epsilon=target_epsilon, truth_episodes=truth_episodes)
  wanted = _cells(names, seeds, config, settings or [], command)
  with workspace.exclusive(out):
    with console.progress('Opening the dataset'):
      question = cells.Question(
          dataset, target_epsilon=target_epsilon, out=out,
          truth_episodes=truth_episodes)
    naive = cells.log_row(question, command(method=rows_lib.LOG, seed=0))
    keys = _run(question, naive, wanted, out)
    rows = [row for row in results.latest(results.read(out))
            if row.key in keys]
  print_table(rows)
  if any(row.failure for row in rows):
    raise typer.Exit(1)


def _cells(
    names: list[str], seeds: int, preset: str, settings: list[str],
    command: Callable[..., str],
) -> list['cells.Cell']:
  """Returns the cells of methods and seeds."""
  from dfiv_ope.launch import cells
  result = []
  for name in names:
    config = overrides.apply(agents.load(name).CONFIGS[preset], settings)
    result += [
        cells.Cell(
            method=name, config=config, seed=seed,
            preset=rows_lib.preset(preset, settings),
            command=command(method=name, seed=seed))
        for seed in range(seeds)]
  return result


def _run(
    question: 'cells.Question', naive: 'results.ResultRow',
    wanted: list['cells.Cell'], out: pathlib.Path,
) -> set[str]:
  """Runs what has no row yet; returns the keys of all that was asked for."""
  from dfiv_ope import results
  from dfiv_ope.launch import cells
  have = {
      row.key for row in results.known(out)
      if row.problem == question.description and not row.retry}
  if naive.key not in have:
    results.append(out, naive)
  by_key = {question.key(cell): cell for cell in wanted}
  for key in have & set(by_key):
    # A kill between the row and this leaves them behind.
    workspace.remove(rows_lib.checkpoints(out, key))
  missing = [cell for key, cell in by_key.items() if key not in have]
  if len(missing) < len(by_key):
    console.NOTES.print(
        f'{len(by_key) - len(missing)} of {len(by_key)} runs have their rows '
        f'in {out} and are not run again.', highlight=False)
  with console.progress('Evaluating', len(missing)) as update:
    for done, cell in enumerate(missing):
      name = f'{cell.method} seed {cell.seed}'
      update(done, name)

      def report(
          step: int, steps: int, note: str, done: int = done,
          name: str = name) -> None:
        update(done + (step / steps if steps else 1.), f'{name} {note}')

      cells.run(question, cell, out=out, progress=report)
  return {naive.key, *by_key}


def print_table(rows: list['results.ResultRow']) -> None:
  """Prints each setting with its errors, averaged over seeds."""
  groups: dict[tuple[str, str], list[results.ResultRow]] = (
      collections.defaultdict(list))
  order = ('log', *agents.NAMES)
  for row in sorted(rows, key=lambda row: order.index(row.method)):
    groups[row.method, repr(row.config)].append(row)
  problem = rows[0].problem
  target = (f' with epsilon {problem["target_epsilon"]:g}'
            if problem['target_epsilon'] else '')
  table = rich_table.Table(
      box=box.SIMPLE, padding=(0, 1, 0, 0), title_justify='left',
      title=f'Value of the target policy{target} on\n{problem["dataset"]}',
      caption=f'The truth has a standard error of '
              f'{problem["truth_standard_error"]:.4f}; (log) is the average '
              'return of the log.', caption_justify='left')
  for column in ('method', 'config', 'seeds', 'div.', 'estimate', 'spread',
                 'truth', 'error', 'in %', 'CPU s'):
    table.add_column(
        column, justify='left' if column in ('method', 'config') else 'right')
  for (method, _), group in groups.items():
    sound = [row.metrics for row in group if not row.failure]
    numbers = _numbers(sound, problem['truth']) if sound else ['-'] * 5
    if method == 'log':
      table.add_row('(log)', '', '', '', *numbers)
      continue
    seconds = statistics.mean(row.cpu_seconds for row in group)
    table.add_row(
        method, group[0].preset, str(len(group)),
        str(len(group) - len(sound)), *numbers, f'{seconds:.1f}')
  console.OUTPUT.print(table)
  for row in rows:
    if row.failure:
      console.OUTPUT.print(
          f'{row.method} seed {row.seed}: {row.failure}; it is in no average.',
          highlight=False, soft_wrap=True)


def _numbers(sound: list[Mapping[str, float]], truth: float) -> list[str]:
  """Returns estimate, spread, truth, error and relative error over seeds."""
  estimates = [each['estimate'] for each in sound]
  error = statistics.mean(each['error'] for each in sound)
  relative = statistics.mean(each['relative_error'] for each in sound)
  return [
      f'{statistics.mean(estimates):.4f}',
      f'{statistics.stdev(estimates):.4f}' if len(sound) > 1 else '',
      f'{truth:.4f}', f'{error:.4f}', f'{100 * relative:.2f}']
