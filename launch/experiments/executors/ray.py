"""Runs jobs on a Ray cluster.

The nodes share the run directory: they find policies and datasets there and
leave checkpoints, so a job that is lost with its node goes on elsewhere. Rows
come back through the driver.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import fcntl
import hashlib
import importlib.util
import logging
import os
import pathlib
import re
import shutil
from typing import Any

from dfiv_ope.launch.experiments import jobs, store, worker
from dfiv_ope.launch.experiments.executors import order

LOCAL = 'local'
# How often a job is tried again that was lost with its worker or node.
_RETRIES = 5
_CONNECT_SECONDS = 5.0
_LOCKS = 'locks'


def check(address: str) -> None:
  """Refuses an address at which no cluster can be.

  Ray itself would go on trying for minutes.

  Args:
    address: host:port of the head of a cluster, or 'local'.

  Raises:
    ValueError: the address has another form, or Ray is not installed.
    ConnectionError: nobody answers there.
  """
  if importlib.util.find_spec('ray') is None:
    raise ValueError(
      'Ray is not installed. Install it with '
      "`pip install 'dfiv-ope[cluster]'`, on all nodes."
    )
  if address == LOCAL:
    return
  if not re.fullmatch(r'[^\s:/]+:\d+', address):
    raise ValueError(
      f'--ray takes the host:port of the head of a cluster, or {LOCAL}, got '
      f'{address!r}.'
    )
  import grpc

  channel = grpc.insecure_channel(address)
  try:
    grpc.channel_ready_future(channel).result(timeout=_CONNECT_SECONDS)
  except grpc.FutureTimeoutError as error:
    raise ConnectionError(
      f'No Ray cluster answers at {address}. Start one with '
      '`ray start --head --port PORT`, or leave --ray out to run here.'
    ) from error
  finally:
    channel.close()


def connect(
  address: str, processes: int | None, *, store: int | None = None
) -> Any:
  """Connects to a cluster, or starts one of this machine; returns Ray.

  Args:
    address: see `check`.
    processes: of a cluster of this machine; None for one a core.
    store: bytes of the object store of a cluster of this machine; None for
      what Ray takes.

  Raises:
    ConnectionError: the cluster does not take us.
  """
  check(address)
  os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
  import ray

  here: dict[str, Any] = (
    {'num_cpus': processes, 'include_dashboard': False}
    | ({} if store is None else {'object_store_memory': store})
    if address == LOCAL
    else {}
  )
  try:
    ray.init(
      address=address, log_to_driver=False, logging_level=logging.ERROR, **here
    )
  except Exception as error:  # Ray raises several types.
    raise ConnectionError(
      f'The Ray cluster at {address} does not take us: {error}'
    ) from error
  return ray


class Cluster:
  """A connection to a cluster."""

  def __init__(
    self, places: store.Places, *, address: str, processes: int | None
  ):
    """Connects to a cluster, or starts one of this machine.

    Args:
      places: where things lie, for all nodes.
      address: see `check`.
      processes: jobs at the same time; None takes all the cluster has.

    Raises:
      ConnectionError: the cluster does not take us.
    """
    self._ray = connect(address, processes)
    # Workers have another working directory.
    self._places = store.Places(
      places.out.resolve(), tuple(each.resolve() for each in places.datasets)
    )
    self.on_progress: Callable[[], None] = lambda: None
    self._processes = processes
    self._task = self._ray.remote(
      num_cpus=1, max_retries=_RETRIES, retry_exceptions=False
    )(_attempt)
    self._pending: dict[Any, jobs.Job] = {}

  def __enter__(self) -> 'Cluster':
    return self

  def __exit__(self, *unused: object) -> None:
    self._ray.shutdown()
    shutil.rmtree(self._places.out / _LOCKS, ignore_errors=True)

  def start(self, ready: Sequence[jobs.Job]) -> list[jobs.Job]:
    """Hands over as many of the jobs as keep the cluster busy."""
    # One more a core waits, so that none is idle between jobs.
    room = self._processes or 2 * max(
      1, int(self._ray.cluster_resources().get('CPU', 1))
    )
    waiting, started = list(ready), []
    while waiting and len(self._pending) < room:
      job = order.choose(waiting, None, [])
      waiting.remove(job)
      started.append(job)
      self._pending[self._task.remote(job, self._places)] = job
    return started

  def wait(self, seconds: float) -> list[worker.Outcome]:
    """Returns what has ended, after at most this time."""
    if not self._pending:
      return []
    references = list(self._pending)
    ended, _ = self._ray.wait(references, num_returns=1, timeout=seconds)
    if ended:
      ended, _ = self._ray.wait(
        references, num_returns=len(references), timeout=0
      )
    return [self._take(reference) for reference in ended]

  @property
  def running(self) -> list[tuple[jobs.Job, float, str]]:
    """Jobs that the cluster has; how far they are is not known."""
    return [(job, 0.0, '') for job in self._pending.values()]

  def _take(self, reference: Any) -> worker.Outcome:
    job = self._pending.pop(reference)
    try:
      return self._ray.get(reference)
    except self._ray.exceptions.RayError as error:
      words = ' '.join(str(error).split())
      return worker.Outcome(job=job, error=f'{type(error).__name__}: {words}')


def _attempt(job: jobs.Job, places: store.Places) -> worker.Outcome:
  """Runs a job in a worker of a node.

  When a node is given up, its worker may still be at work for a moment; the
  job waits for that.
  """
  with _lock(job, places.out):
    return worker.attempt(job, places, lambda share, note: None)


@contextlib.contextmanager
def _lock(job: jobs.Job, out: pathlib.Path) -> Iterator[None]:
  directory = out / _LOCKS
  directory.mkdir(exist_ok=True)
  name = hashlib.sha256(repr(job).encode()).hexdigest()[:16]
  with (directory / name).open('w') as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    yield
