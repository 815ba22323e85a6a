"""Runs what commands ask for: one call from experiments to their rows."""

from collections.abc import Callable
import dataclasses
import json
import os
import pathlib
import resource
from typing import Any

import typer

from dfiv_ope.launch import console
from dfiv_ope.launch.experiments import jobs, scheduler, store
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# What a command that has no other wish runs at the same time.
CORES = len(os.sched_getaffinity(0))
# What a wrong file or policy raises.
_INPUT_ERRORS = ('ValueError', 'FileNotFoundError', 'OSError')
# More problems than this are for a report, not for a terminal.
_TABLES = 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Where:
  """Where experiments are run.

  Attributes:
    workers: processes at the same time.
    ray: address of a Ray cluster; None for this machine.
  """
  workers: int = 1
  ray: str | None = None

  def __post_init__(self) -> None:
    if self.ray is not None:
      from dfiv_ope.launch.experiments.executors import ray as ray_executor
      ray_executor.check(self.ray)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """What came of a call.

  Attributes:
    rows: of all that was asked for, as far as they exist.
    summary: of what was run; None if nothing was missing.
  """
  rows: list[rows_lib.Row]
  summary: scheduler.Summary | None = None

  @property
  def sound(self) -> bool:
    """Whether no job failed."""
    return self.summary is None or not self.summary.failed


def run(
    plan: list[jobs.Job], have: store.Store, where: Where, *, title: str,
) -> Finished:
  """Runs what has no row yet, and returns the rows of all that is asked for.

  Call it inside `Store.exclusive`.

  Args:
    plan: what is asked for.
    have: the run directory.
    where: where it is run.
    title: of the progress bar.
  """
  have.refuse_others(plan)
  have.tidy(plan)
  todo = have.missing(plan)
  missing = set(todo)
  left = sum(job in missing for job in plan)
  console.note_known(len(plan) - left, len(plan), have.places.out)
  if not todo:
    return Finished(rows=have.rows_of(plan))
  with _executor(have.places, where) as executor:
    summary = scheduler.run(
        todo, executor, have, title=title, progress=console.progress,
        note=console.note)
  return Finished(rows=have.rows_of(plan), summary=summary)


def refuse_if_nothing_ran(finished: Finished) -> None:
  """Refuses input with which every job failed in the same way.

  Raises:
    ValueError: there was one; the rows of other calls are as they were.
  """
  summary = finished.summary
  if summary is None or summary.done or not summary.failed:
    return
  errors = {words for words in summary.failed.values()
            if not words.startswith(scheduler.SKIPPED)}
  kind, _, sentence = next(iter(errors)).partition(': ')
  if len(errors) == 1 and kind in _INPUT_ERRORS:
    raise ValueError(sentence)


def _executor(places: store.Places, where: Where) -> Any:
  """Returns what runs jobs, as a context."""
  if where.ray is not None:
    from dfiv_ope.launch.experiments.executors import ray as ray_executor
    return ray_executor.Cluster(
        places, address=where.ray, processes=where.workers)
  from dfiv_ope.launch.experiments.executors import local
  if where.workers == 1:
    return local.Here(places)
  return local.Pool(places, processes=where.workers)


def answer(
    finished: Finished, out: pathlib.Path, *, show: Callable[[], None],
    data: Callable[[], Any], as_json: bool,
) -> None:
  """Prints what came of a command, where its time went, and what failed.

  Args:
    finished: of `run`.
    out: run directory.
    show: prints the rows for people.
    data: returns them for programs.
    as_json: which of the two.

  Raises:
    typer.Exit: a job failed, or a run has no result.
    ValueError: every job failed in the same way.
  """
  refuse_if_nothing_ran(finished)
  if as_json:
    console.say_json(json.dumps(data(), indent=2))
  else:
    show()
  account(finished)
  if not finished.sound:
    console.note(_failures(finished, out))
  if not finished.sound or any(
      row.failed for row in finished.rows
      if isinstance(row.problem, problems.OnDataset)):
    raise typer.Exit(1)


def account(finished: Finished) -> None:
  """Says where the CPU time of the command went, fits and all else."""
  if finished.summary is None:
    return
  summary = finished.summary
  used = [resource.getrusage(who) for who in (
      resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
  total = sum(each.ru_utime + each.ru_stime for each in used)
  around = max(0., summary.job_seconds - summary.fit_seconds)
  console.note(
      f'CPU time {total:.1f} s: fits {summary.fit_seconds:.1f}, opening the '
      f'data, intervals and diagnostics {around:.1f}, start-up and the rest '
      f'{max(0., total - summary.job_seconds):.1f}.')


def _failures(finished: Finished, out: pathlib.Path) -> str:
  """Says how many jobs failed and where to read why."""
  assert finished.summary is not None
  return (
      f'{len(finished.summary.failed)} jobs failed or were skipped; '
      f'{out / scheduler.FAILURES} says why. The same command tries them '
      'again.')


def print_sweep(finished: Finished, out: pathlib.Path) -> None:
  """Prints the tables of few problems, what was run, and what to do next."""
  from dfiv_ope.launch.reporting import summary_table
  if len({row.problem.question for row in finished.rows}) <= _TABLES:
    summary_table.print_table(finished.rows)
  if finished.summary:
    diverged = finished.summary.diverged
    console.say(
        f'{finished.summary.done} jobs done in {finished.summary.wall:.1f} s'
        + (f', {diverged} of them diverged' if diverged else '')
        + f' ({finished.summary.job_seconds:.1f} CPU s of work).')
  console.say(f'Look at it with: dfiv-ope report {out} --out REPORT'
              if finished.sound else _failures(finished, out))
