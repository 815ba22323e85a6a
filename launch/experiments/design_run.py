"""Runs a method on a design of instrumental-variable regression: one row."""

from typing import Any, cast

from dfiv_ope.benchmarks import baselines, lit_pixels, trials
from dfiv_ope.launch.experiments import inputs, jobs
from dfiv_ope.results import rows


def run(job: jobs.Experiment, progress: jobs.Progress) -> rows.Row:
  """Draws the sample of a design, fits the method and measures its error."""
  wanted = job.problem
  assert isinstance(wanted, inputs.OnDesign)
  if job.method == lit_pixels.NAME:
    return lit_pixels.run(wanted.design, seed=job.seed)
  if job.method in baselines.NAMES:
    return baselines.run(cast(Any, wanted.design), job.method, seed=job.seed)
  return trials.run(
    wanted.design,
    job.method,
    job.config,
    seed=job.seed,
    preset=job.preset,
    custom=job.custom,
    watch=wanted.watch,
    progress=lambda step, steps, losses: progress(
      step / steps if steps else 1.0, ''
    ),
  )
