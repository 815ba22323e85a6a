"""Result rows of runs: what the command line writes and reports read."""

from collections.abc import Iterable, Mapping
import dataclasses
import math
from typing import TYPE_CHECKING, Any

from dfiv_ope import agents, configs, versions
from dfiv_ope.evaluation import interval_settings
from dfiv_ope.results import problems, rows

if TYPE_CHECKING:
  from dfiv_ope.agents.entries import base
  from dfiv_ope.evaluation import estimates as estimates_lib
  from dfiv_ope.evaluation import run_results
  from dfiv_ope.ope import streamed
  from dfiv_ope.ope import task as task_lib

# The method and config of the naive answer: the average return of the log.
LOG = 'log'
LOG_CONFIG = {'type': 'AverageReturn'}
# Of its numbers: raised when they change, see `registry.Entry`.
LOG_VERSION = 1


def version(method: str) -> int:
  """Returns the version of a method's numbers, which is part of its key."""
  return LOG_VERSION if method == LOG else agents.ENTRIES[method].version


def inference(method: str) -> dict[str, Any]:
  """Returns the settings of a method's interval, which are part of its key."""
  return {} if method == LOG else interval_settings.constants()


def user_log(
  task: 'task_lib.EvaluationTask',
  *,
  target: str,
  policy: str,
  survey: 'streamed.Survey | None' = None,
) -> problems.UserLog:
  """Returns the problem of a log and a user's policy.

  Args:
    task: the log and the policy.
    target: digest of the policy.
    policy: what it is called.
    survey: of the whole log, if the task has a sample of it.
  """
  log = task.log
  average = (survey or log).average_return
  return problems.UserLog(
    dataset=log.name,
    digest=log.digest,
    discount=log.discount,
    actions=log.num_actions,
    target=target,
    transitions=len(log) if survey is None else survey.transitions,
    episodes=log.num_episodes if survey is None else survey.episodes,
    log_return=average.mean,
    log_standard_error=average.standard_error,
    overlap=task.overlap,
    policy=policy,
    action_labels=tuple(log.action_labels),
    notes=task.notes,
  )


def of_run(
  problem: problems.OnDataset,
  method: str,
  config: Mapping[str, Any],
  run: 'run_results.Run',
  *,
  preset: str = 'default',
  custom: bool = False,
  command: str = '',
) -> rows.Row:
  """Returns the row of a run.

  Args:
    problem: with the truth if it is known.
    method: name of the agent, or LOG.
    config: its hyper-parameters, encoded.
    run: what it found.
    preset: where the config is from.
    custom: whether it was changed.
    command: the command that makes the row.
  """
  return rows.Row(
    problem=problem,
    method=method,
    config=config,
    seed=run.seed,
    metrics={}
    if run.failure
    else {**run.metrics, **errors(run.metrics['estimate'], problem.truth)},
    curves={
      name: tuple(each if math.isfinite(each) else None for each in values)
      for name, values in run.curves.items()
    },
    cpu_seconds=run.cpu_seconds,
    versions=versions.versions(),
    outcome=outcome(run),
    reason=run.failure,
    preset=preset,
    custom=custom,
    command=command,
    version=version(method),
    inference=inference(method),
    # Few digits keep rows small.
    resamples=tuple(float(f'{change:.6g}') for change in run.resamples),
  )


def of_estimates(
  problem: problems.OnDataset,
  log_average: 'estimates_lib.Estimate',
  estimates: Mapping[str, 'estimates_lib.Estimate'],
  configs_: Mapping[str, 'base.MethodConfig'],
  *,
  preset: str = 'default',
  command: str = '',
) -> list[rows.Row]:
  """Returns the rows of all runs of some estimators.

  Args:
    problem: what they are of.
    log_average: the naive estimate.
    estimates: of each method, by its name.
    configs_: of each method.
    preset: where the configs are from.
    command: the command that makes the rows.
  """
  made = [
    of_run(problem, LOG, LOG_CONFIG, run, command=command)
    for run in log_average.runs
  ]
  for name, each in estimates.items():
    custom = configs_[name] != agents.ENTRIES[name].configs[preset]
    made += [
      of_run(
        problem,
        name,
        configs.encode(configs_[name]),
        run,
        preset=preset,
        custom=custom,
        command=command,
      )
      for run in each.runs
    ]
  return made


def told(
  found: Iterable[rows.Row],
  names: Mapping[str, str],
  truths: Mapping[str, float],
) -> list[rows.Row]:
  """Returns rows with what a user says of policies: names and true values.

  Rows may have been written when a policy was called otherwise, or when its
  value was not known.

  Args:
    found: rows of any problems.
    names: what policies of users are called, by digest.
    truths: their values, by digest.
  """
  return [
    _with_truth(row, truths[row.problem.target])
    if isinstance(row.problem, problems.UserLog)
    and row.problem.target in truths
    else row
    for row in rows.renamed(found, names)
  ]


def _with_truth(row: rows.Row, truth: float) -> rows.Row:
  assert isinstance(row.problem, problems.OnDataset)
  kept = {
    name: value
    for name, value in row.metrics.items()
    if name not in ('error', 'relative_error')
  }
  return dataclasses.replace(
    row,
    problem=dataclasses.replace(
      row.problem, truth=truth, truth_standard_error=None
    ),
    metrics={**kept, **errors(kept['estimate'], truth)} if kept else {},
  )


def outcome(run: 'run_results.Run') -> str:
  """Returns what came of a run, one of `rows.OUTCOMES`."""
  if run.refused:
    return rows.REFUSED
  return rows.DIVERGED if run.failure else rows.FINISHED


def errors(estimate: float, truth: float | None) -> dict[str, float]:
  """Returns an estimate and its distance from the truth, if that is known."""
  if truth is None:
    return {'estimate': estimate}
  error = abs(estimate - truth)
  return {
    'estimate': estimate,
    'error': error,
    **({'relative_error': error / abs(truth)} if truth else {}),
  }
