"""The learner that all methods of off-policy evaluation share.

A method is an `Agent`: an update from two batches, a closed form on the whole
log, or both. `OPELearner` does the rest as Acme's learners do: it makes many
updates within one graph, counts and logs them, evaluates now and then, stops a
run that diverges, and saves and restores all of it bit for bit.

    agent = fqe.make(fqe.Config(), problem, seed=0)
    learner = OPELearner(agent, problem, data, initial_observations=s0)
    learner.run()
    learner.evaluate()                  # the value of the policy
    learner.q_function.values(s)        # [B, A]
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
import functools
import json
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import acme
from acme.utils import counting, loggers
import numpy as np

from dfiv_ope import types
from dfiv_ope.agents.entries import base as entry
from dfiv_ope.iv import ridge
from dfiv_ope.nn import tensors
from dfiv_ope.ope import bellman, decisions, values

if TYPE_CHECKING:
  from dfiv_ope.agents import update_graph

Config = entry.Config  # Known before this module is loaded.
# One pass over the log, in parts of some thousand rows.
Parts = Callable[[], Iterable[types.IVBatch]]


class Agent:
  """A method of off-policy evaluation.

  `ClosedForm` is what solves once, in numpy. What has variables of TensorFlow
  is a `network_agent.NetworkAgent`. Rows come from `bellman.Problem.rows`.

  Attributes:
    config: its hyper-parameters.
    loss_names: of the losses that `update` returns.
  """

  config: Config
  loss_names: ClassVar[tuple[str, ...]] = ()

  def start(self, initial_observations: types.Array) -> None:
    """Told once, before all else, what states the value is one of.

    Args:
      initial_observations: raw observations that episodes start from, [E, D].
    """

  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, types.Array]:
    """Makes one update from two independent batches; returns losses, [].

    Called inside a `tf.function`.
    """
    raise NotImplementedError(f'{type(self).__name__} has no updates.')

  def anneal(self, share: float) -> None:
    """Sets learning rates for when `share` of the updates is done."""

  def solve(self, parts: Parts) -> Mapping[str, float]:
    """Uses the whole log, before each evaluation point.

    Returns:
      What is worth knowing of it, such as held-out losses.
    """
    del parts
    return {}

  def predict(self, decision: decisions.Decision) -> types.Array:
    """Returns the value of decisions on the scale of the problem, [B, 1]."""
    raise NotImplementedError

  def errors(self, rows: types.IVBatch) -> types.FloatArray:
    """Returns r - Q(s, a) + gamma d E_pi Q(s', .) of rows, [B].

    Not in a graph: making one takes longer than the few large parts of a log.
    """
    return left(rows, bellman.difference(self.predict, rows.treatment))

  @property
  def finished(self) -> bool:
    """Whether further updates would not help; told after `solve`."""
    return False

  @property
  def variables(self) -> Sequence[types.Array]:
    """What a run has learned."""
    return ()

  def save(self) -> list[np.ndarray]:
    """Returns all that a run has changed, for `restore`."""
    return [np.asarray(each) for each in self.variables]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Goes on from what `save` returned."""
    raise NotImplementedError


class ClosedForm(Agent):
  """A method without updates, whose solution is a few arrays.

  Attributes:
    solution: names of the attributes that `solve` sets to arrays.
  """

  solution: ClassVar[tuple[str, ...]] = ()

  @property
  def variables(self) -> Sequence[types.Array]:
    return [getattr(self, name) for name in self.solution]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    for name, value in zip(self.solution, state, strict=True):
      setattr(self, name, value)


def left(rows: types.IVBatch, fitted: types.Array) -> types.FloatArray:
  """Returns what a fit [B, 1] leaves of the outcomes of rows, [B]."""
  fitted = tensors.array(fitted)
  return (tensors.array(rows.outcome).astype(fitted.dtype) - fitted)[:, 0]


class Data(Protocol):
  """Where rows come from: memory or a stream."""

  def sample(self) -> types.IVBatch:
    """Returns rows drawn uniformly, inside a graph."""

  def parts(self) -> Iterable[types.IVBatch]:
    """Returns all rows in parts, or as many as stand for the log."""


class _Progress:
  """How far a run has come.

  Attributes:
    checks: evaluation points so far.
    history: what was found at each, by name.
    divergence: why the run was stopped; empty if it was not.
  """

  def __init__(self) -> None:
    """Begins a run."""
    self.checks = 0
    self.history: dict[str, list[float]] = {}
    self.divergence = ''

  def save(self) -> list[np.ndarray]:
    """Returns all of it."""
    return [np.array(json.dumps(vars(self)))]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Goes on from what `save` returned."""
    vars(self).update(json.loads(str(state[0])))


class OPELearner(acme.Learner):
  """Runs an agent on a log.

  Attributes:
    agent: the method.
    problem: what is asked of the log.
  """

  def __init__(
    self,
    agent: Agent,
    problem: bellman.Problem,
    data: Data,
    *,
    initial_observations: types.Array,
    counter: counting.Counter | None = None,
    logger: loggers.Logger | None = None,
  ):
    """Initialises the learner.

    Args:
      agent: the method.
      problem: what is asked of the log.
      data: where rows come from. If it draws batches, its state is saved.
      initial_observations: raw observations that episodes start from, [E, D].
      counter: counts steps.
      logger: told the losses and the estimate at each evaluation point.
    """
    self.agent = agent
    self.problem = problem
    self._data = data
    self._initial_observations = initial_observations
    self._counter = counter or counting.Counter()
    self._logger = logger or loggers.NoOpLogger()
    self._progress = _Progress()
    self._initial_values: types.FloatArray | None = None
    agent.start(initial_observations)

  @property
  def done(self) -> bool:
    """Whether the run is complete or has diverged."""
    return (
      self._progress.checks >= self.agent.config.checks
      or bool(self.divergence)
      or self.agent.finished
    )

  @property
  def divergence(self) -> str:
    """Why the run was stopped, empty if it was not."""
    return self._progress.divergence

  @property
  def history(self) -> dict[str, list[float]]:
    """The estimate, losses and updates at each evaluation point so far."""
    return {name: list(each) for name, each in self._progress.history.items()}

  @property
  def q_function(self) -> values.QFunction:
    """The Q-function as it stands."""
    return values.QFunction(self.problem, self.agent.predict)

  def evaluate(self) -> float:
    """Returns the estimated value of the policy as it stands."""
    self._initial_values = tensors.array(
      self.q_function.expected(self._initial_observations)
    )
    return float(np.mean(self._initial_values))

  @property
  def initial_values(self) -> types.FloatArray:
    """E_pi Q(s0, .) of each episode at the last evaluation point, [E]."""
    if self._initial_values is None:  # The run was restored.
      self.evaluate()
    assert self._initial_values is not None
    return self._initial_values

  def step(self) -> None:
    """Makes the updates up to the next evaluation point, and evaluates."""
    if self.done:
      return
    config, check = self.agent.config, self._progress.checks
    before, after = (0, *config.marks)[check : check + 2]
    losses: dict[str, float] = {}
    if after > before:
      self.agent.anneal(before / config.updates)
      losses = self._updates.make(after - before)
    losses.update(self.agent.solve(self._data.parts))
    estimate = self.evaluate()
    self._progress.checks += 1
    counts = self._counter.increment(steps=1)
    metrics = {'updates': after, 'estimate': estimate, **losses}
    self._record(metrics)
    self._logger.write({**counts, **metrics})

  def run(self, num_steps: int | None = None) -> None:
    """Makes `num_steps` steps, or all that are left."""
    while not self.done and num_steps != 0:
      self.step()
      num_steps = None if num_steps is None else num_steps - 1

  @functools.cached_property
  def _updates(self) -> 'update_graph.Updates':
    """What makes updates in a graph."""
    from dfiv_ope.agents import update_graph  # Imports TensorFlow.

    return update_graph.Updates(self.agent, self._data)

  def _record(self, metrics: Mapping[str, float]) -> None:
    """Adds an evaluation point to the history; says if the run diverged."""
    for name, value in metrics.items():
      self._progress.history.setdefault(name, []).append(value)
    self._progress.divergence = divergence(self.problem, metrics)

  def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
    """Returns the agent's variables; the only name is 'agent'."""
    if list(names) != ['agent']:
      raise ValueError(f"The learner serves ['agent'], not {list(names)}.")
    return [[np.asarray(each) for each in self.agent.variables]]

  def save(self) -> list[np.ndarray]:
    """Returns everything a run has changed, for `restore`."""
    return [array for each in self._changing for array in each.save()]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Goes on from what `save` returned."""
    rest = list(state)
    for each in self._changing:
      size = len(each.save())
      each.restore(rest[:size])
      rest = rest[size:]
    self._initial_values = None

  @property
  def _changing(self) -> list[Any]:
    """What a run changes: each has `save` and `restore`."""
    return [
      self._progress,
      self.agent,
      *([self._updates] if self.agent.config.updates else []),
    ]

  @property
  def state(self) -> dict[str, Any]:
    """What a checkpoint of TensorFlow's must hold to go on as before."""
    from dfiv_ope.agents import update_graph  # Imports TensorFlow.

    sampler = (
      getattr(self._data, 'sampler', None)
      if self.agent.config.updates
      else None
    )
    return {
      'progress': update_graph.Checkpointed(self._progress),
      'agent': update_graph.trackable(self.agent),
      **({'data': sampler} if sampler is not None else {}),
    }


def divergence(problem: bellman.Problem, metrics: Mapping[str, float]) -> str:
  """Returns why a run has diverged, empty if it has not.

  Args:
    problem: says what values are possible.
    metrics: at an evaluation point: the estimate, and losses.
  """
  broken = [name for name, value in metrics.items() if not np.isfinite(value)]
  if broken:
    return f'{", ".join(broken)} not finite'
  if not problem.allows(metrics['estimate']):
    return (
      f'estimate {metrics["estimate"]:.4g} outside '
      f'[{problem.lowest:.4g}, {problem.highest:.4g}]'
    )
  return ''


def half_sums(
  sums: Callable[[types.IVBatch], ridge.Sums], parts: Parts
) -> tuple[ridge.Sums, ridge.Sums]:
  """Returns the sums over two halves of a log.

  Parts go to the halves in turns, so that both see all of the log.

  Args:
    sums: returns those of a part.
    parts: gives the log.

  Returns:
    Sums of numpy arrays.

  Raises:
    ValueError: there is only one part.
  """
  halves: list[ridge.Sums | None] = [None, None]
  for index, rows in enumerate(parts()):
    before, present = halves[index % 2], ridge.arrays(sums(rows))
    halves[index % 2] = (
      present if before is None else ridge.merge(before, present)
    )
  if halves[0] is None or halves[1] is None:
    raise too_few_parts()
  return halves[0], halves[1]


def too_few_parts() -> ValueError:
  """Returns the error of a log that has no halves."""
  return ValueError(
    'The log came in fewer than two parts, so it has no halves.'
  )
