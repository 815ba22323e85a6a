"""Chooses between methods without knowing the truth (`--method auto`).

Each candidate is fitted on either half of the episodes, and leaves its values
and Bellman errors on the other half in a file. Judging them is one more job.
"""

import io
import pathlib
import time

import numpy as np

from dfiv_ope import versions, whole_files
from dfiv_ope.evaluation import selection, selection_fits
from dfiv_ope.launch.experiments import inputs, jobs, ope_run, store
from dfiv_ope.results import problems, rows


def fit(
    job: jobs.SelectionFit, places: store.Places, progress: jobs.Progress,
) -> None:
  """Fits a candidate on half of the episodes; what it says becomes a file."""
  candidate = job.candidate
  problem, evaluator = _opened(candidate, places)
  fitted, judged = selection_fits.halves(evaluator.task, job.half, job.judge)
  key = candidate.key(problem)
  directory = places.checkpoints(f'{key}-half-{job.half}')
  started = time.process_time()
  learner, _ = ope_run.learned(
      evaluator, candidate, key=directory.name, part=fitted,
      directory=directory, progress=progress)
  values, errors = selection_fits.values_and_errors(learner, judged)
  _write(places.fit(key, job.half), selection_fits.Fit(
      values, errors, learner.divergence, time.process_time() - started))
  whole_files.remove(directory)


def run(
    job: jobs.SelectionJob, places: store.Places, progress: jobs.Progress,
) -> list[rows.Row]:
  """Judges all candidates; returns a row for each.

  Raises:
    ValueError: all of them diverged.
  """
  del progress
  asked, evaluator = _opened(job.candidates[0], places)
  fits = [[_read(places.fit(each.key(asked), half))
           for each in job.candidates] for half in (0, 1)]
  total = selection_fits.judge(evaluator.task, fits, job.judge)
  return [
      _row(job.problem(asked), candidate, both, total, place)
      for place, (candidate, both) in enumerate(
          zip(job.candidates, zip(*fits, strict=True), strict=True))]


def _row(
    problem: problems.Selection, candidate: jobs.Experiment,
    both: tuple[selection_fits.Fit, ...], total: selection.Scores, place: int,
) -> rows.Row:
  divergence = next((each.divergence for each in both if each.divergence), '')
  return rows.Row(
      problem=problem, method=candidate.method, config=candidate.encoded,
      seed=candidate.seed, version=candidate.version,
      metrics={} if divergence else {
          'tournament': float(total.tournament[place]),
          'projected_bellman_error': float(total.projected[place]),
          'chosen': float(place == total.best)},
      cpu_seconds=sum(each.cpu_seconds for each in both),
      versions=versions.versions(), preset=candidate.preset,
      custom=candidate.custom, reason=divergence,
      outcome=rows.DIVERGED if divergence else rows.FINISHED)


def _opened(candidate: jobs.Experiment, places: store.Places) -> ope_run.Opened:
  assert isinstance(candidate.problem, inputs.Simulated | inputs.OnLog)
  return ope_run.opened(candidate.problem, places)


def _write(path: pathlib.Path, found: selection_fits.Fit) -> None:
  """Writes a file, there whole or not at all."""
  path.parent.mkdir(parents=True, exist_ok=True)
  buffer = io.BytesIO()
  np.savez(buffer, **found._asdict())
  whole_files.write(path, buffer.getvalue())


def _read(path: pathlib.Path) -> selection_fits.Fit:
  with np.load(path, allow_pickle=False) as data:
    return selection_fits.Fit(
        data['values'], data['errors'], str(data['divergence']),
        float(data['cpu_seconds']))
