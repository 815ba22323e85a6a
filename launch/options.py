"""Options that several commands share, each with its help and its bounds.

    def evaluate(
        out: options.Out, method: options.Methods = None,
        running: options.Running = options.RUNNING) -> None:

Options that go together are a dataclass (see `once`). A value out of bounds is
refused as it is parsed, before any work.
"""

from collections.abc import Callable, Sequence
import dataclasses
import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope import agents, envs, hints, limits, overrides, registry
from dfiv_ope.agents.entries import trainers
from dfiv_ope.iv import methods as iv_methods
from dfiv_ope.launch import completion

PRESETS, BUDGETS = registry.PRESETS, registry.BUDGETS
ALL = 'all'
AUTO = 'auto'
DEFAULT_OUT = pathlib.Path('runs')


def _checked(check: Callable[[Any], None]) -> Callable[[Any], Any]:
  """Returns what refuses a value as `check` does, if there is a value."""

  def refuse(value: Any) -> Any:
    if value is not None:
      check(value)
    return value

  return refuse


def _count(name: str, *, most: int) -> Callable[[Any], Any]:
  return _checked(lambda value: limits.count(name, value, most=most))


def one_of(kind: str, names: tuple[str, ...]) -> dict[str, Any]:
  """Returns how an option completes some names and refuses all others."""
  return {
    'callback': _checked(lambda name: hints.require(kind, name, names)),
    'autocompletion': completion.among(names),
  }


Out = Annotated[
  pathlib.Path,
  typer.Option(
    '--out',
    help='Run directory: result rows are written here, and a run '
    'that has its row here is not run again.',
    metavar='DIR',
  ),
]

Dataset = Annotated[
  pathlib.Path,
  typer.Argument(help='Directory of a dataset.', metavar='DATASET'),
]

Log = Annotated[
  pathlib.Path,
  typer.Argument(
    help='Directory of a dataset; or a Parquet or CSV file of a log, or a '
    'folder of such files.',
    metavar='DATASET',
  ),
]


def _each(methods: list[str] | None) -> list[str] | None:
  """Returns methods of which some are named together, with commas.

  A comma behind name:setting=value is followed by another setting.
  """
  return methods and [
    name.strip()
    for text in methods
    for name in ([text] if ':' in text else text.split(','))
  ]


def _of_methods(
  names: Sequence[str], default: Sequence[str], *, auto: bool = False
) -> Any:
  """Returns the option that names methods."""
  known = (*names, ALL, AUTO) if auto else (*names, ALL)
  return typer.Option(
    '--method',
    callback=_each,
    help=f'Estimator: {", ".join(names)}, or all; with commas, or repeated. '
    f'{overrides.SYNTAX}.'
    + (
      ' auto selects one by held-out episodes, among those that are named '
      'beside it.'
      if auto
      else ''
    )
    + (f' Without it: {", ".join(default)}.' if default else ''),
    metavar='METHOD',
    autocompletion=completion.among(known),
  )


# What `evaluate` runs without a --method: the closed forms and FQE, in about a
# minute; and what one question to many logs or policies is answered by.
EVALUATED, ONE = ('lstd', 'kiv', 'fqe'), ('lstd',)
# On designs of a benchmark, and on the suite of designs.
IV_ONE, IV_SUITE = ('dfiv',), ('two_sls', 'sieve', 'kiv', 'agmm', 'auto')

Evaluated = Annotated[
  list[str] | None, _of_methods(agents.NAMES, EVALUATED, auto=True)
]
Methods = Annotated[list[str] | None, _of_methods(agents.NAMES, ONE)]
IVNamed = Annotated[list[str] | None, _of_methods(iv_methods.NAMES, ())]
IVMethods = Annotated[list[str] | None, _of_methods(iv_methods.NAMES, IV_ONE)]
IVSuite = Annotated[list[str] | None, _of_methods(iv_methods.NAMES, IV_SUITE)]

Seeds = Annotated[
  int,
  typer.Option(
    '--seeds',
    help='Number of seeds (0, 1, 2, ...): each method is run once '
    'per seed, and its estimates are averaged.',
    metavar='N',
    callback=_count('--seeds', most=limits.SEEDS),
  ),
]

Preset = Annotated[
  str,
  typer.Option(
    '--config',
    help="default: tuned by held-out losses; paper: the paper's "
    'networks and hyper-parameters.',
    metavar='|'.join(PRESETS),
    **one_of('config', PRESETS),
  ),
]

Settings = Annotated[
  list[str] | None,
  typer.Option(
    '--set',
    help="Changes one hyper-parameter of the method's config; may be "
    'repeated. A wrong name answers with all there are.',
    metavar='NAME=VALUE',
  ),
]


def _of_policies(without: str) -> Any:
  """Returns the option that names target policies."""
  return typer.Option(
    '--policy',
    help='Target policy: a directory with a SavedModel, an .onnx '
    'file, a Python function as package.module:function, uniform, '
    'behaviour-clone, or columns (target probabilities in the log). May be '
    f'repeated, and NAME=SPEC says what tables call it. {without}',
    metavar='[NAME=]SPEC',
    autocompletion=completion.policy,
  )


Policies = Annotated[
  list[str] | None, _of_policies('Without it the target policy of the dataset.')
]
Compared = Annotated[list[str] | None, _of_policies('Two at least are needed.')]

Truths = Annotated[
  list[str] | None,
  typer.Option(
    '--truth',
    help='Known value of a policy, for errors and ranks; may be '
    'repeated. VALUE alone is for one policy.',
    metavar='[NAME=]VALUE',
  ),
]

Initial = Annotated[
  pathlib.Path | None,
  typer.Option(
    '--initial',
    help='Start states, in a CSV, Parquet or npz with the columns '
    'of the observations: the value is the mean over them.',
    metavar='FILE',
  ),
]

TrustPolicy = Annotated[
  bool,
  typer.Option(
    '--trust-policy',
    help='Load a SavedModel even if its operations may do '
    'more than compute, such as read or write files.',
  ),
]

Workers = Annotated[
  int | None,
  typer.Option(
    '--workers',
    help='Processes at the same time. Without it: one for each '
    'core in sweeps and reproductions, one elsewhere.',
    metavar='N',
    callback=_count('--workers', most=limits.JOBS),
  ),
]

Ray = Annotated[
  str | None,
  typer.Option(
    '--ray',
    help='Run on this Ray cluster, or on one of this machine with '
    'local. --out must be a directory that all nodes share.',
    metavar='HOST:PORT',
  ),
]

DryRun = Annotated[
  bool,
  typer.Option(
    '--dry-run', help='Only list what would be run and what is there already.'
  ),
]

Json = Annotated[
  bool,
  typer.Option(
    '--json', help='Print JSON, and nothing else, to standard output.'
  ),
]

Level = Annotated[
  float,
  typer.Option(
    '--level',
    '--interval',
    help='Confidence level of the intervals: '
    'bootstrap over episodes, plus the spread of the seeds.',
    metavar='SHARE',
    callback=_checked(
      lambda level: limits.share('--level', level, open_ends=True)
    ),
  ),
]

Archive = Annotated[
  str | None,
  typer.Option(
    '--dsprites',
    help='The real dSprites archive (npz); without it pictures are drawn.',
    metavar='FILE',
  ),
]

MNIST = Annotated[
  str | None,
  typer.Option(
    '--mnist',
    help='Directory of the four idx files of MNIST; without it they '
    'are downloaded through Keras.',
    metavar='DIR',
  ),
]

Task = Annotated[
  str,
  typer.Argument(
    help='catch, mountain_car or cartpole; gym:ID of Gymnasium; '
    'control:DOMAIN-TASK of DM Control; or a function of a seed that returns a '
    'dm_env.Environment, as module:function.',
    metavar='TASK',
    autocompletion=completion.among(envs.OFFERED),
  ),
]

ActionNoise = Annotated[
  float,
  typer.Option(
    help='Probability that the environment replaces an action by a uniform '
    'one; of actions that are vectors, standard deviation of the Gaussian '
    'noise it adds, as a part of half the range of the bounds.'
  ),
]

Seed = Annotated[int, typer.Option(help='Same seed, same result.', min=0)]

PolicySettings = Annotated[
  list[str] | None,
  typer.Option(
    '--set',
    help='Changes a hyper-parameter of DQN, or of TD3 where actions '
    'are vectors, as name=value; '
    'repeatable.',
    metavar='NAME=VALUE',
  ),
]


def training(
  task: str, action_noise: float, seed: int, settings: list[str] | None
) -> trainers.Training:
  """Returns the training that `Task` and the options after it ask for.

  Raises:
    ValueError: there is no such task, or an option does not fit it.
  """
  limits.count('--seed', seed, least=0, most=limits.SEED)
  envs.require(task)
  envs.make(task, action_noise=action_noise, seed=0)  # refuses what is wrong
  return trainers.training(
    task,
    action_noise,
    seed=seed,
    settings=settings or [],
    continuous=envs.is_continuous(task),
  )


# Lists with commas, as a sweep has them.
TaskList = Annotated[
  str | None,
  typer.Option(
    '--tasks',
    help='Environments: catch, mountain_car, cartpole, all for '
    'these three; gym:ID, control:DOMAIN-TASK, or module:function; with '
    'commas.',
    metavar='TASKS',
    autocompletion=completion.among((*envs.OFFERED, ALL), commas=True),
  ),
]

MethodList = Annotated[
  str | None,
  typer.Option(
    '--methods',
    help=f'Estimators: {", ".join(agents.NAMES)}, or all; with commas.',
    metavar='METHODS',
    autocompletion=completion.among((*agents.NAMES, ALL), commas=True),
  ),
]

PresetList = Annotated[
  str | None,
  typer.Option(
    '--configs',
    help='default, paper, or both with a comma.',
    metavar='CONFIGS',
    autocompletion=completion.among((*PRESETS, ALL), commas=True),
  ),
]

Budget = Annotated[
  str | None,
  typer.Option(
    '--budget',
    help='full: train as long as the configs say; quick: for seconds.',
    metavar='|'.join(BUDGETS),
    autocompletion=completion.among(BUDGETS),
  ),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Running:
  """Where a command runs, and how it answers."""

  workers: Workers = None
  ray: Ray = None
  as_json: Json = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweeping:
  """Where a sweep runs, and whether it only says what it would run."""

  workers: Workers = None
  dry_run: DryRun = False
  ray: Ray = None


# Groups of which nothing was said.
RUNNING, SWEEPING = Running(), Sweeping()
