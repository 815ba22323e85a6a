"""Takes jobs through an executor and writes down what comes of them.

This is the one place that runs what has no row yet: commands make experiments,
and hand them over.
"""

import collections
from collections.abc import Callable, Sequence
import dataclasses
import json
import time
from typing import Protocol

from dfiv_ope import stages
from dfiv_ope.launch.experiments import jobs, store, worker
from dfiv_ope.results import rows

FAILURES = 'failures.jsonl'
# How the error of a job begins that was not run because of another.
SKIPPED = 'Skipped, because '
_WAIT_SECONDS = 1.0
# Running jobs that the progress bar has room for.
_SHOWN = 2


class Executor(Protocol):
  """Where jobs are run: `executors.local` or `executors.ray`."""

  # Called whenever a job has come further, if the executor can tell.
  on_progress: Callable[[], None]

  def start(self, ready: Sequence[jobs.Job]) -> list[jobs.Job]:
    """Starts as many of the jobs as there is room for; returns those."""

  def wait(self, seconds: float) -> list[worker.Outcome]:
    """Returns what has ended, after at most this time."""

  @property
  def running(self) -> list[tuple[jobs.Job, float, str]]:
    """Jobs that are run now, what share of each is done, and a note."""


@dataclasses.dataclass(kw_only=True)
class Summary:
  """What came of some jobs.

  Attributes:
    done: jobs that were run.
    failed: what went wrong, by job; the jobs that needed a failed one, too.
    diverged: runs that diverged, which is a result.
    fit_seconds: CPU seconds of fits, as the rows say.
    job_seconds: CPU seconds of the jobs, with all that is not a fit.
    wall: seconds that all took; 0 if there was nothing to run.
    untold: the failure that is all that came of the jobs; nobody was told.
  """

  done: int = 0
  failed: dict[jobs.Job, str] = dataclasses.field(default_factory=dict)
  diverged: int = 0
  fit_seconds: float = 0.0
  job_seconds: float = 0.0
  wall: float = 0.0
  untold: list[str] = dataclasses.field(default_factory=list)


def run(
  todo: Sequence[jobs.Job],
  executor: Executor,
  have: store.Store,
  *,
  title: str,
  progress: stages.Progress = stages.silent,
  note: Callable[[str], None] = lambda words: None,
) -> Summary:
  """Runs jobs, each after those that it needs.

  Args:
    todo: the jobs to run; what a job needs is there already if it is not here.
    executor: where they are run.
    have: what the run directory has; takes in the new rows.
    title: of the progress bar.
    progress: told how far all are.
    note: told what a person should know.
  """
  (have.places.out / FAILURES).unlink(missing_ok=True)
  queue = _Queue(todo, have, note)
  started = time.monotonic()
  total = sum(job.seconds for job in todo)
  with progress(title, total) as update:

    def show() -> None:
      running = executor.running
      done = queue.seconds + sum(
        job.seconds * share for job, share, _ in running
      )
      update(
        done,
        _note(running, queue.settled, len(todo))
        + _left(done, total, time.monotonic() - started),
      )

    executor.on_progress = show
    while queue.ready or executor.running:
      for job in executor.start(list(queue.ready)):
        del queue.ready[job]
      show()
      for outcome in executor.wait(_WAIT_SECONDS):
        queue.settle(outcome)
      show()
  queue.summary.wall = time.monotonic() - started
  return queue.summary


class _Queue:
  """Which jobs are ready or wait for others, and what came of the rest."""

  def __init__(
    self,
    todo: Sequence[jobs.Job],
    have: store.Store,
    note: Callable[[str], None],
  ):
    self.ready: dict[jobs.Job, None] = {}
    self.settled = 0
    self.seconds = 0.0
    self.summary = Summary()
    self._children: dict[jobs.Job, list[jobs.Job]] = collections.defaultdict(
      list
    )
    self._needs: dict[jobs.Job, set[jobs.Job]] = {}
    self._have = have
    self._note = note
    known = set(todo)
    for job in todo:
      needs = {parent for parent in job.parents if parent in known}
      for parent in needs:
        self._children[parent].append(job)
      if needs:
        self._needs[job] = needs
      else:
        self.ready[job] = None

  def settle(self, outcome: worker.Outcome) -> None:
    """Writes down what came of a job that was run."""
    job = outcome.job
    self.summary.job_seconds += outcome.cpu_seconds
    for words in outcome.notes:
      self._note(f'{job.label}: {words}')
    error = outcome.error or self._foreign(job, outcome.rows)
    if error:
      if error not in self.summary.failed.values():  # Once is enough.
        self.summary.untold.append(f'{job.label} failed: {error}')
      self._fail(job, error, outcome.trace)
      self._tell_failures()
      return
    for row in outcome.rows:
      self._have.add(row)
      self.summary.diverged += row.outcome == rows.DIVERGED
      self.summary.fit_seconds += row.cpu_seconds
    self._have.tidy([job])
    self.summary.done += 1
    self._tell_failures()
    self._end(job)

  def _tell_failures(self) -> None:
    """Tells what failed, once it is clear that not all fails alike."""
    errors = {
      words
      for words in self.summary.failed.values()
      if not words.startswith(SKIPPED)
    }
    if self.summary.done or len(errors) > 1:
      for words in self.summary.untold:
        self._note(words)
      self.summary.untold.clear()

  def _foreign(self, job: jobs.Job, found: Sequence[rows.Row]) -> str:
    """Says what is wrong with rows that are not the job's."""
    expected = self._have.keys(job)
    if all(row.key in expected for row in found):
      return ''
    return (
      'it was run by another version of dfiv-ope than the one that planned '
      'it, or on another dataset. Install the same version on all nodes and '
      'give the command again'
    )

  def _end(self, job: jobs.Job) -> None:
    """Counts a job that is done and frees those that waited for it."""
    self._count(job)
    for child in self._children.pop(job, []):
      if child not in self._needs:
        continue  # It has failed with another that it needs.
      self._needs[child].discard(job)
      if not self._needs[child]:
        del self._needs[child]
        # It has its row already if the dataset was only made again.
        if self._have.has(child):
          self._end(child)
        else:
          self.ready[child] = None

  def _fail(self, job: jobs.Job, error: str, trace: str = '') -> None:
    """Records the failure of a job, and of all that need it."""
    self._count(job)
    self.summary.failed[job] = error
    out = self._have.places.out
    with (out / FAILURES).open('a', encoding='utf-8') as file:
      file.write(
        json.dumps({'job': job.label, 'error': error, 'trace': trace}) + '\n'
      )
    # The row says the error; without a dataset there is no row. Checkpoints
    # stay: the run may go on from them another time.
    if isinstance(job, jobs.Experiment) and (
      problem := self._have.problem(job.problem)
    ):
      self._have.add(job.row(problem, outcome=rows.ERROR, reason=error))
    for child in self._children.pop(job, []):
      if self._needs.pop(child, None) is not None:
        self._fail(child, f'{SKIPPED}{job.label} failed: {error}')

  def _count(self, job: jobs.Job) -> None:
    self.settled += 1
    self.seconds += job.seconds


def _note(
  running: list[tuple[jobs.Job, float, str]], done: int, count: int
) -> str:
  shown = ', '.join(
    job.label
    + (f' {100 * share:.0f} %' if share else '')
    + (f' {words}' if words and len(running) == 1 else '')
    for job, share, words in running[:_SHOWN]
  )
  more = f' and {len(running) - _SHOWN} more' if len(running) > _SHOWN else ''
  return (
    f'{done} of {count} jobs; {shown}{more}'
    if shown
    else (f'{done} of {count} jobs')
  )


def _left(done: float, total: float, seconds: float) -> str:
  """Says how long it may still take."""
  if not done or done >= total:
    return ''
  minutes = seconds * (total - done) / done / 60.0
  return (
    f'; about {minutes:.0f} min left'
    if minutes >= 1.0
    else '; less than a minute left'
  )
