"""Takes the jobs of a sweep through an executor and writes down what comes."""

import collections
from collections.abc import Sequence
import dataclasses
import json
import pathlib
import time
from typing import Protocol

from dfiv_ope import results, versions
from dfiv_ope.launch import console, grid, inventory, jobs, rows

FAILURES = 'failures.jsonl'
_WAIT_SECONDS = 1.
# Running jobs that the progress bar has room for.
_SHOWN = 2


class Executor(Protocol):
  """Where jobs are run: `pool.Pool` or `cluster.Cluster`."""

  def start(self, ready: Sequence[grid.Job]) -> list[grid.Job]:
    """Starts as many of the jobs as there is room for; returns those."""

  def wait(self, seconds: float) -> list[jobs.Outcome]:
    """Returns what has ended, after at most this time."""

  @property
  def running(self) -> list[tuple[grid.Job, float]]:
    """Jobs that are run now, and what share of each is done."""


@dataclasses.dataclass(kw_only=True)
class Summary:
  """What came of a sweep.

  Attributes:
    done: jobs that were run.
    failed: what went wrong, by job; the jobs that needed a failed one, too.
    diverged: cells whose run diverged, which is a result.
    work: seconds that the jobs took.
    wall: seconds that all took.
  """
  done: int = 0
  failed: dict[grid.Job, str] = dataclasses.field(default_factory=dict)
  diverged: int = 0
  work: float = 0.
  wall: float = 0.


def run(
    todo: Sequence[grid.Job],
    executor: Executor,
    have: inventory.Inventory,
    out: pathlib.Path,
) -> Summary:
  """Runs jobs, each after the one it needs.

  Args:
    todo: the jobs to run; a job's parent is there already if it is not here.
    executor: where they are run.
    have: what the run directory has; takes in the new rows.
    out: run directory.
  """
  sweep = _Sweep(todo, have, out)
  started = time.monotonic()
  total = sum(job.weight for job in todo)
  with console.progress('Sweeping', total) as update:
    while sweep.ready or executor.running:
      for job in executor.start(list(sweep.ready)):
        del sweep.ready[job]
      for outcome in executor.wait(_WAIT_SECONDS):
        sweep.settle(outcome)
      running = executor.running
      done = sweep.weight + sum(job.weight * share for job, share in running)
      note = _note(running, sweep.settled, len(todo))
      if not console.on_terminal():
        note += _left(done, total, time.monotonic() - started)
      update(done, note)
  sweep.summary.wall = time.monotonic() - started
  return sweep.summary


class _Sweep:
  """Which jobs are ready or wait for others, and what came of the rest."""

  def __init__(
      self, todo: Sequence[grid.Job], have: inventory.Inventory,
      out: pathlib.Path):
    self.ready: dict[grid.Job, None] = {}
    self.settled = 0
    self.weight = 0.
    self.summary = Summary()
    self._waiting: dict[grid.Job, list[grid.Job]] = (
        collections.defaultdict(list))
    self._have = have
    self._out = out
    known = set(todo)
    for job in todo:
      if job.parent is not None and job.parent in known:
        self._waiting[job.parent].append(job)
      else:
        self.ready[job] = None

  def settle(self, outcome: jobs.Outcome) -> None:
    """Writes down what came of a job that was run."""
    job = outcome.job
    self.summary.work += outcome.seconds
    if outcome.error:
      console.note(f'{grid.label(job)} failed: {outcome.error}')
      self._fail(job, outcome.error, outcome.trace)
      return
    if outcome.row is not None:
      rows.add(self._out, outcome.row)
      self._have.add(outcome.row)
      self.summary.diverged += bool(outcome.row.failure)
    self.summary.done += 1
    self._end(job)

  def _end(self, job: grid.Job) -> None:
    """Counts a job that is done and frees those that waited for it."""
    self._count(job)
    for child in self._waiting.pop(job, []):
      # It has its row already if the dataset was only made again.
      if self._have.has(child):
        self._end(child)
      else:
        self.ready[child] = None

  def _fail(self, job: grid.Job, error: str, trace: str = '') -> None:
    """Records the failure of a job, and of all that need it."""
    self._count(job)
    self.summary.failed[job] = error
    with (self._out / FAILURES).open('a', encoding='utf-8') as file:
      file.write(json.dumps({
          'job': grid.label(job), 'error': error, 'trace': trace,
          'settings': dataclasses.asdict(job)}) + '\n')
    if isinstance(job, grid.CellJob):
      self._add_failed_row(job, error)
    for child in self._waiting.pop(job, []):
      self._fail(child, f'Skipped, because {grid.label(job)} failed: {error}')

  def _add_failed_row(self, job: grid.CellJob, error: str) -> None:
    """Adds a row that says the error; without a dataset there is no row."""
    metadata = self._have.metadata(job.dataset)
    if metadata is None:
      return
    problem = rows.describe(metadata, target_epsilon=job.target_epsilon)
    if not job.target_epsilon and metadata.truth:
      problem |= {'truth': metadata.truth.mean,
                  'truth_standard_error': metadata.truth.standard_error}
    # Its checkpoints stay: the run may go on from them another time.
    results.append(self._out, results.ResultRow(
        problem=problem, method=job.method, config=json.loads(job.config),
        seed=job.seed, metrics={}, curves={}, cpu_seconds=0.,
        versions=versions.versions(), failure=f'{results.ERROR}{error}',
        preset=rows.preset(job.preset, job.settings),
        command=jobs.command_of(job, self._out), version=job.version,
        inference=json.loads(job.inference)))

  def _count(self, job: grid.Job) -> None:
    self.settled += 1
    self.weight += job.weight


def _note(
    running: list[tuple[grid.Job, float]], done: int, count: int) -> str:
  shown = ', '.join(
      grid.label(job) + (f' {100 * share:.0f} %' if share else '')
      for job, share in running[:_SHOWN])
  more = f' and {len(running) - _SHOWN} more' if len(running) > _SHOWN else ''
  return f'{done} of {count} jobs; {shown}{more}' if shown else (
      f'{done} of {count} jobs')


def _left(done: float, total: float, seconds: float) -> str:
  """Says how long it may still take."""
  if not done or done >= total:
    return ''
  minutes = seconds * (total - done) / done / 60.
  return (f'; about {minutes:.0f} min left' if minutes >= 1.
          else '; less than a minute left')
