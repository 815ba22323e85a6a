"""What a dataset is: the request, and the record that lies next to the data."""

from collections.abc import Callable, Iterable, Mapping
import contextlib
import dataclasses
import hashlib
import json
import pathlib
import re
from typing import Any

from dfiv_ope import actions, limits, typed_json
from dfiv_ope.datasets import finding, record
from dfiv_ope.policies import episode_returns

SCHEMA = 2
METADATA = finding.METADATA
# Of a task's dataset: enough for its evaluation, small enough for a laptop.
_TRANSITIONS = {'catch': 20_000, 'mountain_car': 60_000, 'cartpole': 60_000}
_CONTROL_TRANSITIONS, _OTHER_TRANSITIONS = 100_000, 50_000


def usual_transitions(task: str) -> int:
  """Returns how many transitions a dataset of a task has by default."""
  other = (
    _CONTROL_TRANSITIONS if task.startswith('control:') else _OTHER_TRANSITIONS
  )
  return _TRANSITIONS.get(task, other)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
  """How a dataset is made; same spec and policy, same data.

  Attributes:
    task: name of the environment.
    action_noise: probability that the environment replaces an action. Where
      actions are vectors: standard deviation of the Gaussian noise that the
      environment adds to them, as a part of half the range of the bounds.
    epsilon: extra probability of a uniform action in the behaviour policy.
      Where actions are vectors: standard deviation of the Gaussian noise that
      the behaviour policy adds, as a part of half the range. Variances add up:
      a target policy with 0.2 is logged with 0.28, which is wider, so that the
      log holds all that the target does.
    discount: discount of the value that is asked for.
    transitions: at least as many are collected, in whole episodes.
    seed: of collection and simulation.
  """

  task: str
  action_noise: float = 0.2
  epsilon: float = 0.2
  discount: float = 0.99
  transitions: int = 20_000
  seed: int = 0

  def __post_init__(self) -> None:
    for name in ('action_noise', 'epsilon'):
      if not 0.0 <= getattr(self, name) <= 1.0:
        raise ValueError(
          f'{name} must lie in [0, 1], got {getattr(self, name)}.'
        )
    limits.share('discount', self.discount)
    if self.transitions < 1:
      raise ValueError(
        f'transitions must be at least 1, got {self.transitions}.'
      )
    if self.seed < 0:
      raise ValueError(f'seed must not be negative, got {self.seed}.')

  @property
  def id(self) -> str:
    """A name for people and file systems; dots are written as p."""
    name = (
      f'{self.task.replace(":", "-")}-noise-{self.action_noise:g}-'
      f'epsilon-{self.epsilon:g}-'
      f'discount-{self.discount:g}-{self.transitions}-seed-{self.seed}'
    )
    return name.replace('.', 'p')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Log:
  """Where the log of a user comes from.

  Attributes:
    name: what the user calls it.
    source: name of the file, without its directories.
    format: of the file.
    mapping: what its columns mean.
    discount: discount of the value that is asked for.
  """

  name: str
  source: str
  format: str
  mapping: Mapping[str, Any]
  discount: float = 0.99

  def __post_init__(self) -> None:
    limits.share('discount', self.discount)

  @property
  def id(self) -> str:
    """A name for people and file systems."""
    return re.sub('[^A-Za-z0-9_-]+', '-', self.name).strip('-') or 'log'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metadata:
  """The record of a complete dataset.

  Attributes:
    spec: how it was made, or where it was imported from.
    num_observations: entries of an observation.
    num_actions: number of actions; 0 if they are vectors.
    transitions: number of transitions.
    episodes: number of episodes.
    truncated: number of episodes that were cut off rather than terminated.
    digest: SHA-256 of the content, independent of how it is stored.
    files: size and SHA-256 of each file of the store, by relative path.
    truth: value of the target policy by simulation; None if there is nothing
      to simulate.
    behaviour: average discounted return of the logged episodes.
    policy: where the target policy comes from; None if there is none.
    versions: of the programs that made it.
    action_labels: names of the actions; empty if they are numbers.
    annotations: names of the further columns of the log.
    observations: names of the entries of an observation; empty if they are
      only numbered.
    categorical: labels of the categorical ones by name: numbers as they are
      stored, or text in the order of the places that are stored.
    continuous: what the actions are if they are vectors, else None.
  """

  spec: Spec | Log
  num_observations: int
  num_actions: int
  transitions: int
  episodes: int
  truncated: int
  digest: str
  files: Mapping[str, Mapping[str, Any]]
  truth: episode_returns.MonteCarlo | None
  behaviour: episode_returns.MonteCarlo
  policy: Mapping[str, Any] | None
  versions: Mapping[str, str]
  action_labels: tuple[str, ...] = ()
  annotations: tuple[str, ...] = ()
  observations: tuple[str, ...] = ()
  categorical: Mapping[str, tuple[Any, ...]] = dataclasses.field(
    default_factory=dict
  )
  continuous: actions.Continuous | None = None

  @property
  def action_entries(self) -> int:
    """Entries of an action that is a vector; 0 if there are A actions."""
    return self.continuous.size if self.continuous else 0

  @property
  def categories(self) -> dict[int, tuple[Any, ...]]:
    """Labels of the categorical columns by their number."""
    return {
      index: self.categorical[name]
      for index, name in enumerate(self.observations)
      if name in self.categorical
    }

  @property
  def time_feature(self) -> bool:
    """Whether the last observation is the number of the step."""
    return isinstance(self.spec, Log) and bool(
      self.spec.mapping.get('time_feature')
    )

  @property
  def policy_digest(self) -> str:
    """A digest of the policy that lies beside a made dataset.

    It is that of the network's config and weights: TensorFlow writes the same
    graph differently each time.
    """
    weights = {
      name: file['sha256']
      for name, file in self.files.items()
      if name.startswith('policy/variables/')
    }
    policy = self.policy or {}
    config = policy.get('dqn', policy.get('td3'))
    text = json.dumps([config, weights], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

  def __post_init__(self) -> None:
    for name in ('num_observations', 'num_actions', 'transitions', 'episodes'):
      if name == 'num_actions' and self.continuous:
        if self.num_actions:
          raise ValueError(
            'num_actions must be 0 where actions are vectors, got '
            f'{self.num_actions}.'
          )
      elif getattr(self, name) < 1:
        raise ValueError(
          f'{name} must be at least 1, got {getattr(self, name)}.'
        )
    if not 0 <= self.truncated <= self.episodes:
      raise ValueError(
        f'truncated must lie in 0..{self.episodes}, got {self.truncated}.'
      )
    if self.action_labels and len(self.action_labels) != self.num_actions:
      raise ValueError(
        f'There are {len(self.action_labels)} labels for '
        f'{self.num_actions} actions.'
      )
    for name, file in self.files.items():
      path = pathlib.PurePosixPath(name)
      if path.is_absolute() or '..' in path.parts or not path.parts:
        raise ValueError(
          f'files names {name!r}, which lies outside of the dataset.'
        )
      if (
        set(file) != {'bytes', 'sha256'}
        or not isinstance(file['bytes'], int)
        or not isinstance(file['sha256'], str)
      ):
        raise ValueError(f'files should say bytes and sha256 of {name!r}.')

  def to_json(self) -> str:
    """Returns the record as indented JSON."""
    fields = dataclasses.asdict(self)
    if self.continuous is None:
      del fields['continuous']  # As it was before there were vectors.
    return record.dump({'schema': SCHEMA, **fields})

  @classmethod
  def from_json(cls, text: str, *, source: pathlib.Path) -> 'Metadata':
    """Reads a record.

    Args:
      text: what `to_json` returned.
      source: the file it comes from, for messages.

    Raises:
      ValueError: it is not JSON, of another schema, not complete, or was
        changed.
    """
    fields = record.parse(text, source=source)
    schema = fields.get('schema')
    if type(schema) is not int:
      raise ValueError(
        f'{source} is not the record of a dataset: it has no schema version. '
        'Make the dataset again.'
      )
    if schema != SCHEMA:
      raise ValueError(
        f'{source} has schema version {schema}, but this program reads '
        f'version {SCHEMA}. Make the dataset again, or use the version of '
        'dfiv-ope that wrote it.'
      )
    values = {
      name: value
      for name, value in fields.items()
      if name not in ('schema', record.DIGEST)
    }
    try:
      result = typed_json.fields(cls, values, gaps=True)
      record.verify(fields)
    except ValueError as error:
      raise ValueError(
        f'{source}: {str(error).rstrip(".")}. Copy the dataset or make it '
        'again.'
      ) from error
    return result


def read_metadata(path: pathlib.Path) -> Metadata:
  """Reads the record of the dataset at a path.

  Raises:
    FileNotFoundError: there is no complete dataset.
    ValueError: it is a log, or the record cannot be used.
  """
  finding.require(path)
  file = path / METADATA
  return Metadata.from_json(record.read(file), source=file)


def first(
  folders: Iterable[pathlib.Path], wanted: Callable[[Metadata], bool]
) -> pathlib.Path | None:
  """Returns the first dataset in some folders whose record is wanted.

  What is damaged or of another version is passed over.
  """
  for folder in folders:
    for file in sorted(folder.glob(f'*/{METADATA}')):
      with contextlib.suppress(OSError, ValueError):
        if wanted(read_metadata(file.parent)):
          return file.parent
  return None


def is_transitions(metadata: Metadata) -> bool:
  """Returns whether a dataset is of transitions without episodes."""
  return isinstance(metadata.spec, Log) and bool(
    metadata.spec.mapping.get('transitions')
  )
