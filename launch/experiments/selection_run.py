"""Chooses between methods without knowing the truth (`--method auto`).

Each candidate is fitted on either half of the episodes, and leaves its values
and Bellman errors on the other half in a file. Judging them is one more job.
"""

import time

from dfiv_ope import whole_files
from dfiv_ope.evaluation import selection_fits
from dfiv_ope.launch.experiments import inputs, jobs, ope_run, store
from dfiv_ope.results import rows


def fit(
  job: jobs.SelectionFit, places: store.Places, progress: jobs.Progress
) -> None:
  """Fits a candidate on half of the episodes; what it says becomes a file."""
  candidate = job.candidate
  problem, evaluator = _opened(candidate, places)
  fitted, judged = selection_fits.halves(evaluator.task, job.half, job.judge)
  key = candidate.key(problem)
  directory = places.checkpoints(f'{key}-half-{job.half}')
  started = time.process_time()
  learner, _ = evaluator.learned(
    candidate.method,
    candidate.config,
    seed=candidate.seed,
    rows=fitted,
    saved=ope_run.saved(candidate, directory.name, directory),
    progress=ope_run.shares(progress),
  )
  values, errors = selection_fits.values_and_errors(learner, judged)
  selection_fits.Fit(
    values, errors, learner.divergence, time.process_time() - started
  ).save(places.fit(key, job.half))
  whole_files.remove(directory)


def judge(job: jobs.SelectionJob, places: store.Places) -> list[rows.Row]:
  """Judges all candidates; returns a row for each.

  Raises:
    ValueError: all of them diverged.
  """
  asked, evaluator = _opened(job.candidates[0], places)
  fits = [
    [
      selection_fits.Fit.load(places.fit(each.key(asked), half))
      for each in job.candidates
    ]
    for half in (0, 1)
  ]
  total = selection_fits.judge(evaluator.task, fits, job.judge)
  return [
    candidate.row(job.problem(asked), inference={}, **outcome)
    for candidate, outcome in zip(
      job.candidates, selection_fits.outcomes(fits, total), strict=True
    )
  ]


def _opened(candidate: jobs.Experiment, places: store.Places) -> ope_run.Opened:
  assert isinstance(candidate.problem, inputs.Simulated | inputs.OnLog)
  return ope_run.opened(candidate.problem, places)
