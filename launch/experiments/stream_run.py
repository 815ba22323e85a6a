"""Evaluates a policy on a log in files, without an import.

A log that fits into memory is read and evaluated as any other. A longer one is
read in parts (`evaluation.streamed_methods`), here or on a Ray cluster; what
trains draws batches from a copy of it (`mapped_run`).
"""

from collections.abc import Callable, Mapping, Sequence
import contextlib
import dataclasses
import pathlib
from typing import Any, NamedTuple

from dfiv_ope import agents
from dfiv_ope.agents.entries import base
from dfiv_ope.datasets import columns as columns_lib
from dfiv_ope.datasets import finding, stored_streams, streams, surveys
from dfiv_ope.evaluation import (
  estimates,
  result_rows,
  runs,
  streamed_choices,
  streamed_methods,
  streamed_passes,
  streamed_runs,
)
from dfiv_ope.launch.experiments import mapped_run, pass_count
from dfiv_ope.launch.experiments.executors import passes
from dfiv_ope.ope import streamed
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import naming, resolve
from dfiv_ope.results import rows as rows_lib

# Called as progress(share of the work that is done).
Progress = Callable[[float], None]
AnyStream = streams.Stream | stored_streams.StoredStream
# Passes over all parts for scales, after the survey.
_SCALES = 2


class Answer(NamedTuple):
  """What was found.

  Attributes:
    task: the log or a sample of it, and the policy.
    target: the policy and what identifies it.
    configs: of each method.
    estimates: of each method.
    log_average: the naive estimate.
    survey: of a log that was read in parts; None if it was in memory.
  """

  task: task_lib.EvaluationTask
  target: resolve.Target
  configs: Mapping[str, base.MethodConfig]
  estimates: Mapping[str, estimates.Estimate]
  log_average: estimates.Estimate
  survey: streamed.Survey | None


def columns_of(data: Mapping[str, Any]) -> columns_lib.Columns:
  """Returns what columns mean, as `datasets.columns.parse` reads it."""
  return columns_lib.parse(data)


def open_stream(
  path: pathlib.Path, columns: columns_lib.Columns, *, discount: float | None
) -> AnyStream:
  """Returns a log in files, or a dataset.

  Args:
    path: a folder, one file, or the directory of a dataset.
    columns: what the columns mean; of a dataset they are recorded.
    discount: of the value that is asked for; None for that of a dataset.

  Raises:
    FileNotFoundError: there is nothing.
    ValueError: it is something else.
  """
  if not streams.is_stream(path):
    finding.require(path)  # Says what it is instead.
    if columns != columns_lib.Columns():
      raise ValueError(
        f'{path} is a dataset, whose columns are recorded. Leave columns out.'
      )
    return stored_streams.StoredStream(path=path.resolve(), discount=discount)
  if discount is None:
    raise ValueError(
      f'{path} does not say the discount of the value that is asked for. Say '
      'discount=0.99, or 1 if all episodes terminate.'
    )
  return streams.Stream(path=path.resolve(), columns=columns, discount=discount)


def evaluate(
  stream: AnyStream,
  policy: Any,
  configs: Mapping[str, base.MethodConfig],
  *,
  seeds: int,
  scratch: pathlib.Path,
  trusted: bool = False,
  all_columns: bool = False,
  ray: str | None = None,
  processes: int | None = None,
  survey: surveys.Survey | None = None,
  progress: Progress = lambda share: None,
  group: int = streamed_passes.GROUP,
) -> Answer:
  """Returns the value of a policy.

  Args:
    stream: the log.
    policy: as `policies.resolve` takes it.
    configs: of the methods, by name.
    seeds: number of seeds.
    scratch: folder for copies, which the caller removes.
    trusted: load a SavedModel whatever operations it holds.
    all_columns: keep columns that nobody needs.
    ray: address of a Ray cluster; None for this process.
    processes: of a Ray cluster of this machine.
    survey: of the same log, to read it in parts; None to make one, or to
      read a log into memory that fits.
    progress: told what share is done.
    group: parts that are worked on at a time.

  Raises:
    ValueError: the log or the policy is not sound, or a method cannot stream.
  """
  if survey is None and not in_parts(stream, ray):
    return _in_memory(
      stream,
      policy,
      configs,
      seeds=seeds,
      trusted=trusted,
      all_columns=all_columns,
      progress=progress,
    )
  if survey is None:
    survey = look(stream, [policy], configs, scratch=scratch, ray=ray)
  target = task_lib.find_policy(policy, survey.tried, trusted=trusted)
  task = task_lib.EvaluationTask(
    survey.sample,
    target.policy,
    dropped=streamed_choices.dropped(
      survey, target.policy, all_columns=all_columns
    ),
  )
  summed = [name for name in configs if name in streamed_methods.METHODS]
  done = pass_count.Count(
    progress,
    survey,
    group,
    passes=_SCALES + sum(streamed_methods.PASSES[name] for name in summed),
  )
  # What unrelated estimators say of the sample is the same for all methods.
  sampled = runs.Evaluator(task)
  with (
    contextlib.nullcontext(
      streamed_passes.here(stream.parts(survey), done=done)
    )
    if ray is None
    else passes.Cluster(
      passes.Recipe.of(stream, survey, policy, trusted=trusted),
      address=ray,
      processes=processes,
      done=done,
    )
  ) as reduce:
    found = {
      name: streamed_methods.run(
        survey,
        task,
        name,
        configs[name],
        seeds=range(seeds),
        reduce=reduce,
        sampled=sampled,
        group=group,
      )
      for name in summed
    }
    learners = {
      name: config for name, config in configs.items() if name not in found
    }
    if learners:
      found |= mapped_run.run(
        survey,
        task,
        learners,
        seeds=seeds,
        reduce=reduce,
        sampled=sampled,
        group=group,
        folder=scratch / 'rows',
        progress=progress,
      )
  return Answer(
    task=task,
    target=target,
    configs=configs,
    estimates={name: found[name] for name in configs},
    log_average=streamed_runs.log_average(survey),
    survey=survey,
  )


def _in_memory(
  stream: AnyStream,
  policy: Any,
  configs: Mapping[str, base.MethodConfig],
  *,
  seeds: int,
  trusted: bool,
  all_columns: bool,
  progress: Progress,
) -> Answer:
  """Returns the value of a policy on a log that fits into memory."""
  log = stream.in_memory()
  target = task_lib.find_policy(policy, log, trusted=trusted)
  task = task_lib.EvaluationTask(
    log, target.policy, dropped=() if all_columns else None
  )
  evaluator = runs.Evaluator(task)
  found = estimates.each_of(
    evaluator,
    configs,
    seeds=seeds,
    progress=lambda done, note: progress(done / (seeds * len(configs))),
  )
  return Answer(
    task=task,
    target=target,
    configs=configs,
    estimates=found,
    log_average=estimates.log_average(evaluator),
    survey=None,
  )


def in_parts(stream: AnyStream, ray: str | None) -> bool:
  """Returns whether a log is read in parts."""
  return ray is not None or stream.long


def look(
  stream: AnyStream,
  policies: Sequence[Any],
  configs: Mapping[str, base.MethodConfig],
  *,
  scratch: pathlib.Path,
  ray: str | None,
  progress: Progress = lambda share: None,
) -> surveys.Survey:
  """Returns the survey of a log that is read in parts.

  Args:
    stream: the log.
    policies: that will be evaluated.
    configs: of the methods, by name.
    scratch: folder for a copy of the log, where one is needed.
    ray: address of a Ray cluster; None for this process.
    progress: told what share is done.

  Raises:
    ValueError: a method or a policy needs the whole log, or rows are not sound.
  """
  require(stream, policies, configs, ray=ray)
  copied = stream.copied or any(map(mapped_run.learns, configs.values()))
  return stream.survey(
    copy=scratch / 'transitions' if copied else None, progress=progress
  )


def possible(
  stream: AnyStream,
  configs: Mapping[str, base.MethodConfig],
  *,
  ray: str | None,
) -> dict[str, base.MethodConfig]:
  """Returns those methods that take a log in parts."""
  return {
    name: config
    for name, config in configs.items()
    if streamed_methods.fits(name, recorded=stream.recorded)
    or (ray is None and mapped_run.learns(config))
  }


def require(
  stream: AnyStream,
  policies: Sequence[Any],
  configs: Mapping[str, Any],
  *,
  ray: str | None = None,
) -> None:
  """Refuses methods and policies that need the whole log.

  Raises:
    ValueError: there is one.
  """
  advice = (
    f'{stream.path.name} is read in parts, because '
    + (
      '--ray is asked for'
      if ray
      else f'it has more than {streams.IN_MEMORY:,} rows'
    )
    + f'. {stream.advice}, or '
  )
  taken = possible(stream, configs, ray=ray)
  closed = ' or '.join(streamed_runs.METHODS)
  for name in (each for each in configs if each not in taken):
    config, label = configs[name], agents.ENTRIES[name].style.label
    if not mapped_run.learns(config):
      unknown = (
        ' where no behaviour probabilities are recorded'
        if name in streamed_methods.METHODS
        else ''
      )
      raise ValueError(
        f'{label} needs the log in memory{unknown}, but {advice}use {closed}, '
        'or what trains, such as fqe.'
      )
    raise ValueError(
      f'{label} trains in one process, but {advice}use {closed}, or leave out '
      '--ray.'
    )
  for policy in policies:
    if isinstance(policy, str) and policy in (naming.CLONE, naming.COLUMNS):
      raise ValueError(
        f'The policy {policy} is made of the whole log, but {advice}name '
        'another policy.'
      )


def rows(
  answer: Answer,
  *,
  name: str,
  truth: float | None,
  preset: str,
  all_columns: bool,
  command: str,
) -> list[rows_lib.Row]:
  """Returns the result rows of an answer.

  Args:
    answer: of `evaluate`.
    name: what the user calls the policy; empty for its description.
    truth: its value, if it is known.
    preset: where configs are from.
    all_columns: of `evaluate`.
    command: the command that makes the rows.
  """
  target = answer.target
  problem = dataclasses.replace(
    result_rows.user_log(
      answer.task,
      target=target.digest,
      policy=name or target.description,
      survey=answer.survey,
    ),
    all_columns=all_columns,
  )
  made = result_rows.of_estimates(
    problem,
    answer.log_average,
    answer.estimates,
    answer.configs,
    preset=preset,
    command=command,
  )
  return result_rows.told(
    made, {}, {} if truth is None else {target.digest: truth}
  )
