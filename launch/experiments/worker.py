"""Runs one job, in whatever process it is called.

What others need is written into the run directory. Rows are returned and not
written: only the scheduler writes rows, so a job that is run twice, because a
node was lost or a command killed, has its rows once all the same.
"""

import dataclasses
import time
import traceback
import warnings

from dfiv_ope import agents, error_sentences
from dfiv_ope.benchmarks import baselines
from dfiv_ope.iv import methods
from dfiv_ope.launch import runtime
from dfiv_ope.launch.experiments import inputs, jobs, store
from dfiv_ope.results import problems
from dfiv_ope.results import rows as rows_lib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
  """What came of a job.

  Attributes:
    job: the job.
    rows: of an experiment, or of a selection.
    notes: what a person should know of it.
    error: what went wrong, in a sentence; empty if nothing did.
    trace: where it went wrong.
    cpu_seconds: process time of the job, all of it.
  """

  job: jobs.Job
  rows: tuple[rows_lib.Row, ...] = ()
  notes: tuple[str, ...] = ()
  error: str = ''
  trace: str = ''
  cpu_seconds: float = 0.0


def attempt(
  job: jobs.Job, places: store.Places, progress: jobs.Progress
) -> Outcome:
  """Runs a job; an error is part of what comes of it.

  TensorFlow is started for the first job that needs it.
  """
  runtime.start(tensorflow=needs_tensorflow(job))
  started = time.process_time()
  try:
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter('ignore')
      warnings.simplefilter('always', category=UserWarning)
      made = run(job, places, progress)
  except Exception as error:
    return Outcome(
      job=job,
      error=error_sentences.named(error),
      trace=traceback.format_exc(),
      cpu_seconds=time.process_time() - started,
    )
  return Outcome(
    job=job,
    rows=tuple(made),
    cpu_seconds=time.process_time() - started,
    notes=tuple(
      dict.fromkeys(
        str(each.message)
        for each in caught
        if type(each.message).__module__.startswith('dfiv_ope')
      )
    ),
  )


def run(
  job: jobs.Job, places: store.Places, progress: jobs.Progress
) -> list[rows_lib.Row]:
  """Runs a job whose parents are done; one that is done is left alone."""
  if isinstance(job, jobs.Experiment):
    if isinstance(job.problem, inputs.OnDesign):
      from dfiv_ope.launch.experiments import design_run

      return [design_run.run(job, progress)]
    if isinstance(job.problem, problems.SuiteCase):
      from dfiv_ope.evaluation import suite_run

      return [
        job.row(
          job.problem, **suite_run.run(job.problem, job.method, job.config)
        )
      ]
    if isinstance(job.problem, inputs.NewLog):
      from dfiv_ope.launch.experiments import coverage_run

      return [coverage_run.run(job, places, progress)]
    from dfiv_ope.launch.experiments import ope_run

    return [ope_run.run(job, places, progress)]
  if isinstance(job, jobs.SelectionFit | jobs.SelectionJob):
    from dfiv_ope.launch.experiments import selection_run

    if isinstance(job, jobs.SelectionJob):
      return selection_run.judge(job, places)
    selection_run.fit(job, places, progress)
    return []
  from dfiv_ope.launch.experiments import making

  if isinstance(job, jobs.PolicyJob):
    making.train(job, places)
  elif isinstance(job, jobs.DatasetJob):
    making.collect(job, places)
  else:
    making.simulate(job, places)
  return []


def needs_tensorflow(job: jobs.Job) -> bool:
  """Whether a job cannot be run without TensorFlow."""
  if not isinstance(job, jobs.Experiment):
    return True
  if isinstance(job.problem, inputs.OnDesign):
    if job.config is None:
      return job.method in baselines.TRAINED
    return job.method not in methods.CLOSED_FORMS
  entry = agents.ENTRIES.get(job.method)  # None for the average of the log.
  return entry is not None and entry.trained
