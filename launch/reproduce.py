"""`dfiv-ope reproduce`: the experiments of the paper, one command each."""

from collections.abc import Callable
import dataclasses
import pathlib
from typing import Annotated, Any

import typer

from dfiv_ope.launch import iv, report, runtime, sweep

app = typer.Typer(
    help='Run the experiments of the paper.', no_args_is_help=True)

# What each budget asks of a sweep.
_OPE: dict[str, dict[str, Any]] = {
    'quick': {'noises': (0., 0.2, 0.5), 'seeds': 2},
    'full': {'noises': (0., 0.1, 0.2, 0.3, 0.4, 0.5), 'seeds': 5},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Plan:
  """What a budget asks of an instrumental-variable benchmark.

  Attributes:
    methods: with our configs.
    paper: with those of the paper.
    seeds: of each run.
    designs: fields of each design.
    watch: whether errors are measured during the training too.
  """
  methods: tuple[str, ...]
  paper: tuple[str, ...] = ()
  seeds: int = 1
  designs: tuple[dict[str, Any], ...]
  watch: bool = False


_SPRITES = ('two_sls', 'kiv', 'deepiv', 'deepgmm', 'dfiv')
_OUTCOMES = tuple({'outcome': each} for each in ('area', 'orientation'))
_SCENARIOS = tuple({'scenario': each} for each in ('x', 'z', 'xz'))
_IV: dict[str, dict[str, _Plan]] = {
    'dsprites': {
        'quick': _Plan(methods=_SPRITES, paper=('kiv',), seeds=3,
                       designs=_OUTCOMES),
        'full': _Plan(
            methods=_SPRITES, paper=('kiv', 'deepgmm', 'dfiv'), seeds=5,
            designs=tuple({**each, 'n': n} for each in _OUTCOMES
                          for n in (1000, 5000, 10_000)))},
    'demand-mnist': {
        'quick': _Plan(methods=('kiv', 'deepiv', 'dfiv'), designs=({},)),
        'full': _Plan(
            methods=('kiv', 'deepiv', 'deepgmm', 'dfiv'),
            paper=('kiv', 'deepiv', 'deepgmm', 'dfiv'), seeds=5,
            designs=tuple({'rho': rho} for rho in (
                0.1, 0.25, 0.5, 0.75, 0.9)))},
    'mnist': {
        'quick': _Plan(methods=('deepgmm', 'dfiv'), designs=_SCENARIOS),
        'full': _Plan(methods=('deepgmm', 'dfiv'), seeds=5,
                      designs=_SCENARIOS)},
    'instability': {
        'quick': _Plan(methods=('deepgmm', 'dfiv'), seeds=2, designs=({},),
                       watch=True),
        'full': _Plan(methods=('deepgmm', 'dfiv'), paper=('deepgmm', 'dfiv'),
                      seeds=5, designs=({},), watch=True)},
}

Out = Annotated[pathlib.Path, typer.Option(
    help='Run directory; its report goes into a folder of it.')]


def _budget(quick: str, full: str) -> Any:
  return typer.Option(help=f'quick: {quick} full: {full}')


@app.command()
def ope(
    out: Out,
    budget: Annotated[str, _budget(
        'noise 0, 0.2 and 0.5, two seeds, short training; under an hour on '
        'two cores.',
        'six levels, five seeds, training as long as the configs say; about '
        'ten hours.')] = 'quick',
    jobs: sweep.Jobs = None,
    dry_run: sweep.DryRun = False,
    ray: sweep.Ray = None,
) -> None:
  """Off-policy evaluation: errors against noise on the three tasks.

  Every method runs with the paper's config and with the default one, side by
  side. The report shows the paper's figure. A killed run goes on when the same
  command is given again.

      dfiv-ope reproduce ope --budget quick --out runs
  """
  _check_budget(budget)
  from dfiv_ope.launch import asked
  request = asked.Request(
      configs=('default', 'paper'), budget=budget, **_OPE[budget])
  sound = sweep.carry_out(request, out, jobs=jobs, dry_run=dry_run, ray=ray)
  if not dry_run:
    report.report(out, out=out / 'report')
  if not sound:
    raise typer.Exit(1)


@app.command()
def dsprites(
    out: Out,
    budget: Annotated[str, _budget(
        'n = 5000, three seeds; half an hour on one core.',
        'n = 1000, 5000 and 10000, five seeds, ours and the paper\'s configs; '
        'about a day.')] = 'quick',
    dsprites: iv.Archive = None,
) -> None:
  """Pictures as treatments: errors of all methods, for both outcomes.

      dfiv-ope reproduce dsprites --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  _carry_out('dsprites', budget, out, lambda fields: design.DSprites(
      archive=dsprites, **fields))


@app.command()
def demand_mnist(
    out: Out,
    budget: Annotated[str, _budget(
        'rho = 0.5, one seed; half an hour on one core.',
        'five levels of rho, five seeds, ours and the paper\'s configs; the '
        'paper\'s networks take hours a run.')] = 'quick',
    mnist: iv.MNIST = None,
) -> None:
  """The demand design with a digit for the customer group.

      dfiv-ope reproduce demand-mnist --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import demand_mnist as design
  _carry_out('demand-mnist', budget, out, lambda fields: design.DemandMNIST(
      mnist=mnist, **fields))


@app.command()
def mnist(
    out: Out,
    budget: Annotated[str, _budget(
        'one seed; an hour on one core.', 'five seeds.')] = 'quick',
    mnist: iv.MNIST = None,
) -> None:
  """The digits of Bennett et al.: DFIV and DeepGMM, three scenarios.

      dfiv-ope reproduce mnist --mnist DIR --out runs
  """
  from dfiv_ope.benchmarks import mnist_scenarios as design
  _carry_out('mnist', budget, out, lambda fields: design.MNISTScenario(
      mnist=mnist, **fields))


@app.command()
def instability(
    out: Out,
    budget: Annotated[str, _budget(
        'our configs, two seeds; ten minutes on one core.',
        'ours and the paper\'s, five seeds.')] = 'quick',
    dsprites: iv.Archive = None,
) -> None:
  """The error of DeepGMM and DFIV on dSprites while they train.

      dfiv-ope reproduce instability --out runs
  """
  from dfiv_ope.benchmarks import dsprites as design
  _carry_out('instability', budget, out, lambda fields: design.DSprites(
      archive=dsprites, **fields))


def _check_budget(budget: str) -> None:
  if budget not in _OPE:
    raise ValueError(
        f'There is no budget {budget!r}. Choose one of {", ".join(_OPE)}.')


def _carry_out(
    name: str, budget: str, out: pathlib.Path, design: Callable[..., Any],
) -> None:
  """Runs a benchmark and makes its report."""
  _check_budget(budget)
  plan = _IV[name][budget]
  runtime.start()
  from dfiv_ope.launch import iv_runs
  designs = [design(fields) for fields in plan.designs]
  asked = [
      cell for paper, names in ((False, plan.methods), (True, plan.paper))
      for method in names for cell in iv_runs.cells(
          designs, method, seeds=plan.seeds, paper=paper, watch=plan.watch)]
  iv_runs.print_table(iv_runs.carry_out(asked, out))
  report.report(out, out=out / 'report')
