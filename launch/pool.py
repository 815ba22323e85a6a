"""Runs jobs in processes of this machine.

Workers live as long as the sweep, because starting TensorFlow takes seconds,
and die with the driver, whatever ends it. A job is only started beside others
while there is memory for it.
"""

from collections.abc import Sequence
import contextlib
import ctypes
import multiprocessing
from multiprocessing import connection as connections
import os
import pathlib
import signal
import sys
import time
from typing import Any

from dfiv_ope.launch import grid, jobs

# Bytes that a job may take, TensorFlow included.
NEED = 1_500_000_000
_PR_SET_PDEATHSIG = 1
# A worker says how far it is at most once in as many seconds.
_REPORT_SECONDS = 0.5


class Pool:
  """Worker processes."""

  def __init__(self, out: pathlib.Path, *, processes: int, need: int = NEED):
    """Prepares a pool; a process starts when there is work for it.

    Args:
      out: run directory.
      processes: jobs that run at the same time.
      need: bytes of memory to keep for each.
    """
    self._out = out
    self._processes = processes
    self._need = need
    self._workers: list[_Worker] = []
    # Read once by the numerical libraries of the workers.
    os.environ.setdefault('OMP_NUM_THREADS', '1')
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

  def __enter__(self) -> 'Pool':
    return self

  def __exit__(self, *unused: object) -> None:
    for worker in self._workers:
      worker.kill()

  def start(self, ready: Sequence[grid.Job]) -> list[grid.Job]:
    """Starts as many of the jobs as there is room for; returns those."""
    waiting, started = list(ready), []
    while waiting and self._has_room():
      worker = next((each for each in self._workers if not each.job), None)
      if worker is None:
        worker = _Worker(self._out)
        self._workers.append(worker)
      job = _choose(waiting, worker, self._workers)
      waiting.remove(job)
      started.append(job)
      worker.give(job)
    return started

  def wait(self, seconds: float) -> list[jobs.Outcome]:
    """Returns what has ended, after at most this time."""
    busy = {each.connection: (each, each.job)
            for each in self._workers if each.job}
    outcomes = []
    for ready in connections.wait(list(busy), timeout=seconds):
      worker, job = busy[ready]  # type: ignore[index]
      outcome = worker.take(job)
      if outcome is not None:
        outcomes.append(outcome)
      if not worker.alive:
        self._workers.remove(worker)
    return outcomes

  @property
  def running(self) -> list[tuple[grid.Job, float]]:
    """Jobs that are run now, and what share of each is done."""
    return [(each.job, each.share) for each in self._workers if each.job]

  def _has_room(self) -> bool:
    """Whether one more job may start."""
    busy = [each for each in self._workers if each.job]
    if not busy or len(busy) >= self._processes:
      return not busy
    # What the others will still take is not for a new one.
    promised = sum(max(0, self._need - each.memory) for each in busy)
    idle = next((each for each in self._workers if not each.job), None)
    wanted = max(0, self._need - (idle.memory if idle else 0))
    return available_memory() - promised >= wanted


class _Worker:
  """One process, as the driver sees it."""

  def __init__(self, out: pathlib.Path):
    context = multiprocessing.get_context('spawn')
    self.connection, theirs = context.Pipe()
    self._process = context.Process(
        target=_serve, args=(theirs, os.getpid(), out), daemon=True)
    self._process.start()
    theirs.close()
    self.alive = True
    self.job: grid.Job | None = None
    self.last: grid.Job | None = None
    self.share = 0.

  def give(self, job: grid.Job) -> None:
    self.job = self.last = job
    self.share = 0.
    # If it is dead by now, `take` finds out.
    with contextlib.suppress(BrokenPipeError):
      self.connection.send(job)

  def take(self, job: grid.Job) -> jobs.Outcome | None:
    """Takes what the process sent; None if that is not the end of a job."""
    try:
      message = self.connection.recv()
    except (EOFError, ConnectionResetError):
      message = self._lost(job)
    if isinstance(message, float):
      self.share = message
      return None
    self.job = None
    return message

  def kill(self) -> None:
    self.alive = False
    self._process.kill()
    self._process.join()
    self.connection.close()

  @property
  def memory(self) -> int:
    """Bytes of memory it has."""
    try:
      pages = pathlib.Path(f'/proc/{self._process.pid}/statm').read_text()
    except OSError:
      return 0
    return int(pages.split()[1]) * os.sysconf('SC_PAGE_SIZE')

  def _lost(self, job: grid.Job) -> jobs.Outcome:
    """Says how the process ended."""
    self._process.join()
    code = self._process.exitcode or 0
    reason = (f'by signal {-code}' if code < 0 else f'with exit code {code}')
    hint = (' The system ends processes so when memory runs out.'
            if code == -signal.SIGKILL else '')
    self.kill()
    return jobs.Outcome(
        job=job, error=f'ChildProcessError: The worker ended {reason}.{hint}')


def available_memory() -> float:
  """Returns the bytes that new processes may use, inf if that is unknown."""
  try:
    lines = pathlib.Path('/proc/meminfo').read_text().splitlines()
  except OSError:
    return float('inf')
  (kilobytes,) = (
      line.split()[1] for line in lines if line.startswith('MemAvailable:'))
  return 1024. * int(kilobytes)


def _choose(
    waiting: Sequence[grid.Job], worker: _Worker, workers: Sequence[_Worker],
) -> grid.Job:
  """Returns the job that a worker should do next.

  Long chains come first, so that no worker is alone with one at the end; then
  cells of the dataset that the worker has open, then of one that none has.
  """
  own = _dataset(worker.last)
  opened = {_dataset(each.last) for each in workers}

  def rank(job: grid.Job) -> int:
    if isinstance(job, grid.DatasetJob):
      return 0
    if isinstance(job, grid.PolicyJob):
      return 1
    if _dataset(job) == own:
      return 2
    return 4 if _dataset(job) in opened else 3

  return min(waiting, key=rank)


def _dataset(job: grid.Job | None) -> Any:
  """Returns what a cell has to open."""
  return isinstance(job, grid.CellJob) and (job.dataset, job.target_epsilon)


def _serve(
    connection: Any, driver: int, out: pathlib.Path) -> None:
  """Runs jobs as they come; the main function of a worker."""
  _die_with(driver)
  signal.signal(signal.SIGINT, signal.SIG_IGN)  # The driver ends us.
  # Only the driver talks to people.
  jobs.start()
  sys.stdout = sys.stderr = open(os.devnull, 'w')  # noqa: PTH123, SIM115
  reported = 0.

  def progress(share: float) -> None:
    nonlocal reported
    if time.monotonic() - reported > _REPORT_SECONDS:
      reported = time.monotonic()
      connection.send(share)

  while True:
    try:
      job = connection.recv()
    except EOFError:
      return
    connection.send(jobs.attempt(job, out, progress))


def _die_with(driver: int) -> None:
  """Makes the system kill this process when the driver ends, however."""
  ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
  if os.getppid() != driver:  # It ended before that.
    os._exit(1)
