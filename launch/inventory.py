"""What a run directory has already: policies, datasets, rows."""

import json
import pathlib

from dfiv_ope import results, whole_files
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.launch import grid, rows
from dfiv_ope.policies import trained


def policy_path(out: pathlib.Path, job: grid.PolicyJob) -> pathlib.Path:
  """Returns the directory of a policy."""
  return out / 'policies' / job.name


def dataset_path(out: pathlib.Path, job: grid.DatasetJob) -> pathlib.Path:
  """Returns the directory of a dataset."""
  return out / 'datasets' / job.name


class Inventory:
  """Says which jobs of a sweep need not be run."""

  def __init__(self, out: pathlib.Path):
    """Reads the rows of a run directory; it need not exist."""
    self._out = out
    self._metadata: dict[grid.DatasetJob, spec_lib.Metadata] = {}
    self._rows = {row.key: row for row in results.known(out)}

  def has(self, job: grid.Job) -> bool:
    """Returns whether what a job makes is there."""
    if isinstance(job, grid.PolicyJob):
      return (policy_path(self._out, job) / trained.RECORD).is_file()
    if isinstance(job, grid.DatasetJob):
      return self.metadata(job) is not None
    row = self.row(job)
    return (row is not None and not row.retry
            and row.problem.get('truth') == self.truth(job))

  def missing(self, jobs: list[grid.Job]) -> list[grid.Job]:
    """Returns the jobs to run; a policy only for datasets that are missing."""
    wanted = [job for job in jobs if not self.has(job)]
    parents = {job.parent for job in wanted}
    return [job for job in wanted
            if not isinstance(job, grid.PolicyJob) or job in parents]

  def tidy(self, jobs: list[grid.Job]) -> None:
    """Removes checkpoints of done cells, which a kill may have left."""
    for job in jobs:
      row = self.row(job) if isinstance(job, grid.CellJob) else None
      if row is not None and not row.retry:
        whole_files.remove(rows.checkpoints(self._out, row.key))

  def row(self, job: grid.CellJob) -> results.ResultRow | None:
    """Returns the last row of a cell, if it has one."""
    metadata = self.metadata(job.dataset)
    return self._rows.get(job.key(metadata)) if metadata else None

  def add(self, row: results.ResultRow) -> None:
    """Takes in a new row."""
    self._rows[row.key] = row

  def metadata(self, job: grid.DatasetJob) -> spec_lib.Metadata | None:
    """Returns the record of a dataset, None if it has no sound one."""
    if job not in self._metadata:
      try:
        self._metadata[job] = spec_lib.read_metadata(
            dataset_path(self._out, job))
      except (OSError, ValueError):
        return None
    return self._metadata[job]

  def truth(self, job: grid.CellJob) -> float | None:
    """Returns the true value of a cell's target policy, if it is known."""
    metadata = self.metadata(job.dataset)
    if metadata is None:
      return None
    if not job.target_epsilon:
      return metadata.truth.mean if metadata.truth else None
    file = rows.truth_file(
        self._out, rows.describe(metadata, target_epsilon=job.target_epsilon),
        max_episodes=job.dataset.truth_episodes)
    return json.loads(file.read_text())['mean'] if file.is_file() else None
