"""Runs a method on a new log and says what its interval holds: one row."""

import dataclasses
import functools
import pathlib
import time

from dfiv_ope import envs, versions
from dfiv_ope.datasets import collection, reading
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import coverage, estimates, runs
from dfiv_ope.launch.experiments import inputs, jobs, ope_run, store
from dfiv_ope.ope import task as task_lib
from dfiv_ope.results import problems, rows


def run(
    job: jobs.Experiment, places: store.Places, progress: jobs.Progress,
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
  found = _estimate(job, evaluator, places, job.key(problem), progress)
  if found.missing:
    raise ValueError(found.missing)
  metrics = coverage.metrics(
      found, estimates.log_average(evaluator), level=wanted.level,
      truth=problem.truth, logged=logged.mean)
  return rows.Row(
      problem=problem, method=job.method, config=job.encoded, seed=job.seed,
      metrics={**metrics, 'diverged': len(found.runs) - len(found.sound)},
      cpu_seconds=time.process_time() - started, versions=versions.versions(),
      version=job.version, inference=job.inference, preset=job.preset,
      custom=job.custom,
      outcome=rows.FINISHED if metrics else rows.DIVERGED,
      reason='' if metrics else 'all seeds')


def _estimate(
    job: jobs.Experiment, evaluator: runs.Evaluator, places: store.Places,
    key: str, progress: jobs.Progress,
) -> estimates.Estimate:
  """Runs each seed, from its last checkpoint if there is one."""
  assert isinstance(job.problem, inputs.NewLog)
  seeds, found = job.problem.seeds, []
  for seed in range(seeds):
    found.append(ope_run.evaluated(
        evaluator, dataclasses.replace(job, seed=seed), key=f'{key}-{seed}',
        directory=places.checkpoints(key) / str(seed),
        progress=lambda share, note, seed=seed: progress(  # type: ignore[misc]
            (seed + share) / seeds, note)))
  return estimates.of_runs(evaluator, job.method, found)


@functools.lru_cache(maxsize=1)
def _drawn(path: pathlib.Path, log: int) -> runs.Evaluator:
  """Returns what runs methods on a new log; the next method asks for it."""
  metadata = spec_lib.read_metadata(path)
  spec, policy = metadata.spec, reading.load_policy(path, metadata)
  assert policy is not None and isinstance(spec, spec_lib.Spec)
  drawn = log_lib.Log.from_episodes(
      collection.collect(
          envs.maker(spec.task, action_noise=spec.action_noise), policy,
          dataclasses.replace(spec, seed=inputs.FIRST_SEED + log)),
      num_actions=metadata.num_actions, discount=spec.discount,
      continuous=metadata.continuous)
  return runs.Evaluator(task_lib.EvaluationTask(drawn, policy))
