"""Which job comes next."""

from collections.abc import Sequence
from typing import Any

from dfiv_ope.launch.experiments import jobs


def choose(
  waiting: Sequence[jobs.Job],
  last: jobs.Job | None,
  others: Sequence[jobs.Job | None],
) -> jobs.Job:
  """Returns the job that a process should do next.

  What others wait for comes first, so that no process is alone with a long
  chain at the end; then what the process has open, then what none has.

  Args:
    waiting: the jobs that are ready.
    last: what the process did last.
    others: what all processes did last.
  """
  own, opened = _opens(last), {_opens(each) for each in others}

  def rank(job: jobs.Job) -> int:
    if isinstance(job, jobs.DatasetJob | jobs.TruthJob | jobs.SelectionJob):
      return 0
    if isinstance(job, jobs.PolicyJob):
      return 1
    if _opens(job) == own:
      return 2
    return 4 if _opens(job) in opened else 3

  return min(waiting, key=rank)


def _opens(job: jobs.Job | None) -> Any:
  """Returns what a job has to open."""
  if isinstance(job, jobs.SelectionFit):
    job = job.candidate
  return job.problem if isinstance(job, jobs.Experiment) else None
