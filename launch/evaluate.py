"""`dfiv-ope evaluate`: what a policy is worth, by one method or by all."""

from collections.abc import Callable
import functools
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope import agents, whole_files
from dfiv_ope.launch import console, limits, overrides, runtime, workspace
from dfiv_ope.launch import rows as rows_lib

if TYPE_CHECKING:
  from dfiv_ope import results
  from dfiv_ope.launch import cells, questions

PRESETS = ('default', 'paper')
_AUTO = 'auto'
# What auto chooses from. DeepIV takes as long as all others together.
_CANDIDATES = tuple(name for name in agents.NAMES if name != 'deepiv')


def evaluate(
    dataset: Annotated[pathlib.Path, typer.Argument(
        help='Directory of a dataset.', metavar='DATASET')],
    out: Annotated[pathlib.Path, typer.Option(
        help='Directory of the result rows; a run that has its row there is '
             'not run again.')],
    method: Annotated[list[str] | None, typer.Option(
        help=f'{", ".join(agents.NAMES)}, or all; may be repeated. '
             f'{overrides.SYNTAX}. auto chooses by held-out episodes, among '
             'those that are named beside it.')] = None,
    seeds: Annotated[int, typer.Option(
        help='Number of seeds (0, 1, 2, ...).', min=1)] = 3,
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
    trust_policy: Annotated[bool, typer.Option(
        '--trust-policy', help='Load a SavedModel even if its operations may '
             'do more than compute, such as read or write files.')] = False,
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
  auto = _AUTO in method
  named = [name for name in method if name != _AUTO]
  asked = overrides.methods(
      named or _CANDIDATES, agents.NAMES, settings or [])
  if auto and len(asked) == 1:
    raise ValueError(
        'auto chooses between methods. Name at least two others beside it, '
        'such as --method auto --method lstd --method kiv, or none.')
  if policy is not None and target_epsilon:
    raise ValueError(
        '--target-epsilon changes the policy of a dataset, so it cannot go '
        'with --policy.')
  limits.share('--interval', interval, open_ends=True)
  limits.share('--target-epsilon', target_epsilon)
  limits.count('--seeds', seeds, most=limits.SEEDS)
  limits.count(
      '--truth-episodes', truth_episodes, least=2, most=limits.TRUTH_EPISODES)
  if config not in PRESETS:
    raise ValueError(
        f'There is no config {config!r}. Choose one of {", ".join(PRESETS)}.')
  runtime.start()
  from dfiv_ope import results
  from dfiv_ope.launch import answers, cells, questions
  command = functools.partial(
      rows_lib.command, dataset, out, preset=config,
      target_epsilon=target_epsilon, truth_episodes=truth_episodes,
      policy=policy, trust_policy=trust_policy)
  wanted = _cells(asked, seeds, config, command)
  _check_memory(dataset, wanted)
  with workspace.exclusive(out):
    results.known(out)  # Says at once if it cannot go on with them.
    with console.progress('Opening the dataset'):
      question = questions.Question(
          dataset, target_epsilon=target_epsilon, out=out,
          truth_episodes=truth_episodes, policy=policy,
          trust_policy=trust_policy)
    if auto:
      from dfiv_ope.launch import choosing
      chosen = choosing.choose(question, wanted, out=out)
      wanted = [cell for cell in wanted if (
          (cell.method, cell.config) == (chosen.method, chosen.config))]
    naive = cells.log_row(
        question, command(method=rows_lib.LOG, settings=(), seed=0))
    keys = _run(question, naive, wanted, out)
    rows = [row for row in results.latest(results.read(out))
            if row.key in keys]
  answers.print_table(rows, level=interval)
  if any(row.failure for row in rows):
    raise typer.Exit(1)


def _cells(
    asked: list[overrides.Wanted], seeds: int, preset: str,
    command: Callable[..., str],
) -> list['cells.Cell']:
  """Returns the cells of methods and seeds."""
  from dfiv_ope.launch import cells
  result = []
  for name, settings in asked:
    config = overrides.apply(agents.load(name).CONFIGS[preset], settings)
    result += [
        cells.Cell(
            method=name, config=config, seed=seed,
            preset=rows_lib.preset(preset, settings),
            command=command(method=name, settings=settings, seed=seed))
        for seed in range(seeds)]
  return result


def _check_memory(dataset: pathlib.Path, wanted: list['cells.Cell']) -> None:
  """Refuses features that do not fit the memory, before any work."""
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.evaluation import influence
  metadata = spec_lib.read_metadata(dataset)
  for cell in wanted:
    influence.settings(
        cell.config, metadata.num_actions, rows=metadata.transitions)


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
    whole_files.remove(rows_lib.checkpoints(out, key))
  missing = [cell for key, cell in by_key.items() if key not in have]
  console.note_known(len(by_key) - len(missing), len(by_key), out)
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
