"""Where the problem of an experiment comes from: a dataset, a log, a design.

Inputs are plain data that any process can open. What they say of a problem
without opening it, from records alone, is enough for the keys of rows.
"""

from collections.abc import Mapping
import dataclasses
import functools
import pathlib
from typing import TYPE_CHECKING

from dfiv_ope import atomic_output
from dfiv_ope.agents.entries import trainers
from dfiv_ope.datasets import log as log_lib
from dfiv_ope.datasets import spec as spec_lib
from dfiv_ope.datasets import stored_streams
from dfiv_ope.ope import episodes
from dfiv_ope.policies import identity, naming, rollout
from dfiv_ope.results import problems

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials

# Logs of a coverage study have seeds of their own.
FIRST_SEED = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Making:
  """How a dataset is made.

  Attributes:
    training: of the target policy.
    spec: of the dataset.
    truth_episodes: how many episodes the true value may take.
  """

  training: trainers.Training
  spec: spec_lib.Spec
  truth_episodes: int

  @property
  def name(self) -> str:
    """Of its directory."""
    return atomic_output.name(
      self.spec.id,
      [
        self.training.request,
        dataclasses.asdict(self.spec),
        self.truth_episodes,
      ],
    )

  def made(self, metadata: spec_lib.Metadata) -> bool:
    """Whether a record is that of such a dataset, wherever it lies."""
    policy = metadata.policy or {}
    return (
      metadata.spec == self.spec
      and metadata.truth is not None
      and all(
        policy.get(name) == value
        for name, value in self.training.request.items()
      )
    )


# One that is to be made, or a directory.
Dataset = Making | pathlib.Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class Simulated:
  """The policy of a made dataset, maybe with extra uniform actions.

  Attributes:
    dataset: one of `dataset make`.
    target_epsilon: the target policy's probability of a uniform action.
    truth_episodes: simulate at most as many for the value of a policy that is
      not the dataset's own.
    trust_policy: load the policy whatever operations it holds.
    all_columns: of `EvaluationTask`.
  """

  dataset: Dataset
  target_epsilon: float = 0.0
  truth_episodes: int = 40_000
  trust_policy: bool = False
  all_columns: bool = False

  def problem(self, metadata: spec_lib.Metadata) -> problems.SimulatedTask:
    """Returns the problem as the record of the dataset tells it."""
    spec, truth = metadata.spec, metadata.truth
    if not isinstance(spec, spec_lib.Spec):
      raise ValueError(f'{spec.id} is an imported log, which has no task.')
    own = truth if truth and not self.target_epsilon else None
    return problems.SimulatedTask(
      dataset=spec.id,
      digest=metadata.digest,
      discount=spec.discount,
      actions=metadata.num_actions,
      target=metadata.policy_digest,
      transitions=metadata.transitions,
      episodes=metadata.episodes,
      log_return=metadata.behaviour.mean,
      log_standard_error=metadata.behaviour.standard_error,
      task=spec.task,
      action_noise=spec.action_noise,
      epsilon=spec.epsilon,
      target_epsilon=self.target_epsilon,
      size=spec.transitions,
      all_columns=self.all_columns,
      truth=own.mean if own else None,
      truth_standard_error=own.standard_error if own else None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnLog:
  """A policy that a user names, on any dataset.

  Attributes:
    dataset: its directory.
    policy: as `policies.resolve` takes it.
    target: digest of what it does (`policies.identity`).
    name: what the user calls it; empty for a description.
    trust_policy: load a SavedModel whatever operations it holds.
    all_columns: of `EvaluationTask`.
    directory: where functions and relative paths are looked for.
    initial: file of start states; None for those of the episodes.
  """

  dataset: pathlib.Path
  policy: str
  target: str
  name: str = ''
  trust_policy: bool = False
  all_columns: bool = False
  directory: pathlib.Path
  initial: pathlib.Path | None = None

  def problem(self, metadata: spec_lib.Metadata) -> problems.UserLog:
    """Returns what defines the problem, from the dataset's record."""
    return problems.UserLog(
      dataset=metadata.spec.id,
      digest=metadata.digest if (self.initial is None) else self.log.digest,
      discount=metadata.spec.discount,
      actions=metadata.num_actions,
      target=self.target,
      policy=self.name or self.policy,
      all_columns=self.all_columns,
    )

  @property
  def log(self) -> log_lib.Log:
    """The log, with the start states."""
    return open_log(self.dataset, self.initial)

  @property
  def tried(self) -> episodes.Episodes:
    """What the policy is tried on."""
    return tried(self.dataset, self.policy, self.initial)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NewLog:
  """A new log, drawn with the policy, task and size of a made dataset.

  Attributes:
    dataset: of `dataset make`.
    epsilon: extra probability of a uniform action in its behaviour policy.
    log: number of the log.
    seeds: runs of a method on it.
    level: of the interval.
  """

  dataset: pathlib.Path
  epsilon: float
  log: int
  seeds: int
  level: float

  @property
  def behaviour(self) -> Simulated:
    """The behaviour policy as a target, whose value is simulated."""
    return Simulated(dataset=self.dataset, target_epsilon=self.epsilon)

  def problem(self, metadata: spec_lib.Metadata) -> problems.Coverage:
    """Returns all that an interval of the new log rests on."""
    spec, truth = metadata.spec, metadata.truth
    if not isinstance(spec, spec_lib.Spec) or truth is None:
      raise ValueError(
        f'{self.dataset} is an imported log: its true value is not known and '
        'no other logs can be made like it. Take one of `dataset make`.'
      )
    return problems.Coverage(
      dataset=spec.id,
      task=spec.task,
      action_noise=spec.action_noise,
      epsilon=spec.epsilon,
      discount=spec.discount,
      actions=metadata.num_actions,
      target=metadata.policy_digest,
      simulation=rollout.VERSION,
      first_seed=FIRST_SEED,
      log=self.log,
      seeds=self.seeds,
      level=self.level,
      truth=truth.mean,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnDesign:
  """A design of instrumental-variable regression.

  Attributes:
    design: the problem itself.
    watch: whether the error is measured during the training too.
  """

  design: 'trials.Design'
  watch: bool = False


Input = Simulated | OnLog | NewLog | OnDesign | problems.SuiteCase


@functools.lru_cache(maxsize=1)
def open_log(
  path: pathlib.Path, initial: pathlib.Path | None = None
) -> log_lib.Log:
  """Returns the log of a dataset, read once for all that follow each other."""
  return log_lib.Log.open(path, initial=initial)


@functools.lru_cache(maxsize=1)
def open_stream(path: pathlib.Path) -> stored_streams.StoredStream:
  """Returns a dataset that is read in parts if it is long."""
  return stored_streams.StoredStream(path=path)


def needs_all(policy: str, initial: pathlib.Path | None) -> bool:
  """Returns whether a question needs the whole log in memory.

  Args:
    policy: as `policies.resolve` takes it.
    initial: file of start states.
  """
  return initial is not None or policy in (naming.CLONE, naming.COLUMNS)


def tried(
  dataset: pathlib.Path, policy: str, initial: pathlib.Path | None
) -> episodes.Episodes:
  """Returns the log that a policy is tried on; some rows of a long one.

  Args:
    dataset: its directory.
    policy: as `policies.resolve` takes it.
    initial: file of start states.

  Raises:
    ValueError: the dataset is damaged, or nothing says where episodes start.
  """
  stream = open_stream(dataset)
  if stream.long and not needs_all(policy, initial):
    return stream.tried
  log = open_log(dataset, initial)
  log.start_states  # noqa: B018 - refuses what has none
  return log


def on_log(
  dataset: pathlib.Path,
  policies: Mapping[str, str],
  *,
  trust_policy: bool = False,
  initial: pathlib.Path | None = None,
  all_columns: bool = False,
) -> list[OnLog]:
  """Returns what is asked of a log: the value of each policy.

  Args:
    dataset: its directory.
    policies: what users name, by what tables call them.
    trust_policy: load SavedModels whatever operations they hold.
    initial: file of start states.
    all_columns: of `EvaluationTask`.

  Raises:
    ValueError: a policy does not fit, or start states do not.
  """
  return [
    OnLog(
      dataset=dataset,
      policy=spec,
      name='' if name == spec else name,
      target=identity.identify(
        spec, **tried(dataset, spec, initial).for_policies()
      ).digest,
      trust_policy=trust_policy,
      directory=pathlib.Path.cwd(),
      initial=initial,
      all_columns=all_columns,
    )
    for name, spec in policies.items()
  ]
