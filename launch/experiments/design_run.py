"""Runs a method on a design of instrumental-variable regression: one row."""

import time
from typing import Any

from dfiv_ope.benchmarks import dsprites, trials
from dfiv_ope.launch.experiments import inputs, jobs, ope_run, store
from dfiv_ope.results import rows


def run(
    job: jobs.Experiment, places: store.Places, progress: ope_run.Progress,
) -> rows.Row:
  """Draws the sample of a design, fits the method and measures its error."""
  del places
  wanted = job.problem
  assert isinstance(wanted, inputs.OnDesign)
  if job.method == jobs.LIT_PIXELS:
    start = time.process_time()
    predict = dsprites.lit_pixels_baseline(wanted.design.sample(job.seed))
    return trials.row(
        wanted.design, job.method, job.encoded, predict, version=job.version,
        seed=job.seed, cpu_seconds=time.process_time() - start)

  def report(step: int, steps: int, losses: Any) -> None:
    del losses
    progress(step / steps if steps else 1., '')

  return trials.run(
      wanted.design, job.method, job.config, seed=job.seed, preset=job.preset,
      custom=job.custom, watch=wanted.watch, progress=report)
