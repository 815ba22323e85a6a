"""What rows are about: one tagged type for each kind of problem.

A field either defines a problem or only describes it: what a dataset is called,
what its digest stands for, what came of simulations. Keys hold what defines
it, so that a new field makes another key until it is said to describe.
"""

from collections.abc import Mapping
import dataclasses
import hashlib
import json
from typing import Any, ClassVar, Self

from dfiv_ope import typed_json
from dfiv_ope.ope import log_notes
from dfiv_ope.ope import overlap as overlap_lib

KIND = 'kind'
_DESCRIBES = 'describes'


def _described(default: Any = None) -> Any:
  """A field that describes a problem and is no part of its key."""
  return dataclasses.field(default=default, metadata={_DESCRIBES: True})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Problem:
  """What something was run on."""

  kind: ClassVar[str]
  # Metrics that a row with a result has.
  measured: ClassVar[tuple[str, ...]] = ()

  def identity(self) -> dict[str, Any]:
    """Returns what defines the problem, as JSON data."""
    defining = {name: getattr(self, name) for name in self._defining()}
    return {
      KIND: self.kind,
      **{
        name: value.identity() if isinstance(value, Problem) else _plain(value)
        for name, value in defining.items()
      },
    }

  @classmethod
  def _defining(cls) -> list[str]:
    """Returns the names of the fields that define a problem."""
    return [
      field.name
      for field in dataclasses.fields(cls)
      if not field.metadata.get(_DESCRIBES)
    ]

  @classmethod
  def from_json(cls, data: Any, *, name: str = 'problem') -> Self:
    """Returns the problem that `encode` was given.

    Raises:
      ValueError: the data is no problem of this version, or another kind.
    """
    tag = data.get(KIND) if isinstance(data, Mapping) else None
    known = {
      kind: each for kind, each in KINDS.items() if issubclass(each, cls)
    }
    if not isinstance(tag, str) or tag not in known:
      raise ValueError(
        f'its {name} is of the kind {typed_json.shown(tag)}, but only '
        f'{", ".join(known)} are known'
      )
    # Only what describes a problem may be missing.
    gaps = [
      each
      for each in known[tag]._defining()
      if each in data and data[each] is None
    ]
    if gaps:
      raise ValueError(f'{name} does not say its {", ".join(gaps)}')
    found: Self = typed_json.fields(
      known[tag],
      {key: value for key, value in data.items() if key != KIND},
      name=name,
      gaps=True,
    )
    return found

  @property
  def question(self) -> str:
    """A hash of what is asked, whatever is run to answer it.

    Two problems of the same question have the same log, target policy and
    discount, so that their estimates are of the same number.
    """
    return hashed(self.identity())


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnDataset(Problem):
  """A target policy on a dataset.

  Attributes:
    dataset: what it is called.
    digest: of its content.
    discount: of the value that is asked for.
    actions: number of actions.
    target: digest of the target policy.
    all_columns: whether methods see irrelevant columns, too.
    transitions: number of rows of the log.
    episodes: number of its episodes.
    log_return: average return of the log.
    log_standard_error: of that average.
    overlap: what the log shows of the policy; None if it was not looked at.
    truth: value of the target policy by simulation; None if it is not known.
    truth_standard_error: of that value.
  """

  measured: ClassVar[tuple[str, ...]] = ('estimate',)

  dataset: str = _described('')
  digest: str
  discount: float
  actions: int
  target: str
  all_columns: bool = False
  transitions: int | None = _described()
  episodes: int | None = _described()
  log_return: float | None = _described()
  log_standard_error: float | None = _described()
  overlap: overlap_lib.Overlap | None = _described()
  truth: float | None = _described()
  truth_standard_error: float | None = _described()

  def identity(self) -> dict[str, Any]:
    """Returns what defines the problem; the usual columns are not said."""
    found = super().identity()
    if not self.all_columns:
      del found['all_columns']
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class SimulatedTask(OnDataset):
  """The policy of a dataset that was made by simulation.

  Attributes:
    task: name of the environment.
    action_noise: probability that the environment replaces an action.
    epsilon: extra probability of a uniform action in the behaviour policy.
    target_epsilon: the same in the target policy.
    size: number of rows that the dataset was asked to have.
  """

  kind: ClassVar[str] = 'simulated_task'

  task: str
  action_noise: float
  epsilon: float
  target_epsilon: float
  size: int | None = _described()


@dataclasses.dataclass(frozen=True, kw_only=True)
class UserLog(OnDataset):
  """A policy that a user names, on any dataset.

  Attributes:
    policy: what the policy is called.
    action_labels: names of the actions; empty if they are numbers.
    notes: on the log and its columns.
  """

  kind: ClassVar[str] = 'user_log'

  policy: str = _described('')
  action_labels: tuple[str, ...] = _described(())
  notes: tuple[log_notes.Note, ...] = _described(())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judge:
  """How candidates are judged.

  Attributes:
    version: of the scores (`selection.VERSION`).
    rows: of each half, at most.
    features: of a state.
  """

  version: int
  rows: int
  features: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection(Problem):
  """A choice between methods on a dataset.

  Attributes:
    asked: the problem that the chosen method is for.
    candidates: a hash of all of them: a score holds among these only.
    judge: how they are judged.
  """

  kind: ClassVar[str] = 'selection'
  measured: ClassVar[tuple[str, ...]] = (
    'tournament',
    'projected_bellman_error',
    'chosen',
  )

  asked: OnDataset
  candidates: str
  judge: Judge

  @property
  def question(self) -> str:
    """That of the runs that follow."""
    return self.asked.question


@dataclasses.dataclass(frozen=True, kw_only=True)
class Coverage(Problem):
  """An interval on a new log that is drawn as a dataset was.

  Attributes:
    dataset: what the dataset is called.
    task: name of the environment.
    action_noise: probability that the environment replaces an action.
    epsilon: extra probability of a uniform action in the behaviour policy.
    discount: of the value.
    actions: number of actions.
    target: digest of the target policy.
    simulation: version of the simulation.
    first_seed: of the logs.
    log: number of the log.
    seeds: runs of a method on it.
    level: of the interval.
    truth: value of the target policy.
  """

  kind: ClassVar[str] = 'coverage'
  measured: ClassVar[tuple[str, ...]] = (
    'estimate',
    'low',
    'high',
    'data_error',
    'covered',
  )

  dataset: str
  task: str
  action_noise: float
  epsilon: float
  discount: float
  actions: int
  target: str
  simulation: int
  first_seed: int
  log: int
  seeds: int
  level: float
  truth: float

  @property
  def study(self) -> str:
    """A hash of all but the number of the log: what coverage is one of."""
    return dataclasses.replace(self, log=0).question


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuiteCase(Problem):
  """A log of a case of the suite, whose answer is known.

  Attributes:
    case: name of the case.
    log: number of the log.
    cases: version of the cases.
    seeds: runs of a method on it.
    level: of the interval.
    ranked: whether further policies of the case are ranked.
  """

  kind: ClassVar[str] = 'suite_case'
  measured: ClassVar[tuple[str, ...]] = ('estimate', 'truth')

  case: str
  log: int
  cases: int
  seeds: int
  level: float
  ranked: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class IVDesign(Problem):
  """A design of instrumental-variable regression, whose answer is known.

  Attributes:
    name: of the design.
    parameters: its numbers and words, such as n and rho.
  """

  kind: ClassVar[str] = 'iv_design'
  measured: ClassVar[tuple[str, ...]] = ('mse',)

  name: str
  parameters: Mapping[str, Any]

  def __post_init__(self) -> None:
    for name, value in self.parameters.items():
      if not isinstance(value, str) and not typed_json.is_number(value):
        raise ValueError(
          f'parameters.{name} should be a number or a word, got '
          f'{typed_json.shown(value)}'
        )

  @property
  def words(self) -> str:
    """The design in a few words."""
    return ' '.join(
      [
        self.name,
        *(
          f'{name}={value:g}' if isinstance(value, float) else f'{name}={value}'
          for name, value in self.parameters.items()
        ),
      ]
    )


KINDS: dict[str, type[Problem]] = {
  each.kind: each
  for each in (SimulatedTask, UserLog, Selection, Coverage, SuiteCase, IVDesign)
}


def encode(problem: Problem) -> dict[str, Any]:
  """Returns a problem as JSON data with its kind."""
  data: dict[str, Any] = _plain(problem)
  return data


def hashed(data: Any) -> str:
  """Returns a short hash of JSON data."""
  text = json.dumps(data, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
  """Returns dataclasses as JSON data; problems say their kind."""
  if dataclasses.is_dataclass(value) and not isinstance(value, type):
    fields = {
      field.name: _plain(getattr(value, field.name))
      for field in dataclasses.fields(value)
    }
    return (
      {KIND: value.kind, **fields} if isinstance(value, Problem) else fields
    )
  if isinstance(value, Mapping):
    return {str(name): _plain(each) for name, each in value.items()}
  if isinstance(value, tuple | list):
    return [_plain(each) for each in value]
  if isinstance(value, float) and not typed_json.is_number(value):
    return None
  return value
