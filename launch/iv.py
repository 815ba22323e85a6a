"""`dfiv-ope iv ...`: instrumental-variable regression and its benchmarks."""

from collections.abc import Sequence
import pathlib
import types
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope import limits, overrides
from dfiv_ope.iv import methods
from dfiv_ope.launch import console, options

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials

PARTS = ('development', 'set-aside')
FIGURES = ('ate', 'cate', 'joint', 'mse')

Sizes = Annotated[
  list[int] | None,
  typer.Option(help='Rows of both stages; may be repeated.  [default: 5000]'),
]
Rhos = Annotated[
  list[float] | None,
  typer.Option(help='Confounding, 0 to 1; may be repeated.  [default: 0.5]'),
]
Paper = Annotated[
  bool, typer.Option('--paper', help="The paper's settings instead of ours.")
]
FirstSeed = Annotated[int, typer.Option(help='The first of the seeds.', min=0)]
Watch = Annotated[
  bool,
  typer.Option(
    '--watch',
    help='Measure the error at each check of the training too: '
    'slower, for the instability figure. dfiv and deepgmm.',
  ),
]


def demand(
  out: options.Out,
  method: options.IVNamed = None,
  n: Sizes = None,
  rho: Rhos = None,
  seeds: options.Seeds = 5,
  first_seed: FirstSeed = 0,
  paper: Paper = False,
  settings: options.Settings = None,
  figure: Annotated[
    str | None,
    typer.Option(
      help=f'Draws {", ".join(FIGURES)} from the rows, as PNG and SVG.',
      **options.one_of('figure', FIGURES),
    ),
  ] = None,
  running: options.Running = options.RUNNING,
) -> None:
  """Runs methods on the demand design and prints their errors.

  dfiv-ope iv demand --method dfiv --method kiv --out runs
  """
  if not method and figure is None:
    raise ValueError(
      'Name a --method to run, or a --figure to draw from rows. Methods: '
      f'{", ".join(methods.NAMES)}, all.'
    )
  if method:
    from dfiv_ope.benchmarks import demand as design

    _run(
      [
        design.Demand(n=size, rho=each)
        for size in _sizes(n, 5000)
        for each in rho or [0.5]
      ],
      method,
      out,
      running,
      seeds=seeds,
      first_seed=first_seed,
      paper=paper,
      settings=settings,
    )
  if figure is not None:
    from dfiv_ope.launch.reporting import iv_figures
    from dfiv_ope.results import files

    for path in iv_figures.draw(figure, files.read(out), out):
      console.say(path)


def dsprites(
  out: options.Out,
  method: options.IVMethods = None,
  n: Sizes = None,
  outcome: Annotated[
    list[str] | None,
    typer.Option(
      help="area, the paper's, or orientation, which is harder; may be "
      'repeated.  [default: area]'
    ),
  ] = None,
  dsprites: options.Archive = None,
  seeds: options.Seeds = 3,
  first_seed: FirstSeed = 0,
  paper: Paper = False,
  settings: options.Settings = None,
  watch: Watch = False,
  running: options.Running = options.RUNNING,
) -> None:
  """Runs methods on pictures: the treatment has 64 x 64 pixels.

  The table has a row for a quadratic in the number of lit pixels, which takes
  no learning: on the outcome 'area' nothing far above it has learned much.

      dfiv-ope iv dsprites --method dfiv --method kiv --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design

  _run(
    [
      design.DSprites(n=size, outcome=each, archive=dsprites)
      for each in outcome or ['area']
      for size in _sizes(n, 5000, most=limits.PICTURES)
    ],
    method or options.IV_ONE,
    out,
    running,
    seeds=seeds,
    first_seed=first_seed,
    paper=paper,
    settings=settings,
    watch=watch,
  )


def demand_mnist(
  out: options.Out,
  method: options.IVMethods = None,
  n: Sizes = None,
  rho: Rhos = None,
  mnist: options.MNIST = None,
  seeds: options.Seeds = 3,
  first_seed: FirstSeed = 0,
  paper: Paper = False,
  settings: options.Settings = None,
  running: options.Running = options.RUNNING,
) -> None:
  """Runs methods on the demand design with a digit for the customer group.

  dfiv-ope iv demand-mnist --method dfiv --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import demand_mnist as design

  _run(
    [
      design.DemandMNIST(n=size, rho=each, mnist=mnist)
      for size in _sizes(n, 5000, most=limits.PICTURES)
      for each in rho or [0.5]
    ],
    method or options.IV_ONE,
    out,
    running,
    seeds=seeds,
    first_seed=first_seed,
    paper=paper,
    settings=settings,
  )


def mnist(
  out: options.Out,
  method: options.IVMethods = None,
  scenario: Annotated[
    list[str] | None,
    typer.Option(
      help='x, z or xz: which variable is a digit; may be repeated.  '
      '[default: all three]'
    ),
  ] = None,
  n: Annotated[
    list[int] | None,
    typer.Option(
      help='Rows of both stages; may be repeated.  [default: 20000]'
    ),
  ] = None,
  mnist: options.MNIST = None,
  seeds: options.Seeds = 1,
  first_seed: FirstSeed = 0,
  paper: Paper = False,
  settings: options.Settings = None,
  watch: Watch = False,
  running: options.Running = options.RUNNING,
) -> None:
  """Runs methods on the digits of Bennett et al. (2019).

  dfiv-ope iv mnist --method dfiv --scenario z --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import mnist_scenarios as design

  _run(
    [
      design.MNISTScenario(scenario=each, n=size, mnist=mnist)
      for each in scenario or ['x', 'z', 'xz']
      for size in _sizes(n, 20_000, most=limits.PICTURES)
    ],
    method or options.IV_ONE,
    out,
    running,
    seeds=seeds,
    first_seed=first_seed,
    paper=paper,
    settings=settings,
    watch=watch,
  )


def suite(
  out: options.Out,
  method: options.IVSuite = None,
  design: Annotated[
    list[str] | None,
    typer.Option(
      help='Only these designs, such as sin or demand; may be repeated.'
    ),
  ] = None,
  part: Annotated[
    str | None,
    typer.Option(
      help='development: those that defaults were chosen on; set-aside: the '
      'others.',
      **options.one_of('part', PARTS),
    ),
  ] = None,
  seeds: options.Seeds = 3,
  first_seed: FirstSeed = 0,
  settings: options.Settings = None,
  running: options.Running = options.RUNNING,
) -> None:
  """Runs methods on designs of many kinds: does one default do for all?

  Beside them are a constant, plain regression, which takes no instrument, and
  an oracle that regresses outcomes without confounding.

      dfiv-ope iv suite --method kiv --method sieve --out runs
  """
  from dfiv_ope.benchmarks import baselines
  from dfiv_ope.benchmarks import suite as suite_lib
  from dfiv_ope.launch.reporting import suite_table

  designs = (
    suite_lib.named(design)
    if design
    else suite_lib.designs(set_aside=None if part is None else part == PARTS[1])
  )
  named = method or options.IV_SUITE
  trained = {'dfiv', 'all'}.intersection(each.split(':')[0] for each in named)
  _run(
    designs,
    named,
    out,
    running,
    seeds=seeds,
    paper=False,
    settings=settings,
    first_seed=first_seed,
    table=suite_table,
    references=[
      name
      for name in baselines.NAMES
      if trained or name != baselines.PLAIN_DFIV
    ],
  )


def _sizes(
  wanted: list[int] | None, otherwise: int, *, most: int = limits.SAMPLE
) -> list[int]:
  """Returns the numbers of rows that are asked for, if they are sensible."""
  for size in wanted or []:
    limits.count('--n', size, most=most)
  return wanted or [otherwise]


def _run(
  designs: Sequence['trials.Design'],
  method: Sequence[str],
  out: pathlib.Path,
  running: options.Running,
  *,
  seeds: int,
  paper: bool,
  settings: list[str] | None,
  watch: bool = False,
  first_seed: int = 0,
  references: Sequence[str] = (),
  table: types.ModuleType | None = None,
) -> None:
  """Runs what is asked for and prints the errors."""
  wanted = overrides.methods(method, methods.NAMES, settings or [])
  from dfiv_ope.launch import runner
  from dfiv_ope.launch.experiments import plan
  from dfiv_ope.launch.reporting import design_table

  where = runner.executor(running.workers or 1, running.ray)
  asked = plan.designs(
    designs,
    wanted,
    seeds=seeds,
    watch=watch,
    first_seed=first_seed,
    references=references,
    preset='paper' if paper else 'default',
  )
  table = table or design_table
  runner.answer(
    runner.carry_out(asked, out, where, title='Runs'),
    out,
    show=table.show,
    data=table.data,
    as_json=running.as_json,
  )
