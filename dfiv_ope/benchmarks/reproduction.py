"""The experiments of the paper as data: what each budget asks for."""

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials

# What each budget asks of a sweep.
OPE: dict[str, dict[str, Any]] = {
  'quick': {'noises': (0.0, 0.2, 0.5), 'seeds': 2},
  'full': {'noises': (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 'seeds': 5},
}
# The tasks of the follow-up paper (Chen et al., 2022) with noise in actions.
_CONTROL: dict[str, Any] = {
  'noises': (0.0, 0.4, 1.0),
  'methods': ('lstd', 'fqe', 'dfiv'),
  'truth_episodes': 1_000,
}
CONTROL: dict[str, dict[str, Any]] = {
  'quick': {**_CONTROL, 'transitions': 100_000, 'seeds': 1},
  'full': {**_CONTROL, 'transitions': 200_000, 'seeds': 3},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
  """What a budget asks of an instrumental-variable benchmark.

  Attributes:
    methods: with our configs.
    paper: with those of the paper.
    seeds: of each run.
    designs: fields of each design.
    watch: whether errors are measured during the training too.
    words: what it runs and how long that takes, as `--help` says it.
  """

  methods: tuple[str, ...]
  paper: tuple[str, ...] = ()
  seeds: int = 1
  designs: tuple[dict[str, Any], ...]
  watch: bool = False
  words: str


_SPRITES = ('two_sls', 'kiv', 'deepiv', 'deepgmm', 'dfiv')
_OUTCOMES = tuple({'outcome': each} for each in ('area', 'orientation'))
# Levels of rho.
_CONFOUNDING = (0.1, 0.25, 0.5, 0.75, 0.9)
_SCENARIOS = tuple({'scenario': each} for each in ('x', 'z', 'xz'))
# What the paper compares and the methods that are ours.
_DEMAND = ('two_sls', 'sieve', 'kiv', 'agmm', 'deepiv', 'deepgmm', 'dfiv')
IV: dict[str, dict[str, Plan]] = {
  'demand': {
    'quick': Plan(
      methods=('two_sls', 'sieve', 'kiv', 'agmm', 'dfiv'),
      seeds=3,
      designs=({'n': 1000}, {'n': 5000}),
      words='n = 1000 and 5000, rho = 0.5, three seeds, without DeepIV and '
      'DeepGMM; three minutes on one core.',
    ),
    'full': Plan(
      methods=_DEMAND,
      paper=('kiv', 'deepiv', 'deepgmm', 'dfiv'),
      seeds=20,
      designs=tuple(
        {'n': n, 'rho': rho} for n in (1000, 5000) for rho in _CONFOUNDING
      ),
      words='n = 1000 and 5000, five levels of rho, 20 seeds, ours and the '
      "paper's configs; about five hours on one core.",
    ),
  },
  'dsprites': {
    'quick': Plan(
      methods=_SPRITES,
      paper=('kiv',),
      seeds=3,
      designs=_OUTCOMES,
      words='n = 5000, three seeds; half an hour on one core.',
    ),
    'full': Plan(
      methods=_SPRITES,
      paper=('kiv', 'deepgmm', 'dfiv'),
      seeds=5,
      designs=tuple(
        {**each, 'n': n} for each in _OUTCOMES for n in (1000, 5000, 10_000)
      ),
      words='n = 1000, 5000 and 10000, five seeds, ours and the '
      "paper's configs; about seven hours on one core.",
    ),
  },
  'demand-mnist': {
    'quick': Plan(
      methods=('kiv', 'deepiv', 'dfiv'),
      designs=({},),
      words='rho = 0.5, one seed; half an hour on one core.',
    ),
    'full': Plan(
      methods=('kiv', 'deepiv', 'deepgmm', 'dfiv'),
      paper=('kiv', 'deepiv', 'deepgmm', 'dfiv'),
      seeds=5,
      designs=tuple({'rho': rho} for rho in _CONFOUNDING),
      words="five levels of rho, five seeds, ours and the paper's "
      "configs; the paper's networks take one to nine hours a run, and all "
      'together two weeks on one core.',
    ),
  },
  'mnist': {
    'quick': Plan(
      methods=('deepgmm', 'dfiv'),
      designs=_SCENARIOS,
      words='one seed; half an hour on one core.',
    ),
    'full': Plan(
      methods=('deepgmm', 'dfiv'),
      seeds=5,
      designs=_SCENARIOS,
      words='five seeds; two hours on one core.',
    ),
  },
  'instability': {
    'quick': Plan(
      methods=('deepgmm', 'dfiv'),
      seeds=2,
      designs=({},),
      watch=True,
      words='our configs, two seeds; ten minutes on one core.',
    ),
    'full': Plan(
      methods=('deepgmm', 'dfiv'),
      paper=('deepgmm', 'dfiv'),
      seeds=5,
      designs=({},),
      watch=True,
      words="ours and the paper's, five seeds; an hour on one core.",
    ),
  },
}


def designs(
  name: str, budget: str, pictures: str | None
) -> list['trials.Design']:
  """Returns the designs that a budget asks of a benchmark.

  Args:
    name: of the benchmark, as in `IV`.
    budget: 'quick' or 'full'.
    pictures: where they are; None for those that need no path.
  """
  from dfiv_ope.benchmarks import (
    demand,
    demand_mnist,
    dsprites,
    mnist_scenarios,
  )

  wanted = IV[name][budget].designs
  if name == 'demand':
    return [demand.Demand(**fields) for fields in wanted]
  if name == 'mnist':
    return [
      mnist_scenarios.MNISTScenario(mnist=pictures, **fields)
      for fields in wanted
    ]
  if name == 'demand-mnist':
    return [
      demand_mnist.DemandMNIST(mnist=pictures, **fields) for fields in wanted
    ]
  return [dsprites.DSprites(archive=pictures, **fields) for fields in wanted]
