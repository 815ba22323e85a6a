"""What a sweep is asked for, from options or from a YAML file."""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import math
from typing import Any

from dfiv_ope import agents, configs, envs, hints, limits, overrides, registry
from dfiv_ope.agents import configured

# Name, least, most.
_COUNTS = (
  ('seeds', 1, limits.SEEDS),
  ('dataset_seeds', 1, limits.SEEDS),
  ('transitions', 1, limits.TRANSITIONS),
  ('truth_episodes', 2, limits.TRUTH_EPISODES),
)

_KNOWN = {
  'tasks': envs.TASKS,
  'methods': agents.NAMES,
  'configs': registry.PRESETS,
}

# What one of them is called; settings are named by methods.
_SINGULAR = {
  'tasks': 'task',
  'methods': 'method',
  'configs': 'config',
  'settings': 'method',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepSpec:
  """A grid of evaluations; the defaults are the paper's.

  Attributes:
    tasks: names of environments.
    noises: of actions, in the environment.
    methods: names of methods; by default those that learn a Q-function.
    configs: presets of their configs, 'default' and 'paper'.
    budget: 'full' trains as long as the configs say, 'quick' for seconds.
    seeds: number of runs of a method on a dataset.
    settings: for methods, changes of their configs, each name=value.
    target_epsilons: target policies: the dataset's, with so much more noise
      (see `datasets.spec.Spec.epsilon`).
    dataset_seeds: number of policies and datasets of a task and noise.
    epsilon: extra noise in the logs.
    discount: of the values that are asked for.
    transitions: of a dataset; None takes the task's own number.
    truth_episodes: a true value takes at most as many episodes.
    policy: changes of the hyper-parameters of DQN or TD3, each name=value.
  """

  tasks: tuple[str, ...] = envs.TASKS
  noises: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
  methods: tuple[str, ...] = agents.LEARNERS
  configs: tuple[str, ...] = ('default',)
  budget: str = 'full'
  seeds: int = 5
  settings: Mapping[str, tuple[str, ...]] = dataclasses.field(
    default_factory=dict
  )
  target_epsilons: tuple[float, ...] = (0.0,)
  dataset_seeds: int = 1
  epsilon: float = 0.2
  discount: float = 0.99
  transitions: int | None = None
  truth_episodes: int = 40_000
  policy: tuple[str, ...] = ()

  def __post_init__(self) -> None:
    for name, known in _KNOWN.items():
      _check_known(name, getattr(self, name), known)
    hints.require('budget', self.budget, registry.BUDGETS)
    _check_known('settings', tuple(self.settings), agents.NAMES)
    for name in ('noises', 'target_epsilons', 'epsilon'):
      value = getattr(self, name)
      for each in value if isinstance(value, tuple) else (value,):
        limits.share(name, each)
    limits.share('discount', self.discount)
    for name, least, most in _COUNTS:
      number = getattr(self, name)
      if number is not None:
        limits.count(name, number, least=least, most=most)
    for name in ('tasks', 'noises', 'methods', 'configs', 'target_epsilons'):
      if not getattr(self, name):
        raise ValueError(f'{name} must name at least one.')
    idle = set(self.settings) - set(self.methods)
    if idle:
      raise ValueError(
        f'There are settings of {", ".join(sorted(idle))}, but the methods '
        f'are only {", ".join(self.methods)}.'
      )
    runs = math.prod(
      (
        len(self.tasks),
        len(self.noises),
        self.dataset_seeds,
        len(self.target_epsilons),
        len(self.methods),
        len(self.configs),
        self.seeds,
      )
    )
    if runs > limits.RUNS:
      raise ValueError(
        f'This sweep has {runs:,} runs, but at most {limits.RUNS:,} are '
        'allowed at once. Ask for fewer seeds, noises or datasets.'
      )

  def wanted(self) -> Iterator[configured.Configured]:
    """Yields each method with each preset, changed as the sweep says.

    A preset that is no other than one before it is not run twice: most methods
    that the paper does not have.

    Raises:
      ValueError: a setting is not valid.
    """
    for method in self.methods:
      entry = agents.ENTRIES[method]
      own = self.settings.get(method, ())
      taken = {text.partition('=')[0] for text in own}
      quick = [
        text
        for text in entry.quick
        if self.budget == 'quick' and text.partition('=')[0] not in taken
      ]
      for place, preset in enumerate(self.configs):
        config = entry.configs[preset]
        if any(config == entry.configs[each] for each in self.configs[:place]):
          continue
        yield configured.configure(method, preset, (*quick, *own))


def parse(data: Mapping[str, Any]) -> SweepSpec:
  """Returns the sweep that YAML data or options ask for.

  Args:
    data: by the names of `SweepSpec`. Lists may be written with commas,
      'all' stands for all methods or tasks, and settings are mappings.

  Raises:
    ValueError: a key is unknown or its value not of its type.
  """
  configs.check_names(data, SweepSpec, what='A sweep', names='The keys')
  values: dict[str, Any] = {}
  for name, value in data.items():
    if name == 'settings':
      values[name] = {
        str(method): overrides.from_mapping(f'settings of {method}', each)
        for method, each in overrides.mapping(name, value).items()
      }
    elif name == 'policy':
      values[name] = overrides.from_mapping(name, value)
    elif name in ('tasks', 'methods', 'configs'):
      names = tuple(dict.fromkeys(map(str, overrides.items(value))))
      named = tuple(each for each in names if each != 'all')
      _check_known(name, named, _KNOWN[name])
      values[name] = named if named == names else _KNOWN[name]
    elif name in ('noises', 'target_epsilons'):
      values[name] = tuple(
        dict.fromkeys(
          overrides.number(name, each, float) for each in overrides.items(value)
        )
      )
    elif name == 'budget':
      values[name] = str(value)
    elif value is not None or name != 'transitions':
      kind = float if name in ('epsilon', 'discount') else int
      values[name] = overrides.number(name, value, kind)
  return SweepSpec(**values)


def _check_known(
  name: str, values: Sequence[str], known: Sequence[str]
) -> None:
  for value in values:
    if name == 'tasks':
      envs.require(value, also=['all'])
    elif value not in known:
      raise ValueError(hints.unknown(_SINGULAR[name], value, [*known, 'all']))
