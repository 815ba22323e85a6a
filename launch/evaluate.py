"""`dfiv-ope evaluate`: what a policy is worth, by one method or by all."""

import collections
from collections.abc import Callable, Iterable, Mapping
import functools
import math
import pathlib
import statistics
from typing import TYPE_CHECKING, Annotated, Any

from rich import box
from rich import table as rich_table
import typer

from dfiv_ope import agents, strength
from dfiv_ope.launch import console, overrides, runtime, workspace
from dfiv_ope.launch import rows as rows_lib

if TYPE_CHECKING:
  from dfiv_ope import results
  from dfiv_ope.launch import cells, questions

PRESETS = ('default', 'paper')
_AUTO = 'auto'


def evaluate(
    dataset: Annotated[pathlib.Path, typer.Argument(
        help='Directory of a dataset.', metavar='DATASET')],
    out: Annotated[pathlib.Path, typer.Option(
        help='Directory of the result rows; a run that has its row there is '
             'not run again.')],
    method: Annotated[list[str] | None, typer.Option(
        help=f'{", ".join(agents.NAMES)}, or all; may be repeated. auto '
             'chooses one by held-out episodes.')] = None,
    seeds: Annotated[int, typer.Option(
        help='Runs seeds 0 to this number, less one.', min=1)] = 3,
    config: Annotated[str, typer.Option(
        help="default: the best we know; paper: the paper's networks and "
             'hyper-parameters.')] = 'default',
    settings: Annotated[list[str] | None, typer.Option(
        '--set', help="name=value of the method's config; may be repeated.",
        metavar='NAME=VALUE')] = None,
    policy: Annotated[str | None, typer.Option(
        help='Another target policy than that of the dataset: a directory with '
             'a SavedModel, an .onnx file, a Python function as '
             'package.module:function, uniform, behaviour-clone, or columns '
             '(target probabilities in the log).')] = None,
    interval: Annotated[float, typer.Option(
        help='Level of the intervals: episodes are drawn anew, and the spread '
             'of the seeds is added.')] = 0.95,
    target_epsilon: Annotated[float, typer.Option(
        help='Evaluate the policy of the dataset with this probability of a '
             'uniform action. The epsilon of the dataset gives the policy '
             'that the log was made with.', min=0., max=1.)] = 0.,
    truth_episodes: Annotated[int, typer.Option(
        help='With --target-epsilon, simulate at most as many episodes for '
             'the true value.', min=2)] = 40_000,
) -> None:
  """Estimate the value of a policy from a log, with an interval.

  Each method prints its estimate, averaged over seeds, its interval, and the
  naive answer, the average return of the log; beside them the true value,
  where the dataset was simulated. Rows with learning curves, configs and
  versions go to --out. A killed command goes on where it was when it is given
  again, and gives the same numbers.

      dfiv-ope evaluate data/catch --method all --out runs/catch

      dfiv-ope evaluate data/mine --policy mine:policy --method lstd --out runs
  """
  if not method:
    raise ValueError(
        f'Name a --method: {", ".join(agents.NAMES)}, all, or auto.')
  auto = method == [_AUTO]
  if auto and settings:
    raise ValueError('--set is for one method, so it cannot go with auto.')
  names = overrides.method_names(
      ['all'] if auto else method, agents.NAMES, settings or [])
  if policy is not None and target_epsilon:
    raise ValueError(
        '--target-epsilon changes the policy of a dataset, so it cannot go '
        'with --policy.')
  if not 0. < interval < 1.:
    raise ValueError(f'--interval must lie in (0, 1), got {interval:g}.')
  if config not in PRESETS:
    raise ValueError(
        f'There is no config {config!r}. Choose one of {", ".join(PRESETS)}.')
  runtime.start()
  from dfiv_ope import results
  from dfiv_ope.launch import cells, questions
  command = functools.partial(
      rows_lib.command, dataset, out, preset=config, settings=settings or [],
      target_epsilon=target_epsilon, truth_episodes=truth_episodes,
      policy=policy)
  wanted = _cells(names, seeds, config, settings or [], command)
  with workspace.exclusive(out):
    with console.progress('Opening the dataset'):
      question = questions.Question(
          dataset, target_epsilon=target_epsilon, out=out,
          truth_episodes=truth_episodes, policy=policy)
    if auto:
      from dfiv_ope.launch import choosing
      chosen = choosing.choose(
          question, [cell for cell in wanted
                     if cell.method in choosing.CANDIDATES], out=out)
      wanted = [cell for cell in wanted if cell.method == chosen]
    naive = cells.log_row(question, command(method=rows_lib.LOG, seed=0))
    keys = _run(question, naive, wanted, out)
    rows = [row for row in results.latest(results.read(out))
            if row.key in keys]
  print_table(rows, level=interval)
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
    question: 'questions.Question', naive: 'results.ResultRow',
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
  by_key = {cells.key_of(question, cell): cell for cell in wanted}
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


def print_table(
    rows: list['results.ResultRow'], *, level: float = 0.95) -> None:
  """Prints each setting with its errors, averaged over seeds."""
  from dfiv_ope.launch import intervals
  groups: dict[tuple[str, str], list[results.ResultRow]] = (
      collections.defaultdict(list))
  order = ('log', *agents.NAMES)
  for row in sorted(rows, key=lambda row: order.index(row.method)):
    groups[row.method, repr(row.config)].append(row)
  problem = rows[0].problem
  truth = problem.get('truth')
  table = rich_table.Table(
      box=box.SIMPLE, padding=(0, 1, 0, 0), title_justify='left',
      title=f'Value of {_target(problem)} on\n{problem["dataset"]}',
      caption=_caption(problem, level), caption_justify='left')
  diverged = any(row.failure for row in rows)
  for column in ('method', 'config', 'seeds', *(['div.'] if diverged else []),
                 'estimate', 'low', 'high',
                 *(('error', 'in %') if truth is not None else ()),
                 'CPU s'):
    table.add_column(
        column, justify='left' if column in ('method', 'config') else 'right')
  for (method, _), group in groups.items():
    sound = [row.metrics for row in group if not row.failure]
    errors = _errors(sound, truth)
    estimate = (
        _number(statistics.mean(each['estimate'] for each in sound))
        if sound else '-')
    if method == 'log':
      half = _quantile(level) * problem['log_standard_error']
      mean = problem['log_return']
      table.add_row(
          '(log)', '', '', *([''] if diverged else []), estimate,
          _number(mean - half, 4), _number(mean + half, 4), *errors)
      continue
    found = intervals.of(group, level=level)
    seconds = statistics.mean(row.cpu_seconds for row in group)
    ends = (found.low, found.high) if found else ()
    table.add_row(
        method, group[0].preset, str(len(group)),
        *([str(len(group) - len(sound))] if diverged else []), estimate,
        *([_number(end, 4) for end in ends] or ['', '']), *errors,
        f'{seconds:.1f}')
  console.OUTPUT.print(table)
  for row in rows:
    if row.failure:
      console.OUTPUT.print(
          f'{row.method} seed {row.seed}: {row.failure}; it is in no average.',
          highlight=False, soft_wrap=True)
  if isinstance(problem.get('overlap'), Mapping):
    for words in (problem['overlap']['verdict'],
                  *problem['overlap']['warnings']):
      console.OUTPUT.print(words, highlight=False, soft_wrap=True)
  for words in _first_stage(groups.values()):
    console.OUTPUT.print(words, highlight=False, soft_wrap=True)


def _first_stage(groups: Iterable[list['results.ResultRow']]) -> list[str]:
  """Returns what is weak in the first stage, in plain words."""
  metrics: dict[str, dict[str, float]] = {}
  for group in groups:
    sound = [row.metrics for row in group
             if not row.failure and 'first_stage_r2' in row.metrics]
    if sound:
      name = group[0].method
      label = f'{name} ({group[0].preset})' if name in metrics else name
      metrics[label] = {
          name: statistics.median(each.get(name, math.nan) for each in sound)
          for name in ('first_stage_r2', 'first_stage_f',
                       'first_stage_lost_share')}
  words = [strength.weak_values(metrics)]
  # It belongs to the log and the policy, so any method says the same.
  lost = max((each['first_stage_lost_share'] for each in metrics.values()),
             default=math.nan)
  if lost > strength.ILL_POSED_SHARE:
    words.append(strength.ill_posed(
        lost, instruments='states and actions', outcome='the reward'))
  return [each for each in words if each]


def _target(problem: Mapping[str, Any]) -> str:
  """Returns what a problem's policy is called."""
  if 'policy' in problem:
    return str(problem['policy'])
  epsilon = problem['target_epsilon']
  return 'the target policy' + (f' with epsilon {epsilon:g}' if epsilon else '')


def _caption(problem: Mapping[str, Any], level: float) -> str:
  words = (f'low to high is the {100 * level:g} % interval; (log) is the '
           'average return of the log.')
  if problem.get('truth') is None:
    return words
  return (f'{words} The true value is {problem["truth"]:.4f} ± '
          f'{problem["truth_standard_error"]:.4f}.')


def _number(value: float, digits: int = 5) -> str:
  return (f'{value:#.{digits}g}' if abs(value) < 10 ** digits
          else f'{value:,.0f}')


def _quantile(level: float) -> float:
  return statistics.NormalDist().inv_cdf(0.5 + level / 2.)


def _errors(
    sound: list[Mapping[str, float]], truth: float | None) -> list[str]:
  """Returns error and relative error over seeds; nothing without a truth."""
  if truth is None:
    return []
  if not sound:
    return ['-', '-']
  error = statistics.mean(each['error'] for each in sound)
  relative = statistics.mean(each['relative_error'] for each in sound)
  return [f'{error:.3g}', f'{100 * relative:.2f}']
