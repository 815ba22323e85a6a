"""What commands say of work that is done: where time went, what came of it."""

from collections.abc import Sequence
import pathlib
import resource
from typing import Protocol

from dfiv_ope.launch import console
from dfiv_ope.launch.reporting import summary_table
from dfiv_ope.results import rows as rows_lib

# More problems than this are for a report, not for a terminal.
_TABLES = 3


class Summary(Protocol):
  """What a scheduler says of the jobs that it ran.

  Attributes:
    done: number of jobs.
    diverged: how many of them.
    wall: seconds that went by.
    job_seconds: CPU seconds of all jobs.
  """

  done: int
  diverged: int
  wall: float
  job_seconds: float


def cpu_time(job_seconds: float, fit_seconds: float) -> str:
  """Says where the CPU time of the command went, fits and all else."""
  used = [
    resource.getrusage(who)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
  ]
  total = sum(each.ru_utime + each.ru_stime for each in used)
  around = max(0.0, job_seconds - fit_seconds)
  return (
    f'CPU time {total:.1f} s: fits {fit_seconds:.1f}, opening the '
    f'data, intervals and diagnostics {around:.1f}, start-up and the rest '
    f'{max(0.0, total - job_seconds):.1f}.'
  )


def show_sweep(
  rows: Sequence[rows_lib.Row],
  summary: Summary,
  failures: str,
  out: pathlib.Path,
) -> None:
  """Prints the tables of few problems, what was run, and what to do next.

  Args:
    rows: of all that was asked for.
    summary: of what was run.
    failures: says what failed; empty if nothing did.
    out: run directory.
  """
  if len({row.problem.question for row in rows}) <= _TABLES:
    summary_table.print_table(rows)
  if summary.wall:
    console.say(
      f'{summary.done} jobs done in {summary.wall:.1f} s'
      + (f', {summary.diverged} of them diverged' if summary.diverged else '')
      + f' ({summary.job_seconds:.1f} CPU s of work).'
    )
  console.say(
    failures or f'Look at it with: dfiv-ope report {out} --out REPORT'
  )
