"""One cell of a comparison: a method with a config and a seed on a dataset.

A cell is an experiment with a name, a hash of everything that defines it. It
writes checkpoints while it runs and a result row when it is done, so it can be
killed at any moment, and runs again only from where it was.
"""

from collections.abc import Callable, Mapping
import dataclasses
import math
import pathlib
import time
from typing import Any

from acme.utils import loggers
import numpy as np
import tensorflow as tf

from dfiv_ope import agents, configs, results, types, versions
from dfiv_ope.agents import base, checkpoints, memory
from dfiv_ope.evaluation import inference
from dfiv_ope.launch import questions
from dfiv_ope.launch import rows as rows_lib
from dfiv_ope.ope import bellman

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


def key_of(question: questions.Question, cell: Cell) -> str:
  """Returns the name of a cell of a question."""
  return results.key(
      question.description, cell.method, configs.encode(cell.config),
      cell.seed, version=rows_lib.version(cell.method),
      inference=rows_lib.inference(cell.method))


def run(
    question: questions.Question,
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
    question: questions.Question,
    cell: Cell,
    *,
    out: pathlib.Path,
    progress: Progress | None = None,
) -> results.ResultRow:
  """Runs a cell as `run` does, but keeps its checkpoints and adds no row."""
  learner = make_learner(
      cell.method, cell.config, *question.pose(), seed=cell.seed,
      initial_observations=question.dataset.initial_observations,
      logger=_Reporter(progress, cell.config.updates))
  key = key_of(question, cell)
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


def make_learner(
    method: str,
    config: base.Config,
    problem: bellman.Problem,
    rows: types.IVBatch,
    *,
    seed: int,
    initial_observations: tf.Tensor,
    logger: loggers.Logger | None = None,
) -> base.OPELearner:
  """Returns the learner of a method on rows in memory.

  Args:
    method: name of the agent.
    config: its hyper-parameters.
    problem: what is asked of the log.
    rows: of the log, as `problem` makes them.
    seed: seeds the agent and its batches.
    initial_observations: raw observations that episodes start from, [E, D].
    logger: told the losses and the estimate at each look.
  """
  return base.OPELearner(
      agents.load(method).make(config, problem, seed=seed), problem,
      memory.InMemory(rows, batch_size=config.batch_size, seed=seed),
      initial_observations=initial_observations, logger=logger)


def log_row(question: questions.Question, command: str) -> results.ResultRow:
  """Returns the naive answer as a row, with resamples by the same draws."""
  description, returns = question.description, question.returns
  added = (returns - np.mean(returns)) / len(returns)
  return results.ResultRow(
      problem=description, method=rows_lib.LOG, config=rows_lib.LOG_CONFIG,
      seed=0, curves={}, cpu_seconds=0., versions=versions.versions(),
      version=rows_lib.version(rows_lib.LOG), command=command,
      resamples=_resample(added), metrics={
          **rows_lib.errors(description['log_return'], description),
          'degrees': inference.degrees(added)})


def _row(
    question: questions.Question, cell: Cell, learner: base.OPELearner,
    seconds: float,
) -> results.ResultRow:
  history = learner.history
  metrics = {
      name: values[-1] for name, values in history.items()
      if name != 'updates'}
  failure = learner.divergence and f'diverged: {learner.divergence}'
  resamples: list[float] = []
  if not failure:
    metrics.update(rows_lib.errors(metrics['estimate'], question.description))
    influence = question.influence(cell.config)
    effect = influence.measure(learner.agent)
    resamples = _resample(effect.added)
    metrics |= {
        'correction': effect.correction, 'data_error': float(
            np.std(resamples)),
        'degrees': inference.degrees(effect.added),
        'effective_share': influence.effective_share,
        'heavy_share': influence.heavy_share,
        'columns': influence.columns,
        'overlap_cells': influence.cells,
        'overlap_features': influence.features.random_features,
        'overlap_bandwidth_scale': influence.features.bandwidth_scale,
        'overlap_reduced': float(influence.features.reduced),
        **influence.first_stage.measure(learner.agent)}
  return results.ResultRow(
      problem=question.description, method=cell.method,
      config=configs.encode(cell.config), seed=cell.seed,
      metrics={} if failure else metrics,
      curves={name: [each if math.isfinite(each) else None for each in values]
              for name, values in history.items()},
      cpu_seconds=seconds, versions=versions.versions(), failure=failure,
      preset=cell.preset, command=cell.command,
      version=rows_lib.version(cell.method), resamples=resamples,
      inference=rows_lib.inference(cell.method))


def _resample(added: types.FloatArray) -> list[float]:
  """Returns changes by resampled episodes, of few digits to keep rows small."""
  return [float(f'{change:.6g}') for change in inference.resample(added)]


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
