"""`dfiv-ope iv ...`: the instrumental-variable benchmarks."""

from collections.abc import Sequence
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from dfiv_ope.iv import methods
from dfiv_ope.launch import console, limits, overrides, runtime

if TYPE_CHECKING:
  from dfiv_ope.benchmarks import trials

app = typer.Typer(
    help='Instrumental-variable regression on its benchmarks.',
    no_args_is_help=True)

FIGURES = ('ate', 'cate', 'joint', 'mse')

Out = Annotated[pathlib.Path, typer.Option(
    help='Directory of the result rows; a run that has its row there is not '
         'run again.')]
Method = Annotated[list[str] | None, typer.Option(
    help=f'{", ".join(methods.NAMES)}, or all; may be repeated. '
         f'{overrides.SYNTAX}.')]
Sizes = Annotated[list[int] | None, typer.Option(
    help='Rows of both stages; may be repeated.  [default: 5000]')]
Rhos = Annotated[list[float] | None, typer.Option(
    help='Confounding, 0 to 1; may be repeated.  [default: 0.5]')]
Seeds = Annotated[int, typer.Option(
    help='Number of seeds (0, 1, 2, ...).')]
Paper = Annotated[bool, typer.Option(
    '--paper', help="The paper's settings instead of ours.")]
Settings = Annotated[list[str] | None, typer.Option(
    '--set', help="name=value of the method's config; may be repeated.",
    metavar='NAME=VALUE')]
Watch = Annotated[bool, typer.Option(
    '--watch', help='Measure the error at each check of the training too: '
                    'slower, for the instability figure. dfiv and deepgmm.')]
Archive = Annotated[str | None, typer.Option(
    help='The real dSprites archive (npz); without it pictures are drawn.',
    metavar='FILE')]
MNIST = Annotated[str | None, typer.Option(
    help='Directory of the four idx files of MNIST; without it they are '
         'downloaded through Keras.', metavar='DIR')]


@app.command()
def demand(
    out: Out,
    method: Method = None,
    n: Sizes = None,
    rho: Rhos = None,
    seeds: Seeds = 5,
    paper: Paper = False,
    settings: Settings = None,
    figure: Annotated[str | None, typer.Option(
        help=f'Draws {", ".join(FIGURES)} from the rows, as PNG and SVG.',
    )] = None,
) -> None:
  """Runs methods on the demand design and prints their errors.

      dfiv-ope iv demand --method dfiv --method kiv --out runs
  """
  if figure is not None and figure not in FIGURES:
    raise ValueError(
        f'There is no figure {figure!r}. Choose one of {", ".join(FIGURES)}.')
  if not method and figure is None:
    raise ValueError(
        'Name a --method to run, or a --figure to draw from rows. Methods: '
        f'{", ".join(methods.NAMES)}, all.')
  from dfiv_ope import results
  from dfiv_ope.benchmarks import demand as design
  if method:
    designs = [design.Demand(n=size, rho=each)
               for size in _sizes(n, 5000) for each in rho or [0.5]]
    _run(designs, method, out, seeds=seeds, paper=paper,
         settings=settings or [])
  else:
    results.read(out)  # Says at once if there is nothing to draw.
    runtime.start()
  if figure is not None:
    from dfiv_ope.launch import iv_figures
    for path in iv_figures.draw(figure, results.read(out), out):
      console.say(path)


@app.command()
def dsprites(
    out: Out,
    method: Method = None,
    n: Sizes = None,
    outcome: Annotated[list[str] | None, typer.Option(
        help="area, the paper's, or orientation, which is harder; may be "
             'repeated.  [default: area]')] = None,
    dsprites: Archive = None,
    seeds: Seeds = 3,
    paper: Paper = False,
    settings: Settings = None,
    watch: Watch = False,
) -> None:
  """Runs methods on pictures: the treatment has 64 x 64 pixels.

  The table has a row for a quadratic in the number of lit pixels, which takes
  no learning: on the outcome 'area' nothing far above it has learned much.

      dfiv-ope iv dsprites --method dfiv --method kiv --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  designs = [
      design.DSprites(n=size, outcome=each, archive=dsprites)
      for each in outcome or ['area']
      for size in _sizes(n, 5000, most=limits.PICTURES)]
  _run(designs, method or ['dfiv'], out, seeds=seeds, paper=paper,
       settings=settings or [], watch=watch)


@app.command()
def demand_mnist(
    out: Out,
    method: Method = None,
    n: Sizes = None,
    rho: Rhos = None,
    mnist: MNIST = None,
    seeds: Seeds = 3,
    paper: Paper = False,
    settings: Settings = None,
) -> None:
  """Runs methods on the demand design with a digit for the customer group.

      dfiv-ope iv demand-mnist --method dfiv --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import demand_mnist as design
  designs = [
      design.DemandMNIST(n=size, rho=each, mnist=mnist)
      for size in _sizes(n, 5000, most=limits.PICTURES)
      for each in rho or [0.5]]
  _run(designs, method or ['dfiv'], out, seeds=seeds, paper=paper,
       settings=settings or [])


@app.command()
def mnist(
    out: Out,
    method: Method = None,
    scenario: Annotated[list[str] | None, typer.Option(
        help='x, z or xz: which variable is a digit; may be repeated.  '
             '[default: all three]')] = None,
    n: Annotated[list[int] | None, typer.Option(
        help='Rows of both stages; may be repeated.  [default: 20000]',
    )] = None,
    mnist: MNIST = None,
    seeds: Seeds = 1,
    paper: Paper = False,
    settings: Settings = None,
    watch: Watch = False,
) -> None:
  """Runs DFIV and DeepGMM on the digits of Bennett et al. (2019).

      dfiv-ope iv mnist --method dfiv --scenario z --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import mnist_scenarios as design
  designs = [
      design.MNISTScenario(scenario=each, n=size, mnist=mnist)
      for each in scenario or ['x', 'z', 'xz']
      for size in _sizes(n, 20_000, most=limits.PICTURES)]
  _run(designs, method or ['dfiv'], out, seeds=seeds, paper=paper,
       settings=settings or [], watch=watch)


def _sizes(
    wanted: list[int] | None, otherwise: int, *, most: int = limits.SAMPLE,
) -> list[int]:
  """Returns the numbers of rows that are asked for, if they are sensible."""
  for size in wanted or []:
    limits.count('--n', size, most=most)
  return wanted or [otherwise]


def _run(
    designs: Sequence['trials.Design'],
    method: list[str],
    out: pathlib.Path,
    *,
    seeds: int,
    paper: bool,
    settings: list[str],
    watch: bool = False,
) -> None:
  """Runs what is asked for and prints the errors."""
  limits.count('--seeds', seeds, most=limits.SEEDS)
  wanted = overrides.methods(method, methods.NAMES, settings)
  runtime.start()
  from dfiv_ope.launch import iv_runs
  asked = [
      cell for each in wanted for cell in iv_runs.cells(
          designs, each.method, seeds=seeds, paper=paper,
          changes=each.settings, watch=watch)]
  iv_runs.print_table(iv_runs.carry_out(asked, out))
