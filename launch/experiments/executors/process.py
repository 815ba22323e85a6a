"""A worker process, as its driver sees it, and what it does."""

from collections.abc import Callable
import contextlib
import ctypes
import multiprocessing
import os
import pathlib
import signal
import sys
import time
from typing import Any

from dfiv_ope.launch import runtime
from dfiv_ope.launch.experiments import jobs, store, worker

_PR_SET_PDEATHSIG = 1
# A worker says how far it is at most once in as many seconds.
_REPORT_SECONDS = 0.5


class Process:
  """One process; it dies with the driver, whatever ends that.

  Attributes:
    connection: to the process.
    alive: whether it can be given jobs.
    job: what it runs now, if anything.
    last: what it was given last.
    share: what share of the job is done.
    note: how the job is getting on.
  """

  def __init__(self, places: store.Places):
    """Starts a process."""
    context = multiprocessing.get_context('spawn')
    self.connection, theirs = context.Pipe()
    self._process = context.Process(
      target=_serve, args=(theirs, os.getpid(), places), daemon=True
    )
    self._process.start()
    theirs.close()
    self.alive = True
    self.job: jobs.Job | None = None
    self.last: jobs.Job | None = None
    self.share, self.note = 0.0, ''

  def give(self, job: jobs.Job) -> None:
    """Hands a job over."""
    self.job = self.last = job
    self.share, self.note = 0.0, ''
    # If it is dead by now, `take` finds out.
    with contextlib.suppress(BrokenPipeError):
      self.connection.send(job)

  def take(self, job: jobs.Job) -> worker.Outcome | None:
    """Takes what the process sent; None if that is not the end of a job."""
    try:
      message = self.connection.recv()
    except (EOFError, ConnectionResetError):
      message = self._lost(job)
    if not isinstance(message, worker.Outcome):
      self.share, self.note = message
      return None
    self.job = None
    return message

  def kill(self) -> None:
    """Ends the process."""
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

  def _lost(self, job: jobs.Job) -> worker.Outcome:
    """Says how the process ended."""
    self._process.join()
    code = self._process.exitcode or 0
    reason = f'by signal {-code}' if code < 0 else f'with exit code {code}'
    hint = (
      ' The system ends processes so when memory runs out.'
      if code == -signal.SIGKILL
      else ''
    )
    self.kill()
    return worker.Outcome(
      job=job, error=f'ChildProcessError: The worker ended {reason}.{hint}'
    )


def _serve(connection: Any, driver: int, places: store.Places) -> None:
  """Runs jobs as they come; the main function of a process."""
  _die_with(driver)
  signal.signal(signal.SIGINT, signal.SIG_IGN)  # The driver ends us.
  runtime.mute()
  # Only the driver talks to people.
  sys.stdout = sys.stderr = open(os.devnull, 'w')  # noqa: PTH123, SIM115
  while True:
    try:
      job = connection.recv()
    except EOFError:
      return
    connection.send(worker.attempt(job, places, _reporter(connection)))


def _reporter(connection: Any) -> Callable[[float, str], None]:
  reported = 0.0

  def progress(share: float, note: str) -> None:
    nonlocal reported
    if time.monotonic() - reported > _REPORT_SECONDS:
      reported = time.monotonic()
      connection.send((share, note))

  return progress


def _die_with(driver: int) -> None:
  """Makes the system kill this process when the driver ends, however."""
  ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
  if os.getppid() != driver:  # It ended before that.
    os._exit(1)
