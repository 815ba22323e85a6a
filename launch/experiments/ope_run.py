"""Runs a method on a log: one row, with checkpoints on the way.

An experiment can be killed at any moment, and runs again only from where it
was.
"""

import contextlib
import dataclasses
import functools
import pathlib
from typing import Any

from dfiv_ope import configs
from dfiv_ope.agents import base, checkpoints
from dfiv_ope.datasets import reading
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import result_rows, runs
from dfiv_ope.launch.experiments import command_line, inputs, jobs, store
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import acting
from dfiv_ope.results import problems, rows

# A problem, all that rows say of it, and what runs methods on it.
Opened = tuple[problems.SimulatedTask | problems.UserLog, runs.Evaluator]


@functools.lru_cache(maxsize=1)
def _shared(path: pathlib.Path) -> dict[str, task_lib.EvaluationTask]:
  """Keeps the first task of a dataset: others take from it what they share."""
  del path
  return {}


def _task(
    path: pathlib.Path, policy: acting.Policy) -> task_lib.EvaluationTask:
  first = _shared(path)
  task = task_lib.EvaluationTask(
      inputs.open_log(path), policy, like=first.get('task'))
  first.setdefault('task', task)
  return task


@functools.lru_cache(maxsize=1)
def opened(
    wanted: inputs.Simulated | inputs.OnLog, places: store.Places) -> Opened:
  """Opens a problem; the next experiment often asks for the same one."""
  if isinstance(wanted, inputs.OnLog):
    return _open_log(wanted)
  return _open_simulated(wanted, places)


def _open_log(wanted: inputs.OnLog) -> Opened:
  log = inputs.open_log(wanted.dataset)
  with contextlib.chdir(wanted.directory):  # Workers may stand elsewhere.
    target = task_lib.find_policy(
        wanted.policy, log, trusted=wanted.trust_policy)
  if target.digest != wanted.target:
    raise ValueError(
        f'The policy {wanted.policy} has changed since the command began. '
        'Give the command again.')
  task = _task(wanted.dataset, target.policy)
  return result_rows.user_log(
      task, target=target.digest,
      policy=wanted.name or target.description), runs.Evaluator(task)


def _open_simulated(
    wanted: inputs.Simulated, places: store.Places) -> Opened:
  path = places.dataset(wanted.dataset)
  metadata = spec_lib.read_metadata(path)
  own = reading.load_policy(path, metadata, trusted=wanted.trust_policy)
  problem = store.Store(places).problem(wanted)
  assert own is not None and isinstance(problem, problems.SimulatedTask)
  if wanted.target_epsilon:
    own = acting.explore(own, epsilon=wanted.target_epsilon)
  task = _task(path, own)
  return (dataclasses.replace(problem, overlap=task.glance),
          runs.Evaluator(task))


def run(
    job: jobs.Experiment, places: store.Places, progress: jobs.Progress,
) -> rows.Row:
  """Runs an experiment, from its last checkpoint if there is one."""
  assert isinstance(job.problem, inputs.Simulated | inputs.OnLog)
  problem, evaluator = opened(job.problem, places)
  if job.method == result_rows.LOG:
    found = evaluator.log_average()
  else:
    key = job.key(problem)
    found = evaluated(
        evaluator, job, progress=progress, key=key,
        directory=places.checkpoints(key))
  return result_rows.of_run(
      problem, job.method, job.encoded, found, preset=job.preset,
      custom=job.custom, command=command_line.remake(job, places))


def evaluated(
    evaluator: runs.Evaluator, job: jobs.Experiment, *, key: str,
    directory: pathlib.Path, progress: jobs.Progress,
) -> runs.Run:
  """Runs the method of a job on the whole log; arguments as in `learned`."""
  return evaluator.run(
      job.method, job.config, seed=job.seed,
      saved=_saved(job, key, directory), progress=_share(progress))


def learned(
    evaluator: runs.Evaluator, job: jobs.Experiment, *, key: str,
    directory: pathlib.Path, progress: jobs.Progress,
    part: Any = None,
) -> tuple[base.OPELearner, float]:
  """Returns a learner that has learned, and the CPU seconds it took.

  Args:
    evaluator: of the problem.
    job: a method that learns a Q-function, its config and seed.
    key: names the run, so that only its own checkpoints are taken.
    directory: of the checkpoints.
    progress: told at each evaluation point.
    part: some of the task's rows; None for all.
  """
  return evaluator.learned(
      job.method, job.config, seed=job.seed, rows=part,
      saved=_saved(job, key, directory), progress=_share(progress))


def _saved(
    job: jobs.Experiment, key: str, directory: pathlib.Path,
) -> checkpoints.Series:
  return checkpoints.Series(
      directory, {'key': key, 'config': configs.encode(job.config)})


def _share(progress: jobs.Progress) -> runs.Progress:
  """Returns what tells the share of steps that are done."""
  return lambda step, steps, note: progress(
      step / steps if steps else 1., note)
