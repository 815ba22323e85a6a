"""Runs experiments on a dataset that is longer than memory.

What takes a log in parts (`evaluation.streamed_methods`, `mapped_run`) reads
the dataset in parts; what does not holds it, as `ope_run` does. Which of these
an experiment is, it says itself: rows do not depend on what else is asked for.
"""

from collections.abc import Callable, Mapping
import functools
import pathlib
from typing import Any
import uuid

from dfiv_ope.agents import checkpoints
from dfiv_ope.agents.entries import base, random_features
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import streams, surveys
from dfiv_ope.evaluation import (
  result_rows,
  run_results,
  runs,
  streamed_choices,
  streamed_methods,
  streamed_passes,
  streamed_runs,
  streamed_scales,
)
from dfiv_ope.launch.experiments import inputs, jobs, mapped_run, pass_count
from dfiv_ope.ope import task as task_lib
from dfiv_ope.policies import acting


class HeldWarning(UserWarning):
  """A dataset that was to be read in parts is held in memory."""


def takes(
  wanted: inputs.Simulated | inputs.OnLog,
  path: pathlib.Path,
  method: str,
  config: Any,
) -> bool:
  """Returns whether an experiment reads its dataset in parts.

  Args:
    wanted: its problem.
    path: of the dataset.
    method: of the experiment.
    config: of the method.
  """
  stream = inputs.open_stream(path)
  if not stream.long or (
    isinstance(wanted, inputs.OnLog)
    and inputs.needs_all(wanted.policy, wanted.initial)
  ):
    return False
  if method in streamed_runs.METHODS:
    metadata = spec_lib.read_metadata(path)
    return streamed_runs.sums_of_parts(
      config,
      random_features.Size(
        metadata.num_actions,
        metadata.transitions,
        one_step=metadata.transitions == metadata.episodes,
      ),
      tabular=False,
    )
  return (
    method == result_rows.LOG
    or streamed_methods.fits(method, recorded=stream.recorded)
    or mapped_run.learns(config)
  )


def holding(
  wanted: inputs.Simulated | inputs.OnLog, configs: Mapping[str, Any]
) -> str:
  """Says which methods hold a long dataset in memory; empty if none does.

  Args:
    wanted: a problem on a directory.
    configs: of the methods, by name; None of a selection between them.
  """
  path = wanted.dataset
  assert isinstance(path, pathlib.Path)
  rows = inputs.open_stream(path).metadata.transitions
  if rows <= streams.IN_MEMORY:
    return ''
  holds = [
    name
    for name, config in configs.items()
    if not takes(wanted, path, name, config)
  ]
  return (
    f'{path.name} has {rows:,} rows, and {", ".join(holds)} '
    f'need{"s" * (len(holds) == 1)} all of them in memory.'
    if holds
    else ''
  )


class Evaluator:
  """Runs methods on a log in parts, as `runs.Evaluator` does in memory.

  Attributes:
    task: a sample of the log, and the policy.
    survey: of the log.
  """

  def __init__(
    self,
    known: 'Dataset',
    policy: acting.Policy,
    *,
    all_columns: bool,
    progress: jobs.Progress,
  ):
    """Finds out the scales of the problem, by two passes.

    Args:
      known: the dataset.
      policy: the target policy.
      all_columns: of `EvaluationTask`.
      progress: told what is done.

    Raises:
      NamesAloneError: only the whole log can answer.
    """
    self._known = known
    self.survey = known.survey(progress)
    self.task = task_lib.EvaluationTask(
      self.survey.sample,
      policy,
      dropped=streamed_choices.dropped(
        self.survey, policy, all_columns=all_columns
      ),
    )
    streamed_scales.settle(
      self.survey,
      self.task,
      self._reduce(lambda share: progress(0.0, 'scales')),
      streamed_passes.GROUP,
    )
    self._sampled = runs.Evaluator(self.task)
    self._runners: dict[
      tuple[str, base.MethodConfig], streamed_methods.Runner
    ] = {}

  def _reduce(
    self, progress: Callable[[float], None], *, passes: int = 1
  ) -> streamed_passes.Reduce:
    """Returns what makes passes over the log here."""
    return streamed_passes.here(
      self._known.stream.parts(self.survey),
      done=pass_count.Count(
        progress, self.survey, streamed_passes.GROUP, passes=passes
      ),
    )

  @functools.cached_property
  def _learners(self) -> runs.Evaluator:
    """Runs what draws batches, from a copy of the log."""
    return mapped_run.evaluator(
      self._known.copied(),
      self.task,
      reduce=self._reduce(lambda share: None),
      sampled=self._sampled,
      group=streamed_passes.GROUP,
      # Those of the policy before are no longer read.
      folder=self._known.folder / 'rows',
    )

  def run(
    self,
    method: str,
    config: base.MethodConfig,
    *,
    seed: int,
    progress: runs.Progress,
    saved: checkpoints.Series,
  ) -> run_results.Run:
    """Runs a method that `takes` a log in parts.

    Args:
      method: name of the estimator.
      config: its hyper-parameters.
      seed: of the run.
      progress: told at each group of parts, or evaluation point.
      saved: checkpoints of what trains, from which it goes on.
    """
    if method not in streamed_methods.METHODS:
      return self._learners.run(
        method, config, seed=seed, progress=progress, saved=saved
      )
    if (method, config) not in self._runners:
      self._runners.clear()  # Sums are large.
      self._runners[method, config] = streamed_methods.runner(
        self.survey, self.task, method, config, sampled=self._sampled
      )
    (found,) = self._runners[method, config].runs(
      [seed],
      self._reduce(
        lambda share: progress(round(1_000 * share), 1_000, ''),
        passes=streamed_methods.PASSES[method],
      ),
    )
    return found

  def log_average(self) -> run_results.Run:
    """Returns the naive estimate: the average return of the log."""
    (found,) = streamed_runs.log_average(self.survey).runs
    return found


class Dataset:
  """A dataset in parts, and what all policies on it share.

  Attributes:
    stream: reads it.
    folder: for copies, of this process alone.
  """

  def __init__(self, path: pathlib.Path, scratch: pathlib.Path):
    """Reads nothing yet.

    Args:
      path: its directory.
      scratch: where copies may lie; the caller removes them.
    """
    self.stream = inputs.open_stream(path)
    self.folder = scratch / uuid.uuid4().hex
    self._survey: surveys.Survey | None = None

  def survey(self, progress: jobs.Progress) -> surveys.Survey:
    """Returns what one pass finds out, which is made once.

    Args:
      progress: told what is done.
    """
    if self._survey is None:
      self._survey = self.stream.survey(
        progress=lambda share: progress(0.0, 'reading')
      )
    return self._survey

  def copied(self) -> surveys.Survey:
    """Returns the survey with a copy of the transitions, which is made once."""
    assert self._survey is not None, 'Ask for the survey first.'
    if self._survey.copy is None or not self._survey.copy.is_dir():
      self._survey = self.stream.copy(self._survey, self.folder / 'transitions')
    return self._survey


@functools.lru_cache(maxsize=1)
def dataset(path: pathlib.Path, scratch: pathlib.Path) -> Dataset:
  """Returns a dataset; the next experiment often asks for the same one."""
  return Dataset(path, scratch)
