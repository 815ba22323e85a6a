"""What is run: plain data, so that any process can run it (`worker.run`).

Policies, datasets and simulated values are made in the run directory; a
selection's fits leave files there until it is judged. An `Experiment` gives a
row, a `SelectionJob` one for each candidate.
"""

import abc
from collections.abc import Callable, Iterable
import dataclasses
from typing import Any

from dfiv_ope import agents, configs, versions
from dfiv_ope.agents import configured
from dfiv_ope.agents.entries import trainers
from dfiv_ope.benchmarks import baselines, lit_pixels, settings
from dfiv_ope.evaluation import result_rows
from dfiv_ope.iv import methods
from dfiv_ope.launch.experiments import inputs
from dfiv_ope.results import problems, rows

# How a running job says what share of it is done, and a note.
Progress = Callable[[float, str], None]
# Seconds of what is not in the registry, roughly.
_SECONDS_OF_A_DATASET = 15.0
_SECONDS_OF_A_TRUTH = 10.0
_SECONDS_OF_A_BASELINE = 1.0


class _Job(abc.ABC):
  """What all jobs have: a line in a list, a name, jobs that come first."""

  @property
  @abc.abstractmethod
  def group(self) -> tuple[str, str]:
    """Its line in a list: a problem and a job."""

  @property
  def label(self) -> str:
    """What people call it."""
    problem, job = self.group
    return f'{job} {problem}'

  @property
  def parents(self) -> tuple['Job', ...]:
    """The jobs that it needs first."""
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyJob(_Job):
  """Trains a target policy."""

  training: trainers.Training
  kind = 'policies'

  @property
  def group(self) -> tuple[str, str]:
    training = self.training
    seed = f' data {training.seed}' if training.seed else ''
    return f'{training.task} {training.action_noise:g}{seed}', 'policy'

  @property
  def seconds(self) -> float:
    """CPU seconds that it takes, roughly."""
    config = self.training.config
    return config.transitions * config.seconds_of_a_transition


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetJob(_Job):
  """Makes the dataset of a policy."""

  making: inputs.Making
  kind = 'datasets'
  seconds = _SECONDS_OF_A_DATASET

  @property
  def parents(self) -> tuple['Job', ...]:
    """The job that makes its policy."""
    return (PolicyJob(training=self.making.training),)

  @property
  def group(self) -> tuple[str, str]:
    return PolicyJob(training=self.making.training).group[0], 'dataset'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruthJob(_Job):
  """Simulates the value of a dataset's policy with extra uniform actions."""

  problem: inputs.Simulated
  kind = 'true values'
  seconds = _SECONDS_OF_A_TRUTH

  @property
  def parents(self) -> tuple['Job', ...]:
    """The job that makes the dataset, if it is to be made."""
    return _makes(self.problem.dataset)

  @property
  def group(self) -> tuple[str, str]:
    return (
      _place(self.problem),
      f'true value, epsilon {self.problem.target_epsilon:g}',
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(_Job):
  """A problem, a method with its config, and a seed: one row.

  Attributes:
    problem: where its problem comes from.
    method: name of the method, LOG for the average return of the log, that
      of `lit_pixels` or one of `baselines`.
    config: hyper-parameters; None for those that have none.
    seed: of the method.
    preset: where the config is from.
    custom: whether fields of the preset were changed.
  """

  problem: inputs.Input
  method: str
  config: Any
  seed: int
  preset: str = 'default'
  custom: bool = False

  @property
  def encoded(self) -> dict[str, Any]:
    """The config as the row has it."""
    if self.config is None:
      return dict(
        {
          result_rows.LOG: result_rows.LOG_CONFIG,
          lit_pixels.NAME: lit_pixels.CONFIG,
          **baselines.CONFIGS,
        }[self.method]
      )
    data: dict[str, Any] = configs.encode(self.config)
    return data

  @property
  def version(self) -> int:
    """Of the method's numbers."""
    if not isinstance(self.problem, inputs.OnDesign):
      return result_rows.version(self.method)
    if self.method == lit_pixels.NAME:
      return lit_pixels.VERSION
    if self.method in baselines.NAMES:
      return baselines.version(self.method)
    return methods.ENTRIES[self.method].version

  @property
  def inference(self) -> dict[str, Any]:
    """Settings of what the row says of its own uncertainty."""
    return (
      {}
      if isinstance(self.problem, inputs.OnDesign)
      else result_rows.inference(self.method)
    )

  @property
  def setting(self) -> str:
    """A hash of method and config, as rows have it."""
    return rows.setting(self.method, self.encoded)

  def key(self, problem: problems.Problem) -> str:
    """Returns the key of its row, given its problem."""
    return rows.key(
      problem,
      self.method,
      self.encoded,
      self.seed,
      version=self.version,
      inference=self.inference,
    )

  def row(self, problem: problems.Problem, **outcome: Any) -> rows.Row:
    """Returns a row of it, given its problem and what came of it."""
    return rows.Row(
      **{
        'problem': problem,
        'method': self.method,
        'config': self.encoded,
        'seed': self.seed,
        'version': self.version,
        'inference': self.inference,
        'preset': self.preset,
        'custom': self.custom,
        'versions': versions.versions(),
        **outcome,
      }
    )

  @property
  def kind(self) -> str:
    """What it counts as."""
    return 'log returns' if self.method == result_rows.LOG else 'experiments'

  @property
  def group(self) -> tuple[str, str]:
    preset = f'{self.preset}{", custom" if self.custom else ""}'
    return _place(self.problem), f'{self.method} {preset}'

  @property
  def label(self) -> str:
    return f'{self.method} seed {self.seed} {_place(self.problem)}'

  @property
  def parents(self) -> tuple['Job', ...]:
    """The jobs it needs first: its dataset, and the value of its policy."""
    problem = self.problem
    if isinstance(problem, inputs.NewLog):
      return (TruthJob(problem=problem.behaviour),)
    if isinstance(problem, inputs.Simulated):
      return (
        (TruthJob(problem=problem),)
        if problem.target_epsilon
        else _makes(problem.dataset)
      )
    return ()

  @property
  def seconds(self) -> float:
    """CPU seconds that it takes, roughly, as the registry says."""
    if self.config is None:
      return _SECONDS_OF_A_BASELINE
    if isinstance(self.problem, inputs.OnDesign):
      design = self.problem.design.problem.name
      return settings.seconds(design, self.method, self.config, self.preset)
    runs = getattr(self.problem, 'seeds', 1)
    return runs * agents.ENTRIES[self.method].seconds(self.config, self.preset)


def of_method(
  problem: inputs.Input, method: configured.Configured | None, seed: int
) -> Experiment:
  """Returns a run of a method, or of the log's average if it is None."""
  if method is None:
    return Experiment(
      problem=problem, method=result_rows.LOG, config=None, seed=seed
    )
  return Experiment(problem=problem, seed=seed, **method._asdict())


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectionFit(_Job):
  """Fits a candidate of a selection on half of the episodes.

  Attributes:
    candidate: the experiment that the candidate would be.
    half: 0 or 1.
    judge: how it will be judged.
  """

  candidate: Experiment
  half: int
  judge: problems.Judge
  kind = 'fits on halves'

  @property
  def parents(self) -> tuple['Job', ...]:
    """Those of the experiment."""
    return self.candidate.parents

  @property
  def group(self) -> tuple[str, str]:
    return _place(self.candidate.problem), f'{self.candidate.method} on a half'

  @property
  def label(self) -> str:
    return f'{self.candidate.method} on half {self.half + 1}'

  @property
  def seconds(self) -> float:
    """CPU seconds that it takes, roughly."""
    return self.candidate.seconds


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectionJob(_Job):
  """Judges candidates by held-out episodes; a row for each.

  Attributes:
    candidates: the experiments that they would be.
    judge: how they are judged.
  """

  candidates: tuple[Experiment, ...]
  judge: problems.Judge
  kind = 'selections'
  seconds = _SECONDS_OF_A_BASELINE

  @property
  def parents(self) -> tuple['Job', ...]:
    """The fits of all candidates on both halves."""
    return tuple(
      SelectionFit(candidate=each, half=half, judge=self.judge)
      for half in (0, 1)
      for each in self.candidates
    )

  def problem(self, asked: problems.Problem) -> problems.Selection:
    """Returns the problem of its rows, given that of the candidates."""
    assert isinstance(asked, problems.SimulatedTask | problems.UserLog)
    return problems.Selection(
      asked=asked,
      judge=self.judge,
      candidates=problems.hashed(
        sorted(each.setting for each in self.candidates)
      ),
    )

  def key(self, asked: problems.Problem, candidate: Experiment) -> str:
    """Returns the key of a candidate's row."""
    return rows.key(
      self.problem(asked),
      candidate.method,
      candidate.encoded,
      candidate.seed,
      version=candidate.version,
    )

  @property
  def group(self) -> tuple[str, str]:
    return _place(self.candidates[0].problem), 'selection'

  @property
  def label(self) -> str:
    return 'judging the candidates'


Job = (
  PolicyJob | DatasetJob | TruthJob | Experiment | SelectionFit | SelectionJob
)


def with_parents(
  plan: Iterable[Job], *, unless: Callable[[Job], bool] = lambda job: False
) -> list[Job]:
  """Returns jobs and all that they need, each after those that it needs.

  Args:
    plan: the jobs.
    unless: which jobs to leave out, with all that only they need.
  """
  made: dict[Job, None] = {}

  def visit(job: Job) -> None:
    if job not in made and not unless(job):
      for parent in job.parents:
        visit(parent)
      made[job] = None

  for job in plan:
    visit(job)
  return list(made)


def _makes(dataset: inputs.Dataset) -> tuple[Job, ...]:
  return (
    (DatasetJob(making=dataset),) if isinstance(dataset, inputs.Making) else ()
  )


def _place(problem: inputs.Input) -> str:
  """Returns a problem in a few words."""
  if isinstance(problem, inputs.OnDesign):
    return problem.design.problem.words
  if isinstance(problem, problems.SuiteCase):
    return f'{problem.case} log {problem.log}'
  if isinstance(problem.dataset, inputs.Making):
    words = PolicyJob(training=problem.dataset.training).group[0]
  else:
    words = problem.dataset.name
  if isinstance(problem, inputs.NewLog):
    return f'{words} log {problem.log}'
  if isinstance(problem, inputs.OnLog):
    return f'{words} {problem.name or problem.policy}'
  target = problem.target_epsilon
  return f'{words} target {target:g}' if target else words
