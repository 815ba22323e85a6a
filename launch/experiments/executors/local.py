"""Runs jobs on this machine: in this process, or in several others.

Worker processes live as long as the executor, because starting TensorFlow
takes seconds, and die with the driver, whatever ends it. A job is only started
beside others while there is memory for it.
"""

from collections.abc import Callable, Sequence
from multiprocessing import connection as connections
import pathlib

from dfiv_ope import interrupts
from dfiv_ope.launch import runtime
from dfiv_ope.launch.experiments import jobs, store, worker
from dfiv_ope.launch.experiments.executors import order, process

# Bytes that a job may take, TensorFlow included.
NEED = 1_500_000_000


class Here:
  """Runs one job after another in this process."""

  def __init__(self, places: store.Places):
    """Prepares the process; TensorFlow starts with the first job."""
    self.on_progress: Callable[[], None] = lambda: None
    self._places = places
    self._job: jobs.Job | None = None
    self._last: jobs.Job | None = None
    self._share, self._note = 0.0, ''

  def __enter__(self) -> 'Here':
    interrupts.begin()
    return self

  def __exit__(self, *unused: object) -> None:
    """Has nothing to end."""

  def start(self, ready: Sequence[jobs.Job]) -> list[jobs.Job]:
    """Takes one job, which `wait` runs."""
    if self._job is not None or not ready:
      return []
    self._job = order.choose(ready, self._last, [])
    self._share, self._note = 0.0, ''
    return [self._job]

  def wait(self, seconds: float) -> list[worker.Outcome]:
    """Runs the job, however long that takes."""
    del seconds
    if self._job is None:
      return []

    def progress(share: float, note: str) -> None:
      interrupts.check()
      self._share, self._note = share, note
      self.on_progress()

    outcome = worker.attempt(self._job, self._places, progress)
    interrupts.check()
    self._last, self._job = self._job, None
    return [outcome]

  @property
  def running(self) -> list[tuple[jobs.Job, float, str]]:
    """The job that is run now, what share of it is done, and a note."""
    return [(self._job, self._share, self._note)] if self._job else []


class Pool:
  """Worker processes."""

  def __init__(self, places: store.Places, *, processes: int, need: int = NEED):
    """Prepares a pool; a process starts when there is work for it.

    Args:
      places: where things lie.
      processes: jobs that run at the same time.
      need: bytes of memory to keep for each.
    """
    self.on_progress: Callable[[], None] = lambda: None
    self._places = places
    self._processes = processes
    self._need = need
    self._workers: list[process.Process] = []
    runtime.limit_threads()

  def __enter__(self) -> 'Pool':
    return self

  def __exit__(self, *unused: object) -> None:
    for each in self._workers:
      each.kill()

  def start(self, ready: Sequence[jobs.Job]) -> list[jobs.Job]:
    """Starts as many of the jobs as there is room for; returns those."""
    waiting, started = list(ready), []
    while waiting and self._has_room():
      idle = next((each for each in self._workers if not each.job), None)
      if idle is None:
        idle = process.Process(self._places)
        self._workers.append(idle)
      job = order.choose(
        waiting, idle.last, [each.last for each in self._workers]
      )
      waiting.remove(job)
      started.append(job)
      idle.give(job)
    return started

  def wait(self, seconds: float) -> list[worker.Outcome]:
    """Returns what has ended, after at most this time."""
    busy = {
      each.connection: (each, each.job) for each in self._workers if each.job
    }
    outcomes = []
    for ready in connections.wait(list(busy), timeout=seconds):
      found, job = busy[ready]  # type: ignore[index]
      outcome = found.take(job)
      if outcome is not None:
        outcomes.append(outcome)
      if not found.alive:
        self._workers.remove(found)
    return outcomes

  @property
  def running(self) -> list[tuple[jobs.Job, float, str]]:
    """Jobs that are run now, what share of each is done, and a note."""
    return [
      (each.job, each.share, each.note) for each in self._workers if each.job
    ]

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


def available_memory() -> float:
  """Returns the bytes that new processes may use, inf if that is unknown."""
  try:
    lines = pathlib.Path('/proc/meminfo').read_text().splitlines()
  except OSError:
    return float('inf')
  (kilobytes,) = (
    line.split()[1] for line in lines if line.startswith('MemAvailable:')
  )
  return 1024.0 * int(kilobytes)
