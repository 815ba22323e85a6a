"""What a run directory has already: policies, datasets, truths, rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
import contextlib
import dataclasses
import functools
import json
import pathlib

from dfiv_ope import atomic_output, whole_files
from dfiv_ope.agents.entries import trainers
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.evaluation import result_rows
from dfiv_ope.launch.experiments import inputs, jobs
from dfiv_ope.policies import episode_returns, rollout, trained
from dfiv_ope.results import files, problems
from dfiv_ope.results import rows as rows_lib


@dataclasses.dataclass(frozen=True)
class Places:
  """Where things lie, as every process sees it.

  Attributes:
    out: run directory.
    datasets: where datasets are looked for, besides the run directory.
  """

  out: pathlib.Path
  datasets: tuple[pathlib.Path, ...] = ()

  def policy(self, training: trainers.Training) -> pathlib.Path:
    """Returns the directory of a policy."""
    return self.out / 'policies' / training.name

  def dataset(self, dataset: inputs.Dataset) -> pathlib.Path:
    """Returns the directory of a dataset: where it is, or is to be made."""
    if isinstance(dataset, pathlib.Path):
      return dataset
    own = self.out / 'datasets' / dataset.name
    if (own / spec_lib.METADATA).is_file():
      return own
    return _found(dataset, (self.out / 'datasets', *self.datasets)) or own

  @property
  def scratch(self) -> pathlib.Path:
    """Where copies of long logs lie, while they are used."""
    return self.out.resolve() / 'dfiv-ope-copies'

  @contextlib.contextmanager
  def copies(self) -> Iterator[pathlib.Path]:
    """Yields `scratch`; what a killed command left there is removed."""
    whole_files.remove(self.scratch)
    try:
      yield self.scratch
    finally:
      whole_files.remove(self.scratch)

  def checkpoints(self, key: str) -> pathlib.Path:
    """Returns where the checkpoints of a run are kept."""
    return self.out / 'checkpoints' / key

  def fit(self, key: str, half: int) -> pathlib.Path:
    """Returns the file of a candidate's fit on half of the episodes."""
    return self.out / 'selection' / f'{key}-{half}.npz'

  def truth(
    self, problem: inputs.Simulated, metadata: spec_lib.Metadata
  ) -> pathlib.Path:
    """Returns the file of a simulated value."""
    return (
      self.out
      / 'truths'
      / (
        f'{problem.problem(metadata).question}-'
        f'{problem.truth_episodes}-v{rollout.VERSION}.json'
      )
    )


@functools.lru_cache(maxsize=1024)
def _found(
  making: inputs.Making, places: tuple[pathlib.Path, ...]
) -> pathlib.Path | None:
  """Returns a dataset that was made in the same way, whatever its name."""
  return spec_lib.first(places, making.made)


class Store:
  """Says which jobs need not be run, and takes in rows.

  Attributes:
    places: where things lie.
  """

  def __init__(self, places: Places):
    """Reads the rows of a run directory; it need not exist."""
    self.places = places
    self._metadata: dict[pathlib.Path, spec_lib.Metadata] = {}
    self._rows = {row.key: row for row in files.known(places.out)}

  @contextlib.contextmanager
  def exclusive(self) -> Iterator[None]:
    """Keeps the run directory for this process, and reads what is there.

    Raises:
      FileExistsError: another process is at work in it.
    """
    with atomic_output.exclusive(self.places.out):
      self._rows = {row.key: row for row in files.known(self.places.out)}
      yield

  def refuse_others(self, plan: Sequence[jobs.Job]) -> None:
    """Refuses to mix rows of designs with rows of logs.

    Raises:
      ValueError: the run directory holds the others.
    """
    kinds = ('off-policy evaluation', 'instrumental-variable designs')
    designs = any(
      isinstance(job, jobs.Experiment)
      and isinstance(job.problem, inputs.OnDesign)
      for job in plan
    )
    if any(
      isinstance(row.problem, problems.IVDesign) != designs
      for row in self._rows.values()
    ):
      raise ValueError(
        f'{self.places.out} holds results of {kinds[not designs]}, but these '
        f'would be of {kinds[designs]}. Choose another --out.'
      )

  def problem(self, problem: inputs.Input) -> problems.Problem | None:
    """Returns the problem of an input; None while its dataset is missing."""
    if isinstance(problem, inputs.OnDesign):
      return problem.design.problem
    if isinstance(problem, problems.SuiteCase):
      return problem
    metadata = self.metadata(problem.dataset)
    if metadata is None:
      return None
    found = problem.problem(metadata)
    if isinstance(found, problems.SimulatedTask) and found.truth is None:
      assert isinstance(problem, inputs.Simulated)
      truth = self.truth(problem)
      if truth is not None:
        found = dataclasses.replace(
          found, truth=truth.mean, truth_standard_error=truth.standard_error
        )
    return found

  def metadata(self, dataset: inputs.Dataset) -> spec_lib.Metadata | None:
    """Returns the record of a dataset; None if one to be made has none."""
    path = self.places.dataset(dataset)
    if path not in self._metadata:
      try:
        self._metadata[path] = spec_lib.read_metadata(path)
      except (OSError, ValueError):
        if isinstance(dataset, pathlib.Path):
          raise
        return None
    return self._metadata[path]

  def truth(
    self, problem: inputs.Simulated
  ) -> episode_returns.MonteCarlo | None:
    """Returns what was simulated of a policy's value, if it was."""
    metadata = self.metadata(problem.dataset)
    file = metadata and self.places.truth(problem, metadata)
    if not file or not file.is_file():
      return None
    return episode_returns.MonteCarlo(**json.loads(file.read_text()))

  def keys(self, job: jobs.Job) -> list[str]:
    """Returns the keys of a job's rows, none while they cannot be known."""
    if isinstance(job, jobs.Experiment):
      problem = self.problem(job.problem)
      return [job.key(problem)] if problem else []
    if isinstance(job, jobs.SelectionJob):
      asked = self.problem(job.candidates[0].problem)
      return [job.key(asked, each) for each in job.candidates] if asked else []
    return []

  def rows_of(self, plan: Iterable[jobs.Job]) -> list[rows_lib.Row]:
    """Returns the rows of jobs that have them, in the order of the jobs."""
    keys = dict.fromkeys(key for job in plan for key in self.keys(job))
    return [self._rows[key] for key in keys if key in self._rows]

  def told(
    self,
    plan: Iterable[jobs.Job],
    asked: Mapping[str, inputs.OnLog],
    truths: Mapping[str, float],
  ) -> list[rows_lib.Row]:
    """Returns `rows_of` with what a user says of policies, and keeps it.

    Args:
      plan: what is asked for.
      asked: policies by name.
      truths: known values of some of them.
    """
    found = result_rows.told(
      self.rows_of(plan),
      {each.target: each.name for each in asked.values() if each.name},
      {asked[name].target: value for name, value in truths.items()},
    )
    for row in found:
      self.add(row)
    return found

  def all_rows(self) -> list[rows_lib.Row]:
    """Returns the last row of each experiment in the directory."""
    return rows_lib.latest(self._rows.values())

  def has(self, job: jobs.Job) -> bool:
    """Returns whether what a job makes is there."""
    if isinstance(job, jobs.PolicyJob):
      return (self.places.policy(job.training) / trained.RECORD).is_file()
    if isinstance(job, jobs.DatasetJob):
      return self.metadata(job.making) is not None
    if isinstance(job, jobs.TruthJob):
      return self.truth(job.problem) is not None
    if isinstance(job, jobs.SelectionFit):
      return self.fit_file(job).is_file()
    keys = self.keys(job)
    return bool(keys) and all(self._sound(job, key) for key in keys)

  def missing(self, plan: Iterable[jobs.Job]) -> list[jobs.Job]:
    """Returns the jobs to run, each after those that it needs."""
    return jobs.with_parents(plan, unless=self.has)

  def fit_file(self, job: jobs.SelectionFit) -> pathlib.Path:
    """Returns the file that a fit on half of the episodes leaves."""
    problem = self.problem(job.candidate.problem)
    assert problem is not None, 'Its dataset comes first.'
    return self.places.fit(job.candidate.key(problem), job.half)

  def add(self, row: rows_lib.Row) -> None:
    """Writes a row down, unless it is there; its files go."""
    known = self._rows.get(row.key)
    if (
      known is None
      or known.retry
      or (known.problem != row.problem or set(known.curves) != set(row.curves))
    ):
      files.append(self.places.out, row)
      self._rows[row.key] = row
    if not row.retry:
      whole_files.remove(self.places.checkpoints(row.key))

  def tidy(self, plan: Iterable[jobs.Job]) -> None:
    """Removes what a kill between a row and its files may have left."""
    for job in plan:
      if self.has(job):
        for key in self.keys(job):
          whole_files.remove(self.places.checkpoints(key))
        if isinstance(job, jobs.SelectionJob):
          for fit in job.parents:
            assert isinstance(fit, jobs.SelectionFit)
            self.fit_file(fit).unlink(missing_ok=True)

  def _sound(self, job: jobs.Job, key: str) -> bool:
    """Whether a row is there and need not be made again."""
    row = self._rows.get(key)
    if row is None or row.retry:
      return False
    if not isinstance(job, jobs.Experiment):
      return True
    problem = self.problem(job.problem)
    if isinstance(problem, problems.SimulatedTask) and isinstance(
      row.problem, problems.SimulatedTask
    ):
      return row.problem.truth == problem.truth
    watched = isinstance(job.problem, inputs.OnDesign) and job.problem.watch
    return not watched or job.config is None or 'watched_mse' in row.curves
