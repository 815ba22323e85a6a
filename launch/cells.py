"""One cell of a comparison: a method with a config and a seed on a dataset.

A cell is an experiment with a name, a hash of everything that defines it. It
writes checkpoints while it runs and a result row when it is done, so it can be
killed at any moment, and runs again only from where it was.
"""

from collections.abc import Callable, Mapping
import dataclasses
import json
import math
import pathlib
import time
from typing import Any

from acme.utils import loggers

from dfiv_ope import (
  agents,
  bellman,
  configs,
  envs,
  evaluation,
  policies,
  results,
  rollout,
  statistics,
  types,
  versions,
)
from dfiv_ope.agents import base, checkpoints
from dfiv_ope.datasets import reading, sampling
from dfiv_ope.launch import rows as rows_lib
from dfiv_ope.launch import workspace

# Called as progress(updates done, updates in all, note).
Progress = Callable[[int, int, str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
  """A method with a config and a seed.

  Attributes:
    method: name of the agent.
    config: its hyper-parameters.
    preset: what the config is called, see `rows.preset`.
    seed: seeds the agent and its batches.
    command: the command that makes this cell's row.
  """
  method: str
  config: base.Config
  preset: str
  seed: int
  command: str


class Question:
  """A dataset and a target policy: what all cells of a comparison share.

  Attributes:
    dataset: the log.
    description: the `problem` of result rows.
  """

  def __init__(
      self,
      path: pathlib.Path,
      *,
      target_epsilon: float,
      out: pathlib.Path,
      truth_episodes: int = 40_000,
  ):
    """Opens a dataset and finds out the true value of the target policy.

    Args:
      path: directory of the dataset.
      target_epsilon: the target policy is the dataset's, with this
        probability of a uniform action.
      out: run directory; keeps the true value of a policy that is not the
        dataset's own.
      truth_episodes: simulate at most as many episodes for it.
    """
    self.dataset = reading.open_dataset(path)
    metadata = self.dataset.metadata
    self._policy = self.dataset.policy
    truth = metadata.truth
    if target_epsilon:
      self._policy = policies.Explore(
          self.dataset.policy, epsilon=target_epsilon)
      truth = self._simulate(target_epsilon, out, truth_episodes)
    probabilities = self._policy.action_probabilities(
        self.dataset.transitions.observation)
    taken = probabilities.numpy()[
        range(metadata.transitions), self.dataset.transitions.action.numpy()]
    self.description: dict[str, Any] = {
        **rows_lib.describe(metadata, target_epsilon=target_epsilon),
        'overlap': round(float(taken.mean()), 4),
        'truth': truth.mean, 'truth_standard_error': truth.standard_error}
    self._problem: bellman.Problem | None = None
    self._rows: types.IVBatch | None = None

  def pose(self) -> tuple[bellman.Problem, types.IVBatch]:
    """Returns the problem and its rows; made when first asked for."""
    if self._problem is None or self._rows is None:
      transitions = self.dataset.transitions
      self._problem = bellman.pose(
          transitions, self._policy, discount=self.description['discount'],
          num_actions=self.dataset.metadata.num_actions)
      self._rows = self._problem.rows(
          transitions,
          support=self._problem.support(transitions.next_observation))
    return self._problem, self._rows

  def key(self, cell: Cell) -> str:
    """Returns the name of a cell of this question."""
    return results.key(
        self.description, cell.method, configs.encode(cell.config), cell.seed,
        code=rows_lib.code(cell.method))

  def _simulate(
      self, epsilon: float, out: pathlib.Path, max_episodes: int,
  ) -> statistics.MonteCarlo:
    """Simulates the value of the target policy, or reads it back."""
    metadata = self.dataset.metadata
    path = rows_lib.truth_file(
        out, metadata.digest, epsilon=epsilon, max_episodes=max_episodes)
    if not path.is_file():
      truth = evaluation.monte_carlo(
          envs.maker(
              metadata.spec.task, action_noise=metadata.spec.action_noise),
          self._policy, discount=metadata.spec.discount,
          seed=rollout.stream(metadata.spec.seed, f'truth {epsilon:g}'),
          max_episodes=max_episodes)
      path.parent.mkdir(parents=True, exist_ok=True)
      workspace.write_record(path, json.dumps(dataclasses.asdict(truth)))
    return statistics.MonteCarlo(**json.loads(path.read_text()))


def run(
    question: Question,
    cell: Cell,
    *,
    out: pathlib.Path,
    progress: Progress | None = None,
) -> results.ResultRow:
  """Runs a cell, from its last checkpoint if there is one; adds its row.

  Args:
    question: what is asked.
    cell: what is run.
    out: run directory.
    progress: told after every look of the learner.

  Returns:
    The row, which is also in the run directory.
  """
  row = compute(question, cell, out=out, progress=progress)
  rows_lib.add(out, row)
  return row


def compute(
    question: Question,
    cell: Cell,
    *,
    out: pathlib.Path,
    progress: Progress | None = None,
) -> results.ResultRow:
  """Runs a cell as `run` does, but keeps its checkpoints and adds no row."""
  problem, rows = question.pose()
  updates = cell.config.updates
  learner = base.OPELearner(
      agents.load(cell.method).make(cell.config, problem, seed=cell.seed),
      problem,
      sampling.InMemory(
          rows, batch_size=cell.config.batch_size, seed=cell.seed),
      initial_observations=question.dataset.initial_observations,
      logger=_Reporter(progress, updates))
  key = question.key(cell)
  saved = checkpoints.Series(rows_lib.checkpoints(out, key), {'key': key})
  saved.restore(learner)
  spent = saved.state.get('cpu_seconds', 0.)
  started = time.process_time()

  def seconds() -> float:
    return spent + time.process_time() - started

  while not learner.done:
    learner.step()
    if not learner.done:
      saved.save(
          learner, number=len(learner.history['updates']),
          state={'cpu_seconds': seconds()})
  return _row(question, cell, learner, seconds())


def log_row(question: Question, command: str) -> results.ResultRow:
  """Returns the naive answer as a row."""
  description = question.description
  return results.ResultRow(
      problem=description, method=rows_lib.LOG, config=rows_lib.LOG_CONFIG,
      seed=0, metrics=rows_lib.errors(description['log_return'], description),
      curves={}, cpu_seconds=0., versions=versions.versions(),
      command=command)


def _row(
    question: Question, cell: Cell, learner: base.OPELearner, seconds: float,
) -> results.ResultRow:
  history = learner.history
  metrics = {
      name: values[-1] for name, values in history.items()
      if name != 'updates'}
  failure = learner.divergence and f'diverged: {learner.divergence}'
  if not failure:
    metrics.update(rows_lib.errors(metrics['estimate'], question.description))
  return results.ResultRow(
      problem=question.description, method=cell.method,
      config=configs.encode(cell.config), seed=cell.seed,
      metrics={} if failure else metrics,
      curves={name: [each if math.isfinite(each) else None for each in values]
              for name, values in history.items()},
      cpu_seconds=seconds, versions=versions.versions(), failure=failure,
      preset=cell.preset, command=cell.command, code=rows_lib.code(cell.method))


class _Reporter(loggers.Logger):
  """Passes on what a learner logs."""

  def __init__(self, progress: Progress | None, updates: int):
    self._progress = progress
    self._updates = updates

  def write(self, data: Mapping[str, Any]) -> None:
    if self._progress is not None:
      self._progress(
          int(data['updates']), self._updates,
          f'estimate {data["estimate"]:.4g}')

  def close(self) -> None:
    """Has nothing to close."""
