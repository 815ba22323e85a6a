"""One cell of a comparison: a method with a config and a seed on a dataset.

A cell is an experiment with a name, a hash of everything that defines it. It
writes checkpoints while it runs and a result row when it is done, so it can be
killed at any moment, and runs again only from where it was.
"""

import dataclasses
import pathlib
import time

from dfiv_ope import configs, results
from dfiv_ope.agents import base, checkpoints
from dfiv_ope.evaluation import runs
from dfiv_ope.launch import questions
from dfiv_ope.launch import rows as rows_lib


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
    progress: runs.Progress | None = None,
) -> results.ResultRow:
  """Runs a cell, from its last checkpoint if there is one; adds its row.

  Args:
    question: what is asked.
    cell: what is run.
    out: run directory.
    progress: told at each evaluation point.

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
    progress: runs.Progress | None = None,
) -> results.ResultRow:
  """Runs a cell as `run` does, but keeps its checkpoints and adds no row."""
  learner = question.evaluator.learner(
      cell.method, cell.config, seed=cell.seed, progress=progress)
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
  return _row(question, cell, question.evaluator.finish(
      learner, seed=cell.seed, cpu_seconds=seconds()))


def log_row(question: questions.Question, command: str) -> results.ResultRow:
  """Returns the naive answer as a row, with resamples by the same draws."""
  return rows_lib.of_run(
      question.description, rows_lib.LOG, rows_lib.LOG_CONFIG,
      question.evaluator.log_average(), command=command)


def _row(
    question: questions.Question, cell: Cell, run: runs.Run,
) -> results.ResultRow:
  return rows_lib.of_run(
      question.description, cell.method, configs.encode(cell.config), run,
      preset=cell.preset, command=cell.command)
