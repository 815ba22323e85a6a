"""Runs one job of a sweep, in whatever process it is called.

Policies and datasets are written into the run directory. The row of a cell is
returned and not written: only the driver writes rows, so a job that is run
twice, because a node was lost or a driver killed, has one row all the same.
"""

from collections.abc import Callable
import dataclasses
import functools
import pathlib
import time
import traceback
from typing import TYPE_CHECKING

from dfiv_ope import agents
from dfiv_ope.launch import (
  grid,
  inventory,
  overrides,
  policy,
  rows,
  runtime,
  workspace,
)
from dfiv_ope.policies import trained

if TYPE_CHECKING:
  from dfiv_ope import results
  from dfiv_ope.launch import questions

# Called as progress(share of the job that is done).
Progress = Callable[[float], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """What came of a job.

  Attributes:
    job: the job.
    row: the row of a cell.
    error: what went wrong, in a sentence; empty if nothing did.
    trace: where it went wrong.
    seconds: wall time of the job itself.
  """
  job: grid.Job
  row: 'results.ResultRow | None' = None
  error: str = ''
  trace: str = ''
  seconds: float = 0.


def attempt(
    job: grid.Job, out: pathlib.Path, progress: Progress | None = None,
) -> Outcome:
  """Runs a job; an error is part of what comes of it."""
  started = time.perf_counter()
  try:
    start()
    row = run_job(job, out, progress)
  except Exception as error:
    return Outcome(
        job=job, error=f'{type(error).__name__}: {error}',
        trace=traceback.format_exc(), seconds=time.perf_counter() - started)
  return Outcome(job=job, row=row, seconds=time.perf_counter() - started)


@functools.lru_cache(maxsize=1)
def start() -> None:
  """Starts TensorFlow in this process, once."""
  runtime.start()


def run_job(
    job: grid.Job, out: pathlib.Path, progress: Progress | None = None,
) -> 'results.ResultRow | None':
  """Runs a job whose parent is done; one that is done already is left alone.

  Args:
    job: the job.
    out: run directory.
    progress: told now and then, by cells.

  Returns:
    The row of a cell.
  """
  if isinstance(job, grid.CellJob):
    return _evaluate(job, out, progress)
  if isinstance(job, grid.DatasetJob):
    _collect(job, out)
  else:
    _train(job, inventory.policy_path(out, job))
  return None


def _train(job: grid.PolicyJob, path: pathlib.Path) -> None:
  if (path / trained.RECORD).exists():
    return
  from dfiv_ope.agents import dqn, training
  config = overrides.apply(dqn.TUNED[job.task], job.settings)
  with workspace.building(
      path, record=trained.RECORD, request=training.request(
          job.task, job.action_noise, job.seed, config)):
    policy.train_into(
        path, task=job.task, action_noise=job.action_noise, seed=job.seed,
        config=config)


def _collect(job: grid.DatasetJob, out: pathlib.Path) -> None:
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.launch import dataset
  path = inventory.dataset_path(out, job)
  if (path / spec_lib.METADATA).exists():
    spec_lib.read_metadata(path)  # Says what is wrong with it.
    return
  with workspace.building(
      path, record=spec_lib.METADATA, request=dataclasses.asdict(job)):
    dataset.make_into(
        path, spec=job.spec, truth_episodes=job.truth_episodes,
        policy_path=inventory.policy_path(out, job.parent))


def _evaluate(
    job: grid.CellJob, out: pathlib.Path, progress: Progress | None,
) -> 'results.ResultRow':
  from dfiv_ope.launch import cells
  if rows.version(job.method) != job.version:
    raise RuntimeError(
        f'The numbers of {job.method} are of version '
        f'{rows.version(job.method)} here, but of {job.version} where the '
        'sweep was started. Install the same dfiv-ope, or start the sweep '
        'again.')
  question = _question(
      inventory.dataset_path(out, job.dataset), job.target_epsilon, out,
      job.dataset.truth_episodes)
  command = command_of(job, out)
  if job.method == rows.LOG:
    return cells.log_row(question, command)
  cell = cells.Cell(
      method=job.method, seed=job.seed, command=command,
      preset=rows.preset(job.preset, job.settings),
      config=overrides.apply(
          agents.load(job.method).CONFIGS[job.preset], job.settings))

  def report(step: int, steps: int, note: str) -> None:
    del note
    if progress is not None:
      progress(step / steps if steps else 1.)

  return cells.compute(question, cell, out=out, progress=report)


@functools.lru_cache(maxsize=1)
def _question(
    path: pathlib.Path, target_epsilon: float, out: pathlib.Path,
    truth_episodes: int,
) -> 'questions.Question':
  """Opens a dataset; the next cell often asks for the same one."""
  from dfiv_ope.launch import questions
  return questions.Question(
      path, target_epsilon=target_epsilon, out=out,
      truth_episodes=truth_episodes)


def command_of(job: grid.CellJob, out: pathlib.Path) -> str:
  """Returns the command that remakes the row of a cell."""
  return rows.command(
      inventory.dataset_path(out, job.dataset), out, method=job.method,
      preset=job.preset, settings=job.settings, seed=job.seed,
      target_epsilon=job.target_epsilon,
      truth_episodes=job.dataset.truth_episodes)
