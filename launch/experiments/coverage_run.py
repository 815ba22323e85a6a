"""Runs a method on a new log and says what its interval holds: one row."""

import functools
import pathlib
import time

from dfiv_ope import envs
from dfiv_ope.datasets import collection
from dfiv_ope.evaluation import coverage, estimates, runs
from dfiv_ope.launch.experiments import inputs, jobs, ope_run, store
from dfiv_ope.ope import task as task_lib
from dfiv_ope.results import problems, rows


def run(
  job: jobs.Experiment, places: store.Places, progress: jobs.Progress
) -> rows.Row:
  """Runs a method with all its seeds on a new log.

  Raises:
    ValueError: the log is too small for an interval.
  """
  wanted = job.problem
  assert isinstance(wanted, inputs.NewLog)
  have = store.Store(places)
  problem = have.problem(wanted)
  assert isinstance(problem, problems.Coverage)
  logged = have.truth(wanted.behaviour)
  assert logged is not None, 'It is simulated first.'
  evaluator = _drawn(wanted.dataset, wanted.log)
  started = time.process_time()
  key = job.key(problem)
  found = estimates.estimate(
    evaluator,
    job.method,
    job.config,
    seeds=wanted.seeds,
    progress=lambda done, note: progress(done / wanted.seeds, note),
    saved=lambda seed: ope_run.saved(
      job, f'{key}-{seed}', places.checkpoints(key) / str(seed)
    ),
  )
  outcome = coverage.outcome(
    found,
    estimates.log_average(evaluator),
    level=wanted.level,
    truth=problem.truth,
    logged=logged.mean,
  )
  return job.row(problem, cpu_seconds=time.process_time() - started, **outcome)


@functools.lru_cache(maxsize=1)
def _drawn(path: pathlib.Path, log: int) -> runs.Evaluator:
  """Returns what runs methods on a new log; the next method asks for it."""
  return runs.Evaluator(
    task_lib.EvaluationTask(
      *collection.redraw(path, envs.maker, seed=inputs.FIRST_SEED + log)
    )
  )
