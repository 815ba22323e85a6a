"""`dfiv-ope reproduce`: the experiments of the paper, one command each."""

from collections.abc import Callable
import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope import envs, limits, overrides
from dfiv_ope.benchmarks import reproduction
from dfiv_ope.launch import options

Out = Annotated[
  pathlib.Path,
  typer.Option(help='Run directory; its report goes into a folder of it.'),
]


def _budget(quick: str, full: str) -> Any:
  return typer.Option(
    help=f'quick: {quick} full: {full}',
    **options.one_of('budget', tuple(reproduction.OPE)),
  )


def ope(
  out: Out,
  budget: Annotated[
    str,
    _budget(
      'noise 0, 0.2 and 0.5, two seeds, short training; half an hour on two '
      'cores.',
      'six levels, five seeds, training as long as the configs say; about '
      'three hours on two cores.',
    ),
  ] = 'quick',
  sweeping: options.Sweeping = options.SWEEPING,
) -> None:
  """Off-policy evaluation: errors against noise on the three tasks.

  Every method runs with the paper's config and with the default one, side by
  side. The report shows the paper's figure. A killed run goes on when the same
  command is given again.

      dfiv-ope reproduce ope --budget quick --out runs
  """
  from dfiv_ope.evaluation import sweep_spec
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan

  spec = sweep_spec.SweepSpec(
    configs=('default', 'paper'), budget=budget, **reproduction.OPE[budget]
  )
  runner.sweep(
    plan.sweep(spec), out, sweeping, title='Reproducing', report=True
  )


def control(
  out: Out,
  budget: Annotated[
    str,
    _budget(
      'one seed, logs of 100,000 steps, short training.',
      'three seeds, logs of 200,000 steps, training as long as the configs '
      'say.',
    ),
  ] = 'quick',
  sweeping: options.Sweeping = options.SWEEPING,
) -> None:
  """Actions that are vectors: four DM Control tasks, three levels of noise.

  Needs the extra `control`. Policies take some CPU minutes each.

      dfiv-ope reproduce control --out runs
  """
  from dfiv_ope.evaluation import sweep_spec
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan

  envs.make(envs.CONTROL[0], seed=0)  # Refuses if DM Control is missing.
  spec = sweep_spec.SweepSpec(
    tasks=envs.CONTROL, budget=budget, **reproduction.CONTROL[budget]
  )
  runner.sweep(
    plan.sweep(spec), out, sweeping, title='Reproducing', report=True
  )


def suite(
  out: Out,
  methods: options.MethodList = None,
  cases: Annotated[
    str,
    typer.Option(
      help='quick: one of each half of each family of the first set; all; a '
      'part (development, held_out, or these with _2 or _3); or how their '
      'names begin, such as a family.'
    ),
  ] = 'quick',
  logs: Annotated[int, typer.Option(help='Logs of a case.', min=1)] = 1,
  seeds: options.Seeds = 1,
  budget: options.Budget = 'quick',
  sweeping: options.Sweeping = options.SWEEPING,
) -> None:
  """Logs whose answers are known: errors, coverage and costs of all methods.

  The report has a table for each fact of the cases, and all of them in
  suite.md, suite.csv and suite_answers.csv. A killed run goes on when the same
  command is given again.

      dfiv-ope reproduce suite --methods lstd,wis,dr --cases all --out runs
  """
  from dfiv_ope.cases import suite as suite_lib
  from dfiv_ope.evaluation import sweep_spec
  from dfiv_ope.launch import console, runner
  from dfiv_ope.launch.experiments import plan

  spec = sweep_spec.parse({'methods': methods or 'all', 'budget': budget})
  limits.count('--logs', logs, most=limits.LOGS)
  names, notes = suite_lib.select(cases)
  for note in notes:
    console.note(note)
  planned = plan.suite(
    names, list(spec.wanted()), logs=logs, seeds=seeds, level=0.95
  )
  runner.sweep(planned, out, sweeping, title='Suite', report=True)


def demand(
  out: Out,
  budget: Annotated[
    str,
    _budget(
      reproduction.IV['demand']['quick'].words,
      reproduction.IV['demand']['full'].words,
    ),
  ] = 'quick',
  sweeping: options.Sweeping = options.SWEEPING,
) -> None:
  """The demand design: all methods by confounding and number of rows.

  Draw the paper's figure from its rows with `dfiv-ope iv demand --figure mse`.

      dfiv-ope reproduce demand --out runs
  """
  _reproduce('demand', budget, None, out, sweeping)


def _benchmark(name: str, pictures: Any, words: str) -> Callable[..., None]:
  """Returns the command of a benchmark of `reproduction.IV` with pictures.

  Args:
    name: of the benchmark.
    pictures: the option that says where its pictures are.
    words: the help of the command.
  """
  plans = reproduction.IV[name]

  def command(
    out: Out,
    budget: Annotated[
      str, _budget(plans['quick'].words, plans['full'].words)
    ] = 'quick',
    path: str | None = None,
    sweeping: options.Sweeping = options.SWEEPING,
  ) -> None:
    _reproduce(name, budget, path, out, sweeping)

  command.__doc__ = words
  command.__annotations__['path'] = pictures
  return command


def _reproduce(
  name: str,
  budget: str,
  pictures: str | None,
  out: pathlib.Path,
  sweeping: options.Sweeping,
) -> None:
  """Runs what a budget asks of a benchmark of `reproduction.IV`."""
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan

  wanted = reproduction.IV[name][budget]
  designs = reproduction.designs(name, budget, pictures)
  asked = [
    experiment
    for preset, names in (('default', wanted.methods), ('paper', wanted.paper))
    for experiment in plan.designs(
      designs,
      [overrides.Wanted(each, ()) for each in names],
      seeds=wanted.seeds,
      preset=preset,
      watch=wanted.watch,
    )
  ]
  runner.sweep(asked, out, sweeping, title='Reproducing', report=True)


dsprites = _benchmark(
  'dsprites',
  options.Archive,
  """
    Pictures as treatments: errors of all methods, for both outcomes.

        dfiv-ope reproduce dsprites --out runs
    """,
)
demand_mnist = _benchmark(
  'demand-mnist',
  options.MNIST,
  """
    The demand design with a digit for the customer group.

        dfiv-ope reproduce demand-mnist --mnist DIR --out runs
    """,
)
mnist = _benchmark(
  'mnist',
  options.MNIST,
  """
    The digits of Bennett et al.: DFIV and DeepGMM, three scenarios.

        dfiv-ope reproduce mnist --mnist DIR --out runs
    """,
)
instability = _benchmark(
  'instability',
  options.Archive,
  """
    The error of DeepGMM and DFIV on dSprites while they train.

        dfiv-ope reproduce instability --out runs
    """,
)
