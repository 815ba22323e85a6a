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
import json
from typing import Protocol

import acme
from acme.utils import counting, loggers
import numpy as np
import tensorflow as tf

from dfiv_ope import types
from dfiv_ope.agents.entries import base as entry
from dfiv_ope.iv import ridge
from dfiv_ope.ope import bellman, decisions, values

Config = entry.Config  # Known before this module is loaded.
# One pass over the log, in parts of some thousand rows.
Parts = Callable[[], Iterable[types.IVBatch]]


class Agent(tf.Module):
  """A method of off-policy evaluation.

  All that a run changes are variables of the module, so that a checkpoint
  holds it. Rows come from `bellman.Problem.rows`.

  Attributes:
    config: its hyper-parameters.
  """

  config: Config

  def start(self, initial_observations: tf.Tensor) -> None:
    """Told once, before all else, what states the value is one of.

    Args:
      initial_observations: raw observations that episodes start from, [E, D].
    """

  def update(
    self, first: types.IVBatch, second: types.IVBatch
  ) -> Mapping[str, tf.Tensor]:
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

  def predict(self, decision: decisions.Decision) -> tf.Tensor:
    """Returns the value of decisions on the scale of the problem, [B, 1]."""
    raise NotImplementedError

  def errors(self, rows: types.IVBatch) -> types.FloatArray:
    """Returns r - Q(s, a) + gamma d E_pi Q(s', .) of rows, [B].

    Not in a graph: making one takes longer than the few large parts of a log.
    """
    fitted = bellman.difference(self.predict, rows.treatment)
    return (tf.cast(rows.outcome, fitted.dtype) - fitted).numpy()[:, 0]


class Data(Protocol):
  """Where rows come from: memory or a stream."""

  def sample(self) -> types.IVBatch:
    """Returns rows drawn uniformly, inside a graph."""

  def parts(self) -> Iterable[types.IVBatch]:
    """Returns all rows in parts, or as many as stand for the log."""


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
    initial_observations: tf.Tensor,
    counter: counting.Counter | None = None,
    logger: loggers.Logger | None = None,
  ):
    """Initialises the learner.

    Args:
      agent: the method.
      problem: what is asked of the log.
      data: where rows come from. If it is a `tf.Module`, its state is saved.
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
    self._checks = tf.Variable(0, dtype=tf.int64, trainable=False)
    self._history = tf.Variable('{}', trainable=False)  # as JSON
    self._divergence = tf.Variable('', trainable=False)
    self._initial_values: types.FloatArray | None = None
    agent.start(initial_observations)

  @property
  def done(self) -> bool:
    """Whether the run is complete or has diverged."""
    return int(self._checks) >= self.agent.config.checks or bool(
      self.divergence
    )

  @property
  def divergence(self) -> str:
    """Why the run was stopped, empty if it was not."""
    return self._divergence.numpy().decode()

  @property
  def history(self) -> dict[str, list[float]]:
    """The estimate, losses and updates at each evaluation point so far."""
    return json.loads(self._history.numpy().decode())

  @property
  def q_function(self) -> values.QFunction:
    """The Q-function as it stands."""
    return values.QFunction(self.problem, self.agent.predict)

  def evaluate(self) -> float:
    """Returns the estimated value of the policy as it stands."""
    self._initial_values = self.q_function.expected(
      self._initial_observations
    ).numpy()
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
    config, check = self.agent.config, int(self._checks)
    before, after = (
      config.updates * mark // config.checks for mark in (check, check + 1)
    )
    losses: dict[str, float] = {}
    if after > before:
      self.agent.anneal(before / config.updates)
      means = self._update_many(tf.constant(after - before))
      losses = {name: float(value) for name, value in means.items()}
    losses.update(self.agent.solve(self._data.parts))
    estimate = self.evaluate()
    self._checks.assign_add(1)
    counts = self._counter.increment(steps=1)
    metrics = {'updates': after, 'estimate': estimate, **losses}
    self._record(metrics)
    self._logger.write({**counts, **metrics})

  def run(self, num_steps: int | None = None) -> None:
    """Makes `num_steps` steps, or all that are left."""
    while not self.done and num_steps != 0:
      self.step()
      num_steps = None if num_steps is None else num_steps - 1

  @tf.function
  def _update_many(self, count: tf.Tensor) -> Mapping[str, tf.Tensor]:
    """Makes `count` updates, at least one; returns the means of the losses."""
    total = self._update()
    for _ in tf.range(1, count):
      total = tf.nest.map_structure(tf.add, total, self._update())
    scale = 1.0 / tf.cast(count, tf.float32)
    return tf.nest.map_structure(lambda loss: loss * scale, total)

  # No update has control flow of tensors; looking for it takes seconds.
  @tf.autograph.experimental.do_not_convert
  def _update(self) -> dict[str, tf.Tensor]:
    losses = self.agent.update(self._data.sample(), self._data.sample())
    return {name: tf.cast(loss, tf.float32) for name, loss in losses.items()}

  def _record(self, metrics: Mapping[str, float]) -> None:
    """Adds an evaluation point to the history; says if the run diverged."""
    history = self.history
    for name, value in metrics.items():
      history.setdefault(name, []).append(value)
    self._history.assign(json.dumps(history))
    self._divergence.assign(divergence(self.problem, metrics))

  def get_variables(self, names: Sequence[str]) -> list[list[np.ndarray]]:
    """Returns the agent's variables; the only name is 'agent'."""
    if list(names) != ['agent']:
      raise ValueError(f"The learner serves ['agent'], not {list(names)}.")
    return [[variable.numpy() for variable in self.agent.variables]]

  def save(self) -> list[np.ndarray]:
    """Returns everything a run has changed, for `restore`."""
    return [variable.numpy() for variable in self._variables()]

  def restore(self, state: Sequence[np.ndarray]) -> None:
    """Goes on from what `save` returned."""
    for variable, value in zip(self._variables(), state, strict=True):
      variable.assign(value)
    self._initial_values = None

  def _variables(self) -> list[tf.Variable]:
    """Returns all variables of the state, those of generators included."""
    # `tf.Module.variables` does not look into generators.
    root = tf.train.Checkpoint(**self.state)
    return [
      each
      for each in tf.train.TrackableView(root).descendants()
      if isinstance(each, tf.Variable)
    ]

  @property
  def state(self) -> dict[str, tf.Module]:
    """What a checkpoint must hold to go on exactly as before."""
    progress = tf.Module('progress')
    progress.variables_ = [self._checks, self._history, self._divergence]
    state = {'agent': self.agent, 'progress': progress}
    if isinstance(self._data, tf.Module):
      state['data'] = self._data
    return state


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
