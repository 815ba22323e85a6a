"""`dfiv-ope sweep`: tasks x noise levels x methods x seeds, resumable."""

import collections
import os
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope import agents
from dfiv_ope.launch import console, limits, runtime, workspace

if TYPE_CHECKING:
  from dfiv_ope.launch import asked, driver, grid, inventory


# More problems than this are for a report, not for a terminal.
_TABLES = 3


Jobs = Annotated[int | None, typer.Option(
    help='Processes at the same time; without it one a core.', min=1)]
DryRun = Annotated[bool, typer.Option(
    '--dry-run', help='Only list what would be run and what is there.')]
Ray = Annotated[str | None, typer.Option(
    help='Run on this Ray cluster, host:port, or local. --out must be a '
         'directory that all its nodes share.', metavar='ADDRESS')]


def sweep(
    out: Annotated[pathlib.Path, typer.Option(
        help='Run directory: policies, datasets and rows. What is there is '
             'not run again.')],
    file: Annotated[pathlib.Path | None, typer.Argument(
        help='YAML with the names of these options and more; an option given '
             'here wins.', metavar='[FILE]')] = None,
    tasks: Annotated[str | None, typer.Option(
        help='catch, mountain_car, cartpole, or all; with commas.')] = None,
    noises: Annotated[str | None, typer.Option(
        help='Probabilities that the environment replaces an action; with '
             'commas. Without it the six of the paper.')] = None,
    methods: Annotated[str | None, typer.Option(
        help=f'{", ".join(agents.NAMES)}, or all; with commas.')] = None,
    configs: Annotated[str | None, typer.Option(
        help='default, paper, or both with a comma.')] = None,
    budget: Annotated[str | None, typer.Option(
        help='full: train as long as the configs say; quick: for seconds.',
    )] = None,
    seeds: Annotated[int | None, typer.Option(
        help='Number of seeds (0, 1, 2, ...); 5 without it.')] = None,
    jobs: Jobs = None,
    dry_run: DryRun = False,
    ray: Ray = None,
) -> None:
  """Evaluate many methods on many datasets, on one machine or a cluster.

  Policies and datasets are made as they are needed. Kill it whenever you
  like: the same command goes on, and gives the same rows. A run that breaks
  down is recorded with its error and does not stop the others; the exit code
  is then 1, and the same command tries it again.

      dfiv-ope sweep --tasks catch --noises 0,0.2 --methods all --out runs

      dfiv-ope sweep grid.yaml --out runs --dry-run
  """
  from dfiv_ope.launch import asked, yaml_files
  options = {
      'tasks': tasks, 'noises': noises, 'methods': methods,
      'configs': configs, 'budget': budget, 'seeds': seeds}
  request = asked.parse({
      **(yaml_files.read(file) if file else {}),
      **{name: value for name, value in options.items() if value is not None}})
  if not carry_out(request, out, jobs=jobs, dry_run=dry_run, ray=ray):
    raise typer.Exit(1)


def carry_out(
    request: 'asked.Request', out: pathlib.Path, *, jobs: int | None,
    dry_run: bool, ray: str | None,
) -> bool:
  """Runs what is missing of a request; returns whether nothing failed.

  Args:
    request: what is asked for.
    out: run directory.
    jobs: processes at the same time; None for one a core.
    dry_run: only list it.
    ray: address of a Ray cluster, or None.
  """
  from dfiv_ope.launch import cluster
  if jobs is not None:
    limits.count('--jobs', jobs, most=limits.JOBS)
  if ray:
    cluster.check(ray)
  runtime.start()
  from dfiv_ope.launch import grid, inventory
  plan = grid.expand(request)
  if dry_run:
    _print_plan(plan, inventory.Inventory(out).missing(plan))
    return True
  with workspace.exclusive(out):
    return _run(
        plan, inventory.Inventory(out), out, processes=jobs, address=ray)


def _run(
    plan: list['grid.Job'], have: 'inventory.Inventory', out: pathlib.Path, *,
    processes: int | None, address: str | None,
) -> bool:
  """Runs what is missing; returns whether nothing failed."""
  from dfiv_ope.launch import cluster, driver, pool
  todo = have.missing(plan)
  have.tidy(plan)
  (out / driver.FAILURES).unlink(missing_ok=True)
  console.note(
      f'{len(plan) - len(todo)} of {len(plan)} jobs are done in {out}; '
      f'{len(todo)} to run.')
  if not todo:
    _print_tables(out)
    return True
  executor: cluster.Cluster | pool.Pool = (
      cluster.Cluster(out, address=address, processes=processes) if address
      else pool.Pool(out, processes=processes or _cores()))
  with executor:
    summary = driver.run(todo, executor, have, out)
  _print_tables(out)
  _print_summary(summary, out)
  return not summary.failed


def _print_tables(out: pathlib.Path) -> None:
  """Prints the table of each problem, where there are few enough to read."""
  from dfiv_ope import results
  from dfiv_ope.launch import answers
  rows = [row for row in results.latest(results.known(out))
          if row.problem['name'] == 'ope'
          and row.problem.get('truth') is not None]
  if len(answers.by_question(rows)) <= _TABLES:
    answers.print_table(rows)


def _cores() -> int:
  return len(os.sched_getaffinity(0))


def _print_plan(plan: list['grid.Job'], todo: list['grid.Job']) -> None:
  """Prints every policy, dataset and method with what is there of it."""
  missing = set(todo)
  lines: dict[tuple[str, str], list[grid.Job]] = collections.defaultdict(list)
  for job in plan:
    lines[job.group].append(job)
  table = console.Table(boxed=False)
  for column in ('problem', 'job', 'cached', 'to run'):
    table.add_column(column, no_wrap=True, justify=(
        'left' if column in ('problem', 'job') else 'right'))
  for (problem, name), group in lines.items():
    run = sum(job in missing for job in group)
    table.add_row(problem, name, str(len(group) - run), str(run))
  table.show()
  for kind in dict.fromkeys(job.kind for job in plan):
    group = [job for job in plan if job.kind == kind]
    run = sum(job in missing for job in group)
    console.say(
        f'{kind}: {run} of {len(group)} to run, {len(group) - run} cached or '
        'not needed.')


def _print_summary(summary: 'driver.Summary', out: pathlib.Path) -> None:
  """Says what was run, what failed, and what to do next."""
  from dfiv_ope.launch import driver
  diverged = (f', {summary.diverged} of them diverged' if summary.diverged
              else '')
  console.say(
      f'{summary.done} jobs done in {summary.wall:.1f} s{diverged} '
      f'({summary.work:.1f} s of work).')
  if summary.failed:
    console.say(
        f'{len(summary.failed)} jobs failed or were skipped; '
        f'{out / driver.FAILURES} says why. The same command tries them '
        'again.')
  else:
    console.say(f'Look at it with: dfiv-ope report {out} --out REPORT')
