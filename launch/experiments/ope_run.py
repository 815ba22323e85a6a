"""Runs a method on a log: one row, with checkpoints on the way.

An experiment can be killed at any moment, and runs again only from where it
was.
"""

from collections.abc import Callable
import contextlib
import dataclasses
import functools
import pathlib
from typing import NamedTuple
import warnings

from dfiv_ope import configs
from dfiv_ope.agents import checkpoints
from dfiv_ope.datasets import reading
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import result_rows, runs, streamed_scales
from dfiv_ope.launch.experiments import (
  command_line,
  inputs,
  jobs,
  long_run,
  store,
)
from dfiv_ope.ope import streamed
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import acting, resolve
from dfiv_ope.results import problems, rows

Problem = problems.SimulatedTask | problems.UserLog
# A problem, all that rows say of it, and what runs methods on it.
Opened = tuple[Problem, runs.Evaluator]
OpenedInParts = tuple[Problem, long_run.Evaluator]


class _Asked(NamedTuple):
  """What is asked of a log.

  Attributes:
    policy: the target policy.
    problem: returns what rows say of it, from a task and, where that has a
      sample of the log, the survey.
  """

  policy: acting.Policy
  problem: Callable[[task_lib.EvaluationTask, streamed.Survey | None], Problem]


@functools.lru_cache(maxsize=1)
def _shared(
  path: pathlib.Path, initial: pathlib.Path | None
) -> dict[str, task_lib.EvaluationTask]:
  """Keeps the first task of a dataset: others take from it what they share."""
  del path, initial
  return {}


def _task(
  path: pathlib.Path,
  policy: acting.Policy,
  initial: pathlib.Path | None = None,
  *,
  all_columns: bool,
) -> task_lib.EvaluationTask:
  first = _shared(path, initial)
  task = task_lib.EvaluationTask(
    inputs.open_log(path, initial),
    policy,
    like=first.get('task'),
    dropped=() if all_columns else None,
  )
  first.setdefault('task', task)
  return task


@functools.lru_cache(maxsize=1)
def opened(
  wanted: inputs.Simulated | inputs.OnLog, places: store.Places
) -> Opened:
  """Opens a problem; the next experiment often asks for the same one."""
  asked = _asked(wanted, places)
  task = _task(
    places.dataset(wanted.dataset),
    asked.policy,
    wanted.initial if isinstance(wanted, inputs.OnLog) else None,
    all_columns=wanted.all_columns,
  )
  return asked.problem(task, None), runs.Evaluator(task)


@functools.lru_cache(maxsize=1)
def _kept(
  wanted: inputs.Simulated | inputs.OnLog, places: store.Places
) -> dict[str, OpenedInParts | None]:
  """Keeps a problem that was opened in parts, or that none can be."""
  del wanted, places
  return {}


def _opened_in_parts(
  wanted: inputs.Simulated | inputs.OnLog,
  places: store.Places,
  progress: jobs.Progress,
) -> OpenedInParts | None:
  """Opens a problem on a dataset that is longer than memory.

  Returns:
    None where the columns that are left make a table, which the whole log is
    needed for.
  """
  kept = _kept(wanted, places)
  if not kept:
    dataset = long_run.dataset(places.dataset(wanted.dataset), places.scratch)
    survey = dataset.survey(progress)  # Refuses a damaged one.
    asked = _asked(wanted, places)
    try:
      evaluator = long_run.Evaluator(
        dataset, asked.policy, all_columns=wanted.all_columns, progress=progress
      )
    except streamed_scales.NamesAloneError:
      kept['opened'] = None
      warnings.warn(
        long_run.HeldWarning(
          f'{dataset.stream.path.name} is held in memory, because all of its '
          'observations that the policy and the steps depend on are names of '
          'states, so that values are a table.'
        ),
        stacklevel=2,
      )
    else:
      kept['opened'] = asked.problem(evaluator.task, survey), evaluator
  return kept['opened']


def target(wanted: inputs.OnLog) -> resolve.Target:
  """Returns the policy of a problem.

  Raises:
    ValueError: it is no longer what it was.
  """
  with contextlib.chdir(wanted.directory):  # Workers may stand elsewhere.
    found = task_lib.find_policy(
      wanted.policy, wanted.tried, trusted=wanted.trust_policy
    )
  if found.digest != wanted.target:
    raise ValueError(
      f'The policy {wanted.policy} has changed since the command began. '
      'Give the command again.'
    )
  return found


def _asked(
  wanted: inputs.Simulated | inputs.OnLog, places: store.Places
) -> _Asked:
  if isinstance(wanted, inputs.OnLog):
    return _of_user(wanted)
  path = places.dataset(wanted.dataset)
  metadata = spec_lib.read_metadata(path)
  own = reading.load_policy(path, metadata, trusted=wanted.trust_policy)
  problem = store.Store(places).problem(wanted)
  assert own is not None and isinstance(problem, problems.SimulatedTask)
  if wanted.target_epsilon:
    own = acting.explore(own, epsilon=wanted.target_epsilon)
  return _Asked(
    own, lambda task, survey: dataclasses.replace(problem, overlap=task.glance)
  )


def _of_user(wanted: inputs.OnLog) -> _Asked:
  found = target(wanted)

  def problem(
    task: task_lib.EvaluationTask, survey: streamed.Survey | None
  ) -> problems.UserLog:
    return dataclasses.replace(
      result_rows.user_log(
        task,
        target=found.digest,
        policy=wanted.name or found.description,
        survey=survey,
      ),
      all_columns=wanted.all_columns,
    )

  return _Asked(found.policy, problem)


def run(
  job: jobs.Experiment, places: store.Places, progress: jobs.Progress
) -> rows.Row:
  """Runs an experiment, from its last checkpoint if there is one."""
  assert isinstance(job.problem, inputs.Simulated | inputs.OnLog)
  wanted = job.problem
  path = places.dataset(wanted.dataset)
  problem, evaluator = (
    long_run.takes(wanted, path, job.method, job.config)
    and _opened_in_parts(wanted, places, progress)
  ) or opened(wanted, places)
  if job.method == result_rows.LOG:
    found = evaluator.log_average()
  else:
    key = job.key(problem)
    found = evaluator.run(
      job.method,
      job.config,
      seed=job.seed,
      progress=shares(progress),
      saved=saved(job, key, places.checkpoints(key)),
    )
  return result_rows.of_run(
    problem,
    job.method,
    job.encoded,
    found,
    preset=job.preset,
    custom=job.custom,
    command=command_line.remake(job, places),
  )


def saved(
  job: jobs.Experiment, key: str, directory: pathlib.Path
) -> checkpoints.Series:
  """Returns the checkpoints of a run.

  Args:
    job: method and config.
    key: names the run, so that only its own checkpoints are taken.
    directory: of the checkpoints.
  """
  return checkpoints.Series(
    directory, {'key': key, 'config': configs.encode(job.config)}
  )


def shares(progress: jobs.Progress) -> runs.Progress:
  """Returns what passes on what share of a run's updates is done."""
  return lambda step, steps, note: progress(
    step / steps if steps else 1.0, note
  )
