"""Works on parts of a log on a Ray cluster.

Nodes read the log's files themselves, so they must lie where all nodes see
them. Groups of parts are tasks, and so are the merges of what comes of them:
which node did what, and when, changes no digit, and what is lost with a node is
done again.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import functools
import pathlib
from typing import TYPE_CHECKING, Any, Self
import uuid

import numpy as np

from dfiv_ope.datasets import stored_streams, streams, surveys
from dfiv_ope.evaluation import streamed_passes
from dfiv_ope.launch.experiments.executors import ray as ray_executor

if TYPE_CHECKING:
  from dfiv_ope.ope import bellman

# How often a task is tried again that was lost with its worker or node.
_RETRIES = 5
# Bytes of the object store of a cluster of this machine. Sums of a group take
# a tenth of it, and Ray writes to disk what does not fit.
STORE = 100_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
  """How a process opens a log and a policy.

  Attributes:
    key: names it, so that a worker opens it once.
    stream: the log.
    survey: of it, without what only the driver needs.
    policy: as `policies.resolve` takes it.
    trusted: load a SavedModel whatever operations it holds.
    directory: where functions and relative paths are looked for.
  """

  key: str
  stream: streams.Stream | stored_streams.StoredStream
  survey: surveys.Survey
  policy: Any
  trusted: bool
  directory: pathlib.Path

  @classmethod
  def of(
    cls,
    stream: streams.Stream | stored_streams.StoredStream,
    survey: surveys.Survey,
    policy: Any,
    *,
    trusted: bool,
  ) -> Self:
    """Returns the recipe of a log and a policy, seen from this process."""
    nothing = np.zeros(0)
    return cls(
      key=uuid.uuid4().hex,
      stream=stream,
      survey=dataclasses.replace(survey, returns=nothing, lengths=nothing),
      policy=policy,
      trusted=trusted,
      directory=pathlib.Path.cwd(),
    )


class Cluster:
  """Does what `streamed_passes.Reduce` says, on a cluster."""

  def __init__(
    self,
    recipe: Recipe,
    *,
    address: str,
    processes: int | None = None,
    done: Callable[[], None] = lambda: None,
  ):
    """Connects to a cluster, or starts one of this machine.

    Args:
      recipe: of the log and the policy.
      address: of `executors.ray.check`.
      processes: tasks at the same time, of a cluster of this machine.
      done: told that a group is done.

    Raises:
      ConnectionError: the cluster does not take us.
    """
    self._ray = ray_executor.connect(address, processes, store=STORE)
    self._done = done
    options = {'num_cpus': 1, 'max_retries': _RETRIES}
    self._work = self._ray.remote(**options)(_work)
    self._merge = self._ray.remote(**options)(_merge)
    self._recipe = self._ray.put(recipe)

  def __enter__(self) -> Self:
    return self

  def __exit__(self, *unused: object) -> None:
    self._ray.shutdown()

  def __call__(
    self,
    work: Callable[..., Any],
    merge: Callable[..., Any],
    problem: 'bellman.Problem',
    groups: Sequence[streamed_passes.Group],
    *args: Any,
  ) -> Any:
    """Returns what all groups come to, as `streamed_passes.Reduce` says."""
    # Policies may hold what cannot be sent: workers make their own.
    nobody: Any = None
    sent = self._ray.put(dataclasses.replace(problem, policy=nobody))
    shared = self._ray.put(args)
    try:
      return self._ray.get(
        streamed_passes.merged(
          self._started(work, sent, groups, shared),
          functools.partial(self._merge.remote, merge),
        )
      )
    except self._ray.exceptions.RayTaskError as error:
      raise error.cause or error from None

  def _started(
    self,
    work: Callable[..., Any],
    problem: Any,
    groups: Sequence[streamed_passes.Group],
    args: Any,
  ) -> Iterator[Any]:
    """Yields references of the groups, as many at a time as keep it busy."""
    # One more a core waits, so that none is idle between groups.
    room = 2 * max(1, int(self._ray.cluster_resources().get('CPU', 1)))
    running: list[Any] = []
    for group in groups:
      running = self._waited(running, room - 1)
      running.append(
        self._work.remote(self._recipe, work, problem, group, args)
      )
      yield running[-1]
    self._waited(running, 0)

  def _waited(self, running: list[Any], most: int) -> list[Any]:
    """Waits until no more than so many are running; returns these."""
    while len(running) > most:
      ended, running = self._ray.wait(running)
      for _ in ended:
        self._done()
    return running


@functools.lru_cache(maxsize=1)
def _opened(key: str) -> dict[str, Any]:
  """Keeps what a worker has opened of a recipe."""
  del key
  return {}


def _work(
  recipe: Recipe,
  work: Callable[..., Any],
  problem: 'bellman.Problem',
  group: streamed_passes.Group,
  args: Sequence[Any],
) -> Any:
  """Works on a group in a worker of a node."""
  from dfiv_ope.launch import runtime

  runtime.start(tensorflow=False)  # Passes are of closed forms.
  from dfiv_ope.ope import task as task_lib

  known = _opened(recipe.key)
  if not known:
    with contextlib.chdir(recipe.directory):
      known['policy'] = task_lib.find_policy(
        recipe.policy, recipe.survey.tried, trusted=recipe.trusted
      ).policy
    known['parts'] = recipe.stream.parts(recipe.survey)
  context = streamed_passes.Context(
    known['parts'], dataclasses.replace(problem, policy=known['policy'])
  )
  return work(context, group, *args)


def _merge(merge: Callable[..., Any], first: Any, second: Any) -> Any:
  """Merges what came of two neighbours."""
  return merge(first, second)
