"""The plan of a sweep: what is asked for, the jobs it takes, what is there.

Jobs are plain data, so that any process can run them (`jobs.run_job`). Each
needs at most one other job first: policy -> dataset -> cells. Policies and
datasets are named by a hash of all their settings; a cell is named by its row,
`results.key` of the question, the method, its config, version and seed.
"""

from collections.abc import Iterator
import dataclasses
import hashlib
import json
from typing import TYPE_CHECKING, Any

from dfiv_ope import agents, results
from dfiv_ope.launch import overrides, rows

if TYPE_CHECKING:
  from dfiv_ope.datasets import spec as spec_lib
  from dfiv_ope.launch import asked

# Seconds that jobs take, roughly: only their ratios matter, to a progress bar.
_SECONDS_OF_A_TRANSITION = 1 / 2_500
_SECONDS_OF_A_DATASET = 20.
_SECONDS_OF_A_CLOSED_FORM = 4.
_SECONDS_OF_AN_UPDATE = 0.01


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyJob:
  """Trains a target policy.

  Attributes:
    task: name of the environment.
    action_noise: probability that the environment replaces an action.
    seed: of the training.
    settings: changes of the hyper-parameters of DQN, each name=value.
    config: all hyper-parameters, as JSON.
  """
  task: str
  action_noise: float
  seed: int
  settings: tuple[str, ...]
  config: str
  kind = 'policies'

  @property
  def name(self) -> str:
    """Of its directory."""
    return _name(self, f'{self.task}-noise-{self.action_noise:g}-'
                       f'seed-{self.seed}')

  @property
  def group(self) -> tuple[str, str]:
    """Its line in a list: a problem and a job."""
    seed = f' data {self.seed}' if self.seed else ''
    return f'{self.task} {self.action_noise:g}{seed}', 'policy'

  @property
  def parent(self) -> None:
    """It needs no other job."""

  @property
  def weight(self) -> float:
    """Seconds it takes, roughly."""
    return json.loads(self.config)['transitions'] * _SECONDS_OF_A_TRANSITION


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetJob:
  """Makes the dataset of a policy.

  Attributes:
    parent: the job that makes the policy.
    epsilon: extra probability of a uniform action in the log.
    discount: of the value that is asked for.
    transitions: how many to collect.
    truth_episodes: how many episodes the true value may take.
  """
  parent: PolicyJob
  epsilon: float
  discount: float
  transitions: int
  truth_episodes: int
  kind = 'datasets'

  @property
  def spec(self) -> 'spec_lib.Spec':
    """How the dataset is made."""
    from dfiv_ope.datasets import spec as spec_lib
    return spec_lib.Spec(
        task=self.parent.task, action_noise=self.parent.action_noise,
        epsilon=self.epsilon, discount=self.discount, seed=self.parent.seed,
        transitions=self.transitions)

  @property
  def name(self) -> str:
    """Of its directory."""
    return _name(self, self.spec.id)

  @property
  def group(self) -> tuple[str, str]:
    """Its line in a list: a problem and a job."""
    return self.parent.group[0], 'dataset'

  @property
  def weight(self) -> float:
    """Seconds it takes, roughly."""
    return _SECONDS_OF_A_DATASET


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellJob:
  """Evaluates a policy from a dataset by a method, config and seed.

  Attributes:
    dataset: the job that makes the dataset.
    method: name of the method, or 'log' for the naive answer.
    preset: name of its config.
    settings: changes of it, each name=value.
    config: what comes of both, as JSON.
    seed: of the method.
    version: of the method's numbers.
    inference: settings of its interval, as JSON.
    target_epsilon: the target policy's probability of a uniform action.
    first: the cell that finds out the value of this target policy, if that is
      not the dataset's own.
  """
  dataset: DatasetJob
  method: str
  preset: str
  settings: tuple[str, ...]
  config: str
  seed: int
  version: int
  inference: str
  target_epsilon: float
  first: 'CellJob | None' = None

  @property
  def kind(self) -> str:
    """What it counts as."""
    return 'log returns' if self.method == rows.LOG else 'evaluations'

  @property
  def group(self) -> tuple[str, str]:
    """Its line in a list: a problem and a job."""
    target = f' target {self.target_epsilon:g}' if self.target_epsilon else ''
    return (self.dataset.group[0],
            f'{self.method} {self.preset}{target}')

  @property
  def parent(self) -> 'DatasetJob | CellJob':
    """The job it needs first."""
    return self.first or self.dataset

  @property
  def weight(self) -> float:
    """Seconds it takes, roughly."""
    if self.method == rows.LOG:
      return 1.
    updates = json.loads(self.config).get('updates', 0)
    return _SECONDS_OF_A_CLOSED_FORM + updates * _SECONDS_OF_AN_UPDATE

  def key(self, metadata: 'spec_lib.Metadata') -> str:
    """Returns the key of its row.

    Args:
      metadata: of the dataset.
    """
    return results.key(
        rows.describe(metadata, target_epsilon=self.target_epsilon),
        self.method, json.loads(self.config), self.seed,
        version=self.version, inference=json.loads(self.inference))


Job = PolicyJob | DatasetJob | CellJob


def label(job: Job) -> str:
  """Returns what people call a job."""
  problem, name = job.group
  seed = f' seed {job.seed}' if isinstance(job, CellJob) else ''
  return f'{name}{seed} {problem}'


def expand(request: 'asked.Request') -> list[Job]:
  """Returns all jobs of a sweep, each after the one it needs.

  This imports TensorFlow, for the configs of methods.

  Raises:
    ValueError: a setting of a method or of the policies is not valid.
  """
  from dfiv_ope.launch import dataset
  methods = list(_methods(request))
  jobs: dict[Job, None] = {}  # a set that keeps its order
  for policy in _policies(request):
    made = DatasetJob(
        parent=policy, epsilon=request.epsilon, discount=request.discount,
        transitions=request.transitions or dataset.TRANSITIONS[policy.task],
        truth_episodes=request.truth_episodes)
    jobs.update({policy: None, made: None})
    for target in request.target_epsilons:
      log = CellJob(
          dataset=made, method=rows.LOG, preset='default', settings=(), seed=0,
          config=_json(rows.LOG_CONFIG), version=rows.version(rows.LOG),
          inference='{}', target_epsilon=target)
      jobs[log] = None
      seen = set()
      for method in methods:
        for seed in range(request.seeds):
          cell = CellJob(
              dataset=made, seed=seed, target_epsilon=target,
              first=log if target else None, **method)
          # Two presets may come to the same config.
          if (run := (cell.method, cell.config, seed)) not in seen:
            seen.add(run)
            jobs[cell] = None
  return list(jobs)


def _methods(request: 'asked.Request') -> Iterator[dict[str, Any]]:
  """Yields what cells of each method and preset have in common."""
  from dfiv_ope import configs
  for name in request.methods:
    for preset in request.configs:
      settings = request.changes(name)
      config = overrides.apply(agents.load(name).CONFIGS[preset], settings)
      yield {'method': name, 'preset': preset, 'settings': settings,
             'config': _json(configs.encode(config)),
             'version': rows.version(name),
             'inference': _json(rows.inference(name))}


def _policies(request: 'asked.Request') -> Iterator[PolicyJob]:
  from dfiv_ope.agents import dqn
  for task in request.tasks:
    config = overrides.apply(dqn.TUNED[task], request.policy)
    for noise in request.noises:
      for seed in range(request.dataset_seeds):
        yield PolicyJob(
            task=task, action_noise=noise, seed=seed, settings=request.policy,
            config=_json(dataclasses.asdict(config)))


def _name(job: Job, readable: str) -> str:
  """Returns a name that people can read and that no other job has."""
  text = json.dumps(dataclasses.asdict(job), sort_keys=True)
  digest = hashlib.sha256(text.encode()).hexdigest()[:8]
  return f'{readable}-{digest}'.replace('.', 'p')


def _json(data: Any) -> str:
  return json.dumps(data, sort_keys=True)
