"""Runs what commands ask for: one call from experiments to their rows."""

from collections.abc import Callable, Sequence
import dataclasses
import functools
import json
import pathlib
from typing import Any

import typer

from dfiv_ope.launch import console, options, plans, runtime
from dfiv_ope.launch.experiments import jobs, scheduler, store
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib

# Makes what runs jobs in a run directory, as a context.
Executor = Callable[[store.Places], Any]
# What a wrong file or policy raises.
_INPUT_ERRORS = ('ValueError', 'FileNotFoundError', 'OSError')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finished:
  """What came of a call.

  Attributes:
    rows: of all that was asked for, as far as they exist.
    summary: of what was run.
  """

  rows: list[rows_lib.Row]
  summary: scheduler.Summary


def executor(workers: int, ray: str | None) -> Executor:
  """Returns what runs jobs: this process, several, or a cluster.

  Args:
    workers: processes at the same time.
    ray: address of a Ray cluster; None for this machine.

  Raises:
    ValueError: it is no address.
    ConnectionError: nobody answers there.
  """
  if ray is not None:
    from dfiv_ope.launch.experiments.executors import ray as ray_executor

    ray_executor.check(ray)
    return functools.partial(
      ray_executor.Cluster, address=ray, processes=workers
    )
  from dfiv_ope.launch.experiments.executors import local

  return (
    local.Here
    if workers == 1
    else functools.partial(local.Pool, processes=workers)
  )


def run(
  plan: Sequence[jobs.Job], have: store.Store, where: Executor, *, title: str
) -> Finished:
  """Runs what has no row yet, and returns the rows of all that is asked for.

  Call it inside `Store.exclusive`; `carry_out` does.

  Args:
    plan: what is asked for.
    have: the run directory.
    where: of `executor`.
    title: of the progress bar.
  """
  have.refuse_others(plan)
  have.tidy(plan)
  todo = have.missing(plan)
  missing = set(todo)
  if known := sum(job not in missing for job in plan):
    console.note(
      f'{known} of {len(plan)} runs have their rows in '
      f'{have.places.out} and are not run again.'
    )
  summary = scheduler.Summary()
  if todo:
    with have.places.copies(), where(have.places) as running:
      summary = scheduler.run(
        todo,
        running,
        have,
        title=title,
        progress=console.progress,
        note=console.note,
      )
  return Finished(rows=have.rows_of(plan), summary=summary)


def carry_out(
  plan: Sequence[jobs.Job], out: pathlib.Path, where: Executor, *, title: str
) -> Finished:
  """Does what `run` does in a directory that no other process may use then."""
  have = store.Store(store.Places(out))
  with have.exclusive():
    return run(plan, have, where, title=title)


def sweep(
  plan: Sequence[jobs.Job],
  out: pathlib.Path,
  sweeping: options.Sweeping,
  *,
  title: str,
  datasets: Sequence[pathlib.Path] = (),
  report: bool = False,
) -> None:
  """Runs many experiments and says what to do next.

  Args:
    plan: what is asked for.
    out: run directory.
    sweeping: where they are run; without workers, one process for each core.
    title: of the progress bar.
    datasets: where datasets are looked for, besides the run directory.
    report: whether a report goes into a folder of the run directory.

  Raises:
    typer.Exit: a job failed.
  """
  where = executor(sweeping.workers or runtime.CORES, sweeping.ray)
  have = store.Store(store.Places(out, tuple(datasets)))
  if sweeping.dry_run:
    plans.show(plan, have)
    return
  with have.exclusive():
    finished = run(plan, have, where, title=title)
  from dfiv_ope.launch.reporting import finished_work

  finished_work.show_sweep(
    finished.rows,
    finished.summary,
    _failures(finished.summary, out) if (finished.summary.failed) else '',
    out,
  )
  tell_failures(finished.summary)
  if report:
    from dfiv_ope.launch.reporting import publish

    console.say(publish.publish(have.all_rows(), str(out), out / 'report'))
  if finished.summary.failed:
    raise typer.Exit(1)


def answer(
  finished: Finished,
  out: pathlib.Path,
  *,
  show: Callable[[list[rows_lib.Row]], None],
  data: Callable[[list[rows_lib.Row]], Any],
  as_json: bool,
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
  failed = finished.summary.failed
  refuse_failures(finished.summary)
  from dfiv_ope.launch.reporting import finished_work

  if as_json:
    console.say_json(json.dumps(data(finished.rows), indent=2))
  else:
    show(finished.rows)
  if finished.summary.wall:
    console.note(
      finished_work.cpu_time(
        finished.summary.job_seconds, finished.summary.fit_seconds
      )
    )
  if failed:
    console.note(_failures(finished.summary, out))
  if failed or any(
    row.failed
    for row in finished.rows
    if isinstance(row.problem, problems.OnDataset)
  ):
    raise typer.Exit(1)


def refuse_failures(summary: scheduler.Summary) -> None:
  """Refuses input with which every job failed in the same way.

  Raises:
    ValueError: there was one; the rows of other calls are as they were.
  """
  errors = {
    words
    for words in summary.failed.values()
    if not words.startswith(scheduler.SKIPPED)
  }
  if len(errors) == 1 and not summary.done:
    kind, _, sentence = errors.pop().partition(': ')
    if kind in _INPUT_ERRORS:
      raise ValueError(sentence)
  tell_failures(summary)


def tell_failures(summary: scheduler.Summary) -> None:
  """Says what failed and was not said yet."""
  for words in summary.untold:
    console.note(words)


def _failures(summary: scheduler.Summary, out: pathlib.Path) -> str:
  """Says how many jobs failed and where to read why."""
  return (
    f'{len(summary.failed)} jobs failed or were skipped; '
    f'{out / scheduler.FAILURES} says why. The same command tries them '
    'again.'
  )
